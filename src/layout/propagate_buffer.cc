// What does the layout of a buffer ask of its neighbours? (section 5.2)
#include <numeric>

#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::PropagateBuffer(uint32_t number) {
  const Buffer buffer = buffers_[number];
  const BufferConstraint constraint = buffer_constraints_[number];
  if (tracing()) {
    RecordPop(TraceTarget::kBuffer, number, constraint.layout.value, false, constraint.flags,
              constraint.priority, buffer_events_[number]);
    cause_ = buffer_events_[number];
  }
  if (options_.rules != nullptr && rules_.HasOwnPropagation()) {
    Result<bool> done =
        rules_.PropagateBuffer(*this, {buffer.definer, buffer.index, constraint.layout,
                                       (constraint.flags & kMandatory) != 0,
                                       (constraint.flags & kDfs) != 0, constraint.priority});
    if (!done) return Fail(std::move(done).error());
    if (*done) return true;
  }
  return BufferToOperands(buffer, constraint.layout, constraint.priority) &&
         BufferToUses(number, constraint.layout, constraint.priority) &&
         BufferToBackEdge(buffer, constraint.layout);
}

bool Engine::BufferToOperands(const Buffer& buffer, LayoutId layout, int priority) {
  InstId inst = buffer.definer;
  const InstInfo& own = info(inst);
  if (own.Has(kLowRank)) return true;
  uint32_t first = own.first_operand;
  uint32_t count = OperandCount(inst);
  if (own.opcode == Opcode::kAllReduce) {
    uint32_t k = count == 1 ? 0 : buffer.index - 1;  // the output is a flat tuple
    if (k >= count) {
      return Fail(DiagId::kLayoutStructure,
                  "the shape of " + Quote(inst) + " does not fit its operands", "",
                  ExitCode::kVerifyFailed);
    }
    return SetOperand(first + k, inst, layout, {true, true, priority},
                      {TraceRule::kAllReduce, inst});
  }
  bool sweep = own.Has(kWide) && own.Has(kKeepsLayout);
  if (sweep && KnowsAllOperands(inst, buffer.rank, layout)) return true;
  // From here on requests have the current priority, not that of the buffer.
  for (uint32_t k = 0; k < count; ++k) {
    const InstInfo& op = info(operands_[first + k]);
    if (op.Has(kLowRank)) continue;
    if (own.Has(kKeepsLayout)) {
      if (!op.IsArray()) continue;
      LayoutId wanted = layout;
      TraceRule rule = TraceRule::kSameLayoutOperand;
      if (op.rank != buffer.rank) {
        if (own.opcode != Opcode::kBitcastConvert) continue;
        wanted = BitcastConvertOperandLayout(inst, op.rank);
        if (!wanted.valid()) return false;
        rule = TraceRule::kBitcastConvert;
      }
      HLOKIT_LAYOUT_CHECK(SetOperand(first + k, inst, wanted, Mandatory(), {rule, inst}));
    } else if (own.opcode == Opcode::kBroadcast) {
      LayoutId wanted = KeepDimensions(shapes_, layout, module_.dimensions(inst));
      HLOKIT_LAYOUT_CHECK(
          SetOperand(first + k, inst, wanted, {true, false, cur_}, {TraceRule::kBroadcast, inst}));
    } else if (buffer.index == 0 && op.IsArray()) {
      LayoutId wanted = rules_.ChooseOperandLayout(module_, layout, inst, k);
      if (!wanted.valid()) continue;
      TraceRule rule = own.opcode == Opcode::kTranspose ? TraceRule::kTransposeOperand
                       : own.opcode == Opcode::kReshape ? TraceRule::kReshapeOperand
                       : own.opcode == Opcode::kReduce  ? TraceRule::kReduceOperand
                                                        : TraceRule::kChosenOperand;
      uint16_t backend_rule =
          tracing() ? rules_.RuleOfChoice(module_, {layout, wanted, inst, k, true}) : uint16_t{0};
      HLOKIT_LAYOUT_CHECK(SetOperand(first + k, inst, wanted,
                                     {own.Has(kToOperands), own.Has(kDepthFirst), cur_},
                                     {.rule = rule, .at = inst, .backend_rule = backend_rule}));
    }
  }
  if (sweep) NoteOperandSweep(inst, InstId(), buffer.rank, layout);
  return true;
}

/// Section 6.6: derived from the layout that is written at the instruction.
LayoutId Engine::BitcastConvertOperandLayout(InstId inst, uint32_t operand_rank) {
  LayoutId written = shapes_.layout(module_.shape(inst));
  uint32_t rank = info(inst).rank;
  if (!written.valid()) {
    Fail(DiagId::kLayoutMissing, Quote(inst) + " changes the rank and has no layout written at it",
         "write its layout, or let missing layouts be filled in when the module is read");
    return {};
  }
  if (operand_rank + 1 == rank) {
    std::vector<int64_t> kept(rank - 1);
    std::iota(kept.begin(), kept.end(), 0);
    return KeepDimensions(shapes_, written, kept);
  }
  std::span<const int64_t> order = shapes_.minor_to_major(written);
  std::vector<int64_t> extended = {static_cast<int64_t>(rank)};
  extended.insert(extended.end(), order.begin(), order.end());
  LayoutExtras extras = shapes_.extras(written);
  return shapes_.Layout(extended, extras);
}

bool Engine::BufferToUses(uint32_t number, LayoutId layout, int priority) {
  if (buffers_[number].rank == 0) return true;
  Strength strength{false, true, priority};
  for (uint32_t a = alias_begin_[number]; a < alias_begin_[number + 1]; ++a) {
    uint32_t value = aliases_[a].value;
    for (uint32_t u = uses_begin_[value]; u < uses_begin_[value + 1]; ++u) {
      uint32_t position = uses_[u];
      if ((operand_constraints_[position].operand_flags & kForwarded) != 0) continue;
      InstId user = operand_users_[position];
      HLOKIT_LAYOUT_CHECK(SetOperand(position, user, layout, strength, {TraceRule::kUse, user}));
    }
  }
  return true;
}

/// A loop passes this value to its next iteration: the parameter is asked for the same layout.
bool Engine::BufferToBackEdge(const Buffer& buffer, LayoutId layout) {
  if (root_slot_.empty() || root_slot_[buffer.definer.value] == kNone) return true;
  uint32_t slot = root_slot_[buffer.definer.value];
  const ComputationData& body = module_.computation(current_);
  InstId parameter = body.parameters.empty() ? InstId() : body.parameters[0];
  uint32_t index = kNone;
  if (parameter.valid()) {
    ShapeId shape = module_.shape(parameter);
    if (shapes_.IsTuple(shape) && slot < shapes_.element_count(shape) &&
        buffer.index < shapes_[shapes_.element(shape, slot)].subshape_count) {
      index = shapes_.element_offset(shape, slot) + buffer.index;
    }
  }
  if (index == kNone) {
    return Fail(DiagId::kLayoutNotDefined,
                Quote(body.root) + " returns a state that the parameter of the loop does not have",
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  }
  return SetBuffer(BufferAt(parameter, index), layout, {false, true, cur_}, InstId(),
                   {TraceRule::kBackEdge, body.root});
}

}  // namespace hlokit::layout
