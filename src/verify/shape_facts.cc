// What is true of a shape whatever instruction has it? Found once per shape of the pool.
#include <algorithm>

#include "src/verify/checker.h"

namespace hlokit {

uint8_t Checker::FactsOfArray(ShapeId shape) const {
  constexpr int64_t kHostSpace = 5;
  uint8_t facts = 0;
  for (int64_t size : shapes_.sizes(shape)) {
    if (size == kUnboundedSize) facts |= kHasUnbounded;
  }
  if (shapes_[shape].is_buffer) facts |= kHasBuffer;
  LayoutId layout = shapes_.layout(shape);
  if (!layout.valid()) return facts;
  std::span<const int64_t> order = shapes_.minor_to_major(layout);
  if (order.size() != shapes_.rank(shape)) facts |= kHasWrongLayoutRank;
  std::vector<uint8_t> seen(order.size(), 0);
  for (int64_t d : order) {
    if (d < 0 || d >= static_cast<int64_t>(order.size()) || seen[static_cast<size_t>(d)]++ != 0) {
      facts |= kHasBrokenOrder;
    }
  }
  const LayoutExtras& extras = shapes_.extras(layout);
  if (extras.memory_space == kHostSpace) facts |= kHasHostMemory;
  if (extras.element_size_in_bits != 0 && Info(shapes_.type(shape)).bits >= 8) {
    facts |= kHasBigElementSize;
  }
  return facts;
}

void Checker::ComputeShapeFacts() {
  // Members of a tuple are made before the tuple, so they have smaller numbers.
  facts_.assign(shapes_.shape_count(), 0);
  for (uint32_t i = 0; i < facts_.size(); ++i) {
    ShapeId shape(i);
    if (IsArray(shape)) {
      facts_[i] = FactsOfArray(shape);
    } else if (shapes_.IsTuple(shape)) {
      for (uint32_t e = 0; e < shapes_.element_count(shape); ++e) {
        facts_[i] |= facts_[shapes_.element(shape, e).value];
      }
    }
  }
}

}  // namespace hlokit
