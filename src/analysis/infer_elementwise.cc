// Which shape does an elementwise instruction have?
#include "src/analysis/inference_context.h"

namespace hlokit::inference {
namespace {

/// Which operand types a unary opcode takes.
enum class Takes { kFloat, kFloatComplex, kIntegral, kPredIntegral, kNumber, kSignedOrComplex };

bool Accepts(Takes takes, ElementType type) {
  switch (takes) {
    case Takes::kFloat:
      return IsFloating(type);
    case Takes::kFloatComplex:
      return IsFloating(type) || IsComplex(type);
    case Takes::kIntegral:
      return IsIntegral(type);
    case Takes::kPredIntegral:
      return IsIntegral(type) || type == ElementType::kPred;
    case Takes::kNumber:
      return IsIntegral(type) || IsFloating(type) || IsComplex(type);
    case Takes::kSignedOrComplex:
      return IsSignedKind(type);
  }
  return false;
}

std::string_view Describe(Takes takes) {
  switch (takes) {
    case Takes::kFloat:
      return "a floating type";
    case Takes::kFloatComplex:
      return "a floating or complex type";
    case Takes::kIntegral:
      return "an integral type";
    case Takes::kPredIntegral:
      return "pred or an integral type";
    case Takes::kNumber:
      return "an integral, floating or complex type";
    case Takes::kSignedOrComplex:
      return "a signed, floating or complex type";
  }
  return "";
}

Takes UnaryTakes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kCbrt:
    case Opcode::kErf:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kIsFinite:
    case Opcode::kReducePrecision:
      return Takes::kFloat;
    case Opcode::kClz:
    case Opcode::kPopulationCount:
      return Takes::kIntegral;
    case Opcode::kNot:
      return Takes::kPredIntegral;
    case Opcode::kNegate:
      return Takes::kNumber;
    case Opcode::kSign:
    case Opcode::kAbs:
      return Takes::kSignedOrComplex;
    default:
      return Takes::kFloatComplex;
  }
}

bool BinaryTakes(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return Accepts(Takes::kPredIntegral, type);
    case Opcode::kAtan2:
      return Accepts(Takes::kFloatComplex, type);
    case Opcode::kSubtract:
    case Opcode::kDivide:
    case Opcode::kRemainder:
    case Opcode::kPower:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return type != ElementType::kPred;
    default:
      return true;
  }
}

/// Operands `first` and `second` have the same sizes; a scalar fits everything (whether HLO allows
/// it is the business of the check for implicit broadcasts). The answer has the sizes of both.
Result<ShapeId> CommonSizes(const Context& c, size_t first, size_t second) {
  ShapeId a = c.operand(first);
  ShapeId b = c.operand(second);
  if (c.shapes.rank(a) == 0) return b;
  if (c.shapes.rank(b) == 0) return a;
  std::span<const int64_t> left = c.shapes.sizes(a);
  std::span<const int64_t> right = c.shapes.sizes(b);
  if (!SameSizes(left, right)) {
    return Fail("operands {} and {} of {} differ in sizes: {} and {}", first, second,
                OpcodeText(c.input.opcode), c.Text(a), c.Text(b));
  }
  if (!c.shapes[b].has_dynamic) return a;
  // A dimension of the result is dynamic when it is so in any operand; bounded wins over unbounded.
  Dims dims = c.DimsOf(a);
  for (uint32_t d = 0; d < dims.sizes.size(); ++d) {
    if (left[d] == kUnboundedSize) dims.sizes[d] = right[d];
    dims.dynamic[d] |= c.shapes.IsDynamicDimension(b, d) ? 1 : 0;
  }
  return c.shapes.Array(c.shapes.type(a), dims.sizes, c.shapes.layout(a), dims.dynamic);
}

}  // namespace

Result<ShapeId> InferUnary(const Context& c) {
  TRY(ExpectArray(c, 0));
  ElementType type = c.type(0);
  Takes takes = UnaryTakes(c.input.opcode);
  if (!Accepts(takes, type)) {
    return Fail("{} takes {}, not {}", OpcodeText(c.input.opcode), Describe(takes),
                Info(type).text);
  }
  switch (c.input.opcode) {
    case Opcode::kIsFinite:
      return c.shapes.WithType(c.operand(0), ElementType::kPred);
    case Opcode::kAbs:
    case Opcode::kReal:
    case Opcode::kImag:
      return c.shapes.WithType(c.operand(0), ComponentType(type));
    default:
      return c.operand(0);
  }
}

Result<ShapeId> InferBinary(const Context& c) {
  TRY(ExpectArrays(c));
  ElementType left = c.type(0);
  ElementType right = c.type(1);
  if (!SameTypeButPrecision(left, right)) {
    return Fail("the operands of {} have different types: {} and {}", OpcodeText(c.input.opcode),
                c.Text(c.operand(0)), c.Text(c.operand(1)));
  }
  if (!BinaryTakes(c.input.opcode, left)) {
    return Fail("{} does not take operands of type {}", OpcodeText(c.input.opcode),
                Info(left).text);
  }
  if (c.operand(0) == c.operand(1)) return c.operand(0);
  ASSIGN_OR_RETURN(ShapeId sizes, CommonSizes(c, 0, 1));
  return c.shapes.WithType(sizes, WiderType(left, right));
}

Result<ShapeId> InferCompare(const Context& c) {
  ASSIGN_OR_RETURN(ShapeId common, InferBinary(c));
  return c.shapes.WithType(common, ElementType::kPred);
}

Result<ShapeId> InferComplex(const Context& c) {
  ASSIGN_OR_RETURN(ShapeId common, InferBinary(c));
  if (c.type(0) != c.type(1)) {
    return Fail("the operands of complex have different types: {} and {}", Info(c.type(0)).text,
                Info(c.type(1)).text);
  }
  switch (c.type(0)) {
    case ElementType::kF32:
      return c.shapes.WithType(common, ElementType::kC64);
    case ElementType::kF64:
      return c.shapes.WithType(common, ElementType::kC128);
    default:
      return Fail("complex takes f32 or f64, not {}", Info(c.type(0)).text);
  }
}

Result<ShapeId> InferSelect(const Context& c) {
  TRY(ExpectArrays(c));
  if (c.type(0) != ElementType::kPred) {
    return Fail("operand 0 of select must be of type pred, not {}", Info(c.type(0)).text);
  }
  if (!SameSizes(c.sizes(1), c.sizes(2)) || !SameTypeButPrecision(c.type(1), c.type(2))) {
    return Fail("the values of select differ: {} and {}", c.Text(c.operand(1)),
                c.Text(c.operand(2)));
  }
  ASSIGN_OR_RETURN(ShapeId values, CommonSizes(c, 1, 2));
  if (c.rank(0) != 0 && !SameSizes(c.sizes(0), c.sizes(1))) {
    return Fail("the predicate of select has other sizes than the values: {} and {}",
                c.Text(c.operand(0)), c.Text(c.operand(1)));
  }
  return c.shapes.WithType(values, WiderType(c.type(1), c.type(2)));
}

Result<ShapeId> InferClamp(const Context& c) {
  TRY(ExpectArrays(c));
  for (size_t bound : {0, 2}) {
    if (!SameTypeButPrecision(c.type(bound), c.type(1))) {
      return Fail("the bounds of clamp must have the type of the value: {} and {}",
                  c.Text(c.operand(bound)), c.Text(c.operand(1)));
    }
    if (c.rank(bound) != 0 && !SameSizes(c.sizes(bound), c.sizes(1))) {
      return Fail("the bounds of clamp must be scalars or have the sizes of the value: {} and {}",
                  c.Text(c.operand(bound)), c.Text(c.operand(1)));
    }
  }
  if (c.rank(0) != c.rank(2)) {
    return Fail("the bounds of clamp must both be scalars or both arrays: {} and {}",
                c.Text(c.operand(0)), c.Text(c.operand(2)));
  }
  return c.operand(1);
}

Result<ShapeId> InferConvert(const Context& c) {
  TRY(ExpectArray(c, 0));
  if (!c.shapes.IsArray(c.input.declared)) return Fail("convert gives an array");
  ElementType to = c.shapes.type(c.input.declared);
  if (IsComplex(c.type(0)) && !IsComplex(to)) {
    return Fail("convert from {} to {} would lose the imaginary part", Info(c.type(0)).text,
                Info(to).text);
  }
  return c.shapes.WithType(c.operand(0), to);
}

Result<ShapeId> InferBitcastConvert(const Context& c) {
  TRY(ExpectArray(c, 0));
  if (!c.shapes.IsArray(c.input.declared)) return Fail("bitcast-convert gives an array");
  ElementType from = c.type(0);
  ElementType to = c.shapes.type(c.input.declared);
  if (IsComplex(from) != IsComplex(to)) {
    return Fail("bitcast-convert cannot mix complex and other types: {} and {}", Info(from).text,
                Info(to).text);
  }
  int from_bits = Info(from).bits;
  int to_bits = Info(to).bits;
  if (from_bits == to_bits) return c.shapes.WithType(c.operand(0), to);
  if (std::max(from_bits, to_bits) % std::min(from_bits, to_bits) != 0) {
    return Fail("bitcast-convert between {} and {}: neither width divides the other",
                Info(from).text, Info(to).text);
  }
  Dims dims = c.DimsOf(c.operand(0));
  if (from_bits > to_bits) {
    dims.Add(from_bits / to_bits);
  } else {
    int64_t ratio = to_bits / from_bits;
    if (dims.sizes.empty() || (dims.sizes.back() != ratio && dims.sizes.back() != kUnboundedSize)) {
      return Fail("bitcast-convert from {} to {} needs a last dimension of size {} in {}",
                  Info(from).text, Info(to).text, ratio, c.Text(c.operand(0)));
    }
    dims.sizes.pop_back();
    dims.dynamic.pop_back();
  }
  return c.Array(to, dims);
}

Result<ShapeId> InferStochasticConvert(const Context& c) {
  TRY(ExpectArrays(c));
  if (!c.shapes.IsArray(c.input.declared)) return Fail("stochastic-convert gives an array");
  if (!IsFloating(c.type(0))) {
    return Fail("stochastic-convert takes a floating type, not {}", Info(c.type(0)).text);
  }
  if (Info(c.type(1)).kind != ElementKind::kUnsigned ||
      Info(c.type(0)).bits != Info(c.type(1)).bits || !SameSizes(c.sizes(0), c.sizes(1))) {
    return Fail(
        "the random bits of stochastic-convert must be unsigned integers of the width and "
        "the sizes of the operand: {} and {}",
        c.Text(c.operand(0)), c.Text(c.operand(1)));
  }
  return c.shapes.WithType(c.operand(0), c.shapes.type(c.input.declared));
}

Result<ShapeId> InferReducePrecision(const Context& c) {
  if (c.Int(AttrKind::kExponentBits) < 1) return Fail("exponent_bits must be at least 1");
  if (c.Int(AttrKind::kMantissaBits) < 0) return Fail("mantissa_bits must not be negative");
  return InferUnary(c);
}

Result<ShapeId> InferMap(const Context& c) {
  if (c.operand_count() == 0) return Fail("map needs at least one operand");
  TRY(ExpectArrays(c));
  for (size_t i = 1; i < c.operand_count(); ++i) {
    if (!SameSizes(c.sizes(0), c.sizes(i))) {
      return Fail("the operands of map differ in sizes: {} and {}", c.Text(c.operand(0)),
                  c.Text(c.operand(i)));
    }
  }
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  if (callee.parameters.size() != c.operand_count()) {
    return Fail("map has {} operands, but its computation {} parameters", c.operand_count(),
                callee.parameters.size());
  }
  for (size_t i = 0; i < c.operand_count(); ++i) {
    if (!c.IsScalar(callee.parameters[i]) ||
        !SameTypeButPrecision(c.shapes.type(callee.parameters[i]), c.type(i))) {
      return Fail("parameter {} of the computation of map is {}, but the operand {}", i,
                  c.Text(callee.parameters[i]), c.Text(c.operand(i)));
    }
  }
  if (!c.IsScalar(callee.root)) {
    return Fail("the computation of map must give a scalar, not {}", c.Text(callee.root));
  }
  return c.shapes.WithType(c.operand(0), c.shapes.type(callee.root));
}

}  // namespace hlokit::inference
