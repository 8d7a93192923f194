// Replaces every call by the instructions of its callee.
// Callees that nobody calls any more go; bodies of fusions are cloned when a callee is inlined
// twice.
#include <algorithm>
#include <unordered_map>

#include "fmt/format.h"
#include "hlokit/clone.h"
#include "hlokit/printer.h"
#include "src/passes/passes.h"
#include "src/passes/shared/call_graph.h"

namespace hlokit {
namespace {

/// A chain of n computations that each call the next one twice inlines to 2^n copies.
constexpr uint64_t kMaxInstructions = uint64_t{1} << 26;
constexpr uint64_t kMaxGrowth = 100;
constexpr uint64_t kFreeGrowth = 100000;

class CallInliner : public Pass {
 public:
  std::string_view name() const override { return "call-inliner"; }
  Result<bool> Run(Module& module, PassContext& context) override;
};

/// Fusions own their bodies, so a copy of the fusion needs a copy of the body.
void OwnFusionBodies(Module& module, InstId inst) {
  if (module.opcode(inst) != Opcode::kFusion) return;
  for (uint32_t i = 0; i < module.called_computations(inst).size(); ++i) {
    CompId body = CloneComputation(module, module.called_computations(inst)[i]);
    module.SetCalledComputation(inst, i, body);
  }
}

/// What waited for the call waits for all of its inlined instructions, and the other way round.
void MoveCallEdges(Rewriter& rewriter, InstId call, const std::vector<InstId>& inlined) {
  Module& module = rewriter.module();
  if (inlined.empty() || !rewriter.HasControlEdges(call)) return;
  std::unordered_map<uint32_t, bool> inside;
  for (InstId inst : inlined) inside[inst.value] = true;
  auto is_inside = [&](InstId inst) { return inside.contains(inst.value); };
  std::span<const InstId> all = module.control_predecessors(call);
  const std::vector<InstId> before(all.begin(), all.end());
  std::span<const InstId> next = rewriter.control_successors(call);
  const std::vector<InstId> after(next.begin(), next.end());
  for (InstId inst : inlined) {
    std::span<const InstId> operands = module.operands(inst);
    std::span<const InstId> users = module.users(inst);
    bool first = std::none_of(operands.begin(), operands.end(), is_inside);
    bool last = std::none_of(users.begin(), users.end(), is_inside);
    for (InstId predecessor : before) {
      if (first) rewriter.AddControlEdge(predecessor, inst);
    }
    for (InstId successor : after) {
      if (last) rewriter.AddControlEdge(inst, successor);
    }
  }
  rewriter.DropControlEdges(call);
}

void Inline(Rewriter& rewriter, InstId call, bool share_bodies) {
  Module& module = rewriter.module();
  CompId target = module.computation_of(call);
  CompId callee = module.to_apply(call);
  std::unordered_map<uint32_t, InstId> map;
  std::vector<InstId> inlined, operands;
  const std::vector<InstId> order = InstructionPostOrder(module, callee);
  for (InstId inst : order) {
    if (module.opcode(inst) == Opcode::kParameter) {
      map[inst.value] = module.operand(call, static_cast<uint32_t>(module.parameter_number(inst)));
      continue;
    }
    operands.clear();
    for (InstId operand : module.operands(inst)) operands.push_back(map.at(operand.value));
    InstId clone = CloneInstruction(module, inst, target, operands, module.shape(inst));
    rewriter.NoteAdded(clone);
    if (!share_bodies) OwnFusionBodies(module, clone);
    map[inst.value] = clone;
    inlined.push_back(clone);
  }
  for (InstId inst : order) {
    if (module.opcode(inst) == Opcode::kParameter) continue;
    std::span<const InstId> all = module.control_predecessors(inst);
    const std::vector<InstId> before(all.begin(), all.end());
    for (InstId predecessor : before) {
      rewriter.AddControlEdge(map.at(predecessor.value), map.at(inst.value));
    }
  }
  InstId result = map.at(module.computation(callee).root.value);
  MoveCallEdges(rewriter, call, inlined);
  if (!rewriter.Replace(call, result)) {
    rewriter.ReplaceUses(call, result);  // two shardings: the callee's own one is the true one
    rewriter.RemoveWithUnusedOperands(call);
  }
}

Result<bool> CallInliner::Run(Module& module, PassContext& context) {
  CallGraph graph(module);
  if (graph.has_circle()) {
    return MakeError(ExitCode::kUnsupported, DiagId::kRecursiveCalls,
                     "computations call each other in a circle: calls cannot be inlined",
                     "remove the recursion");
  }
  const uint64_t limit =
      std::min(kMaxInstructions, kFreeGrowth + kMaxGrowth * module.instruction_count());
  Rewriter rewriter(module, context.log);
  std::vector<size_t> sites_left(module.computation_count());
  for (CompId computation : module.computation_order()) {
    sites_left[computation.value] = graph.callers(computation).size();
  }
  // What an async-start wraps is one instruction, and has to stay one.
  std::vector<uint8_t> wrapped(module.computation_count(), 0);
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      if (module.opcode(inst) != Opcode::kAsyncStart) continue;
      for (CompId callee : module.called_computations(inst)) wrapped[callee.value] = 1;
    }
  }
  std::vector<CompId> gone;
  for (CompId computation : graph.post_order()) {  // callees first: what is inlined holds no calls
    if (wrapped[computation.value]) continue;
    const std::vector<InstId> instructions = module.computation(computation).instructions;
    for (InstId inst : instructions) {
      if (module.opcode(inst) != Opcode::kCall || module.IsDead(inst)) continue;
      CompId callee = module.to_apply(inst);
      if (module.operand_count(inst) != module.computation(callee).parameters.size()) {
        return MakeError(
            ExitCode::kVerifyFailed, DiagId::kInvariantBroken,
            fmt::format("{} passes {} operands to {}, which has {} parameters", module.name(inst),
                        module.operand_count(inst), module.name(callee),
                        module.computation(callee).parameters.size()),
            "run the pass verifier to see all such places");
      }
      if (module.execution_thread(callee) != module.execution_thread(computation)) continue;
      bool last = graph.callers(callee).size() == 1;
      Inline(rewriter, inst, last);
      if (module.instruction_count() > limit) {
        return MakeError(
            ExitCode::kUnsupported, DiagId::kTooLarge,
            fmt::format("inlining would make the module larger than {} instructions", limit),
            "flatten or simplify the callees first");
      }
      if (--sites_left[callee.value] == 0 && callee != module.entry()) gone.push_back(callee);
    }
  }
  for (CompId callee : gone) rewriter.RemoveComputation(callee);
  return rewriter.changed();
}

}  // namespace

const PassInfo kCallInliner = {
    .make = MakePass<CallInliner>,
    .summary = "replace every call by the instructions of its callee",
    .help =
        "Calls into another execution thread stay. A callee goes when its last call was inlined. "
        "Control edges "
        "of the call move to the first and last of its instructions.",
};

}  // namespace hlokit
