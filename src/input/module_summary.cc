// What is in a module, and what changed from one stage of a compilation to the next?
#include "src/input/module_summary.h"

#include <fmt/format.h>

#include "hlokit/printer.h"

namespace hlokit {

ModuleSummary Summarise(const Module& module) {
  ModuleSummary out;
  PrintOptions options;
  options.metadata = false;
  options.layouts = false;
  const ShapePool& shapes = module.shapes();
  for (CompId computation : module.computation_order()) {
    if (module.computation(computation).dead) continue;
    ++out.computations;
    for (InstId id : module.computation(computation).instructions) {
      if (module.IsDead(id)) continue;
      ++out.instructions;
      out.copies += module.opcode(id) == Opcode::kCopy;
      ModuleSummary::Prints& prints = out.by_name[std::string(module.name(id))];
      prints.rest = std::hash<std::string>()(PrintInstruction(module, id, options));
      prints.layout = std::hash<std::string>()(shapes.Text(module.shape(id)));
    }
  }
  return out;
}

SummaryChange Compare(const ModuleSummary& before, const ModuleSummary& after) {
  SummaryChange out;
  out.copies = after.copies - before.copies;
  for (const auto& [name, prints] : after.by_name) {
    auto it = before.by_name.find(name);
    if (it == before.by_name.end()) {
      ++out.added;
    } else if (it->second.rest != prints.rest) {
      ++out.changed;
    } else if (it->second.layout != prints.layout) {
      ++out.layouts;
    }
  }
  for (const auto& [name, prints] : before.by_name) out.removed += after.by_name.count(name) == 0;
  return out;
}

std::string ChangeText(const SummaryChange& change) {
  if (!change.any()) return "unchanged";
  std::string out;
  auto add = [&](std::string part) {
    if (!out.empty()) out += ", ";
    out += part;
  };
  if (change.added + change.removed != 0) add(fmt::format("+{} -{}", change.added, change.removed));
  if (change.layouts != 0)
    add(fmt::format("{} layout{}", change.layouts, change.layouts == 1 ? "" : "s"));
  if (change.changed != 0) add(fmt::format("{} changed", change.changed));
  if (change.copies != 0) add(fmt::format("copies {:+}", change.copies));
  return out;
}

}  // namespace hlokit
