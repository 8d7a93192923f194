// Which layout does a value get that nobody asked anything of? (section 9)
#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::GiveDefaults(CompId computation) {
  const ComputationState& state = computations_[computation.value];
  // Buffers only ever leave the unconstrained set, so the smallest one moves up.
  for (uint32_t b = state.first_buffer; b < state.end_buffer; ++b) {
    if ((buffer_constraints_[b].flags & kFree) == 0) continue;
    const Buffer& buffer = buffers_[b];
    LayoutId layout;
    Why why{TraceRule::kDefault, buffer.definer};
    if (info(buffer.definer).opcode == Opcode::kConstant) {
      // The layout of the literal is the one that was written at the constant.
      layout = shapes_.layout(buffer.shape);
      if (!layout.valid()) layout = shapes_.DescendingLayout(buffer.rank);
      why.rule = TraceRule::kDefaultConstant;
    } else {
      layout = rules_.UnconstrainedLayout(module_, buffer.definer, buffer.index);
    }
    cause_ = kNoEvent;
    HLOKIT_LAYOUT_CHECK(SetBuffer(b, layout, {false, true, cur_}, InstId(), why));
    HLOKIT_LAYOUT_CHECK(Propagate());
  }
  return true;
}

}  // namespace hlokit::layout
