// How are bytes copied, through the cache and past it? Shared by the kernels; Highway compiles this
// file once per vector width.

#if defined(HLOKIT_PERMUTE_COPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HLOKIT_PERMUTE_COPY_INL_H_
#undef HLOKIT_PERMUTE_COPY_INL_H_
#else
#define HLOKIT_PERMUTE_COPY_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hlokit::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLine = 64;

// At most one line per vector; whole blocks on every target.
template <typename T>
using Tag = hn::CappedTag<T, kLine / sizeof(T)>;

// Without vectors (HWY_SCALAR) the compiler's own memcpy and plain loops do the work.
constexpr bool kVectors = HWY_TARGET != HWY_SCALAR;

HWY_INLINE void CopySmall(const uint8_t* HWY_RESTRICT src, uint8_t* HWY_RESTRICT dst, int64_t n) {
  if (n >= 16) {
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) memcpy(dst + i, src + i, 16);
    memcpy(dst + n - 16, src + n - 16, 16);
  } else if (n >= 8) {
    memcpy(dst, src, 8);
    memcpy(dst + n - 8, src + n - 8, 8);
  } else if (n >= 4) {
    memcpy(dst, src, 4);
    memcpy(dst + n - 4, src + n - 4, 4);
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i] = src[i];
  }
}

// Any length; whole vectors first, the end by an overlapping vector.
HWY_INLINE void CopyAny(const uint8_t* HWY_RESTRICT src, uint8_t* HWY_RESTRICT dst, int64_t n) {
  const Tag<uint8_t> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  if (n < step) {
    CopySmall(src, dst, n);
    return;
  }
  if (!kVectors || n >= 4096) {
    memcpy(dst, src, static_cast<size_t>(n));
    return;
  }
  int64_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(hn::LoadU(d, src + i), d, dst + i);
  hn::StoreU(hn::LoadU(d, src + n - step), d, dst + n - step);
}

// Whole lines go past the cache, the partial lines at both ends through it.
inline void CopyStreaming(const uint8_t* HWY_RESTRICT src, uint8_t* HWY_RESTRICT dst, int64_t n) {
  const Tag<uint8_t> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const int64_t head = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) & (kLine - 1));
  if (!kVectors || n < head + kLine) {
    CopyAny(src, dst, n);
    return;
  }
  if (head != 0) CopySmall(src, dst, head);
  int64_t i = head;
  for (; i + kLine <= n; i += kLine) {
    for (int64_t j = 0; j < kLine; j += step) {
      hn::Stream(hn::LoadU(d, src + i + j), d, dst + i + j);
    }
  }
  if (i < n) CopySmall(src + i, dst + i, n - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace hlokit::internal
HWY_AFTER_NAMESPACE();

#endif  // include guard
