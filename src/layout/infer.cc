// Which layout does a value have by now? (section 10.2)
#include "src/layout/engine.h"

namespace hlokit::layout {

const std::vector<uint32_t>* Engine::MoreBuffersAt(InstId inst, uint32_t index) const {
  if (more_buffers_.empty()) return nullptr;
  auto found = more_buffers_.find(info(inst).points_to + index);
  return found == more_buffers_.end() ? nullptr : &found->second;
}

/// Invalid when it cannot be told.
LayoutId Engine::TryInferLayout(InstId inst, uint32_t index) const {
  LayoutId first = buffer_constraints_[BufferAt(inst, index)].layout;
  const std::vector<uint32_t>* more = MoreBuffersAt(inst, index);
  if (more == nullptr || !first.valid()) return first;
  for (uint32_t b : *more) {
    if (!buffer_constraints_[b].layout.valid()) return {};
    const Buffer& buffer = buffers_[b];
    ShapeId shape = shapes_.Subshape(module_.shape(buffer.definer), buffer.index);
    if (!shapes_.SameOrder(shapes_.layout(shape), first)) return {};
  }
  return first;
}

LayoutId Engine::InferLayout(InstId inst, uint32_t index) {
  LayoutId layout = TryInferLayout(inst, index);
  if (layout.valid()) return layout;
  const std::vector<uint32_t>* more = MoreBuffersAt(inst, index);
  if (more == nullptr) {
    Fail(DiagId::kLayoutNoConstraint, Place(inst, index) + " was left without a layout",
         "please report this module: every array should get one", ExitCode::kVerifyFailed);
    return {};
  }
  Fail(DiagId::kLayoutTwoSources,
       Place(inst, index) + " may be " +
           Place(buffers_[BufferAt(inst, index)].definer, buffers_[BufferAt(inst, index)].index) +
           " or " + Place(buffers_[more->front()].definer, buffers_[more->front()].index) +
           ", and these have different layouts",
       "give both the same layout, or remove the output_to_operand_aliasing",
       ExitCode::kVerifyFailed);
  return {};
}

}  // namespace hlokit::layout
