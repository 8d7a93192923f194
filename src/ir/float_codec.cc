// Which number does a bit pattern of a floating type stand for, and which pattern is nearest to a
// number? One pair of routines for all formats, driven by the fields of FloatFormat.
#include "hlokit/float_codec.h"

#include <array>

namespace hlokit {
namespace {

constexpr uint64_t kDoubleSign = uint64_t{1} << 63;
constexpr int kDoubleMantissaBits = 52;
constexpr int kDoubleBias = 1023;

constexpr std::array<FloatFormat, kElementTypeCount> AllFormats() {
  std::array<FloatFormat, kElementTypeCount> out{};
  for (int i = 0; i < kElementTypeCount; ++i) out[i] = FloatFormatOf(static_cast<ElementType>(i));
  return out;
}
constexpr std::array<FloatFormat, kElementTypeCount> kFormats = AllFormats();

/// 2^exponent for exponents of normal doubles.
constexpr double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kDoubleBias)
                               << kDoubleMantissaBits);
}

/// The magnitude code of the largest finite number.
constexpr uint64_t LargestFiniteCode(const FloatFormat& f) {
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return (f.magnitude_mask() & ~f.mantissa_mask()) - 1;
    case FloatSpecials::kFn:
    case FloatSpecials::kFnu:
      return f.magnitude_mask() - 1;
    default:
      return f.magnitude_mask();
  }
}

bool IsNanPattern(const FloatFormat& f, uint64_t bits) {
  const uint64_t magnitude = bits & f.magnitude_mask();
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return magnitude > (f.magnitude_mask() & ~f.mantissa_mask());
    case FloatSpecials::kFn:
    case FloatSpecials::kFnu:
      return magnitude == f.magnitude_mask();
    case FloatSpecials::kFnuz:
      return magnitude == 0 && (bits & f.sign_bit()) != 0;
    default:
      return false;
  }
}

uint64_t NanPattern(const FloatFormat& f, bool negative, uint64_t payload) {
  const uint64_t sign = negative ? f.sign_bit() : 0;
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return sign | (f.magnitude_mask() & ~f.mantissa_mask()) | payload;
    case FloatSpecials::kFn:
    case FloatSpecials::kFnu:
      return sign | f.magnitude_mask();
    case FloatSpecials::kFnuz:
      return f.sign_bit();
    case FloatSpecials::kFinite:
      return negative ? 0 : f.sign_bit();
    default:
      return 0;
  }
}

/// What a magnitude beyond the largest finite number becomes.
uint64_t OverflowPattern(const FloatFormat& f, bool negative) {
  const uint64_t sign = negative ? f.sign_bit() : 0;
  switch (f.specials) {
    case FloatSpecials::kIeee:
      return sign | (f.magnitude_mask() & ~f.mantissa_mask());
    case FloatSpecials::kFinite:
      return sign | f.magnitude_mask();
    default:
      return NanPattern(f, negative, 0);
  }
}

/// Shifts right, rounding to nearest even.
uint64_t ShiftRounding(uint64_t value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 63) return 0;
  const uint64_t kept = value >> shift;
  const uint64_t rest = value & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

/// f8e8m0fnu: the exponent of a positive number, rounded up from 1.5.
uint64_t EncodeExponentOnly(const FloatFormat& f, double value) {
  if (!(value > 0)) return f.magnitude_mask();
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  // Adding half a unit of the leading digit carries into the exponent exactly from 1.5 on.
  const uint64_t rounded = bits + (uint64_t{1} << (kDoubleMantissaBits - 1));
  const int64_t code = static_cast<int64_t>(rounded >> kDoubleMantissaBits) - kDoubleBias + f.bias;
  if (code < 0) return 0;
  return static_cast<uint64_t>(code) > f.magnitude_mask() ? f.magnitude_mask()
                                                          : static_cast<uint64_t>(code);
}

}  // namespace

double DecodeFloat(ElementType type, uint64_t bits) {
  if (type == ElementType::kF64) return std::bit_cast<double>(bits);
  if (type == ElementType::kF32) {
    const uint32_t low = static_cast<uint32_t>(bits);
    // A NaN goes the long way below, so that its payload is lost for every type alike.
    if ((low & 0x7fffffffu) <= 0x7f800000u) return std::bit_cast<float>(low);
  }
  const FloatFormat& f = kFormats[static_cast<int>(type)];
  const uint64_t sign = (bits & f.sign_bit()) != 0 ? kDoubleSign : 0;
  if (IsNanPattern(f, bits)) {
    const bool negative = sign != 0 && f.specials != FloatSpecials::kFnuz;
    return std::bit_cast<double>(DefaultNan(ElementType::kF64, negative));
  }
  const uint64_t magnitude = bits & f.magnitude_mask();
  if (f.specials == FloatSpecials::kIeee && magnitude > LargestFiniteCode(f)) {
    return std::bit_cast<double>(sign |
                                 std::bit_cast<uint64_t>(std::numeric_limits<double>::infinity()));
  }
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  if (exponent == 0 && f.specials != FloatSpecials::kFnu) {
    const double value = static_cast<double>(magnitude) * PowerOfTwo(1 - f.bias - f.mantissa_bits);
    return std::bit_cast<double>(sign | std::bit_cast<uint64_t>(value));
  }
  const uint64_t mantissa = magnitude & f.mantissa_mask();
  return std::bit_cast<double>(
      sign | static_cast<uint64_t>(exponent - f.bias + kDoubleBias) << kDoubleMantissaBits |
      mantissa << (kDoubleMantissaBits - f.mantissa_bits));
}

uint64_t EncodeFloat(ElementType type, double value) {
  if (type == ElementType::kF64) return std::bit_cast<uint64_t>(value);
  const FloatFormat& f = kFormats[static_cast<int>(type)];
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool negative = (bits & kDoubleSign) != 0;
  if (value != value) return NanPattern(f, negative, DefaultNanPayload(type));
  if (type == ElementType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (f.specials == FloatSpecials::kNotFloat) return 0;
  if (f.specials == FloatSpecials::kFnu) return EncodeExponentOnly(f, value);

  const int biased = static_cast<int>((bits & ~kDoubleSign) >> kDoubleMantissaBits);
  uint64_t code = 0;
  if (biased != 0) {  // zeros and subnormal doubles are zero in every other format
    const int exponent = biased - kDoubleBias;
    if (exponent > (1 << f.exponent_bits) - f.bias) return OverflowPattern(f, negative);
    const uint64_t hidden = uint64_t{1} << kDoubleMantissaBits;
    const uint64_t significand = (bits & (hidden - 1)) | hidden;
    const int smallest = 1 - f.bias;
    const int shift = kDoubleMantissaBits - f.mantissa_bits;
    if (exponent < smallest) {
      code = ShiftRounding(significand, shift + smallest - exponent);
    } else {
      // The hidden bit counts as one step of the exponent; a carry moves to the next power of two.
      code = (static_cast<uint64_t>(exponent + f.bias - 1) << f.mantissa_bits) +
             ShiftRounding(significand, shift);
    }
    if (code > LargestFiniteCode(f)) return OverflowPattern(f, negative);
  }
  if (code == 0 && f.specials == FloatSpecials::kFnuz) return 0;  // there is no minus zero
  return code | (negative ? f.sign_bit() : 0);
}

double LargestFinite(ElementType type) {
  const FloatFormat& f = kFormats[static_cast<int>(type)];
  return f.specials == FloatSpecials::kNotFloat ? 0 : DecodeFloat(type, LargestFiniteCode(f));
}

bool IsNan(ElementType type, uint64_t bits) {
  return IsNanPattern(kFormats[static_cast<int>(type)], bits);
}

uint64_t MakeNan(ElementType type, bool negative, uint64_t payload) {
  return NanPattern(kFormats[static_cast<int>(type)], negative, payload);
}

}  // namespace hlokit
