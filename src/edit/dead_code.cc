// Which instructions and computations can go because nobody needs them?
#include <vector>

#include "hlokit/simplify.h"

namespace hlokit {
namespace {

bool RemoveDeadComputations(Module& module) {
  std::vector<uint8_t> live(module.computation_count(), 0);
  std::vector<CompId> work;
  auto reach = [&](CompId computation) {
    if (live[computation.value]) return;
    live[computation.value] = 1;
    work.push_back(computation);
  };
  reach(module.entry());
  while (!work.empty()) {
    CompId at = work.back();
    work.pop_back();
    for (InstId inst : module.computation(at).instructions) {
      for (CompId callee : module.called_computations(inst)) reach(callee);
    }
  }
  bool changed = false;
  for (CompId computation : module.computation_order()) {
    if (live[computation.value]) continue;
    ComputationData& data = module.computation(computation);
    for (InstId inst : data.instructions) module.MarkDead(inst);
    data.dead = true;
    changed = true;
  }
  return changed;
}

}  // namespace

bool RemoveDeadCode(Module& module, EditLog::Group* log) {
  bool changed = false;
  {
    Rewriter rewriter(module, log);
    std::vector<uint8_t> effects = ComputationsWithEffects(module);
    for (CompId computation : module.computation_order()) {
      // Users come after their operands in creation order almost always: one backward sweep finds
      // most dead instructions, and removal follows operands for the rest.
      const std::vector<InstId> all = module.computation(computation).instructions;
      for (size_t i = all.size(); i-- > 0;) {
        if (rewriter.IsUnused(all[i]) && !HasEffect(module, all[i], effects)) {
          rewriter.RemoveWithUnusedOperands(all[i]);
        }
      }
    }
    changed = rewriter.changed();
  }
  if (RemoveDeadComputations(module)) {
    module.RemoveDead();
    changed = true;
  }
  return changed;
}

}  // namespace hlokit
