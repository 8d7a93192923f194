// Does every instruction have the shape that its opcode gives? hlo-verifier.md sections 3 and 4.1.
#include <algorithm>

#include "hlokit/shape_inference.h"
#include "src/analysis/inference_context.h"
#include "src/verify/checker.h"

namespace hlokit {

using inference::CompatibleButPrecision;

namespace {

/// How the shape of an instruction is compared with the inferred one.
enum class Comparison : uint8_t { kEqual, kSameOrder, kUpdate, kCopy, kTypes, kCompatible };

Comparison ComparisonOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kCall:
    case Opcode::kConditional:
    case Opcode::kCopyDone:
    case Opcode::kCustomCall:
    case Opcode::kFusion:
    case Opcode::kGetTupleElement:
    case Opcode::kOptimizationBarrier:
    case Opcode::kOutfeed:
    case Opcode::kParameter:
    case Opcode::kRecvDone:
    case Opcode::kSendDone:
    case Opcode::kTuple:
    case Opcode::kWhile:
      return Comparison::kEqual;
    case Opcode::kCopyStart:
    case Opcode::kInfeed:
    case Opcode::kRecv:
    case Opcode::kSend:
      return Comparison::kSameOrder;
    case Opcode::kDynamicUpdateSlice:
      return Comparison::kUpdate;
    case Opcode::kCopy:
      return Comparison::kCopy;
    case Opcode::kConstant:
      return Comparison::kTypes;  // a literal of ours has no layout
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
      return Comparison::kTypes;
    default:
      return Comparison::kCompatible;
  }
}

/// Opcodes whose operands may have any mix of precisions (hlo-verifier.md section 3.2).
bool MayMixPrecisions(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceDone:
    case Opcode::kAllReduceStart:
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kCall:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kConditional:
    case Opcode::kConstant:
    case Opcode::kConvolution:
    case Opcode::kCopyDone:
    case Opcode::kCopyStart:
    case Opcode::kCustomCall:
    case Opcode::kDomain:
    case Opcode::kDot:
    case Opcode::kFusion:
    case Opcode::kGetTupleElement:
    case Opcode::kInfeed:
    case Opcode::kOptimizationBarrier:
    case Opcode::kOutfeed:
    case Opcode::kParameter:
    case Opcode::kRaggedDot:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kReducePrecision:
    case Opcode::kReduceWindow:
    case Opcode::kScaledDot:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kSort:
    case Opcode::kTuple:
    case Opcode::kUnknown:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Checker::CheckShapes() {
  ForEach([&](InstId id) { CheckShape(id); });
}

void Checker::CheckShape(InstId id) {
  CheckShapeFacts(id);
  operand_shapes_.clear();
  for (InstId operand : module_.operands(id)) operand_shapes_.push_back(module_.shape(operand));
  Result<ShapeId> expected = InferShape(module_, {.opcode = module_.opcode(id),
                                                  .operands = operand_shapes_,
                                                  .attributes = module_.attributes(id),
                                                  .declared = module_.shape(id)});
  if (!expected) {
    Report(id, DiagId::kShapeInference, "{}", expected.error().diagnostics[0].message);
    return;
  }
  if (!ShapeMatches(id, *expected)) {
    Report(id, DiagId::kShapeMismatch, "{} gives {} here, but the instruction is declared as {}",
           OpcodeText(module_.opcode(id)), Text(*expected), Text(module_.shape(id)));
    return;
  }
  CheckImplicitBroadcast(id);
  if (!options_.allow_mixed_precision) {
    CheckMixedPrecision(id);
    CheckReducerPrecision(id);
  }
  CheckLayouts(id);
}

void Checker::CheckShapeFacts(InstId id) {
  ShapeId shape = module_.shape(id);
  uint8_t facts = facts_[shape.value];
  if (facts == 0) return;
  if ((facts & kHasUnbounded) != 0 && !options_.allow_unbounded_dynamism) {
    Report(id, DiagId::kUnboundedDimension, "{} has a dimension without bound", Text(shape));
  }
  if ((facts & kHasWrongLayoutRank) != 0) {
    Report(id, DiagId::kLayoutRank, "a layout in {} orders another number of dimensions",
           shapes_.Text(shape));
  }
  if ((facts & kHasBrokenOrder) != 0 && options_.strict_layouts) {
    Report(id, DiagId::kLayoutNotPermutation, "a layout in {} does not name every dimension once",
           shapes_.Text(shape));
  }
  if ((facts & kHasHostMemory) != 0 && options_.no_host_memory_space) {
    Report(id, DiagId::kHostMemory, "{} lies in host memory", shapes_.Text(shape));
  }
  if ((facts & kHasBigElementSize) != 0 && options_.natural_element_sizes) {
    Report(id, DiagId::kElementSize, "{} gives an element size to a type of 8 bits or more",
           shapes_.Text(shape));
  }
}

bool Checker::ShapeMatches(InstId id, ShapeId expected) const {
  ShapeId shape = module_.shape(id);
  if (shape == expected) return true;
  bool sensitive = options_.layout_sensitive;
  switch (ComparisonOf(module_.opcode(id))) {
    case Comparison::kEqual:
      return Same(shape, expected);
    case Comparison::kSameOrder:
      return sensitive ? shapes_.SameShapeAndOrder(shape, expected, /*strict=*/false)
                       : shapes_.Compatible(shape, expected);
    case Comparison::kUpdate:
      if (!sensitive) return shapes_.Compatible(shape, expected);
      if (callers_[module_.computation_of(id).value].fusion.valid()) {
        return shapes_.SameShapeAndOrder(shape, expected, /*strict=*/false);
      }
      return Same(shape, expected);
    case Comparison::kCopy:
      return CopyMatches(id, expected);
    case Comparison::kTypes:
      return shapes_.Compatible(shape, expected);
    case Comparison::kCompatible:
      break;
  }
  return options_.allow_mixed_precision ? CompatibleButPrecision(shapes_, shape, expected)
                                        : shapes_.Compatible(shape, expected);
}

/// A copy may change any layout, except on the way from host memory to another one.
bool Checker::CopyMatches(InstId id, ShapeId expected) const {
  ShapeId shape = module_.shape(id);
  bool compatible = options_.allow_mixed_precision
                        ? CompatibleButPrecision(shapes_, shape, expected)
                        : shapes_.Compatible(shape, expected);
  if (!compatible || !options_.layout_sensitive || !IsArray(shape) || !IsArray(expected))
    return compatible;
  if (!Has(expected, kHasHostMemory) || Has(shape, kHasHostMemory)) {
    return !Has(shape, kHasHostMemory) || Has(expected, kHasHostMemory) ||
           shapes_.type(shape) == shapes_.type(expected);
  }
  return SameIgnoringMemorySpace(shape, expected);
}

void Checker::CheckImplicitBroadcast(InstId id) {
  const Opcode opcode = module_.opcode(id);
  if (opcode == Opcode::kStochasticConvert ||
      (!IsElementwiseBinary(opcode) && Info(opcode).elements != Elements::kTernary)) {
    return;
  }
  ShapeId shape = module_.shape(id);
  for (ShapeId operand : operand_shapes_) {
    if (operand == shape || std::ranges::equal(shapes_.sizes(operand), shapes_.sizes(shape)))
      continue;
    if (Has(operand, kHasUnbounded) || Has(shape, kHasUnbounded)) continue;
    Report(id, DiagId::kImplicitBroadcast, "an operand is {}, but the result {}", Text(operand),
           Text(shape));
    Help("insert a broadcast of the operand");
    return;
  }
}

void Checker::CheckMixedPrecision(InstId id) {
  if (MayMixPrecisions(module_.opcode(id))) return;
  ElementType seen = ElementType::kInvalid;
  for (ShapeId operand : operand_shapes_) {
    if (!IsArray(operand) || !IsFloating(shapes_.type(operand))) continue;
    if (seen == ElementType::kInvalid) seen = shapes_.type(operand);
    if (shapes_.type(operand) == seen) continue;
    Report(id, DiagId::kMixedPrecision, "the operands have the float types {} and {}",
           Info(seen).text, Info(shapes_.type(operand)).text);
    Help("insert a convert, or allow mixed precision");
    return;
  }
}

void Checker::CheckReducerPrecision(InstId id) {
  Opcode opcode = module_.opcode(id);
  if (opcode != Opcode::kReduce && opcode != Opcode::kReduceWindow && opcode != Opcode::kMap)
    return;
  const ComputationData& callee = module_.computation(module_.to_apply(id));
  size_t count = callee.parameters.size();
  for (size_t i = 0; i < count; ++i) {
    // A reducer takes the accumulators first, which start as the operands of the second half.
    size_t operand = opcode == Opcode::kMap ? i : (i + count / 2) % count;
    ElementType wanted = shapes_.type(operand_shapes_[operand]);
    ElementType got = shapes_.type(module_.shape(callee.parameters[i]));
    if (wanted == got) continue;
    Report(id, DiagId::kMixedPrecision, "parameter {} of %{} is {}, but operand {} is {}", i,
           Name(module_.to_apply(id)), Info(got).text, operand, Info(wanted).text);
    return;
  }
}

}  // namespace hlokit
