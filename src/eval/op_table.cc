// Who computes an opcode? What is in no row is refused by name.
#include <array>

#include "src/eval/handlers.h"
#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

struct ArrayRow {
  Opcode opcode;
  ArrayHandler handler;
};
struct ValueRow {
  Opcode opcode;
  ValueHandler handler;
};

constexpr Opcode kElementwise[] = {
    Opcode::kAbs,
    Opcode::kAcos,
    Opcode::kAcosh,
    Opcode::kAdd,
    Opcode::kAnd,
    Opcode::kAsin,
    Opcode::kAsinh,
    Opcode::kAtan2,
    Opcode::kAtanh,
    Opcode::kCbrt,
    Opcode::kCeil,
    Opcode::kClamp,
    Opcode::kClz,
    Opcode::kCompare,
    Opcode::kComplex,
    Opcode::kConvert,
    Opcode::kCos,
    Opcode::kCosh,
    Opcode::kDivide,
    Opcode::kErf,
    Opcode::kExp,
    Opcode::kExpm1,
    Opcode::kFloor,
    Opcode::kImag,
    Opcode::kIsFinite,
    Opcode::kLog,
    Opcode::kLog1p,
    Opcode::kLogistic,
    Opcode::kMaximum,
    Opcode::kMinimum,
    Opcode::kMulhi,
    Opcode::kMultiply,
    Opcode::kNegate,
    Opcode::kNot,
    Opcode::kOr,
    Opcode::kPopulationCount,
    Opcode::kPower,
    Opcode::kReal,
    Opcode::kReducePrecision,
    Opcode::kRemainder,
    Opcode::kRoundNearestAfz,
    Opcode::kRoundNearestEven,
    Opcode::kRsqrt,
    Opcode::kSelect,
    Opcode::kShiftLeft,
    Opcode::kShiftRightArithmetic,
    Opcode::kShiftRightLogical,
    Opcode::kSign,
    Opcode::kSin,
    Opcode::kSinh,
    Opcode::kSqrt,
    Opcode::kStochasticConvert,
    Opcode::kSubtract,
    Opcode::kTan,
    Opcode::kTanh,
    Opcode::kXor,
};

constexpr ArrayRow kArrayRows[] = {
    {Opcode::kBatchNormGrad, BatchNormGrad},
    {Opcode::kBatchNormInference, BatchNormInference},
    {Opcode::kBatchNormTraining, BatchNormTraining},
    {Opcode::kBitcastConvert, BitcastConvert},
    {Opcode::kBroadcast, Broadcast},
    {Opcode::kCholesky, Cholesky},
    {Opcode::kConcatenate, Concatenate},
    {Opcode::kConvolution, Convolution},
    {Opcode::kDot, Dot},
    {Opcode::kDynamicReshape, DynamicReshape},
    {Opcode::kDynamicSlice, DynamicSlice},
    {Opcode::kDynamicUpdateSlice, DynamicUpdateSlice},
    {Opcode::kFft, Fft},
    {Opcode::kGather, Gather},
    {Opcode::kIota, Iota},
    {Opcode::kMap, Map},
    {Opcode::kPad, Pad},
    {Opcode::kRaggedDot, RaggedDot},
    {Opcode::kReduce, Reduce},
    {Opcode::kReduceWindow, ReduceWindow},
    {Opcode::kReshape, Reshape},
    {Opcode::kReverse, Reverse},
    {Opcode::kRng, Rng},
    {Opcode::kRngBitGenerator, RngBitGenerator},
    {Opcode::kRngGetAndUpdateState, RngGetAndUpdateState},
    {Opcode::kScaledDot, ScaledDot},
    {Opcode::kScatter, Scatter},
    {Opcode::kSelectAndScatter, SelectAndScatter},
    {Opcode::kSlice, Slice},
    {Opcode::kSort, Sort},
    {Opcode::kTopK, TopK},
    {Opcode::kTranspose, Transpose},
    {Opcode::kTriangularSolve, TriangularSolve},
};

constexpr ValueRow kValueRows[] = {
    {Opcode::kAddDependency, PassFirst},
    {Opcode::kAfterAll, Token},
    {Opcode::kAllGather, AllGather},
    {Opcode::kAllGatherDone, SecondElement},
    {Opcode::kAllGatherStart, AllGather},
    {Opcode::kAllReduce, AllReduce},
    {Opcode::kAllReduceDone, PassFirst},
    {Opcode::kAllReduceStart, AllReduce},
    {Opcode::kAllToAll, AllToAll},
    {Opcode::kAsyncDone, SecondElement},
    {Opcode::kAsyncStart, AsyncStart},
    {Opcode::kAsyncUpdate, PassFirst},
    {Opcode::kBitcast, Bitcast},
    {Opcode::kCall, Call},
    {Opcode::kCollectiveBroadcast, CollectiveBroadcast},
    {Opcode::kCollectivePermute, CollectivePermute},
    {Opcode::kCollectivePermuteDone, SecondElement},
    {Opcode::kCollectivePermuteStart, CollectivePermute},
    {Opcode::kConditional, Conditional},
    {Opcode::kConstant, Constant},
    {Opcode::kCopy, Copy},
    {Opcode::kCopyDone, FirstElement},
    {Opcode::kCopyStart, CopyStart},
    {Opcode::kCustomCall, CustomCall},
    {Opcode::kDomain, PassFirst},
    {Opcode::kFusion, Fusion},
    {Opcode::kGetDimensionSize, GetDimensionSize},
    {Opcode::kGetTupleElement, GetTupleElement},
    {Opcode::kInfeed, Infeed},
    {Opcode::kOptimizationBarrier, PassFirst},
    {Opcode::kOutfeed, Outfeed},
    {Opcode::kParameter, Parameter},
    {Opcode::kPartitionId, DeviceId},
    {Opcode::kRaggedAllToAll, RaggedAllToAll},
    {Opcode::kRecv, Recv},
    {Opcode::kRecvDone, RecvDone},
    {Opcode::kReduceScatter, ReduceScatter},
    {Opcode::kReplicaId, DeviceId},
    {Opcode::kScan, Scan},
    {Opcode::kSend, Send},
    {Opcode::kSendDone, Token},
    {Opcode::kSetDimensionSize, SetDimensionSize},
    {Opcode::kTuple, Tuple},
    {Opcode::kWhile, While},
};

struct Table {
  std::array<ArrayHandler, 256> arrays{};
  std::array<ValueHandler, 256> values{};
};

constexpr Table MakeTable() {
  Table table;
  for (Opcode opcode : kElementwise) table.arrays[static_cast<size_t>(opcode)] = Elementwise;
  for (const ArrayRow& row : kArrayRows)
    table.arrays[static_cast<size_t>(row.opcode)] = row.handler;
  for (const ValueRow& row : kValueRows)
    table.values[static_cast<size_t>(row.opcode)] = row.handler;
  return table;
}
constexpr Table kTable = MakeTable();

}  // namespace

ArrayHandler FindArrayHandler(Opcode opcode) { return kTable.arrays[static_cast<size_t>(opcode)]; }
ValueHandler FindValueHandler(Opcode opcode) { return kTable.values[static_cast<size_t>(opcode)]; }

}  // namespace hlokit::eval
