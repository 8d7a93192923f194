// How are the elements of 16-byte blocks transposed in registers? Shared by the kernels; Highway
// compiles this file once per vector width.
//
// A vector is a row of 16-byte blocks. Block k of a loaded vector comes from source row k*R (R:
// elements per block), so that the interleave network, which works inside blocks, leaves 16*blocks
// contiguous bytes of one output row in each register: no lane crossing at any width.

#if defined(HLOKIT_PERMUTE_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HLOKIT_PERMUTE_TRANSPOSE_INL_H_
#undef HLOKIT_PERMUTE_TRANSPOSE_INL_H_
#else
#define HLOKIT_PERMUTE_TRANSPOSE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "src/tensor/permute_copy-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hlokit::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// A vector whose block k is read from p + k * block_pitch.
template <class D>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const uint8_t* p, int64_t block_pitch) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(D()) * sizeof(T) <= 16) {
    return hn::LoadU(d, reinterpret_cast<const T*>(p));
  } else {
    const hn::Half<D> half;
    const int64_t blocks = static_cast<int64_t>(hn::Lanes(half) * sizeof(T)) / 16;
    return hn::Combine(d, LoadBlocks(half, p + blocks * block_pitch, block_pitch),
                       LoadBlocks(half, p, block_pitch));
  }
}

// A vector whose block k is read from p + offsets[k * step].
template <class D>
HWY_INLINE hn::Vec<D> LoadRows(D d, const uint8_t* p, const int64_t* offsets, int64_t step) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(D()) * sizeof(T) <= 16) {
    return hn::LoadU(d, reinterpret_cast<const T*>(p + offsets[0]));
  } else {
    const hn::Half<D> half;
    const int64_t blocks = static_cast<int64_t>(hn::MaxLanes(half) * sizeof(T)) / 16;
    return hn::Combine(d, LoadRows(half, p, offsets + blocks * step, step),
                       LoadRows(half, p, offsets, step));
  }
}

// One perfect shuffle of R vectors.
template <class D, int R>
HWY_INLINE void Shuffle(D d, const hn::Vec<D>* HWY_RESTRICT from, hn::Vec<D>* HWY_RESTRICT to) {
#pragma GCC unroll 16
  for (int i = 0; i < R / 2; ++i) {
    to[2 * i] = hn::InterleaveLower(d, from[i], from[i + R / 2]);
    to[2 * i + 1] = hn::InterleaveUpper(d, from[i], from[i + R / 2]);
  }
}

// Transposes the R x R elements of each block: log2(R) perfect shuffles.
template <class D, int R>
HWY_INLINE void TransposeBlocks(D d, const hn::Vec<D>* HWY_RESTRICT v,
                                hn::Vec<D>* HWY_RESTRICT out) {
  hn::Vec<D> w[R];
  if constexpr (R == 2) {
    Shuffle<D, R>(d, v, out);
  } else if constexpr (R == 4) {
    Shuffle<D, R>(d, v, w);
    Shuffle<D, R>(d, w, out);
  } else if constexpr (R == 8) {
    Shuffle<D, R>(d, v, out);
    Shuffle<D, R>(d, out, w);
    Shuffle<D, R>(d, w, out);
  } else {
    static_assert(R == 16);
    Shuffle<D, R>(d, v, w);
    Shuffle<D, R>(d, w, out);
    Shuffle<D, R>(d, out, w);
    Shuffle<D, R>(d, w, out);
  }
}

#endif  // vectors

}  // namespace HWY_NAMESPACE
}  // namespace hlokit::internal
HWY_AFTER_NAMESPACE();

#endif  // include guard
