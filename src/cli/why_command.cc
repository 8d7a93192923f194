// hlokit why: why does an instruction have its layout, and why is there (no) copy at its operands?
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/printer.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"
#include "src/cli/explain_output.h"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The copy that stands in front of an operand, or nothing.
const AddedCopy* CopyInFront(const ExplainedRun& run, InstId instruction, uint32_t operand) {
  InstId value = run.module.operand(instruction, operand);
  for (const AddedCopy& copy : run.report.copies) {
    if (copy.top == value && copy.reason != CopyReason::kBranch) return &copy;
  }
  return nullptr;
}

/// Why an edge has no copy, in words; the demand on the operand goes to `event`.
std::string EdgeText(const ExplainedRun& run, InstId id, uint32_t operand, EventId* event) {
  *event = run.report.FinalOperandDemand(id, operand);
  InstId value = run.module.operand(id, operand);
  std::string shape = run.module.shapes().Text(run.module.shape(value));
  if (const AddedCopy* copy = CopyInFront(run, id, operand); copy != nullptr) {
    return fmt::format("a copy: {} copies %{} ({}) because the demands differ",
                       fmt::format("%{}", run.module.name(copy->top)),
                       run.module.name(copy->source), run.module.shapes().Text(copy->old_shape));
  }
  if (*event == kNoEvent) {
    return fmt::format(
        "no copy: nobody asked for a layout of this operand, so it takes %{} as it is ({})",
        run.module.name(value), shape);
  }
  return fmt::format("no copy: %{} has the layout that the operand asks for ({})",
                     run.module.name(value), shape);
}

struct LeafAnswer {
  uint32_t index;
  ShapeId shape;
  LayoutAssignmentReport::FinalBuffer buffer;
};

std::vector<LeafAnswer> LeavesOf(const ExplainedRun& run, InstId id) {
  std::vector<LeafAnswer> out;
  std::vector<ShapeId> nodes = run.module.shapes().Subshapes(run.module.shape(id));
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (!run.module.shapes().IsArray(nodes[i])) continue;
    out.push_back({i, nodes[i], run.report.FinalDemand(id, i)});
  }
  return out;
}

/// For a copy that the pass added: `hlokit explain` has the answer.
std::optional<std::string> AddedAnswer(const ExplainedRun& run, InstId id) {
  if (id.value < run.original_instructions) return std::nullopt;
  for (const AddedArrayCopy& part : run.report.parts) {
    if (part.copy == id)
      return fmt::format("layout assignment inserted it: hlokit explain FILE {}",
                         run.module.name(id));
  }
  return "layout assignment inserted it to take a tuple apart";
}

std::string Text(const ExplainedRun& run, InstId id, bool all) {
  std::string out = PrintInstruction(run.module, id) + "\n";
  if (std::optional<std::string> added = AddedAnswer(run, id)) return out + "\n" + *added + "\n";
  for (const LeafAnswer& leaf : LeavesOf(run, id)) {
    std::string part =
        leaf.index == 0
            ? ""
            : fmt::format(
                  " at {{{}}}",
                  fmt::join(run.module.shapes().IndexOf(run.module.shape(id), leaf.index), ","));
    out += fmt::format("\nWhy {}{}\n", run.module.shapes().Text(leaf.shape), part);
    if (leaf.buffer.definer.valid() && leaf.buffer.definer != id) {
      out += fmt::format("  the value is defined by %{} and passed on\n",
                         run.module.name(leaf.buffer.definer));
    }
    if (leaf.buffer.event == kNoEvent) {
      out += "  inside a fusion the layout follows the fusion; no demand is recorded\n";
    } else {
      out += ChainText(run, {leaf.buffer.event, 0}, all, "  ");
    }
  }
  for (uint32_t k = 0; k < run.module.operand_count(id); ++k) {
    EventId event;
    out += fmt::format("\nOperand {}: {}\n", k, EdgeText(run, id, k, &event));
    if (event != kNoEvent) out += ChainText(run, {event, 0}, all, "  ");
  }
  return out;
}

Json AnswerJson(const ExplainedRun& run, InstId id, bool all) {
  Json out = {{"schema", "hlokit.why/1"},
              {"module", run.module.config().name},
              {"instruction", run.module.name(id)},
              {"opcode", OpcodeText(run.module.opcode(id))},
              {"shape", run.module.shapes().Text(run.module.shape(id))}};
  if (std::optional<std::string> added = AddedAnswer(run, id)) {
    out["inserted"] = *added;
    return out;
  }
  Json leaves = Json::array();
  for (const LeafAnswer& leaf : LeavesOf(run, id)) {
    Json entry = {{"index", run.module.shapes().IndexOf(run.module.shape(id), leaf.index)},
                  {"shape", run.module.shapes().Text(leaf.shape)}};
    if (leaf.buffer.definer.valid()) entry["defined_by"] = run.module.name(leaf.buffer.definer);
    entry["chain"] =
        leaf.buffer.event == kNoEvent ? Json::array() : ChainJson(run, {leaf.buffer.event, 0}, all);
    leaves.push_back(entry);
  }
  out["leaves"] = leaves;
  Json operands = Json::array();
  for (uint32_t k = 0; k < run.module.operand_count(id); ++k) {
    EventId event;
    std::string text = EdgeText(run, id, k, &event);
    Json entry = {{"operand", k},
                  {"value", run.module.name(run.module.operand(id, k))},
                  {"copy", CopyInFront(run, id, k) != nullptr},
                  {"answer", text}};
    entry["chain"] = event == kNoEvent ? Json::array() : ChainJson(run, {event, 0}, all);
    operands.push_back(entry);
  }
  out["operands"] = operands;
  return out;
}

}  // namespace

void RegisterWhy(CLI::App& app, int& exit_code) {
  struct State {
    InputOptions input;
    AssignOptions assign;
    std::string name;
    Format format = Format::kText;
    bool all = false;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      app.add_subcommand("why", "why an instruction has its layout, and why an edge has (no) copy");
  command->footer(
      "Examples:\n  hlokit why module.txt dot.7\n  hlokit why --format json module.txt dot.7");
  state->input.Register(*command);
  command->add_option("INST", state->name, "name of an instruction, with or without %")->required();
  state->assign.Register(*command);
  RegisterFormat(*command, &state->format);
  command->add_flag("--all", state->all, "every request on the constraints of the chain");
  command->callback([state, &exit_code] {
    Result<ExplainedRun> run = RunExplained(state->input, state->assign, /*quiet=*/false);
    if (!run) {
      exit_code = Report(run.error(), state->input.path);
      return;
    }
    Result<InstId> id = FindInstruction(run->module, state->name);
    if (!id) {
      exit_code = Report(id.error(), state->input.path);
      return;
    }
    exit_code = state->format == Format::kJson ? EmitJson(AnswerJson(*run, *id, state->all))
                                               : Emit(Text(*run, *id, state->all));
  });
}

}  // namespace hlokit::cli
