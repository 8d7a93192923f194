// Which shape do batch norm, FFT, linear algebra and random numbers have?
#include <algorithm>

#include "src/analysis/inference_context.h"

namespace hlokit::inference {

Result<ShapeId> InferBatchNorm(const Context& c) {
  TRY(ExpectArrays(c));
  std::string_view name = OpcodeText(c.input.opcode);
  int64_t feature = c.Int(AttrKind::kFeatureIndex);
  if (feature < 0 || feature >= c.rank(0)) {
    return Fail("feature_index {} is out of range for {}", feature, c.Text(c.operand(0)));
  }
  if (!IsFloating(c.type(0)))
    return Fail("{} takes floating operands, not {}", name, Info(c.type(0)).text);
  bool grad = c.input.opcode == Opcode::kBatchNormGrad;
  int64_t size = c.sizes(0)[static_cast<size_t>(feature)];
  // Operand 4 of the gradient has the shape of operand 0, the others have one value per feature.
  for (size_t i = 1; i < c.operand_count(); ++i) {
    if (!IsFloating(c.type(i)))
      return Fail("{} takes floating operands, not {}", name, Info(c.type(i)).text);
    if (grad && i == 4) {
      if (!SameSizes(c.sizes(0), c.sizes(4))) {
        return Fail("operand 4 of {} must have the sizes of {}, not {}", name, c.Text(c.operand(0)),
                    c.Text(c.operand(4)));
      }
    } else if (c.rank(i) != 1 || !CompatibleSizes(c.sizes(i)[0], size)) {
      return Fail("operand {} of {} must have one value for each of the {} features, not {}", i,
                  name, size, c.Text(c.operand(i)));
    }
  }
  if (c.input.opcode == Opcode::kBatchNormInference) return c.operand(0);
  Dims dims;
  dims.Add(size, c.shapes.IsDynamicDimension(c.operand(0), static_cast<uint32_t>(feature)));
  ShapeId per_feature = c.Array(c.type(0), dims);
  ShapeId results[] = {c.operand(0), per_feature, per_feature};
  return c.shapes.Tuple(results);
}

namespace {

enum FftType { kForward, kInverse, kRealForward, kRealInverse };  // order of EnumNames

ElementType ComplexOf(ElementType type) {
  return type == ElementType::kF32   ? ElementType::kC64
         : type == ElementType::kF64 ? ElementType::kC128
                                     : ElementType::kInvalid;
}

}  // namespace

Result<ShapeId> InferFft(const Context& c) {
  TRY(ExpectArray(c, 0));
  std::span<const int64_t> length = c.Ints(AttrKind::kFftLength);
  if (length.empty() || length.size() > 3 || length.size() > c.rank(0)) {
    return Fail(
        "fft_length must have 1 to 3 entries and not more than the operand {} dimensions, not {}",
        c.rank(0), length.size());
  }
  Dims dims = c.DimsOf(c.operand(0));
  size_t first = c.rank(0) - length.size();
  int64_t type = c.Int(AttrKind::kFftType);
  bool real_input = type == kRealForward;
  if (real_input ? ComplexOf(c.type(0)) == ElementType::kInvalid : !IsComplex(c.type(0))) {
    return Fail("this kind of fft takes {} operands, not {}", real_input ? "f32 or f64" : "complex",
                Info(c.type(0)).text);
  }
  if (type != kRealForward && type != kRealInverse) return c.operand(0);
  for (size_t i = 0; i < length.size(); ++i) {
    if (length[i] < 0) return Fail("fft_length must not be negative");
    bool last = i + 1 == length.size();
    int64_t wanted = last && type == kRealInverse && length[i] != 0 ? length[i] / 2 + 1 : length[i];
    if (!CompatibleSizes(dims.sizes[first + i], wanted)) {
      return Fail("dimension {} of {} must have size {} for this fft_length", first + i,
                  c.Text(c.operand(0)), wanted);
    }
  }
  if (type == kRealInverse) {
    dims.sizes.back() = length.back();
    return c.Array(ComponentType(c.type(0)), dims);
  }
  if (length.back() != 0) dims.sizes.back() = length.back() / 2 + 1;
  return c.Array(ComplexOf(c.type(0)), dims);
}

Result<ShapeId> InferCholesky(const Context& c) {
  TRY(ExpectArray(c, 0));
  if (!IsFloating(c.type(0)) && !IsComplex(c.type(0))) {
    return Fail("cholesky takes floating or complex operands, not {}", Info(c.type(0)).text);
  }
  uint32_t rank = c.rank(0);
  if (rank < 2 || !CompatibleSizes(c.sizes(0)[rank - 1], c.sizes(0)[rank - 2])) {
    return Fail("cholesky takes square matrices, not {}", c.Text(c.operand(0)));
  }
  return c.operand(0);
}

Result<ShapeId> InferTriangularSolve(const Context& c) {
  TRY(ExpectArrays(c));
  if ((!IsFloating(c.type(0)) && !IsComplex(c.type(0))) || c.type(0) != c.type(1)) {
    return Fail("triangular-solve takes two floating or complex operands of one type: {} and {}",
                Info(c.type(0)).text, Info(c.type(1)).text);
  }
  if (c.Int(AttrKind::kTransposeA) == 0) {
    return Fail("triangular-solve needs transpose_a (NO_TRANSPOSE, TRANSPOSE or ADJOINT)");
  }
  uint32_t rank = c.rank(0);
  if (rank < 2 || rank != c.rank(1)) {
    return Fail(
        "the operands of triangular-solve must have the same number of dimensions, at least "
        "2: {} and {}",
        c.Text(c.operand(0)), c.Text(c.operand(1)));
  }
  std::span<const int64_t> a = c.sizes(0);
  std::span<const int64_t> b = c.sizes(1);
  if (!CompatibleSizes(a[rank - 1], a[rank - 2])) {
    return Fail("operand 0 of triangular-solve must be square, not {}", c.Text(c.operand(0)));
  }
  bool left = c.Int(AttrKind::kLeftSide) != 0;
  if (!CompatibleSizes(a[rank - 1], b[left ? rank - 2 : rank - 1])) {
    return Fail("the shared dimension of triangular-solve differs: {} and {}", c.Text(c.operand(0)),
                c.Text(c.operand(1)));
  }
  if (!SameSizes(a.first(rank - 2), b.first(rank - 2))) {
    return Fail("the leading dimensions of triangular-solve differ: {} and {}",
                c.Text(c.operand(0)), c.Text(c.operand(1)));
  }
  return c.operand(1);
}

Result<ShapeId> InferRng(const Context& c) {
  if (!c.shapes.IsArray(c.input.declared)) return Fail("rng gives an array");
  ElementType type = c.shapes.type(c.input.declared);
  enum { kInvalid, kUniform, kNormal };  // order of EnumNames
  int64_t distribution = c.Int(AttrKind::kDistribution);
  bool normal = distribution == kNormal;
  if (!normal && distribution != kUniform) return Fail("rng needs a distribution");
  if (c.operand_count() != 2) return Fail("rng takes two operands, not {}", c.operand_count());
  for (size_t i = 0; i < 2; ++i) {
    if (!c.IsScalar(c.operand(i))) {
      return Fail("the parameters of rng must be scalars, not {}", c.Text(c.operand(i)));
    }
  }
  if (normal ? !IsFloating(type) : IsComplex(type)) {
    return Fail("rng of this distribution does not give {}", Info(type).text);
  }
  return c.input.declared;
}

Result<ShapeId> InferRngBitGenerator(const Context& c) {
  TRY(ExpectArray(c, 0));
  ShapeId declared = c.input.declared;
  if (!c.shapes.IsTuple(declared)) {
    // A bare array of bits is what the oldest form gave.
    return Fail("rng-bit-generator gives (state, bits), not {}", c.Text(declared));
  }
  if (c.shapes.element_count(declared) != 2) {
    return Fail("rng-bit-generator gives (state, bits), not {}", c.Text(declared));
  }
  ShapeId results[] = {c.operand(0), c.shapes.element(declared, 1)};
  return c.shapes.Tuple(results);
}

}  // namespace hlokit::inference
