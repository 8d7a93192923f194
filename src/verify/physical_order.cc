// Does a reinterpretation of the same bytes keep the elements in place?
#include "src/verify/physical_order.h"

#include <algorithm>

namespace hlokit {
namespace {

struct Run {
  int64_t size;
  int64_t stride;  ///< elements
  bool operator==(const Run&) const = default;
};

/// The map from logical element number to place, minor to major: runs in which the place grows
/// evenly. Neighbours that together are one run are merged, so that equal maps have equal lists.
std::vector<Run> Runs(const ShapePool& shapes, ShapeId shape) {
  std::span<const int64_t> sizes = shapes.sizes(shape);
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (int64_t d : shapes.minor_to_major(shapes.layout(shape))) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= sizes[static_cast<size_t>(d)];
  }
  std::vector<Run> runs;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (!runs.empty() && strides[d] == runs.back().size * runs.back().stride) {
      runs.back().size *= sizes[d];
    } else {
      runs.push_back({sizes[d], strides[d]});
    }
  }
  return runs;
}

std::vector<int64_t> PhysicalSizes(const ShapePool& shapes, ShapeId shape) {
  std::vector<int64_t> out;
  for (int64_t d : shapes.minor_to_major(shapes.layout(shape))) {
    int64_t size = shapes.sizes(shape)[static_cast<size_t>(d)];
    if (size != 1) out.push_back(size);
  }
  return out;
}

}  // namespace

bool IsReshapeBitcast(const ShapePool& shapes, ShapeId from, ShapeId to) {
  int64_t count = shapes.ElementCount(from);
  if (count != shapes.ElementCount(to)) return false;
  constexpr int64_t kTooMany = int64_t{1} << 62;  // strides would overflow
  if (count == 0 || count >= kTooMany) return true;
  return Runs(shapes, from) == Runs(shapes, to);
}

bool IsTransposeBitcast(const ShapePool& shapes, ShapeId from, ShapeId to) {
  return PhysicalSizes(shapes, from) == PhysicalSizes(shapes, to);
}

}  // namespace hlokit
