// Gives every call site a computation of its own, so that each computation is called from one
// place. The first call site keeps the original, all others get clones.
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/clone.h"
#include "src/edit/callee_first_order.h"
#include "src/passes/passes.h"
#include "src/passes/shared/call_graph.h"

namespace hlokit {
namespace {

constexpr Invariant kEnsures[] = {Invariant::kFlatCallGraph};
/// A chain of n computations that each call the next one twice flattens to 2^n copies.
constexpr uint64_t kMaxInstructions = uint64_t{1} << 26;
constexpr uint64_t kMaxGrowth = 100;
constexpr uint64_t kFreeGrowth = 100000;

class FlattenCallGraph : public Pass {
 public:
  std::string_view name() const override { return "flatten-call-graph"; }
  Result<bool> Run(Module& module, PassContext& context) override;
};

/// The call gets a clone of its callee.
CompId CloneFor(Module& module, CalleeFirstOrder& order, InstId inst, uint32_t index) {
  CompId callee = module.called_computations(inst)[index];
  CompId clone = CloneComputation(module, callee);
  order.AddNewComputations();
  module.SetCalledComputation(inst, index, clone);
  order.RemoveCall(module.computation_of(inst), callee);
  order.AddCall(module.computation_of(inst), clone);
  return clone;
}

/// Everything that a fresh clone calls is cloned too, level by level, so that the clone shares
/// nothing. Returns false when the module grows beyond the limit.
bool CloneCallees(Module& module, CalleeFirstOrder& order, CompId clone, uint64_t limit) {
  std::vector<CompId> work = {clone};
  while (!work.empty()) {
    CompId at = work.back();
    work.pop_back();
    const std::vector<InstId> instructions = module.computation(at).instructions;
    for (InstId inst : instructions) {
      for (uint32_t i = 0; i < module.called_computations(inst).size(); ++i) {
        if (module.instruction_count() > limit) return false;
        work.push_back(CloneFor(module, order, inst, i));
      }
    }
  }
  return true;
}

Result<bool> FlattenCallGraph::Run(Module& module, PassContext& context) {
  CallGraph graph(module);
  if (graph.has_circle()) {
    return MakeError(ExitCode::kUnsupported, DiagId::kRecursiveCalls,
                     "computations call each other in a circle: the call graph cannot be flattened",
                     "remove the recursion");
  }
  const uint64_t limit =
      std::min(kMaxInstructions, kFreeGrowth + kMaxGrowth * module.instruction_count());
  bool changed = false;
  CalleeFirstOrder order(module);
  for (CompId computation : module.walk_order()) {
    const std::vector<CallSite>& sites = graph.callers(computation);
    for (size_t i = 1; i < sites.size(); ++i) {
      CompId clone = CloneFor(module, order, sites[i].instruction, sites[i].index);
      if (context.log != nullptr) {
        context.log->edits.push_back({Edit::Kind::kChanged, sites[i].instruction, {}});
      }
      changed = true;
      if (!CloneCallees(module, order, clone, limit)) {
        return MakeError(
            ExitCode::kUnsupported, DiagId::kTooLarge,
            fmt::format("flattening would make the module larger than {} instructions", limit),
            "inline calls first, or remove computations that call shared computations in many "
            "levels");
      }
    }
  }
  if (changed) order.Store(module);
  return changed;
}

}  // namespace

const PassInfo kFlattenCallGraph = {
    .make = MakePass<FlattenCallGraph>,
    .summary = "give every call site a computation of its own",
    .help =
        "Computations with several call sites are cloned until each has one. The first call site "
        "keeps the "
        "original. Reduction computations count like all others.",
    .ensures_invariants = kEnsures,
};

}  // namespace hlokit
