// In which order are the instructions of a computation visited? (sections 1.5 and 1.6)
#include <algorithm>

#include "src/layout/engine.h"

namespace hlokit::layout {

/// Depth-first from each root in turn: first everything that an instruction needs, then itself.
/// `control_first`: control predecessors (last to first) come before the operands, else after them.
bool Engine::Visit(std::span<const InstId> roots, CompId computation, bool control_first,
                   std::vector<InstId>* out) {
  enum : uint8_t { kNew, kOpen, kDone };
  const std::vector<InstId>& all = module_.computation(computation).instructions;
  visit_state_.resize(module_.instruction_count());
  for (InstId inst : all) visit_state_[inst.value] = kNew;
  out->clear();
  out->reserve(all.size());
  std::vector<VisitFrame>& stack = visit_stack_;
  stack.clear();
  for (InstId root : roots) {
    if (visit_state_[root.value] != kNew) continue;
    visit_state_[root.value] = kOpen;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      InstId inst = stack.back().inst;
      uint32_t operand_count = OperandCount(inst);
      std::span<const InstId> control;
      if (info(inst).Has(kHasControlPredecessors)) control = module_.control_predecessors(inst);
      uint32_t control_count = static_cast<uint32_t>(control.size());
      InstId child;
      while (stack.back().next < operand_count + control_count) {
        uint32_t next = stack.back().next++;
        InstId candidate;
        if (control_first) {
          candidate = next < control_count ? control[control_count - 1 - next]
                                           : Operand(inst, next - control_count);
        } else {
          candidate = next < operand_count ? Operand(inst, next) : control[next - operand_count];
        }
        if (visit_state_[candidate.value] == kDone) continue;
        if (visit_state_[candidate.value] == kOpen) {
          return Fail(DiagId::kLayoutCycle, Quote(candidate) + " depends on itself",
                      "remove the operand or control-predecessor that closes the circle",
                      ExitCode::kVerifyFailed);
        }
        child = candidate;
        break;
      }
      if (child.valid()) {
        visit_state_[child.value] = kOpen;
        stack.push_back({child, 0});
        continue;
      }
      visit_state_[inst.value] = kDone;
      out->push_back(inst);
      stack.pop_back();
    }
  }
  if (out->size() != all.size()) {
    return Fail(DiagId::kLayoutCycle,
                Quote(computation) + " has instructions that wait for each other",
                "remove the control-predecessors that close the circle", ExitCode::kVerifyFailed);
  }
  return true;
}

/// Section 1.5: dead ends first, the root last.
bool Engine::BufferOrder(CompId computation, std::vector<InstId>* out) {
  const ComputationData& data = module_.computation(computation);
  std::vector<InstId>& roots = roots_;
  roots.clear();
  for (InstId inst : data.instructions) {
    bool used = uses_begin_[inst.value + 1] != uses_begin_[inst.value];
    if (!used && inst != data.root && !info(inst).Has(kHasControlSuccessors)) roots.push_back(inst);
  }
  roots.push_back(data.root);
  return Visit(roots, computation, /*control_first=*/false, out);
}

/// Section 1.6: from every instruction without users, in list order.
bool Engine::PostOrder(CompId computation, std::vector<InstId>* out) {
  std::vector<InstId>& roots = roots_;
  roots.clear();
  for (InstId inst : module_.computation(computation).instructions) {
    if (uses_begin_[inst.value + 1] == uses_begin_[inst.value]) roots.push_back(inst);
  }
  return Visit(roots, computation, /*control_first=*/true, out);
}

/// Keeps the post-order, which is the buffer order unless there are control edges or dead ends
/// behind the root.
bool Engine::StoreOrder(CompId computation, std::span<const InstId> buffer_order) {
  const ComputationData& data = module_.computation(computation);
  bool same = true;
  for (InstId inst : data.instructions) {
    same =
        same && (infos_[inst.value].flags & (kHasControlPredecessors | kHasControlSuccessors)) == 0;
  }
  auto dead_end = [&](InstId inst) {
    return uses_begin_[inst.value + 1] == uses_begin_[inst.value];
  };
  if (same && dead_end(data.root)) {
    for (size_t i = data.instructions.size(); same && data.instructions[i - 1] != data.root; --i) {
      same = !dead_end(data.instructions[i - 1]);
    }
  }
  std::vector<InstId> own;
  if (!same) {
    HLOKIT_LAYOUT_CHECK(PostOrder(computation, &own));
    buffer_order = own;
  }
  ComputationState& state = computations_[computation.value];
  state.first_ordered = static_cast<uint32_t>(post_orders_.size());
  post_orders_.insert(post_orders_.end(), buffer_order.begin(), buffer_order.end());
  state.end_ordered = static_cast<uint32_t>(post_orders_.size());
  return true;
}

}  // namespace hlokit::layout
