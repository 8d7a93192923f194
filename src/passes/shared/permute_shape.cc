// How do shapes and layouts change when dimensions are renumbered?
#include "src/passes/shared/permute_shape.h"

namespace hlokit {

std::vector<int64_t> InversePermutation(std::span<const int64_t> permutation) {
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  }
  return inverse;
}

std::vector<int64_t> Compose(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<int64_t> out;
  for (int64_t i : b) out.push_back(a[static_cast<size_t>(i)]);
  return out;
}

bool IsIdentity(std::span<const int64_t> permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

std::vector<int64_t> PhysicalOrder(const ShapePool& shapes, LayoutId layout) {
  std::span<const int64_t> minor_to_major = shapes.minor_to_major(layout);
  return {minor_to_major.rbegin(), minor_to_major.rend()};
}

bool IsDescending(const ShapePool& shapes, LayoutId layout) {
  if (!layout.valid()) return true;
  std::span<const int64_t> minor_to_major = shapes.minor_to_major(layout);
  for (size_t i = 1; i < minor_to_major.size(); ++i) {
    if (minor_to_major[i] > minor_to_major[i - 1]) return false;
  }
  return true;
}

ShapeId PermuteDimensions(ShapePool& shapes, ShapeId array, std::span<const int64_t> permutation) {
  const ShapeData data = shapes[array];
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dynamic;
  for (int64_t d : permutation) {
    sizes.push_back(data.sizes[d]);
    if (data.has_dynamic)
      dynamic.push_back(shapes.IsDynamicDimension(array, static_cast<uint32_t>(d)));
  }
  LayoutId layout = data.layout;
  if (layout.valid()) {
    std::vector<int64_t> inverse = InversePermutation(permutation);
    const LayoutExtras extras = shapes.extras(layout);
    layout = shapes.Layout(Compose(inverse, shapes.minor_to_major(layout)), extras);
  }
  return shapes.Array(data.type, sizes, layout, dynamic, data.is_buffer);
}

}  // namespace hlokit
