// How does an explanation show what moves between memory spaces?
#include "fmt/format.h"
#include "nlohmann/json.hpp"
#include "src/cli/explain_output.h"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostRows = 20;

std::string PartText(const Module& module, ShapeId shape, uint32_t leaf) {
  if (leaf == 0) return "";
  return fmt::format(" at {{{}}}", fmt::join(module.shapes().IndexOf(shape, leaf), ","));
}

std::string PinText(const Module& module, const SpacePin& pin) {
  const ComputationLayout& entry = *module.config().entry_computation_layout;
  std::string who = pin.parameter < 0 ? "the result" : fmt::format("parameter {}", pin.parameter);
  ShapeId shape =
      pin.parameter < 0 ? entry.result : entry.parameters[static_cast<size_t>(pin.parameter)];
  return fmt::format("{}{} in {} memory", who, PartText(module, shape, pin.leaf),
                     MemorySpaceName(pin.space));
}

std::string TransferText(const Module& module, const SpaceTransfer& transfer) {
  std::string what(OpcodeText(module.opcode(transfer.instruction)));
  if (module.opcode(transfer.instruction) == Opcode::kCustomCall) {
    what = module.TextAttr(transfer.instruction, AttrKind::kCustomCallTarget);
  }
  std::string loop = !transfer.multiplier_known ? ", in a loop"
                     : transfer.multiplier == 1 ? ""
                                                : fmt::format(", x{}", transfer.multiplier);
  std::string out =
      fmt::format("%{} ({}){}: {} -> {}, {}{}", module.name(transfer.instruction), what,
                  PartText(module, module.shape(transfer.instruction), transfer.leaf),
                  MemorySpaceName(transfer.from), MemorySpaceName(transfer.to),
                  HumanBytes(transfer.bytes), loop);
  constexpr int64_t kDevice = 0, kHost = 5;
  if (transfer.reorders) {
    out += "; it changes the layout too";
    // backend-hooks.md section 4.7
    if (transfer.from == kHost && transfer.to == kDevice) {
      out += ", which XLA refuses on GPUs for copies out of host memory";
    }
  }
  return out;
}

}  // namespace

std::string MemorySpacesText(const ExplainedRun& run) {
  const MemorySpaces& spaces = run.explanation.memory_spaces;
  if (spaces.entry.empty() && spaces.transfers.empty()) return "";
  std::string out = "\nMemory spaces (these are no layout copies):\n";
  auto list = [&](size_t count, auto text_of) {
    for (size_t i = 0; i < std::min(count, kMostRows); ++i) {
      out += fmt::format("  {}\n", text_of(i));
    }
    if (count > kMostRows) out += fmt::format("  and {} more\n", count - kMostRows);
  };
  list(spaces.entry.size(), [&](size_t i) { return PinText(run.module, spaces.entry[i]); });
  list(spaces.transfers.size(),
       [&](size_t i) { return TransferText(run.module, spaces.transfers[i]); });
  return out;
}

Json MemorySpacesJson(const ExplainedRun& run) {
  const MemorySpaces& spaces = run.explanation.memory_spaces;
  Json entry = Json::array();
  const ComputationLayout& layout = *run.module.config().entry_computation_layout;
  for (const SpacePin& pin : spaces.entry) {
    bool result = pin.parameter < 0;
    ShapeId shape = result ? layout.result : layout.parameters[static_cast<size_t>(pin.parameter)];
    Json row = {{"index", run.module.shapes().IndexOf(shape, pin.leaf)}, {"space", pin.space}};
    row["parameter"] = result ? Json("result") : Json(pin.parameter);
    entry.push_back(row);
  }
  Json transfers = Json::array();
  for (const SpaceTransfer& transfer : spaces.transfers) {
    transfers.push_back({{"instruction", run.module.name(transfer.instruction)},
                         {"class", "memory-space"},
                         {"from", transfer.from},
                         {"to", transfer.to},
                         {"logical_bytes", transfer.bytes},
                         {"loop_multiplier", transfer.multiplier},
                         {"loop_multiplier_known", transfer.multiplier_known},
                         {"changes_layout", transfer.reorders}});
  }
  return {{"entry", entry}, {"transfers", transfers}};
}

}  // namespace hlokit::cli
