// One operand: signs, rounding, bits, parts of complex numbers.
#include <bit>
#include <cmath>

#include "src/eval/kernels.h"

namespace hlokit::eval {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

/// The bits of a packed or whole integer, zero-extended.
template <typename T>
uint64_t BitsOf(T value, int bits) {
  const uint64_t all = static_cast<uint64_t>(static_cast<Unsigned<T>>(value));
  return bits == 64 ? all : all & ((uint64_t{1} << bits) - 1);
}

template <typename T>
Kernel ForInteger(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
      return [](const KernelArgs& a) {
        UnaryLoop<T, T>(a, [](T x) {
          return x < 0 ? static_cast<T>(Unsigned<T>(0) - static_cast<Unsigned<T>>(x)) : x;
        });
      };
    case Opcode::kNegate:
      return [](const KernelArgs& a) {
        UnaryLoop<T, T>(
            a, [](T x) { return static_cast<T>(Unsigned<T>(0) - static_cast<Unsigned<T>>(x)); });
      };
    case Opcode::kNot:
      return
          [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return static_cast<T>(~x); }); };
    case Opcode::kSign:
      return [](const KernelArgs& a) {
        UnaryLoop<T, T>(a, [](T x) { return static_cast<T>((x > 0) - (x < 0)); });
      };
    case Opcode::kPopulationCount:
      return [](const KernelArgs& a) {
        UnaryLoop<T, T>(
            a, [bits = a.bits](T x) { return static_cast<T>(std::popcount(BitsOf(x, bits))); });
      };
    case Opcode::kClz:
      return [](const KernelArgs& a) {
        UnaryLoop<T, T>(a, [bits = a.bits](T x) {
          return static_cast<T>(std::countl_zero(BitsOf(x, bits)) - (64 - bits));
        });
      };
    default:
      return nullptr;
  }
}

Kernel ForPred(Opcode opcode) {
  if (opcode != Opcode::kNot) return nullptr;
  return [](const KernelArgs& a) { UnaryLoop<bool, bool>(a, [](bool x) { return !x; }); };
}

template <typename T>
Kernel ForFloat(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return std::fabs(x); }); };
    case Opcode::kNegate:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return -x; }); };
    case Opcode::kSign:
      return [](const KernelArgs& a) {
        UnaryLoop<T, T>(a, [](T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; });
      };
    case Opcode::kCeil:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return std::ceil(x); }); };
    case Opcode::kFloor:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return std::floor(x); }); };
    case Opcode::kRoundNearestAfz:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return std::round(x); }); };
    case Opcode::kRoundNearestEven:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return std::nearbyint(x); }); };
    case Opcode::kIsFinite:
      return
          [](const KernelArgs& a) { UnaryLoop<T, bool>(a, [](T x) { return std::isfinite(x); }); };
    case Opcode::kReal:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) { return x; }); };
    case Opcode::kImag:
      return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T) { return T(0); }); };
    default:
      return nullptr;
  }
}

template <typename C>
Kernel ForComplex(Opcode opcode) {
  using T = typename C::value_type;
  switch (opcode) {
    case Opcode::kAbs:
      return [](const KernelArgs& a) { UnaryLoop<C, T>(a, [](C x) { return std::abs(x); }); };
    case Opcode::kNegate:
      return [](const KernelArgs& a) { UnaryLoop<C, C>(a, [](C x) { return -x; }); };
    case Opcode::kSign:
      return [](const KernelArgs& a) {
        UnaryLoop<C, C>(a, [](C x) {
          const T size = std::abs(x);
          return size == 0 ? C(0) : x / size;
        });
      };
    case Opcode::kReal:
      return [](const KernelArgs& a) { UnaryLoop<C, T>(a, [](C x) { return x.real(); }); };
    case Opcode::kImag:
      return [](const KernelArgs& a) { UnaryLoop<C, T>(a, [](C x) { return x.imag(); }); };
    default:
      return nullptr;
  }
}

}  // namespace

Kernel UnaryKernel(Opcode opcode, ElementType type) {
  return WithNative(type, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      return ForPred(opcode);
    } else if constexpr (std::is_integral_v<T>) {
      return ForInteger<T>(opcode);
    } else if constexpr (kIsComplex<T>) {
      return ForComplex<T>(opcode);
    } else {
      return ForFloat<T>(opcode);
    }
  });
}

}  // namespace hlokit::eval
