// Which instructions and computations can go because nobody needs them?
#include <vector>

#include "hlokit/simplify.h"
#include "src/edit/fusion_outputs.h"

namespace hlokit {
namespace {

/// `kept` are bodies of fusions that went together with their last element: the reference leaves
/// those in the module, and the next run removes them.
bool RemoveDeadComputations(Module& module, const std::vector<CompId>& kept) {
  std::vector<uint8_t> live(module.computation_count(), 0);
  std::vector<CompId> work;
  auto reach = [&](CompId computation) {
    if (live[computation.value]) return;
    live[computation.value] = 1;
    work.push_back(computation);
  };
  reach(module.entry());
  for (CompId computation : kept) reach(computation);
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

/// An unused "Sharding" custom call says something about its operand, unless it is the only one to
/// look.
bool MarksSharding(const Module& module, InstId inst) {
  if (!module.IsCustomCall(inst, "Sharding") || module.operand_count(inst) == 0) return false;
  InstId operand = module.operand(inst, 0);
  return module.IsRoot(operand) || module.opcode(operand) == Opcode::kParameter ||
         module.users(operand).size() != 1;
}

void SweepComputation(Rewriter& rewriter, CompId computation, std::span<const uint8_t> effects) {
  Module& module = rewriter.module();
  std::vector<InstId> unused;
  for (InstId inst : module.computation(computation).instructions) {
    if (rewriter.IsUnused(inst) && !HasEffect(module, inst, effects) &&
        !MarksSharding(module, inst)) {
      unused.push_back(inst);
    }
  }
  for (size_t i = unused.size(); i-- > 0;) rewriter.RemoveWithUnusedOperands(unused[i]);
}

}  // namespace

bool RemoveDeadCode(Module& module, EditLog::Group* log) {
  bool changed = false;
  std::vector<CompId> kept;
  {
    Rewriter rewriter(module, log);
    std::vector<uint8_t> effects = ComputationsWithEffects(module);
    const std::vector<CompId> order = module.computation_order();
    for (CompId computation : order) SweepComputation(rewriter, computation, effects);
    // Users of fusions stand in callers, so a fusion loses outputs before its body is swept again.
    for (size_t i = order.size(); i-- > 0;) {
      for (InstId fusion : RemoveUnusedFusionOutputs(rewriter, order[i])) {
        SweepComputation(rewriter, module.to_apply(fusion), effects);
        if (module.IsDead(fusion)) {
          kept.push_back(module.to_apply(fusion));
        } else {
          RemoveUnusedFusionOperands(rewriter, fusion);
        }
      }
    }
    changed = rewriter.changed();
  }
  if (RemoveDeadComputations(module, kept)) {
    module.RemoveDead();
    changed = true;
  }
  return changed;
}

}  // namespace hlokit
