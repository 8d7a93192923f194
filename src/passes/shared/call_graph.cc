// Who calls whom, from where, and how?
#include "src/passes/shared/call_graph.h"

#include <algorithm>

namespace hlokit {

CallContext ContextOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCall:
    case Opcode::kConditional:
    case Opcode::kWhile:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return CallContext::kControlFlow;
    default:
      return CallContext::kEmbedded;
  }
}

CallGraph::CallGraph(const Module& module)
    : callers_(module.computation_count()),
      context_(module.computation_count(), CallContext::kNone) {
  std::vector<std::vector<CompId>> callees(module.computation_count());
  const std::vector<CompId> order = module.walk_order();
  for (CompId computation : order) {
    for (InstId inst : module.computation(computation).instructions) {
      std::span<const CompId> called = module.called_computations(inst);
      for (uint32_t i = 0; i < called.size(); ++i) {
        callers_[called[i].value].push_back({inst, i});
        callees[computation.value].push_back(called[i]);
      }
    }
  }
  // Post-order with an explicit stack: 0 = not seen, 1 = open, 2 = done.
  std::vector<uint8_t> state(module.computation_count(), 0);
  std::vector<std::pair<CompId, size_t>> stack;
  auto walk = [&](CompId root) {
    if (state[root.value] != 0) return;
    state[root.value] = 1;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (next == callees[at.value].size()) {
        state[at.value] = 2;
        post_order_.push_back(at);
        stack.pop_back();
        continue;
      }
      CompId callee = callees[at.value][next++];
      if (state[callee.value] == 1) has_circle_ = true;
      if (state[callee.value] != 0) continue;
      state[callee.value] = 1;
      stack.emplace_back(callee, 0);
    }
  };
  for (CompId computation : order) {
    if (callers_[computation.value].empty()) walk(computation);
  }
  for (CompId computation : order) {
    if (state[computation.value] == 0) {  // reachable only from a circle
      has_circle_ = true;
      walk(computation);
    }
  }
  // Callers before callees.
  for (size_t i = post_order_.size(); i-- > 0;) {
    CompId at = post_order_[i];
    CallContext& context = context_[at.value];
    if (callers_[at.value].empty()) context = CallContext::kControlFlow;
    for (const CallSite& site : callers_[at.value]) {
      CallContext one = ContextOf(module.opcode(site.instruction));
      if (context_[module.computation_of(site.instruction).value] == CallContext::kEmbedded) {
        one = CallContext::kEmbedded;
      }
      context = context == CallContext::kNone || context == one ? one : CallContext::kBoth;
    }
  }
}

}  // namespace hlokit
