// Which copies must stand in the graph before layouts are assigned? (section 3.1 step 2)
#include <algorithm>
#include <utility>
#include <vector>

#include "src/layout/engine.h"

namespace hlokit::layout {

/// The value that a send takes, and the operands that a layout-constrained custom call writes its
/// outputs into, get a copy of their own.
bool Engine::AddPreparatoryCopies() {
  std::vector<std::pair<InstId, uint32_t>> wanted;
  std::vector<CompId> order = module_.computation_order();
  for (CompId computation : order) {
    wanted.clear();
    for (InstId inst : module_.computation(computation).instructions) {
      if (module_.opcode(inst) == Opcode::kSend) {
        if (module_.operand_count(inst) != 0) wanted.emplace_back(inst, 0);
      } else if (module_.IsLayoutConstrainedCustomCall(inst)) {
        size_t first = wanted.size();
        for (const OperandAlias& alias : module_.output_to_operand_aliasing(inst)) {
          std::pair<InstId, uint32_t> entry(inst, static_cast<uint32_t>(alias.operand_number));
          if (entry.second >= module_.operand_count(inst)) continue;
          if (std::find(wanted.begin() + first, wanted.end(), entry) == wanted.end()) {
            wanted.push_back(entry);
          }
        }
      }
    }
    for (auto [inst, operand] : wanted) {
      InstId value = module_.operand(inst, operand);
      if (module_.opcode(value) == Opcode::kCopy && module_.users(value).size() <= 1) continue;
      ShapeId shape = shapes_.ClearLayouts(module_.shape(value));
      InstId copy = module_.AddInstruction(computation, Opcode::kCopy, shape, {&value, 1},
                                           module_.UniqueInstructionName("copy"));
      TakeAttributes(value, copy, -1);
      module_.SetOperand(inst, operand, copy);
      StartCopy(CopyReason::kPreparatory, value, inst, operand, module_.shape(value), shape);
      report_.parts.push_back({.copy = copy});
      FinishCopy(copy);
    }
  }
  return true;
}

}  // namespace hlokit::layout
