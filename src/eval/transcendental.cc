// One operand, results that are only approximate: exponentials, roots, trigonometry.
#include <cmath>

#include "src/eval/kernels.h"

namespace hlokit::eval {
namespace {

template <typename T>
T Logistic(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

/// e^z - 1 without losing small results.
template <typename T>
std::complex<T> Expm1(std::complex<T> z) {
  const T half = std::sin(z.imag() / 2);
  const T grown = std::expm1(z.real());
  const T cosine = std::cos(z.imag());
  return {grown * cosine - 2 * half * half, (grown + 1) * std::sin(z.imag())};
}
template <typename T>
T Expm1(T x) {
  return std::expm1(x);
}

/// log(1 + z) without losing small results.
template <typename T>
std::complex<T> Log1p(std::complex<T> z) {
  const T a = z.real(), b = z.imag();
  if (std::fabs(a) > T(0.5) || std::fabs(b) > T(0.5)) return std::log(std::complex<T>(1 + a, b));
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}
template <typename T>
T Log1p(T x) {
  return std::log1p(x);
}

template <typename T>
Kernel ForAny(Opcode opcode) {
  switch (opcode) {
#define HLOKIT_UNARY(op, expression) \
  case Opcode::op:                   \
    return [](const KernelArgs& a) { UnaryLoop<T, T>(a, [](T x) -> T { return expression; }); };
    HLOKIT_UNARY(kExp, std::exp(x))
    HLOKIT_UNARY(kExpm1, Expm1(x))
    HLOKIT_UNARY(kLog, std::log(x))
    HLOKIT_UNARY(kLog1p, Log1p(x))
    HLOKIT_UNARY(kLogistic, Logistic(x))
    HLOKIT_UNARY(kSqrt, std::sqrt(x))
    HLOKIT_UNARY(kRsqrt, T(1) / std::sqrt(x))
    HLOKIT_UNARY(kSin, std::sin(x))
    HLOKIT_UNARY(kCos, std::cos(x))
    HLOKIT_UNARY(kTan, std::tan(x))
    HLOKIT_UNARY(kSinh, std::sinh(x))
    HLOKIT_UNARY(kCosh, std::cosh(x))
    HLOKIT_UNARY(kTanh, std::tanh(x))
    HLOKIT_UNARY(kAsin, std::asin(x))
    HLOKIT_UNARY(kAcos, std::acos(x))
    HLOKIT_UNARY(kAsinh, std::asinh(x))
    HLOKIT_UNARY(kAcosh, std::acosh(x))
    HLOKIT_UNARY(kAtanh, std::atanh(x))
    default:
      break;
  }
  if constexpr (!kIsComplex<T>) {
    switch (opcode) {
      HLOKIT_UNARY(kCbrt, std::cbrt(x))
      HLOKIT_UNARY(kErf, std::erf(x))
      default:
        break;
    }
  }
#undef HLOKIT_UNARY
  return nullptr;
}

}  // namespace

Kernel TranscendentalKernel(Opcode opcode, ElementType type) {
  switch (ComputeType(type)) {
    case ElementType::kF32:
      return ForAny<float>(opcode);
    case ElementType::kF64:
      return ForAny<double>(opcode);
    case ElementType::kC64:
      return ForAny<std::complex<float>>(opcode);
    case ElementType::kC128:
      return ForAny<std::complex<double>>(opcode);
    default:
      return nullptr;
  }
}

}  // namespace hlokit::eval
