#ifndef HLOKIT_FLOAT_CODEC_H_
#define HLOKIT_FLOAT_CODEC_H_

#include <bit>
#include <cstdint>
#include <limits>

#include "hlokit/element_type.h"

namespace hlokit {

/// What the codes with the largest exponent (or the code of minus zero) mean.
enum class FloatSpecials : uint8_t {
  kIeee,      ///< infinities and NaNs; overflow gives infinity
  kFn,        ///< one NaN, all magnitude bits set; overflow gives NaN
  kFnuz,      ///< one NaN in the place of minus zero; overflow gives NaN
  kFnu,       ///< no sign, no zero, one NaN, all bits set; overflow, zero and negatives give NaN
  kFinite,    ///< finite numbers only; overflow saturates, NaN becomes a zero (sign flipped)
  kNotFloat,  ///< the element type is no real floating type
};

/// The bit layout of one floating element type: [sign] exponent mantissa.
struct FloatFormat {
  FloatSpecials specials = FloatSpecials::kNotFloat;
  uint8_t exponent_bits = 0;
  uint8_t mantissa_bits = 0;
  int16_t bias = 0;
  uint8_t print_digits = 0;  ///< digits of `%.*g` in literals (first try of f32 and f64)
  uint8_t long_digits = 0;   ///< digits when the first try does not read back (f32 and f64)

  constexpr int magnitude_bits() const { return exponent_bits + mantissa_bits; }
  constexpr uint64_t magnitude_mask() const { return (uint64_t{1} << magnitude_bits()) - 1; }
  constexpr uint64_t mantissa_mask() const { return (uint64_t{1} << mantissa_bits) - 1; }
  /// 0 for the type without sign.
  constexpr uint64_t sign_bit() const {
    return specials == FloatSpecials::kFnu ? 0 : uint64_t{1} << magnitude_bits();
  }
};

/// Formats by element type; hlo-text.md section 5.1 for the digits.
constexpr FloatFormat FloatFormatOf(ElementType type) {
  using S = FloatSpecials;
  switch (type) {
    case ElementType::kF64:
      return {S::kIeee, 11, 52, 1023, 15, 17};
    case ElementType::kF32:
      return {S::kIeee, 8, 23, 127, 6, 9};
    case ElementType::kF16:
      return {S::kIeee, 5, 10, 15, 5, 5};
    case ElementType::kBf16:
      return {S::kIeee, 8, 7, 127, 4, 4};
    case ElementType::kF8e5m2:
      return {S::kIeee, 5, 2, 15, 2, 2};
    case ElementType::kF8e4m3:
      return {S::kIeee, 4, 3, 7, 3, 3};
    case ElementType::kF8e3m4:
      return {S::kIeee, 3, 4, 3, 3, 3};
    case ElementType::kF8e4m3fn:
      return {S::kFn, 4, 3, 7, 3, 3};
    case ElementType::kF8e4m3b11fnuz:
      return {S::kFnuz, 4, 3, 11, 3, 3};
    case ElementType::kF8e4m3fnuz:
      return {S::kFnuz, 4, 3, 8, 3, 3};
    case ElementType::kF8e5m2fnuz:
      return {S::kFnuz, 5, 2, 16, 2, 2};
    case ElementType::kF8e8m0fnu:
      return {S::kFnu, 8, 0, 127, 2, 2};
    case ElementType::kF4e2m1fn:
      return {S::kFinite, 2, 1, 1, 2, 2};
    case ElementType::kF6e3m2fn:
      return {S::kFinite, 3, 2, 3, 2, 2};
    case ElementType::kF6e2m3fn:
      return {S::kFinite, 2, 3, 1, 3, 3};
    default:
      return {};
  }
}

/// The value of a bit pattern (bits above the width of the type are ignored). Every value of every
/// format is a double. A NaN comes back as the quiet NaN with the sign of the pattern (positive for
/// formats whose NaN has no sign); its payload is lost: see NanPayload.
double DecodeFloat(ElementType type, uint64_t bits);

/// The bit pattern nearest to a value: ties go to even, overflow and special values as
/// FloatSpecials says. f8e8m0fnu, whose codes are powers of two, rounds ties up, gives NaN for zero
/// and negative numbers and its smallest number for everything smaller. NaN becomes the default NaN
/// of the type with the sign of the value.
uint64_t EncodeFloat(ElementType type, double value);

/// The largest finite number of a floating type.
double LargestFinite(ElementType type);

bool IsNan(ElementType type, uint64_t bits);

/// Bits of the field that can tell NaNs apart; 0 when all NaNs of the type are equal but for their
/// sign (or there are none).
constexpr int NanPayloadBits(ElementType type) {
  const FloatFormat f = FloatFormatOf(type);
  return f.specials == FloatSpecials::kIeee ? f.mantissa_bits : 0;
}
/// The payload of a NaN without payload in its text: only the top bit set; 0 without payload bits.
constexpr uint64_t DefaultNanPayload(ElementType type) {
  const int bits = NanPayloadBits(type);
  return bits == 0 ? 0 : uint64_t{1} << (bits - 1);
}
/// The payload field of a NaN pattern.
constexpr uint64_t NanPayload(ElementType type, uint64_t bits) {
  return NanPayloadBits(type) == 0 ? 0 : bits & FloatFormatOf(type).mantissa_mask();
}
/// A NaN pattern. `payload` must be 1 … 2^NanPayloadBits - 1 and is ignored where there are no
/// payload bits; so is `negative` where NaN has no sign.
uint64_t MakeNan(ElementType type, bool negative, uint64_t payload);
/// The quiet NaN that `nan` or `-nan` without payload stands for.
inline uint64_t DefaultNan(ElementType type, bool negative = false) {
  return MakeNan(type, negative, DefaultNanPayload(type));
}
/// The sign bit of a pattern (also of zeros and NaNs).
constexpr bool IsNegative(ElementType type, uint64_t bits) {
  return (bits & FloatFormatOf(type).sign_bit()) != 0;
}

}  // namespace hlokit

#endif  // HLOKIT_FLOAT_CODEC_H_
