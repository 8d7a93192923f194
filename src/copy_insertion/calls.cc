// Which instruction calls a computation, and how deep is it nested?
#include "src/copy_insertion/calls.h"

#include "hlokit/printer.h"

namespace hlokit::copies {
namespace {

bool RunsCallees(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kWhile || opcode == Opcode::kConditional ||
         opcode == Opcode::kAsyncStart;
}

}  // namespace

Calls::Calls(const Module& module)
    : module_(&module),
      caller_(module.computation_count()),
      number_(module.computation_count(), 0),
      depth_(module.computation_count(), 0),
      fused_(module.computation_count(), 0),
      own_(module.computation_count(), 1),
      post_order_(ComputationPostOrder(module)) {
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      std::span<const CompId> callees = module.called_computations(inst);
      for (uint32_t i = 0; i < callees.size(); ++i) {
        uint32_t callee = callees[i].value;
        if (module.opcode(inst) == Opcode::kFusion) fused_[callee] = 1;
        if (!RunsCallees(module.opcode(inst))) own_[callee] = 0;
        if (caller_[callee].valid()) continue;
        caller_[callee] = inst;
        number_[callee] = i;
      }
    }
  }
  for (size_t i = post_order_.size(); i-- > 0;) {  // callers first
    CompId at = post_order_[i];
    InstId caller = caller_[at.value];
    if (!caller.valid()) continue;
    CompId outer = module.computation_of(caller);
    depth_[at.value] = depth_[outer.value] + 1;
    if (!own_[outer.value]) own_[at.value] = 0;
  }
}

bool Calls::IsAsync(CompId computation) const {
  InstId inst = caller(computation);
  return inst.valid() && module_->opcode(inst) == Opcode::kAsyncStart;
}

bool Calls::IsNestedIn(const Module& module, InstId inst, CompId computation) const {
  CompId at = module.computation_of(inst);
  while (depth(at) > depth(computation)) at = module.computation_of(caller(at));
  return at == computation;
}

}  // namespace hlokit::copies
