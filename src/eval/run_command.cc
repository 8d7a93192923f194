// hlokit run: what does this module compute?
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlokit/eval.h"
#include "hlokit/verifier.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"
#include "src/eval/commands.h"
#include "src/eval/npy_values.h"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct State {
  InputOptions input;
  std::vector<std::string> inputs;
  std::string rule = "random";
  uint64_t seed = 0;
  int64_t replicas = 0;
  std::string folder;
  std::string format = "text";
  int64_t most = 64;
  EvalOptions eval;
};

InputRule RuleOf(const std::string& name) {
  return name == "golden-rule" ? InputRule::kGolden
         : name == "distinct"  ? InputRule::kDistinct
         : name == "extreme"   ? InputRule::kExtreme
                               : InputRule::kRandom;
}

/// The tuple path of every leaf.
std::vector<std::vector<uint32_t>> LeafPaths(const ShapePool& shapes, ShapeId result) {
  std::vector<std::vector<uint32_t>> paths;
  for (uint32_t i = 0; i < shapes[result].subshape_count; ++i) {
    if (!shapes.IsTuple(shapes.Subshape(result, i))) paths.push_back(shapes.IndexOf(result, i));
  }
  return paths;
}

std::string Text(const Module& module, ShapeId result, const HostLeaves& leaves, int64_t most) {
  const std::vector<std::vector<uint32_t>> paths = LeafPaths(module.shapes(), result);
  std::string out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const HostArray& array = leaves[i];
    out += fmt::format("{{{}}} {}[{}]\n", fmt::join(paths[i], ","), Info(array.type).text,
                       fmt::join(array.sizes, ","));
    const int64_t count = array.elements(), row = array.sizes.empty() ? 1 : array.sizes.back();
    for (int64_t k = 0; k < std::min(count, most); ++k) {
      out += k % std::max<int64_t>(row, 1) == 0 ? "  " : " ";
      out += ElementText(array, k, false);
      if ((k + 1) % std::max<int64_t>(row, 1) == 0 && k + 1 < std::min(count, most)) out += '\n';
    }
    if (count > most) out += fmt::format(" … {} more", count - most);
    if (count > 0) out += '\n';
  }
  return out;
}

Json ResultJson(const Module& module, ShapeId result, const HostLeaves& leaves) {
  const std::vector<std::vector<uint32_t>> paths = LeafPaths(module.shapes(), result);
  Json list = Json::array();
  for (size_t i = 0; i < leaves.size(); ++i) {
    Json values = Json::array();
    const int64_t count = leaves[i].elements();
    for (int64_t k = 0; k < count; ++k) values.push_back(ElementText(leaves[i], k, false));
    list.push_back({{"index", paths[i]},
                    {"type", Info(leaves[i].type).text},
                    {"dimensions", leaves[i].sizes},
                    {"values", std::move(values)}});
  }
  return list;
}

Status WriteFolder(const State& state, const Module& module, ShapeId result,
                   const std::vector<HostLeaves>& devices) {
  std::error_code problem;
  std::filesystem::create_directories(state.folder, problem);
  if (problem) {
    return MakeError(ExitCode::kIo, DiagId::kCannotWrite,
                     fmt::format("cannot make the folder {}: {}", state.folder, problem.message()));
  }
  const std::vector<std::vector<uint32_t>> paths = LeafPaths(module.shapes(), result);
  for (size_t device = 0; device < devices.size(); ++device) {
    const std::string prefix = devices.size() == 1 ? "" : fmt::format("device{}_", device);
    for (size_t i = 0; i < devices[device].size(); ++i) {
      if (!IsArrayType(devices[device][i].type)) continue;
      std::string name = prefix + "result";
      for (uint32_t step : paths[i]) name += fmt::format("_{}", step);
      TRY(WriteNpy(state.folder + "/" + name + ".npy", devices[device][i]));
    }
  }
  return {};
}

/// Inputs for every device: only the first gets what the files hold and the rule with this seed.
Result<std::vector<HostLeaves>> Inputs(const State& state, const Module& module, int64_t devices) {
  std::vector<HostLeaves> out;
  const InputRule rule = RuleOf(state.rule);
  int64_t bytes = 0;
  for (ShapeId leaf : EntryLeaves(module)) {
    bytes += std::min<int64_t>(module.shapes().LogicalBytes(leaf), int64_t{1} << 56);
    if (bytes < 0 || static_cast<uint64_t>(bytes) > state.eval.max_bytes) {
      return MakeError(ExitCode::kUnsupported, DiagId::kEvalMemory,
                       "the inputs of the module take more memory than allowed",
                       "--max-bytes allows more");
    }
  }
  for (int64_t device = 0; device < devices; ++device) {
    const uint64_t seed = state.seed + static_cast<uint64_t>(device) * 0x10001u;
    out.push_back(MakeInputs(module, rule, seed));
    for (const std::string& input : state.inputs) TRY(ReadInput(module, input, &out.back()));
    // Nothing depends on the device: one copy is enough.
    if (rule == InputRule::kGolden) break;
  }
  return out;
}

int Run(State& state) {
  const auto fail = [&](const Error& error) { return Report(error, state.input.path); };
  Result<Module> module = Load(state.input, state.format == "golden");
  if (!module) return fail(module.error());
  if (Status sound = VerifyModule(*module); !sound) return fail(sound.error());
  std::vector<std::string> stand_ins;
  state.eval.stand_ins = &stand_ins;
  const int64_t partitions = std::max<int64_t>(module->config().num_partitions, 1);
  state.eval.devices = state.replicas > 0 ? state.replicas * std::min<int64_t>(partitions, 1 << 16)
                                          : DeviceCount(*module);
  Result<std::vector<HostLeaves>> inputs = Inputs(state, *module, state.eval.devices);
  if (!inputs) return fail(inputs.error());
  Result<std::vector<HostLeaves>> results = Evaluate(*module, *inputs, state.eval);
  if (!results) return fail(results.error());
  const ShapeId result = module->shape(module->computation(module->entry()).root);
  if (state.format != "golden") {
    for (const std::string& note : stand_ins) {
      std::fprintf(stderr, "note: made-up values: %s [%s]\n", note.c_str(),
                   std::string(DiagCode(DiagId::kStandIn)).c_str());
    }
  }
  if (!state.folder.empty()) {
    if (Status written = WriteFolder(state, *module, result, *results); !written) {
      return fail(written.error());
    }
    return 0;
  }
  if (state.format == "json") {
    Json devices = Json::array();
    for (size_t i = 0; i < results->size(); ++i) {
      devices.push_back({{"device", i}, {"results", ResultJson(*module, result, (*results)[i])}});
    }
    return EmitJson({{"schema", "hlokit.run/1"},
                     {"file", state.input.path},
                     {"module", module->config().name},
                     {"made_up", stand_ins},
                     {"devices", std::move(devices)}});
  }
  std::string out;
  for (size_t i = 0; i < results->size(); ++i) {
    if (results->size() > 1) out += fmt::format("device {}\n", i);
    out += state.format == "golden" ? GoldenText(*module, result, (*results)[i])
                                    : Text(*module, result, (*results)[i], state.most);
  }
  return Emit(out);
}

}  // namespace

void RegisterRun(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand("run", "the values that a module computes, on the CPU");
  command->footer(
      "Examples:\n  hlokit run module.txt                              random inputs\n"
      "  hlokit run --input x=x.npy --input 1=w.npy -o out module.txt\n"
      "  hlokit run --inputs distinct --strict-layouts after.txt   as a compiled program reads it\n"
      "  hlokit run --replicas 4 module.txt                 collectives among four replicas");
  state->input.Register(*command);
  command->add_option("--input", state->inputs,
                      "NAME=FILE.npy: the value of a parameter, by name or number; .i per level of "
                      "a tuple");
  command
      ->add_option("--inputs", state->rule,
                   "how the other inputs are made: random, distinct (no two elements alike), "
                   "extreme, golden-rule")
      ->check(CLI::IsMember({"random", "distinct", "extreme", "golden-rule"}));
  command->add_option("--seed", state->seed, "of the inputs that are made");
  command
      ->add_option("--replicas", state->replicas,
                   "replicas to simulate, each with all partitions (default: as the module says)")
      ->check(CLI::Range(1, 4096));
  command->add_option("-o,--output", state->folder, "folder for the results as .npy files");
  command->add_option("--format", state->format, "text, json or golden")
      ->check(CLI::IsMember({"text", "json", "golden"}));
  command->add_option("--most", state->most, "elements per array in text")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--strict-layouts", state->eval.strict_layouts,
                    "read bytes in the order that each shape says, as after layout assignment");
  command->add_option("--max-bytes", state->eval.max_bytes, "most memory for values");
  command->add_option("--max-work", state->eval.max_work, "most elements to compute");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
