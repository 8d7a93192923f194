// How do packed 4-bit elements become bytes, and back?

#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/tensor/permute_nibbles.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must come first.
#include "hwy/highway.h"
#include "src/tensor/permute_kernels.h"
#include "src/tensor/permute_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hlokit::internal {
namespace HWY_NAMESPACE {

void UnpackNibblesImpl(const uint8_t* src, uint8_t* dst, int64_t n, bool low_first) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag<uint8_t> d;
  const Tag<uint16_t> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::Set(d, uint8_t{15});
  for (; 2 * (i + lanes) <= n; i += lanes) {
    const auto v = hn::LoadU(d, src + i);
    const auto low = hn::And(v, mask);
    const auto high = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, v))), mask);
    if (low_first) {
      hn::StoreInterleaved2(low, high, d, dst + 2 * i);
    } else {
      hn::StoreInterleaved2(high, low, d, dst + 2 * i);
    }
  }
#endif
  for (int64_t e = 2 * i; e < n; ++e) {
    const bool low = ((e & 1) == 0) == low_first;
    dst[e] = low ? src[e / 2] & 15 : src[e / 2] >> 4;
  }
}

void PackNibblesImpl(const uint8_t* src, uint8_t* dst, int64_t n, bool low_first) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag<uint8_t> d;
  const Tag<uint16_t> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; 2 * (i + lanes) <= n; i += lanes) {
    hn::Vec<Tag<uint8_t>> even, odd;
    hn::LoadInterleaved2(d, src + 2 * i, even, odd);
    const auto low = low_first ? even : odd;
    const auto high = low_first ? odd : even;
    const auto shifted = hn::BitCast(d, hn::ShiftLeft<4>(hn::BitCast(d16, high)));
    hn::StoreU(hn::Or(low, shifted), d, dst + i);
  }
#endif
  for (int64_t e = 2 * i; e < n; e += 2) {
    const uint8_t first = src[e];
    const uint8_t second = e + 1 < n ? src[e + 1] : 0;
    dst[e / 2] = static_cast<uint8_t>(low_first ? first | second << 4 : first << 4 | second);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hlokit::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hlokit::internal {

HWY_EXPORT(UnpackNibblesImpl);
HWY_EXPORT(PackNibblesImpl);

void UnpackNibbles(const uint8_t* src, uint8_t* dst, int64_t n, bool low_first) {
  HWY_DYNAMIC_DISPATCH(UnpackNibblesImpl)(src, dst, n, low_first);
}

void PackNibbles(const uint8_t* src, uint8_t* dst, int64_t n, bool low_first) {
  HWY_DYNAMIC_DISPATCH(PackNibblesImpl)(src, dst, n, low_first);
}

}  // namespace hlokit::internal
#endif  // HWY_ONCE
