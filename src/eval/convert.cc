// How does an element of one type become one of another? Integers wrap, floats saturate when they
// become integers, and everything else is rounded once to the nearest even.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "hlokit/float_codec.h"
#include "src/eval/native.h"

namespace hlokit::eval {
namespace {

constexpr int64_t kBlock = 512;

/// The float of every code of a type with at most 16 bits.
const std::vector<float>& DecodeTable(ElementType type) {
  static std::array<std::unique_ptr<std::vector<float>>, kElementTypeCount> tables;
  std::unique_ptr<std::vector<float>>& table = tables[static_cast<size_t>(type)];
  if (table == nullptr) {
    const size_t codes = size_t{1} << Info(type).bits;
    table = std::make_unique<std::vector<float>>(codes);
    for (size_t code = 0; code < codes; ++code) {
      (*table)[code] = static_cast<float>(DecodeFloat(type, code));
    }
  }
  return *table;
}

uint16_t EncodeBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<uint16_t>(EncodeFloat(ElementType::kBf16, value));
  }
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// The double nearest to an integer whose last bit remembers whether anything was cut off, so that
/// a second rounding to a shorter type is right.
double RoundToOdd(uint64_t magnitude, bool negative) {
  const int excess = 64 - std::countl_zero(magnitude | 1) - 53;
  if (excess > 0) {
    const bool rest = (magnitude & ((uint64_t{1} << excess) - 1)) != 0;
    magnitude = (magnitude >> excess | (rest ? 1 : 0)) << excess;
  }
  const double value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

template <typename From>
double ToDouble(From value) {
  if constexpr (kIsComplex<From>) {
    return static_cast<double>(value.real());
  } else if constexpr (std::is_same_v<From, int64_t>) {
    return RoundToOdd(
        value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value),
        value < 0);
  } else if constexpr (std::is_same_v<From, uint64_t>) {
    return RoundToOdd(value, false);
  } else {
    return static_cast<double>(value);
  }
}

/// low and high are the limits of the target.
template <typename To, typename From>
To Saturate(From value, To low, To high) {
  if (value != value) return 0;
  if (value <= static_cast<From>(low)) return low;
  if (value >= static_cast<From>(high)) return high;
  return static_cast<To>(value);
}

template <typename To, typename From>
To ConvertOne(From value, To low, To high) {
  if constexpr (kIsComplex<From> && !kIsComplex<To>) {
    return ConvertOne<To>(value.real(), low, high);
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (kIsComplex<To>) {
    if constexpr (kIsComplex<From>) {
      return To(static_cast<typename To::value_type>(value.real()),
                static_cast<typename To::value_type>(value.imag()));
    } else {
      return To(static_cast<typename To::value_type>(value), 0);
    }
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return Saturate<To, From>(value, low, high);
  } else {
    return static_cast<To>(value);
  }
}

template <typename From>
void ConvertNative(const From* in, ElementType to, void* out, int64_t count) {
  if (IsLowFloat(to)) {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t code = EncodeFloat(to, ToDouble(in[i]));
      if (Info(to).bits == 16) {
        static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(code);
      } else {
        static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(code);
      }
    }
    return;
  }
  WithNative(to, [&](auto tag) {
    using To = typename decltype(tag)::type;
    To low{}, high{};
    if constexpr (std::is_integral_v<To>) {
      low = std::numeric_limits<To>::min();
      high = std::numeric_limits<To>::max();
      if (IsIntegral(to) && Info(to).bits < 8) {
        const int bits = Info(to).bits;
        const bool is_signed = std::is_signed_v<To>;
        high = static_cast<To>((1 << (is_signed ? bits - 1 : bits)) - 1);
        low = static_cast<To>(is_signed ? -high - 1 : 0);
      }
    }
    To* target = static_cast<To*>(out);
    for (int64_t i = 0; i < count; ++i) target[i] = ConvertOne<To>(in[i], low, high);
  });
  if (IsIntegral(to)) WrapPacked(to, out, count);
}

}  // namespace

void DecodeLow(ElementType type, const void* stored, float* out, int64_t count) {
  if (type == ElementType::kBf16) {
    const uint16_t* codes = static_cast<const uint16_t*>(stored);
    for (int64_t i = 0; i < count; ++i) {
      out[i] = std::bit_cast<float>(static_cast<uint32_t>(codes[i]) << 16);
    }
    return;
  }
  const std::vector<float>& table = DecodeTable(type);
  if (Info(type).bits == 16) {
    const uint16_t* codes = static_cast<const uint16_t*>(stored);
    for (int64_t i = 0; i < count; ++i) out[i] = table[codes[i]];
  } else {
    const uint8_t* codes = static_cast<const uint8_t*>(stored);
    for (int64_t i = 0; i < count; ++i) out[i] = table[codes[i] & (table.size() - 1)];
  }
}

void EncodeLow(ElementType type, const float* values, void* stored, int64_t count) {
  if (type == ElementType::kBf16) {
    uint16_t* codes = static_cast<uint16_t*>(stored);
    for (int64_t i = 0; i < count; ++i) codes[i] = EncodeBf16(values[i]);
  } else if (Info(type).bits == 16) {
    uint16_t* codes = static_cast<uint16_t*>(stored);
    for (int64_t i = 0; i < count; ++i) {
      codes[i] = static_cast<uint16_t>(EncodeFloat(type, static_cast<double>(values[i])));
    }
  } else {
    uint8_t* codes = static_cast<uint8_t*>(stored);
    for (int64_t i = 0; i < count; ++i) {
      codes[i] = static_cast<uint8_t>(EncodeFloat(type, static_cast<double>(values[i])));
    }
  }
}

void WrapPacked(ElementType type, void* stored, int64_t count) {
  const int bits = Info(type).bits;
  if (bits >= 8) return;
  const int shift = 8 - bits;
  if (Info(type).kind == ElementKind::kSigned) {
    int8_t* values = static_cast<int8_t*>(stored);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = static_cast<int8_t>(
          static_cast<int8_t>(static_cast<uint8_t>(static_cast<uint8_t>(values[i]) << shift)) >>
          shift);
    }
  } else {
    uint8_t* values = static_cast<uint8_t*>(stored);
    const uint8_t mask = static_cast<uint8_t>((1 << bits) - 1);
    for (int64_t i = 0; i < count; ++i) values[i] &= mask;
  }
}

void ConvertElements(ElementType from, const void* in, ElementType to, void* out, int64_t count) {
  if (from == to) {
    if (count != 0) std::memcpy(out, in, static_cast<size_t>(count * ((Info(to).bits + 7) / 8)));
    return;
  }
  if (!IsLowFloat(from)) {
    return WithNative(from, [&](auto tag) {
      ConvertNative(static_cast<const typename decltype(tag)::type*>(in), to, out, count);
    });
  }
  float block[kBlock];
  const int from_bytes = (Info(from).bits + 7) / 8, to_bytes = (Info(to).bits + 7) / 8;
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    DecodeLow(from, static_cast<const std::byte*>(in) + at * from_bytes, block, n);
    ConvertNative(block, to, static_cast<std::byte*>(out) + at * to_bytes, n);
  }
}

}  // namespace hlokit::eval
