// How are elements moved between two arrays that differ in the distances of their dimensions?
#ifndef HLOKIT_SRC_EVAL_STRIDED_H_
#define HLOKIT_SRC_EVAL_STRIDED_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "src/eval/value.h"

namespace hlokit::eval {

/// Calls f(size of an element as a constant).
template <typename F>
auto WithElementWidth(int width, F f) {
  switch (width) {
    case 1:
      return f(std::integral_constant<int64_t, 1>());
    case 2:
      return f(std::integral_constant<int64_t, 2>());
    case 4:
      return f(std::integral_constant<int64_t, 4>());
    case 8:
      return f(std::integral_constant<int64_t, 8>());
    default:
      return f(std::integral_constant<int64_t, 16>());
  }
}

/// Moves a box of elements. Strides are in elements and may be zero or negative.
inline void MoveBox(int width, std::span<const int64_t> sizes, const std::byte* from,
                    std::span<const int64_t> from_strides, std::byte* to,
                    std::span<const int64_t> to_strides) {
  if (Product(sizes) == 0) return;
  const size_t rank = sizes.size();
  const int64_t inner = rank == 0 ? 1 : sizes[rank - 1];
  const int64_t from_step = rank == 0 ? 0 : from_strides[rank - 1];
  const int64_t to_step = rank == 0 ? 0 : to_strides[rank - 1];
  const std::span<const int64_t> outer = sizes.first(rank == 0 ? 0 : rank - 1);
  std::vector<int64_t> index(outer.size(), 0);
  WithElementWidth(width, [&](auto bytes) {
    do {
      int64_t source = 0, target = 0;
      for (size_t i = 0; i < outer.size(); ++i) {
        source += index[i] * from_strides[i];
        target += index[i] * to_strides[i];
      }
      const std::byte* in = from + source * bytes;
      std::byte* out = to + target * bytes;
      if (from_step == 1 && to_step == 1) {
        std::memcpy(out, in, static_cast<size_t>(inner * bytes));
        continue;
      }
      for (int64_t i = 0; i < inner; ++i) {
        std::memcpy(out + i * to_step * bytes, in + i * from_step * bytes, bytes);
      }
    } while (NextIndex(outer, index));
  });
}

/// Fills an array with one element.
inline void Fill(ArrayView array, const std::byte* element) {
  WithElementWidth(array.width(), [&](auto bytes) {
    for (int64_t i = 0; i < array.count; ++i) std::memcpy(array.data + i * bytes, element, bytes);
  });
}

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_STRIDED_H_
