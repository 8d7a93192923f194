// Which instructions pass their operands on? The table of section 1.4, as places of the output and
// of operands. Shapes that do not fit are refused here, so that nothing later has to look again.
#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::FailMisfit(InstId inst) {
  return Fail(DiagId::kLayoutStructure,
              "the shape of " + Quote(inst) + " does not fit its operands",
              "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
}

/// The instructions whose whole output is operand 0 or a part of it: where that part begins.
bool Engine::FindPassedOnWhole(InstId inst, std::optional<uint32_t>* offset) {
  int64_t element = 0;
  switch (info(inst).opcode) {
    case Opcode::kDomain:
    case Opcode::kAddDependency:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAsyncUpdate:
      if (OperandCount(inst) == 0) return FailMisfit(inst);
      *offset = 0;
      return true;
    case Opcode::kGetTupleElement:
      element = module_.tuple_index(inst);
      break;
    case Opcode::kAsyncDone:
      element = 1;
      break;
    case Opcode::kCopyDone:
      element = 0;
      break;
    default:
      return true;
  }
  if (OperandCount(inst) == 0) return FailMisfit(inst);
  ShapeId tuple = module_.shape(Operand(inst, 0));
  if (!shapes_.IsTuple(tuple) || element < 0 || element >= shapes_.element_count(tuple)) {
    return FailMisfit(inst);
  }
  *offset = shapes_.element_offset(tuple, static_cast<uint32_t>(element));
  return true;
}

/// Adds the part of the output that is the tuple element `to` of
/// `tuple` (which begins at `tuple_at`) and holds operand `operand` from `from` on.
bool Engine::PassOn(InstId inst, ShapeId tuple, uint32_t tuple_at, uint32_t to, uint32_t operand,
                    uint32_t from) {
  if (!shapes_.IsTuple(tuple) || to >= shapes_.element_count(tuple) ||
      operand >= OperandCount(inst)) {
    return FailMisfit(inst);
  }
  ShapeId source = module_.shape(Operand(inst, operand));
  if (from >= shapes_[source].subshape_count) return FailMisfit(inst);
  uint32_t count = shapes_[shapes_.element(tuple, to)].subshape_count;
  if (shapes_[shapes_.Subshape(source, from)].subshape_count != count) return FailMisfit(inst);
  parts_.push_back({tuple_at + shapes_.element_offset(tuple, to), operand, from, count});
  return true;
}

/// The parts of the output that are parts of operands, in parts_.
bool Engine::FindPassedOnParts(InstId inst) {
  ShapeId shape = module_.shape(inst);
  uint32_t operand_count = OperandCount(inst);
  switch (info(inst).opcode) {
    case Opcode::kTuple:
      if (!shapes_.IsTuple(shape) || shapes_.element_count(shape) != operand_count) {
        return FailMisfit(inst);
      }
      for (uint32_t k = 0; k < operand_count; ++k) {
        HLOKIT_LAYOUT_CHECK(PassOn(inst, shape, 0, k, k, 0));
      }
      return true;
    case Opcode::kCopy: {  // of a tuple: everything below the top
      uint32_t count = SubshapeCount(inst);
      if (operand_count != 1 || SubshapeCount(Operand(inst, 0)) != count) return FailMisfit(inst);
      if (count > 1) parts_.push_back({1, 0, 1, count - 1});
      return true;
    }
    case Opcode::kSend:
      return PassOn(inst, shape, 0, 0, 0, 0);
    case Opcode::kRecvDone:
      return PassOn(inst, shape, 0, 0, 0, 1);
    case Opcode::kCopyStart:
      return PassOn(inst, shape, 0, 1, 0, 0);
    case Opcode::kAsyncStart: {
      if (!shapes_.IsTuple(shape) || shapes_.element_count(shape) < 2) return FailMisfit(inst);
      ShapeId inputs = shapes_.element(shape, 0);
      if (!shapes_.IsTuple(inputs) || shapes_.element_count(inputs) != operand_count) {
        return FailMisfit(inst);
      }
      for (uint32_t k = 0; k < operand_count; ++k) {
        HLOKIT_LAYOUT_CHECK(PassOn(inst, inputs, 1, k, k, 0));
      }
      return FindAliasedParts(inst);
    }
    case Opcode::kFusion:
      return FindAliasedParts(inst);
    default:
      return true;
  }
}

/// The places that output_to_operand_aliasing names.
bool Engine::FindAliasedParts(InstId inst) {
  for (const OperandAlias& alias : module_.output_to_operand_aliasing(inst)) {
    if (alias.operand_number < 0 || alias.operand_number >= OperandCount(inst)) {
      return FailMisfit(inst);
    }
    uint32_t k = static_cast<uint32_t>(alias.operand_number);
    std::optional<uint32_t> to = shapes_.PreorderOf(module_.shape(inst), alias.output_index);
    std::optional<uint32_t> from =
        shapes_.PreorderOf(module_.shape(Operand(inst, k)), alias.operand_index);
    if (!to || !from) return FailMisfit(inst);
    parts_.push_back({*to, k, *from, 1});
  }
  return true;
}

}  // namespace hlokit::layout
