// How does each conditional get branches of its own? (section 3.1 step 3)
#include <algorithm>
#include <utility>
#include <vector>

#include "hlokit/clone.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

/// A computation that several instructions call, some of them conditionals, is cloned for the
/// conditionals, so that each may get other layouts. Callers are taken in the order of computations
/// and instructions; the reference leaves that order open.
bool Engine::SeparateConditionalBranches() {
  std::vector<CompId> order = module_.computation_order();
  bool any = false;
  for (CompId computation : order) {
    for (InstId inst : module_.computation(computation).instructions) {
      any = any || module_.opcode(inst) == Opcode::kConditional;
    }
  }
  if (!any) return true;
  std::vector<std::vector<InstId>> callers(module_.computation_count());
  for (CompId computation : order) {
    for (InstId inst : module_.computation(computation).instructions) {
      if (!MayCall(module_.opcode(inst))) continue;
      for (CompId callee : module_.called_computations(inst)) {
        std::vector<InstId>& list = callers[callee.value];
        if (list.empty() || list.back() != inst) list.push_back(inst);
      }
    }
  }
  std::vector<std::pair<CompId, InstId>> requests;
  for (CompId computation : order) {
    const std::vector<InstId>& list = callers[computation.value];
    if (list.size() < 2) continue;
    std::vector<InstId> conditionals;
    for (InstId caller : list) {
      if (module_.opcode(caller) == Opcode::kConditional) conditionals.push_back(caller);
    }
    size_t count = conditionals.size();
    if (count == list.size()) --count;
    for (size_t i = 0; i < count; ++i) requests.emplace_back(computation, conditionals[i]);
  }
  for (auto [original, conditional] : requests) {
    CompId clone = CloneComputation(module_, original);
    for (uint32_t i = 0; i < module_.called_computations(conditional).size(); ++i) {
      if (module_.called_computations(conditional)[i] == original) {
        module_.SetCalledComputation(conditional, i, clone);
      }
    }
    report_.clones.push_back({conditional, original, clone});
  }
  return true;
}

}  // namespace hlokit::layout
