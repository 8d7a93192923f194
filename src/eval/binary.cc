// Two or three operands: arithmetic, bits, powers, limits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/eval/kernels.h"

namespace hlokit::eval {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

/// Arithmetic wraps: it is done in 64 unsigned bits and cut.
template <typename T>
uint64_t Wide(T x) {
  return static_cast<uint64_t>(static_cast<int64_t>(x));
}
template <>
uint64_t Wide(uint64_t x) {
  return x;
}

template <typename T>
T Divide(T x, T y) {
  if (y == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return static_cast<T>(0 - Wide(x));
  }
  return static_cast<T>(x / y);
}

template <typename T>
T Remainder(T x, T y) {
  if (y == 0) return x;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return 0;
  }
  return static_cast<T>(x % y);
}

template <typename T>
T IntegerPower(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) return base == 1 ? 1 : 0;
  }
  uint64_t result = 1, factor = Wide(base), left = static_cast<uint64_t>(exponent);
  for (; left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

/// The upper `bits` of the product of two numbers of `bits`.
template <typename T>
T MultiplyHigh(T x, T y, int bits) {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<__int128_t>(x) * static_cast<__int128_t>(y) >> bits);
  } else {
    return static_cast<T>(static_cast<__uint128_t>(x) * static_cast<__uint128_t>(y) >> bits);
  }
}

/// The amount of a shift when it is less than the width, else the width.
template <typename T>
int Amount(T amount, int bits) {
  if constexpr (std::is_signed_v<T>) {
    if (amount < 0) return bits;
  }
  return static_cast<uint64_t>(amount) >= static_cast<uint64_t>(bits) ? bits
                                                                      : static_cast<int>(amount);
}

template <typename T>
T ShiftLeft(T x, T y, int bits) {
  const int amount = Amount(y, bits);
  return amount == bits ? T(0) : static_cast<T>(Wide(x) << amount);
}
template <typename T>
T ShiftRightLogical(T x, T y, int bits) {
  const int amount = Amount(y, bits);
  uint64_t value = static_cast<uint64_t>(static_cast<Unsigned<T>>(x));
  if (bits < 64) value &= (uint64_t{1} << bits) - 1;
  return amount == bits ? T(0) : static_cast<T>(value >> amount);
}
template <typename T>
T ShiftRightArithmetic(T x, T y, int bits) {
  // Unsigned numbers shift their top bit too.
  const int64_t value =
      static_cast<int64_t>(static_cast<uint64_t>(x) << (64 - bits)) >> (64 - bits);
  const int amount = std::min(Amount(y, bits), bits - 1);
  return static_cast<T>(value >> amount);
}

#define HLOKIT_BINARY(op, expression)                      \
  case Opcode::op:                                         \
    return [](const KernelArgs& a) {                       \
      BinaryLoop<T, T>(a, [bits = a.bits](T x, T y) -> T { \
        (void)bits;                                        \
        return expression;                                 \
      });                                                  \
    };

template <typename T>
Kernel ForInteger(Opcode opcode) {
  switch (opcode) {
    HLOKIT_BINARY(kAdd, static_cast<T>(Wide(x) + Wide(y)))
    HLOKIT_BINARY(kSubtract, static_cast<T>(Wide(x) - Wide(y)))
    HLOKIT_BINARY(kMultiply, static_cast<T>(Wide(x) * Wide(y)))
    HLOKIT_BINARY(kDivide, Divide(x, y))
    HLOKIT_BINARY(kRemainder, Remainder(x, y))
    HLOKIT_BINARY(kMaximum, std::max(x, y))
    HLOKIT_BINARY(kMinimum, std::min(x, y))
    HLOKIT_BINARY(kPower, IntegerPower(x, y))
    HLOKIT_BINARY(kAnd, static_cast<T>(x & y))
    HLOKIT_BINARY(kOr, static_cast<T>(x | y))
    HLOKIT_BINARY(kXor, static_cast<T>(x ^ y))
    HLOKIT_BINARY(kMulhi, MultiplyHigh(x, y, bits))
    HLOKIT_BINARY(kShiftLeft, ShiftLeft(x, y, bits))
    HLOKIT_BINARY(kShiftRightLogical, ShiftRightLogical(x, y, bits))
    HLOKIT_BINARY(kShiftRightArithmetic, ShiftRightArithmetic(x, y, bits))
    default:
      return nullptr;
  }
}

Kernel ForPred(Opcode opcode) {
  using T = bool;
  switch (opcode) {
    HLOKIT_BINARY(kAdd, x || y)
    HLOKIT_BINARY(kMultiply, x && y)
    HLOKIT_BINARY(kMaximum, x || y)
    HLOKIT_BINARY(kMinimum, x && y)
    HLOKIT_BINARY(kAnd, x && y)
    HLOKIT_BINARY(kOr, x || y)
    HLOKIT_BINARY(kXor, x != y)
    default:
      return nullptr;
  }
}

template <typename T>
T Largest(T x, T y) {
  return std::isnan(x) ? x : std::isnan(y) ? y : std::max(x, y);
}
template <typename T>
T Smallest(T x, T y) {
  return std::isnan(x) ? x : std::isnan(y) ? y : std::min(x, y);
}

template <typename T>
Kernel ForFloat(Opcode opcode) {
  switch (opcode) {
    HLOKIT_BINARY(kAdd, x + y)
    HLOKIT_BINARY(kSubtract, x - y)
    HLOKIT_BINARY(kMultiply, x * y)
    HLOKIT_BINARY(kDivide, x / y)
    HLOKIT_BINARY(kRemainder, std::fmod(x, y))
    HLOKIT_BINARY(kMaximum, Largest(x, y))
    HLOKIT_BINARY(kMinimum, Smallest(x, y))
    HLOKIT_BINARY(kPower, std::pow(x, y))
    HLOKIT_BINARY(kAtan2, std::atan2(x, y))
    case Opcode::kComplex:
      return [](const KernelArgs& a) {
        BinaryLoop<T, std::complex<T>>(a, [](T x, T y) { return std::complex<T>(x, y); });
      };
    default:
      return nullptr;
  }
}

template <typename C>
C ComplexPower(C x, C y) {
  if (x == C(0)) {
    if (y == C(0)) return C(1);
    if (y.real() > 0) return C(0);
  }
  return std::pow(x, y);
}

/// The angle of the point (x, y) for complex coordinates: -i log((x + iy) / sqrt(x*x + y*y)).
template <typename C>
C ComplexAtan2(C y, C x) {
  const C i(0, 1);
  return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
}

template <typename T>
Kernel ForComplex(Opcode opcode) {
  switch (opcode) {
    HLOKIT_BINARY(kAdd, x + y)
    HLOKIT_BINARY(kSubtract, x - y)
    HLOKIT_BINARY(kMultiply, x * y)
    HLOKIT_BINARY(kDivide, x / y)
    HLOKIT_BINARY(kPower, ComplexPower(x, y))
    HLOKIT_BINARY(kAtan2, ComplexAtan2(x, y))
    default:
      return nullptr;
  }
}
#undef HLOKIT_BINARY

/// clamp(low, x, high)
template <typename T>
void Clamp(const KernelArgs& a) {
  const T* low = static_cast<const T*>(a.in[0]);
  const T* x = static_cast<const T*>(a.in[1]);
  const T* high = static_cast<const T*>(a.in[2]);
  T* out = static_cast<T*>(a.out);
  for (int64_t i = 0; i < a.count; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      out[i] = Smallest(Largest(low[i], x[i]), high[i]);
    } else {
      out[i] = std::min(std::max(low[i], x[i]), high[i]);
    }
  }
}

}  // namespace

Kernel BinaryKernel(Opcode opcode, ElementType type) {
  return WithNative(type, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    if constexpr (kIsComplex<T>) {
      return ForComplex<T>(opcode);
    } else {
      if (opcode == Opcode::kClamp) return &Clamp<T>;
      if constexpr (std::is_same_v<T, bool>) {
        return ForPred(opcode);
      } else if constexpr (std::is_integral_v<T>) {
        return ForInteger<T>(opcode);
      } else {
        return ForFloat<T>(opcode);
      }
    }
  });
}

}  // namespace hlokit::eval
