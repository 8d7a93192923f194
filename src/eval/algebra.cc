// cholesky and triangular-solve, for every matrix of the two last dimensions.
#include <cmath>

#include "src/eval/handlers.h"
#include "src/eval/native.h"

namespace hlokit::eval {
namespace {

enum class TransposeA : uint8_t { kNone, kTranspose, kAdjoint };

template <typename T>
T Conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

/// The type that computes: float for low floats.
template <typename F>
Status WithFloats(OpContext& c, ElementType type, F f) {
  switch (ComputeType(type)) {
    case ElementType::kF32:
      return f(TypeTag<float>());
    case ElementType::kF64:
      return f(TypeTag<double>());
    case ElementType::kC64:
      return f(TypeTag<std::complex<float>>());
    case ElementType::kC128:
      return f(TypeTag<std::complex<double>>());
    default:
      return c.Refuse("not known for integers");
  }
}

template <typename T>
std::vector<T> Converted(const ArrayView& in) {
  std::vector<T> out(static_cast<size_t>(in.count));
  ConvertElements(in.type, in.data, ComputeType(in.type), out.data(), in.count);
  return out;
}

/// Row by row; a matrix that is not positive definite gives NaNs.
template <typename T>
void CholeskyOf(const T* in, T* out, int64_t n, bool lower) {
  const auto source = [&](int64_t i, int64_t j) {
    return lower ? in[i * n + j] : Conjugate(in[j * n + i]);
  };
  const auto target = [&](int64_t i, int64_t j) -> T& {
    return lower ? out[i * n + j] : out[j * n + i];
  };
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      T sum = source(i, j);
      for (int64_t k = 0; k < j; ++k) {
        sum -= lower ? target(i, k) * Conjugate(target(j, k))
                     : Conjugate(Conjugate(target(i, k)) * target(j, k));
      }
      if (i == j) {
        target(i, i) = T(std::sqrt(std::real(sum)));
      } else {
        target(i, j) = sum / target(j, j);
      }
    }
  }
  if constexpr (kIsComplex<T>) {
    // The upper factor is the conjugate of what was built in its place.
    if (!lower) {
      for (int64_t i = 0; i < n * n; ++i) out[i] = std::conj(out[i]);
    }
  }
}

struct SolveOptions {
  bool left = false, lower = false, unit = false;
  TransposeA transpose = TransposeA::kNone;
};

/// Solves op(a) x = b, or x op(a) = b, by substitution.
template <typename T>
void SolveOf(const T* a, T* b, int64_t n, int64_t rows, int64_t columns, const SolveOptions& o) {
  // Seen as op(a) x = b with n unknowns for each of `lines` right sides.
  const bool flip = !o.left;  // x op(a) = b is op(a)^T x^T = b^T
  const bool transposed = (o.transpose != TransposeA::kNone) != flip;
  const bool conjugated = o.transpose == TransposeA::kAdjoint;
  const auto coefficient = [&](int64_t i, int64_t j) {
    const T value = transposed ? a[j * n + i] : a[i * n + j];
    return conjugated ? Conjugate(value) : value;
  };
  const bool forward = o.lower != transposed;
  const int64_t lines = o.left ? columns : rows;
  for (int64_t line = 0; line < lines; ++line) {
    const auto unknown = [&](int64_t i) -> T& {
      return o.left ? b[i * columns + line] : b[line * columns + i];
    };
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = forward ? step : n - 1 - step;
      T sum = unknown(i);
      for (int64_t k = 0; k < step; ++k) {
        const int64_t j = forward ? k : n - 1 - k;
        sum -= coefficient(i, j) * unknown(j);
      }
      unknown(i) = o.unit ? sum : sum / coefficient(i, i);
    }
  }
}

}  // namespace

Status Cholesky(OpContext& c) {
  const ArrayView in = c.in[0], out = c.out[0];
  if (in.rank() < 2) return c.Refuse("needs a matrix");
  const int64_t n = in.sizes[in.sizes.size() - 1];
  if (in.sizes[in.sizes.size() - 2] != n) return c.Refuse("needs a square matrix");
  const bool lower = c.integer(AttrKind::kLower) != 0;
  if (in.count == 0) return {};
  TRY(c.engine.AddWork(c.id, in.count * n));
  return WithFloats(c, in.type, [&](auto tag) -> Status {
    using T = typename decltype(tag)::type;
    const std::vector<T> matrix = Converted<T>(in);
    std::vector<T> factor(matrix.size(), T(0));
    for (int64_t at = 0; at < in.count; at += n * n) {
      CholeskyOf(matrix.data() + at, factor.data() + at, n, lower);
    }
    ConvertElements(ComputeType(in.type), factor.data(), out.type, out.data, out.count);
    return {};
  });
}

Status TriangularSolve(OpContext& c) {
  const ArrayView a = c.in[0], b = c.in[1], out = c.out[0];
  if (a.rank() < 2 || b.rank() != a.rank() || a.type != b.type) {
    return c.Refuse("needs two matrices of one type");
  }
  SolveOptions options;
  options.left = c.integer(AttrKind::kLeftSide) != 0;
  options.lower = c.integer(AttrKind::kLower) != 0;
  options.unit = c.integer(AttrKind::kUnitDiagonal) != 0;
  const Attr* transpose = c.module.FindAttr(c.id, AttrKind::kTransposeA);
  if (transpose != nullptr) {
    const std::string_view name =
        EnumNames(AttrType::kTransposeA)[static_cast<size_t>(transpose->integer())];
    if (name == "TRANSPOSE") options.transpose = TransposeA::kTranspose;
    if (name == "ADJOINT") options.transpose = TransposeA::kAdjoint;
  }
  const int64_t n = a.sizes.back();
  const int64_t rows = b.sizes[b.sizes.size() - 2], columns = b.sizes.back();
  if (a.sizes[a.sizes.size() - 2] != n || (options.left ? rows : columns) != n) {
    return c.Refuse("the sizes do not fit");
  }
  if (b.count == 0) return {};
  TRY(c.engine.AddWork(c.id, b.count * n));
  return WithFloats(c, a.type, [&](auto tag) -> Status {
    using T = typename decltype(tag)::type;
    const std::vector<T> left = Converted<T>(a);
    std::vector<T> right = Converted<T>(b);
    const int64_t matrices = a.count / (n * n);
    if (matrices * rows * columns != b.count) return c.Refuse("the batches do not fit");
    for (int64_t m = 0; m < matrices; ++m) {
      SolveOf(left.data() + m * n * n, right.data() + m * rows * columns, n, rows, columns,
              options);
    }
    ConvertElements(ComputeType(a.type), right.data(), out.type, out.data, out.count);
    return {};
  });
}

}  // namespace hlokit::eval
