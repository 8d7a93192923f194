// Which element of an array does a window see?
#ifndef HLOKIT_SRC_EVAL_WINDOW_H_
#define HLOKIT_SRC_EVAL_WINDOW_H_

#include <span>
#include <vector>

#include "hlokit/attribute.h"

namespace hlokit::eval {

struct WindowDimension {
  int64_t size = 1, stride = 1, pad_low = 0, base_dilation = 1, window_dilation = 1;
  bool reversal = false;
  /// The index of the array under place `inside` of the window at position `place`; -1 in padding
  /// and between dilated elements.
  int64_t Index(int64_t place, int64_t inside, int64_t array_size) const {
    const int64_t turned = reversal ? size - 1 - inside : inside;
    const int64_t at = place * stride + turned * window_dilation - pad_low;
    if (at < 0 || at % base_dilation != 0) return -1;
    return at / base_dilation < array_size ? at / base_dilation : -1;
  }
};

/// From a kWindow attribute; missing dimensions are windows of size 1.
inline std::vector<WindowDimension> DecodeWindow(std::span<const int64_t> fields, size_t rank) {
  std::vector<WindowDimension> window(rank);
  for (size_t d = 0; d < rank && (d + 1) * kWindowFields <= fields.size(); ++d) {
    const std::span<const int64_t> f = fields.subspan(d * kWindowFields, kWindowFields);
    window[d] = {f[kWindowSize],         f[kWindowStride],         f[kWindowPadLow],
                 f[kWindowBaseDilation], f[kWindowWindowDilation], f[kWindowReversal] != 0};
  }
  return window;
}

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_WINDOW_H_
