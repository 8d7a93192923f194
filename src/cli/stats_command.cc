// hlokit stats: what is in a module?
#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"

namespace hlokit::cli {
namespace {

struct Stats {
  uint64_t computations = 0;
  uint64_t instructions = 0;
  uint64_t copies = 0;
  uint64_t parameters = 0;
  int64_t parameter_bytes = 0;
  int64_t result_bytes = 0;
  uint64_t distinct_shapes = 0;
  size_t memory_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> opcodes;  // most frequent first
  std::vector<std::pair<std::string, uint64_t>> shapes;
};

template <typename Map>
std::vector<std::pair<std::string, uint64_t>> ByCount(const Map& map) {
  std::vector<std::pair<std::string, uint64_t>> rows(map.begin(), map.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return rows;
}

Stats Count(const Module& module) {
  Stats stats;
  std::map<std::string, uint64_t> opcodes;
  std::vector<uint64_t> shape_uses(module.shapes().shape_count());
  for (CompId computation : module.computation_order()) {
    ++stats.computations;
    for (InstId id : module.computation(computation).instructions) {
      ++stats.instructions;
      Opcode opcode = module.opcode(id);
      std::string name(opcode == Opcode::kUnknown ? module.TextAttr(id, AttrKind::kUnknownOpcode)
                                                  : OpcodeText(opcode));
      ++opcodes[name];
      if (opcode == Opcode::kCopy) ++stats.copies;
      ++shape_uses[module.shape(id).value];
    }
  }
  const ComputationData& entry = module.computation(module.entry());
  stats.parameters = entry.parameters.size();
  for (InstId parameter : entry.parameters) {
    stats.parameter_bytes += module.shapes().LogicalBytes(module.shape(parameter));
  }
  stats.result_bytes = module.shapes().LogicalBytes(module.shape(entry.root));
  std::map<std::string, uint64_t> shapes;
  for (uint32_t i = 0; i < shape_uses.size(); ++i) {
    if (shape_uses[i] == 0) continue;
    ++stats.distinct_shapes;
    shapes[module.shapes().Text(ShapeId(i))] += shape_uses[i];
  }
  stats.opcodes = ByCount(opcodes);
  stats.shapes = ByCount(shapes);
  stats.memory_bytes = module.MemoryBytes();
  return stats;
}

std::string Text(const Module& module, const Stats& stats, size_t most, bool memory) {
  std::string out =
      fmt::format("module {}: {} computations, {} instructions, {} copies, {} distinct shapes\n",
                  module.config().name, stats.computations, stats.instructions, stats.copies,
                  stats.distinct_shapes);
  out += fmt::format("entry {}: {} parameters, {} of parameters, {} of results\n",
                     module.name(module.entry()), stats.parameters,
                     HumanBytes(stats.parameter_bytes), HumanBytes(stats.result_bytes));
  if (memory) {
    out += fmt::format("memory: {} held, {:.0f} bytes per instruction\n",
                       HumanBytes(static_cast<int64_t>(stats.memory_bytes)),
                       static_cast<double>(stats.memory_bytes) /
                           std::max<double>(1, static_cast<double>(stats.instructions)));
  }
  auto section = [&](std::string_view title,
                     const std::vector<std::pair<std::string, uint64_t>>& rows) {
    std::vector<std::vector<std::string>> table;
    for (size_t i = 0; i < std::min(most, rows.size()); ++i) {
      std::string name =
          rows[i].first.size() > 100 ? rows[i].first.substr(0, 97) + "..." : rows[i].first;
      table.push_back({std::to_string(rows[i].second), name});
    }
    out += fmt::format("\n{}\n{}", title, Table(table, "rl"));
    if (rows.size() > most)
      out += fmt::format("({} more: --most {})\n", rows.size() - most, rows.size());
  };
  section("opcodes", stats.opcodes);
  section("result shapes", stats.shapes);
  return out;
}

nlohmann::ordered_json Json(const Module& module, const Stats& stats) {
  nlohmann::ordered_json opcodes = nlohmann::ordered_json::object();
  for (const auto& [name, count] : stats.opcodes) opcodes[name] = count;
  nlohmann::ordered_json shapes = nlohmann::ordered_json::array();
  for (const auto& [shape, count] : stats.shapes)
    shapes.push_back({{"shape", shape}, {"count", count}});
  return {{"schema", "hlokit.stats/1"},
          {"module", module.config().name},
          {"computations", stats.computations},
          {"instructions", stats.instructions},
          {"copies", stats.copies},
          {"entry", module.name(module.entry())},
          {"parameters", stats.parameters},
          {"parameter_bytes", stats.parameter_bytes},
          {"result_bytes", stats.result_bytes},
          {"distinct_shapes", stats.distinct_shapes},
          {"memory_bytes", stats.memory_bytes},
          {"opcodes", opcodes},
          {"shapes", shapes}};
}

}  // namespace

void RegisterStats(CLI::App& app, int& exit_code) {
  struct State {
    InputOptions input;
    Format format = Format::kText;
    size_t most = 20;
    bool memory = false;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand("stats", "count what is in a module");
  command->footer("Examples:\n  hlokit stats module.txt\n  hlokit stats --format json module.txt");
  state->input.Register(*command);
  RegisterFormat(*command, &state->format);
  command->add_option("--most", state->most, "rows per section in text");
  command->add_flag("--memory", state->memory, "show the memory that the module takes in hlokit");
  command->callback([state, &exit_code] {
    Result<Module> module = Load(state->input);
    if (!module) {
      exit_code = Report(module.error(), state->input.path);
      return;
    }
    Stats stats = Count(*module);
    exit_code = state->format == Format::kJson
                    ? EmitJson(Json(*module, stats))
                    : Emit(Text(*module, stats, state->most, state->memory));
  });
}

}  // namespace hlokit::cli
