// How many elements and bytes does a shape take?
#include <algorithm>
#include <limits>

#include "hlokit/shape.h"

namespace hlokit {
namespace {

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::numeric_limits<int64_t>::max();
  return product;
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::numeric_limits<int64_t>::max();
  return sum;
}

int64_t KnownSize(int64_t size) { return size == kUnboundedSize ? 0 : size; }

}  // namespace

int64_t ShapePool::ElementCount(ShapeId array) const {
  int64_t count = 1;
  for (int64_t size : sizes(array)) count = SaturatingMultiply(count, KnownSize(size));
  return count;
}

namespace {

int64_t BytesOf(int64_t elements, int64_t bits) {
  int64_t total = SaturatingMultiply(elements, bits);
  return total == std::numeric_limits<int64_t>::max() ? total / 8 : (total + 7) / 8;
}

}  // namespace

int64_t ShapePool::LogicalBytes(ShapeId shape) const {
  int64_t total = 0;
  for (ShapeId leaf : Subshapes(shape)) {
    if (!IsArray(leaf)) continue;
    int64_t bits = std::max<int64_t>(Info(type(leaf)).bits, 8);
    LayoutId l = layout(leaf);
    if (l.valid() && extras(l).element_size_in_bits != 0) bits = extras(l).element_size_in_bits;
    total = SaturatingAdd(total, BytesOf(ElementCount(leaf), bits));
  }
  return total;
}

int64_t ShapePool::PaddedBytes(ShapeId shape) const {
  int64_t total = 0;
  for (ShapeId leaf : Subshapes(shape)) {
    if (!IsArray(leaf)) continue;
    LayoutId l = layout(leaf);
    if (!l.valid() || layouts_[l.value].extras == 0) {
      total = SaturatingAdd(total, LogicalBytes(leaf));
      continue;
    }
    const LayoutExtras& e = extras(l);
    // Physical sizes, most major first; each tile is applied to the result of the one before it.
    std::vector<int64_t> physical;
    std::span<const int64_t> order = minor_to_major(l);
    for (size_t i = order.size(); i-- > 0;) {
      physical.push_back(order[i] >= 0 && order[i] < rank(leaf) ? KnownSize(sizes(leaf)[order[i]])
                                                                : 1);
    }
    for (const std::vector<int64_t>& tile : e.tiles) {
      while (physical.size() < tile.size()) physical.insert(physical.begin(), 1);
      size_t base = physical.size() - tile.size();
      std::vector<int64_t> tiled(physical.begin(), physical.begin() + base);
      std::vector<int64_t> inside;
      int64_t carried = 1;  // product of dimensions that combine with the next minor one
      for (size_t i = 0; i < tile.size(); ++i) {
        int64_t size = SaturatingMultiply(carried, physical[base + i]);
        if (tile[i] == kCombineDimension) {
          carried = size;
          continue;
        }
        carried = 1;
        int64_t t = std::max<int64_t>(tile[i], 1);
        tiled.push_back(size / t + (size % t != 0));
        inside.push_back(t);
      }
      tiled.insert(tiled.end(), inside.begin(), inside.end());
      physical = std::move(tiled);
    }
    int64_t elements = 1;
    for (int64_t size : physical) elements = SaturatingMultiply(elements, size);
    int64_t align = std::max<int64_t>(e.tail_padding_alignment, 1);
    if (elements % align != 0) elements = SaturatingAdd(elements, align - elements % align);
    int64_t bits = e.element_size_in_bits != 0 ? e.element_size_in_bits
                                               : std::max<int64_t>(Info(type(leaf)).bits, 8);
    total = SaturatingAdd(total, BytesOf(elements, bits));
  }
  return total;
}

}  // namespace hlokit
