// Which result shape must an instruction have? The table of rules; the rules are in infer_*.cc.
#include "hlokit/shape_inference.h"

#include "src/analysis/inference_context.h"

namespace hlokit {
namespace inference {
namespace {

Result<ShapeId> SameAsOperand(const Context& c) { return c.operand(0); }
Result<ShapeId> SameAsDeclared(const Context& c) { return c.input.declared; }
Result<ShapeId> UnsignedScalar(const Context& c) {
  return c.Array(ElementType::kU32, std::span<const int64_t>());
}

Result<ShapeId> RngState(const Context& c) {
  const int64_t sizes[] = {2};
  return c.Array(ElementType::kU64, sizes);
}
Result<ShapeId> InferConstant(const Context& c) {
  const Attr* literal = c.Find(AttrKind::kConstantLiteral);
  if (literal == nullptr || literal->low >= c.module.literal_count()) {
    return Fail("a constant needs a value");
  }
  return c.module.literal(LiteralId(literal->low)).shape;
}

Rule RuleOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCeil:
    case Opcode::kClz:
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
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kRsqrt:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
      return InferUnary;
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kAtan2:
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
    case Opcode::kSubtract:
    case Opcode::kXor:
      return InferBinary;
    case Opcode::kCompare:
      return InferCompare;
    case Opcode::kComplex:
      return InferComplex;
    case Opcode::kSelect:
      return InferSelect;
    case Opcode::kClamp:
      return InferClamp;
    case Opcode::kConvert:
      return InferConvert;
    case Opcode::kBitcastConvert:
      return InferBitcastConvert;
    case Opcode::kStochasticConvert:
      return InferStochasticConvert;
    case Opcode::kReducePrecision:
      return InferReducePrecision;
    case Opcode::kMap:
      return InferMap;

    case Opcode::kCopy:
    case Opcode::kDomain:
    case Opcode::kOptimizationBarrier:
      return SameAsOperand;
    case Opcode::kBroadcast:
      return InferBroadcast;
    case Opcode::kReshape:
      return InferReshape;
    case Opcode::kDynamicReshape:
      return InferDynamicReshape;
    case Opcode::kTranspose:
      return InferTranspose;
    case Opcode::kReverse:
      return InferReverse;
    case Opcode::kSlice:
      return InferSlice;
    case Opcode::kDynamicSlice:
      return InferDynamicSlice;
    case Opcode::kDynamicUpdateSlice:
      return InferDynamicUpdateSlice;
    case Opcode::kConcatenate:
      return InferConcatenate;
    case Opcode::kPad:
      return InferPad;
    case Opcode::kIota:
      return InferIota;
    case Opcode::kGetDimensionSize:
      return InferGetDimensionSize;
    case Opcode::kSetDimensionSize:
      return InferSetDimensionSize;
    case Opcode::kSort:
      return InferSort;
    case Opcode::kTopK:
      return InferTopK;
    case Opcode::kGather:
      return InferGather;
    case Opcode::kScatter:
      return InferScatter;

    case Opcode::kDot:
      return InferDot;
    case Opcode::kRaggedDot:
      return InferRaggedDot;
    case Opcode::kScaledDot:
      return InferScaledDot;
    case Opcode::kConvolution:
      return InferConvolution;
    case Opcode::kReduce:
      return InferReduce;
    case Opcode::kReduceWindow:
      return InferReduceWindow;
    case Opcode::kSelectAndScatter:
      return InferSelectAndScatter;
    case Opcode::kScan:
      return InferScan;
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return InferBatchNorm;
    case Opcode::kFft:
      return InferFft;
    case Opcode::kCholesky:
      return InferCholesky;
    case Opcode::kTriangularSolve:
      return InferTriangularSolve;
    case Opcode::kRng:
      return InferRng;
    case Opcode::kRngBitGenerator:
      return InferRngBitGenerator;
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return UnsignedScalar;

    case Opcode::kTuple:
      return InferTuple;
    case Opcode::kGetTupleElement:
      return InferGetTupleElement;
    case Opcode::kCall:
      return InferCall;
    case Opcode::kWhile:
      return InferWhile;
    case Opcode::kConditional:
      return InferConditional;
    case Opcode::kFusion:
      return InferFusion;
    case Opcode::kAfterAll:
      return InferAfterAll;
    case Opcode::kAddDependency:
      return InferAddDependency;

    case Opcode::kAllGather:
      return InferAllGather;
    case Opcode::kAllGatherStart:
      return InferAllGatherStart;
    case Opcode::kReduceScatter:
      return InferReduceScatter;
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kCollectiveBroadcast:
      return InferSameAsOperands;
    case Opcode::kAllReduceDone:
      return SameAsOperand;
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteDone:
      return InferSecondOfPair;
    case Opcode::kAllToAll:
      return InferAllToAll;
    case Opcode::kRaggedAllToAll:
      return InferRaggedAllToAll;
    case Opcode::kCollectivePermute:
      return InferCollectivePermute;
    case Opcode::kCollectivePermuteStart:
      return InferCollectivePermuteStart;
    case Opcode::kCopyStart:
      return InferCopyStart;
    case Opcode::kCopyDone:
      return InferCopyDone;
    case Opcode::kAsyncStart:
      return InferAsyncStart;
    case Opcode::kAsyncUpdate:
      return InferAsyncUpdate;
    case Opcode::kAsyncDone:
      return InferAsyncDone;
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
      return InferHostTransfer;

    case Opcode::kConstant:
      return InferConstant;
    case Opcode::kRngGetAndUpdateState:
      return RngState;
    case Opcode::kBitcast:
    case Opcode::kCustomCall:
    case Opcode::kParameter:
    case Opcode::kUnknown:
      return SameAsDeclared;
  }
  return SameAsDeclared;
}

/// opt-barrier counts as inferable, but a text without its type is refused (hlo-text-cases.md,
/// E62).
bool NeedsDeclared(Opcode opcode) {
  return !Info(opcode).inferable || opcode == Opcode::kOptimizationBarrier;
}

}  // namespace
}  // namespace inference

Result<ShapeId> InferShape(const Module& module, const InferenceInput& input) {
  const OpcodeInfo& info = Info(input.opcode);
  if (info.arity != kVariadic && static_cast<size_t>(info.arity) != input.operands.size()) {
    return inference::Fail("{} takes {} operand{}, not {}", info.text, info.arity,
                           info.arity == 1 ? "" : "s", input.operands.size());
  }
  if (!input.declared.valid() && inference::NeedsDeclared(input.opcode)) {
    return inference::Fail("the result type of {} cannot be left out", info.text);
  }
  return inference::RuleOf(input.opcode)({module, module.mutable_shapes(), input});
}

Result<ShapeId> InferShape(const Module& module, Opcode opcode, std::span<const InstId> operands,
                           std::span<const Attr> attributes) {
  std::vector<ShapeId> shapes;
  shapes.reserve(operands.size());
  for (InstId operand : operands) shapes.push_back(module.shape(operand));
  return InferShape(
      module, {.opcode = opcode, .operands = shapes, .attributes = attributes, .declared = {}});
}

}  // namespace hlokit
