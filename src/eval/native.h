// Which C++ type computes an element type?
#ifndef HLOKIT_SRC_EVAL_NATIVE_H_
#define HLOKIT_SRC_EVAL_NATIVE_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "hlokit/element_type.h"

namespace hlokit::eval {

template <typename T>
struct TypeTag {
  using type = T;
};

/// Floats that no C++ type holds: they are computed in float and rounded once.
constexpr bool IsLowFloat(ElementType type) {
  return IsFloating(type) && type != ElementType::kF32 && type != ElementType::kF64;
}
/// The type whose C++ type computes `type`: f32 for low floats, s8 and u8 for packed integers.
constexpr ElementType ComputeType(ElementType type) {
  if (IsLowFloat(type)) return ElementType::kF32;
  if (IsIntegral(type) && Info(type).bits < 8) {
    return Info(type).kind == ElementKind::kSigned ? ElementType::kS8 : ElementType::kU8;
  }
  return type;
}

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

/// Calls f(TypeTag<T>()) with the C++ type of ComputeType(type); pred is bool.
template <typename F>
auto WithNative(ElementType type, F f) {
  switch (ComputeType(type)) {
    case ElementType::kS8:
      return f(TypeTag<int8_t>());
    case ElementType::kS16:
      return f(TypeTag<int16_t>());
    case ElementType::kS32:
      return f(TypeTag<int32_t>());
    case ElementType::kS64:
      return f(TypeTag<int64_t>());
    case ElementType::kU8:
      return f(TypeTag<uint8_t>());
    case ElementType::kU16:
      return f(TypeTag<uint16_t>());
    case ElementType::kU32:
      return f(TypeTag<uint32_t>());
    case ElementType::kU64:
      return f(TypeTag<uint64_t>());
    case ElementType::kF32:
      return f(TypeTag<float>());
    case ElementType::kF64:
      return f(TypeTag<double>());
    case ElementType::kC64:
      return f(TypeTag<std::complex<float>>());
    case ElementType::kC128:
      return f(TypeTag<std::complex<double>>());
    default:
      return f(TypeTag<bool>());
  }
}

/// Stored elements of a low float to float, and back.
void DecodeLow(ElementType type, const void* stored, float* out, int64_t count);
void EncodeLow(ElementType type, const float* values, void* stored, int64_t count);
/// Reduces stored bytes of a packed integer type to its range (wraps).
void WrapPacked(ElementType type, void* stored, int64_t count);

/// Converts stored elements of one type to another, as the convert opcode does.
void ConvertElements(ElementType from, const void* in, ElementType to, void* out, int64_t count);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_NATIVE_H_
