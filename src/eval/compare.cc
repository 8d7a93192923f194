// compare: six directions; floats also by total order (-NaN < -inf < … < -0 < 0 < … < inf < NaN).
#include <bit>
#include <vector>

#include "hlokit/attribute.h"
#include "src/eval/kernels.h"

namespace hlokit::eval {
namespace {

template <typename T>
void Compare(const KernelArgs& a) {
  switch (static_cast<ComparisonDirection>(a.direction)) {
    case ComparisonDirection::kEq:
      return BinaryLoop<T, bool>(a, [](T x, T y) { return x == y; });
    case ComparisonDirection::kNe:
      return BinaryLoop<T, bool>(a, [](T x, T y) { return x != y; });
    default:
      break;
  }
  if constexpr (!kIsComplex<T>) {
    switch (static_cast<ComparisonDirection>(a.direction)) {
      case ComparisonDirection::kGe:
        return BinaryLoop<T, bool>(a, [](T x, T y) { return x >= y; });
      case ComparisonDirection::kGt:
        return BinaryLoop<T, bool>(a, [](T x, T y) { return x > y; });
      case ComparisonDirection::kLe:
        return BinaryLoop<T, bool>(a, [](T x, T y) { return x <= y; });
      case ComparisonDirection::kLt:
        return BinaryLoop<T, bool>(a, [](T x, T y) { return x < y; });
      default:
        break;
    }
  }
}

/// A number whose order as an integer is the total order of the floats.
template <typename T, typename Bits>
std::vector<Bits> Keys(const void* values, int64_t count) {
  std::vector<Bits> keys(static_cast<size_t>(count));
  const T* in = static_cast<const T*>(values);
  for (int64_t i = 0; i < count; ++i) {
    const Bits bits = std::bit_cast<Bits>(in[i]);
    constexpr int kTop = 8 * sizeof(Bits) - 1;
    const Bits flip = static_cast<Bits>(bits >> kTop) & ~(Bits(1) << kTop);
    keys[static_cast<size_t>(i)] = bits ^ flip;
  }
  return keys;
}

template <typename T, typename Bits>
void CompareTotal(const KernelArgs& a) {
  const std::vector<Bits> left = Keys<T, Bits>(a.in[0], a.count);
  const std::vector<Bits> right = Keys<T, Bits>(a.in[1], a.count);
  KernelArgs keys = a;
  keys.in[0] = left.data();
  keys.in[1] = right.data();
  Compare<Bits>(keys);
}

}  // namespace

Kernel CompareKernel(ElementType type) {
  return WithNative(type, [](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float>) {
      return [](const KernelArgs& a) {
        a.total_order ? CompareTotal<float, int32_t>(a) : Compare<float>(a);
      };
    } else if constexpr (std::is_same_v<T, double>) {
      return [](const KernelArgs& a) {
        a.total_order ? CompareTotal<double, int64_t>(a) : Compare<double>(a);
      };
    } else {
      return &Compare<T>;
    }
  });
}

}  // namespace hlokit::eval
