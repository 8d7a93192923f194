// Where do new instructions stand in a scheduled module?
#include <vector>

#include "src/copy_insertion/steps.h"

namespace hlokit::copies {

/// Walks over the old schedule and puts every new instruction right before the first one that needs
/// it.
void CompleteSchedule(Module& module, uint32_t first_new) {
  std::vector<uint8_t> placed(module.instruction_count(), 0);
  std::vector<InstId> stack, order;
  for (CompId computation : module.computation_order()) {
    std::vector<InstId>& list = module.computation(computation).instructions;
    order.clear();
    auto place = [&](InstId inst) {
      stack.assign(1, inst);
      while (!stack.empty()) {
        InstId at = stack.back();
        size_t before = stack.size();
        auto need = [&](InstId other) {
          if (!placed[other.value] && other.value >= first_new) stack.push_back(other);
        };
        if (!placed[at.value]) {
          placed[at.value] = 2;  // open: a circle must not be walked twice
          for (InstId operand : module.operands(at)) need(operand);
          for (InstId other : module.control_predecessors(at)) need(other);
          if (stack.size() != before) continue;
        }
        stack.pop_back();
        if (placed[at.value] == 1) continue;
        placed[at.value] = 1;
        order.push_back(at);
      }
    };
    for (InstId inst : list) {
      if (inst.value < first_new) place(inst);
    }
    for (InstId inst : list) {
      if (!placed[inst.value]) place(inst);
    }
    list = order;
  }
}

}  // namespace hlokit::copies
