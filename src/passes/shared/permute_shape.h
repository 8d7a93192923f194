// How do shapes and layouts change when dimensions are renumbered?
#ifndef HLOKIT_SRC_PASSES_SHARED_PERMUTE_SHAPE_H_
#define HLOKIT_SRC_PASSES_SHARED_PERMUTE_SHAPE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hlokit/shape.h"

namespace hlokit {

/// New dimension i is old dimension permutation[i]; the layout is renumbered along, so the bytes
/// stay where they are and a bitcast leads from one to the other.
ShapeId PermuteDimensions(ShapePool& shapes, ShapeId array, std::span<const int64_t> permutation);

/// result[permutation[i]] = i.
std::vector<int64_t> InversePermutation(std::span<const int64_t> permutation);
/// result[i] = a[b[i]].
std::vector<int64_t> Compose(std::span<const int64_t> a, std::span<const int64_t> b);
bool IsIdentity(std::span<const int64_t> permutation);

/// Logical dimensions in physical order, slowest first: p(L) of layout-normalization.md.
std::vector<int64_t> PhysicalOrder(const ShapePool& shapes, LayoutId layout);
/// {n-1,…,0}, or not set at all.
bool IsDescending(const ShapePool& shapes, LayoutId layout);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_PERMUTE_SHAPE_H_
