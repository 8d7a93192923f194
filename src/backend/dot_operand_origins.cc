// Where do the operands of dots come from? (section 4.5, "packed" and "AUTO chain")
#include "src/backend/dot_operand_origins.h"

#include <algorithm>

namespace hlokit::backend {
namespace {

bool IsPackedType(ElementType type) {
  return Info(type).kind != ElementKind::kOther && type != ElementType::kPred &&
         Info(type).bits < 8;
}

/// An elementwise operation with two operands (the groups of layout-assignment.md section 7).
bool IsElementwiseBinary(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kAtan2:
    case Opcode::kCompare:
    case Opcode::kComplex:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMulhi:
    case Opcode::kMultiply:
    case Opcode::kOr:
    case Opcode::kPower:
    case Opcode::kRemainder:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kStochasticConvert:
    case Opcode::kSubtract:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

bool IsElementwiseUnary(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtanh:
    case Opcode::kBitcastConvert:
    case Opcode::kCbrt:
    case Opcode::kCeil:
    case Opcode::kClz:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kFloor:
    case Opcode::kImag:
    case Opcode::kIsFinite:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kPopulationCount:
    case Opcode::kReal:
    case Opcode::kReducePrecision:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kRsqrt:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
      return true;
    default:
      return false;
  }
}

}  // namespace

/// Operands come before their users, so one walk knows what their operands are.
void DotOperandOrigins::Fill() {
  filled_ = true;
  for (InstId value : services_.PostOrder(computation_)) {
    if (FindPacked(value)) packed_.insert(value.value);
    if (computation_ == module_.entry() && FindFree(value)) free_.insert(value.value);
  }
}

bool DotOperandOrigins::FindPacked(InstId value) const {
  if (IsPackedType(module_.shapes().type(module_.shape(value)))) return true;
  std::span<const InstId> operands = module_.operands(value);
  bool looks_through =
      operands.size() == 1 || (operands.size() == 2 && IsElementwiseBinary(module_.opcode(value)));
  return looks_through && std::any_of(operands.begin(), operands.end(), [&](InstId operand) {
           return packed_.contains(operand.value);
         });
}

bool DotOperandOrigins::FindFree(InstId value) const {
  Opcode opcode = module_.opcode(value);
  std::span<const InstId> operands = module_.operands(value);
  if (opcode == Opcode::kParameter) {
    const ShapePool& shapes = module_.shapes();
    const ComputationLayout& entry = services_.entry_layout();
    size_t number = static_cast<size_t>(module_.parameter_number(value));
    if (number >= entry.parameters.size()) return false;
    std::vector<ShapeId> parts = shapes.Subshapes(entry.parameters[number]);
    return std::none_of(parts.begin(), parts.end(), [&](ShapeId part) {
      return shapes.IsArray(part) && shapes.layout(part).valid();
    });
  }
  bool looks_through = opcode == Opcode::kConcatenate || opcode == Opcode::kTranspose ||
                       opcode == Opcode::kReshape || IsElementwiseUnary(opcode);
  return looks_through && std::any_of(operands.begin(), operands.end(), [&](InstId operand) {
           return free_.contains(operand.value);
         });
}

}  // namespace hlokit::backend
