// What does the layout of an operand ask of its neighbours? (section 5.3)
#include <algorithm>

#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::PropagateOperand(uint32_t position) {
  InstId user = operand_users_[position];
  InstId op = operands_[position];
  const InstInfo& own = info(user);
  uint32_t operand = position - own.first_operand;
  const OperandConstraint constraint = operand_constraints_[position];
  bool is_shape = (constraint.flags & kIsShape) != 0;
  int priority = constraint.priority;
  if (tracing()) {
    RecordPop(TraceTarget::kOperand, position, constraint.payload, is_shape, constraint.flags,
              priority, operand_events_[position]);
    cause_ = operand_events_[position];
  }
  if (options_.rules != nullptr && rules_.HasOwnPropagation()) {
    Result<bool> done = rules_.PropagateOperand(
        *this, {user, operand, OperandConstraintShape(position, user),
                (constraint.flags & kMandatory) != 0, (constraint.flags & kDfs) != 0, priority});
    if (!done) return Fail(std::move(done).error());
    if (*done) return true;
  }
  if (info(op).Has(kLowRank)) return true;  // 1
  LayoutId layout =
      is_shape ? shapes_.layout(ShapeId(constraint.payload)) : LayoutId(constraint.payload);
  // 2: the producer is asked to make it so.
  Why why{TraceRule::kDefinition, user};
  if (layout.valid()) {
    Strength soft{false, true, priority};
    uint32_t number = BufferAt(op);
    const InstInfo& definer = info(buffers_[number].definer);
    if (definer.opcode != Opcode::kReduce || definer.IsArray()) {
      HLOKIT_LAYOUT_CHECK(SetBuffer(number, layout, soft, user, why));
    }
    if (const std::vector<uint32_t>* more = MoreBuffersAt(op, 0)) {
      for (uint32_t other : *more) HLOKIT_LAYOUT_CHECK(SetBuffer(other, layout, soft, user, why));
    }
  } else {
    HLOKIT_LAYOUT_CHECK(
        SetDefinitions(op, ShapeId(constraint.payload), {false, true, priority}, user, why));
  }
  if (own.opcode == Opcode::kCustomCall && own.Has(kHasOutputAliases)) {  // 3
    HLOKIT_LAYOUT_CHECK(OperandToAliasedOutput(user, operand, position, priority));
  }
  if (!info(op).IsArray() || own.Has(kConstrainedCollective)) return true;  // 4
  if (own.opcode == Opcode::kAllReduce) {                                   // 5
    uint32_t index = OperandCount(user) == 1 ? 0 : operand + 1;
    if (index >= SubshapeCount(user)) {
      return Fail(DiagId::kLayoutStructure,
                  "the shape of " + Quote(user) + " does not fit its operands", "",
                  ExitCode::kVerifyFailed);
    }
    HLOKIT_LAYOUT_CHECK(
        SetBuffer(BufferAt(user, index), layout, Mandatory(), user, {TraceRule::kAllReduce, user}));
  }
  bool keeps = own.Has(kKeepsLayout);
  if (!keeps && !own.IsArray() && own.opcode != Opcode::kReduce) return true;    // 6
  if ((constraint.operand_flags & kForwarded) != 0) return true;                 // 7
  if (own.Has(kSiblings)) return OperandToSiblings(user, op, layout, priority);  // 8
  return OperandToOutputs(user, operand, layout, priority);                      // 9
}

/// Step 3: the first pair of the custom call that names this operand.
bool Engine::OperandToAliasedOutput(InstId user, uint32_t operand, uint32_t position,
                                    int priority) {
  auto pair = std::lower_bound(pairs_by_operand_.begin(), pairs_by_operand_.end(),
                               std::make_pair(user, operand),
                               [](const AliasPair& a, const std::pair<InstId, uint32_t>& b) {
                                 return std::make_pair(a.instruction, a.operand) < b;
                               });
  if (pair == pairs_by_operand_.end() || pair->instruction != user || pair->operand != operand ||
      pair->output == kNone) {
    return true;
  }
  uint32_t number = BufferAt(user, pair->output);
  if (buffers_[number].definer != user) return true;
  const OperandConstraint& c = operand_constraints_[position];
  LayoutId layout =
      (c.flags & kIsShape) != 0 ? shapes_.layout(ShapeId(c.payload)) : LayoutId(c.payload);
  if (!layout.valid()) {
    return Fail(DiagId::kLayoutNotAnArray,
                "operand " + std::to_string(operand) + " of " + Quote(user) +
                    " is a tuple that shares memory with an output",
                "alias its elements one by one");
  }
  return SetBuffer(number, layout, {info(user).Has(kForward), false, priority}, user,
                   {TraceRule::kCustomCallAlias, user});
}

/// Step 8.1: another operand is larger in the dimension of concatenation.
bool Engine::ConcatenateHasLarger(InstId user, InstId op) {
  std::span<const int64_t> dimensions = module_.dimensions(user);
  if (dimensions.empty() || dimensions[0] < 0) return false;
  auto size = [&](InstId operand) -> int64_t {
    std::span<const int64_t> sizes = shapes_.sizes(module_.shape(operand));
    size_t d = static_cast<size_t>(dimensions[0]);
    return info(operand).IsArray() && d < sizes.size() ? sizes[d] : -1;
  };
  // An operand that is larger is another instruction.
  auto [found, inserted] = concatenate_largest_.try_emplace(user.value, -1);
  for (uint32_t k = 0; inserted && k < OperandCount(user); ++k) {
    found->second = std::max(found->second, size(Operand(user, k)));
  }
  return found->second > size(op);
}

/// Step 8: all operands of this rank and all outputs of this rank get the layout.
bool Engine::OperandToSiblings(InstId user, InstId op, LayoutId layout, int priority) {
  const InstInfo& own = info(user);
  uint32_t rank = info(op).rank;
  if (own.opcode == Opcode::kConcatenate && ConcatenateHasLarger(user, op)) return true;
  bool wide = own.Has(kWide);
  Strength strength{true, true, priority};
  if (!wide || !KnowsAllOperands(user, rank, layout)) {
    uint32_t count = OperandCount(user);
    for (uint32_t k = 0; k < count; ++k) {
      InstId sibling = operands_[own.first_operand + k];
      if (sibling == op || info(sibling).rank != rank || rank <= 1) continue;
      HLOKIT_LAYOUT_CHECK(
          SetOperand(own.first_operand + k, user, layout, strength, {TraceRule::kSibling, user}));
    }
    if (wide) NoteOperandSweep(user, op, rank, layout);
  }
  Why why{TraceRule::kSameLayoutOutput, user};
  if (own.IsArray()) {
    if (own.rank <= 1 || own.rank != rank || buffers_[BufferAt(user)].definer != user) return true;
    return SetBuffer(BufferAt(user), layout, strength, user, why);
  }
  if (wide) {
    auto known = sweeps_.find(SweepKey(user, rank));
    if (known != sweeps_.end() && known->second.outputs &&
        known->second.order == shapes_.order(layout) && priority <= known->second.priority) {
      return true;
    }
  }
  for (uint32_t i = 0; i < SubshapeCount(user); ++i) {
    const Buffer& buffer = buffers_[BufferAt(user, i)];
    if (buffer.definer != user) continue;
    if (buffer.rank == kNotAnArray && !shapes_.IsTuple(buffer.shape)) return FailNoRank(user, i);
    if (buffer.rank <= 1 || buffer.rank != rank) continue;
    HLOKIT_LAYOUT_CHECK(SetBuffer(BufferAt(user, i), layout, strength, user, why));
  }
  if (wide) {
    auto known = sweeps_.find(SweepKey(user, rank));
    if (known != sweeps_.end() && known->second.order == shapes_.order(layout)) {
      known->second.outputs = true;
      known->second.priority = priority;
    }
  }
  return true;
}

// ---- wide instructions ----
//
// Every constraint of an instruction with n operands (or outputs) would visit all n operands again.
// So wide instructions remember, per rank, that all their operands (and outputs) have one order
// already: further requests of that order would all be refused. It holds until one of them gets
// another order. The trace leaves these refusals out.

bool Engine::KnowsAllOperands(InstId inst, uint32_t rank, LayoutId layout) const {
  auto known = sweeps_.find(SweepKey(inst, rank));
  return known != sweeps_.end() && known->second.all_operands &&
         known->second.order == shapes_.order(layout);
}

/// After all operands of the rank but `left_out` were asked for the layout.
void Engine::NoteOperandSweep(InstId inst, InstId left_out, uint32_t rank, LayoutId layout) {
  // A refused request (the constraint has a higher priority) shows in a different order.
  LayoutId order = shapes_.order(layout);
  const InstInfo& own = info(inst);
  for (uint32_t k = 0; k < OperandCount(inst); ++k) {
    InstId operand = operands_[own.first_operand + k];
    if (operand == left_out || info(operand).rank != rank) continue;
    const OperandConstraint& c = operand_constraints_[own.first_operand + k];
    if ((c.flags & kIsShape) != 0 || shapes_.order(LayoutId(c.payload)) != order) return;
  }
  Sweep& sweep = sweeps_[SweepKey(inst, rank)];
  if (sweep.order != order) sweep = {.order = order, .first = left_out};
  // Two sweeps that left out different values have covered all.
  if (sweep.first != left_out || !left_out.valid()) sweep.all_operands = true;
}

/// An output of this rank has got another order.
void Engine::ForgetSweep(InstId inst, uint32_t rank) {
  auto known = sweeps_.find(SweepKey(inst, rank));
  if (known != sweeps_.end()) known->second.outputs = false;
}

void Engine::NoteOperandOfWide(InstId user, uint32_t rank, LayoutId layout) {
  auto known = sweeps_.find(SweepKey(user, rank));
  if (known != sweeps_.end() && known->second.order != shapes_.order(layout)) sweeps_.erase(known);
}

bool Engine::FailNoRank(InstId user, uint32_t index) {
  return Fail(DiagId::kLayoutNoRank,
              "a layout would have to spread to " + Place(user, index) + ", which is no array");
}

/// Step 9: each output may get a layout that is chosen for it.
bool Engine::OperandToOutputs(InstId user, uint32_t operand, LayoutId layout, int priority) {
  const InstInfo& own = info(user);
  TraceRule rule = own.opcode == Opcode::kTranspose ? TraceRule::kTransposeOutput
                   : own.opcode == Opcode::kReshape ? TraceRule::kReshapeOutput
                                                    : TraceRule::kChosenOutput;
  for (uint32_t i = 0; i < SubshapeCount(user); ++i) {
    uint32_t number = BufferAt(user, i);
    const Buffer& buffer = buffers_[number];
    if (buffer.definer != user) continue;
    if (buffer.rank == kNotAnArray && !shapes_.IsTuple(buffer.shape)) return FailNoRank(user, i);
    if (buffer.rank == kNotAnArray || buffer.rank <= 1) continue;
    LayoutId chosen = rules_.ChooseOutputLayout(module_, layout, user, operand);
    if (!chosen.valid()) continue;
    uint16_t backend_rule =
        tracing() ? rules_.RuleOfChoice(module_, {layout, chosen, user, operand, false})
                  : uint16_t{0};
    HLOKIT_LAYOUT_CHECK(SetBuffer(number, chosen,
                                  {own.Has(kForward), own.Has(kDepthFirst), priority}, user,
                                  {.rule = rule, .at = user, .backend_rule = backend_rule}));
  }
  return true;
}

}  // namespace hlokit::layout
