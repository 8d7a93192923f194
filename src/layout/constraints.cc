// When does a request for a layout take effect? (sections 2.3 to 2.6)
#include <algorithm>

#include "fmt/format.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

// ---- do layouts fit? ----

bool Engine::FitsPlainlySlow(LayoutId layout, uint32_t rank) {
  constexpr uint32_t kUnknown = kNone - 1;
  if (!layout.valid()) return false;
  if (layout.value >= plain_rank_.size()) plain_rank_.resize(shapes_.layout_count(), kUnknown);
  uint32_t& known = plain_rank_[layout.value];
  if (known == kUnknown) {
    known = kNone;
    std::span<const int64_t> entries = shapes_.minor_to_major(layout);
    std::vector<bool> seen(entries.size());
    bool permutation = shapes_.order(layout) == layout;  // no extras
    for (int64_t entry : entries) {
      permutation =
          permutation && entry >= 0 && entry < static_cast<int64_t>(entries.size()) && !seen[entry];
      if (permutation) seen[entry] = true;
    }
    if (permutation) known = static_cast<uint32_t>(entries.size());
  }
  return known == rank;
}

bool Engine::CheckLayout(LayoutId layout, ShapeId array, InstId where) {
  std::string problem = shapes_.LayoutProblem(array, layout);
  if (problem.empty()) return true;
  std::string help = "correct the layout that is written in the module";
  if (layout.valid() && !shapes_.extras(layout).splits.empty()) {
    help =
        "a split configuration SC(…) spreads with its layout to values of other sizes; remove it "
        "where it is written";
  }
  return Fail(DiagId::kLayoutDoesNotFit,
              fmt::format("layout {} does not fit {} at {}: {}", shapes_.LayoutText(layout),
                          shapes_.Text(array, false), Quote(where), problem),
              help, ExitCode::kVerifyFailed);
}

// ---- buffers ----

TraceOutcome Engine::UpdateBuffer(uint32_t number, LayoutId layout, Strength strength,
                                  InstId user) {
  BufferConstraint& c = buffer_constraints_[number];
  if (c.layout == layout || shapes_.SameOrder(c.layout, layout)) {
    uint8_t flags = c.flags;
    if (strength.mandatory) flags |= kMandatory;
    if (strength.dfs) flags |= kDfs;
    if (flags == c.flags && strength.priority <= c.priority) return TraceOutcome::kSameOrder;
    c.flags = flags;
    c.priority = std::max(c.priority, static_cast<int16_t>(strength.priority));
    return TraceOutcome::kStrengthened;
  }
  if (!strength.mandatory) {
    InstId definer = buffers_[number].definer;
    if (c.rewrites >= 2) return TraceOutcome::kCap;
    if (!info(definer).IsArray()) return TraceOutcome::kTupleShaped;
    if (strength.priority <= c.priority &&
        !rules_.NegotiateLayout(module_, definer, layout, c.layout, user, c.user)) {
      return TraceOutcome::kNotStronger;
    }
  }
  c.flags = static_cast<uint8_t>(kExists | (strength.mandatory ? kMandatory : 0) |
                                 (strength.dfs ? kDfs : 0));
  c.priority = static_cast<int16_t>(strength.priority);
  c.user = user;
  c.layout = layout;
  if (c.rewrites < 255) ++c.rewrites;
  return TraceOutcome::kRewritten;
}

bool Engine::SetBuffer(uint32_t number, LayoutId layout, Strength strength, InstId user, Why why) {
  const Buffer& buffer = buffers_[number];
  BufferConstraint& c = buffer_constraints_[number];
  c.flags &= static_cast<uint8_t>(~kFree);
  if (buffer.rank == kNotAnArray) {
    return Fail(DiagId::kLayoutNotAnArray,
                Place(buffer.definer, buffer.index) + " is no array and cannot have a layout", "",
                ExitCode::kVerifyFailed);
  }
  if (!FitsPlainly(layout, buffer.rank)) {
    HLOKIT_LAYOUT_CHECK(CheckLayout(layout, buffer.shape, buffer.definer));
  }
  ++report_.requests;
  if (c.layout == layout && strength.priority <= c.priority &&
      (!strength.mandatory || (c.flags & kMandatory) != 0) &&
      (!strength.dfs || (c.flags & kDfs) != 0)) {
    // By far the most frequent case: nothing new.
    if (tracing()) {
      RecordRequest(TraceEventKind::kSetBuffer, number, buffer.definer, layout.value, layout.value,
                    false, strength, TraceOutcome::kSameOrder, false, why);
    }
    return true;
  }
  LayoutId previous = c.layout;
  TraceOutcome outcome = TraceOutcome::kNew;
  if ((c.flags & kExists) == 0) {
    c = {.layout = layout,
         .user = user,
         .priority = static_cast<int16_t>(strength.priority),
         .flags = static_cast<uint8_t>(kExists | (strength.mandatory ? kMandatory : 0) |
                                       (strength.dfs ? kDfs : 0))};
  } else {
    outcome = UpdateBuffer(number, layout, strength, user);
  }
  bool announce = outcome == TraceOutcome::kNew || (TookEffect(outcome) && buffer.rank > 1);
  if (tracing()) {
    EventId event = RecordRequest(TraceEventKind::kSetBuffer, number, buffer.definer, layout.value,
                                  previous.value, false, strength, outcome, announce, why);
    if (SetTheLayout(outcome)) buffer_events_[number] = event;
  }
  if (!announce) return true;
  if (outcome == TraceOutcome::kRewritten && info(buffer.definer).Has(kWide)) {
    ForgetSweep(buffer.definer, buffer.rank);
  }
  Announce(BufferKey(number), (c.flags & kDfs) != 0, c.priority);
  if (!info(buffer.definer).Has(kHasOutputAliases)) return true;
  // The output shares memory with these operands.
  InstId definer = buffer.definer;
  auto pair = std::lower_bound(pairs_by_output_.begin(), pairs_by_output_.end(),
                               std::make_pair(definer, buffer.index),
                               [](const AliasPair& a, const std::pair<InstId, uint32_t>& b) {
                                 return std::make_pair(a.instruction, a.output) < b;
                               });
  EventId outer = cause_;
  if (tracing()) cause_ = trace_->size() - 1;
  for (; pair != pairs_by_output_.end() && pair->instruction == definer &&
         pair->output == buffer.index;
       ++pair) {
    if (pair->operand_index != 0) continue;
    HLOKIT_LAYOUT_CHECK(SetOperand(info(definer).first_operand + pair->operand, definer, layout,
                                   strength, {TraceRule::kOutputAlias, definer}));
  }
  cause_ = outer;
  return true;
}

// ---- operands ----

/// The constraint of an operand as a shape.
ShapeId Engine::OperandConstraintShape(uint32_t position, InstId user) const {
  const OperandConstraint& c = operand_constraints_[position];
  if ((c.flags & kIsShape) != 0) return ShapeId(c.payload);
  InstId op = module_.operand(user, position - info(user).first_operand);
  return shapes_.WithLayout(module_.shape(op), LayoutId(c.payload));
}

/// Section 2.4 step 2. (Priorities stop falling where a trace could not hold them any more; no
/// module in sight has a chain of thousands of demotions.)
Strength Engine::Demoted(uint32_t position, InstId user, Strength strength) const {
  if ((operand_constraints_[position].operand_flags & kDemotable) != 0 && !strength.mandatory &&
      (info(user).opcode == Opcode::kReshape || strength.priority > -2)) {
    strength.dfs = false;
    strength.priority = std::max(strength.priority - 1, LayoutTrace::kMinPriority);
  }
  return strength;
}

TraceOutcome Engine::UpdateOperand(uint32_t position, InstId user, uint32_t payload, bool is_shape,
                                   Strength strength) {
  OperandConstraint& c = operand_constraints_[position];
  TraceOutcome outcome = TraceOutcome::kNew;
  if ((c.flags & kExists) != 0) {
    if (c.payload == payload && is_shape == ((c.flags & kIsShape) != 0)) {
      return TraceOutcome::kSameOrder;
    }
    if (is_shape || (c.flags & kIsShape) != 0) {
      InstId op = operands_[position];
      ShapeId wanted =
          is_shape ? ShapeId(payload) : shapes_.WithLayout(module_.shape(op), LayoutId(payload));
      ShapeId existing = OperandConstraintShape(position, user);
      if (shapes_.SameShapeAndOrder(wanted, existing, /*strict=*/false)) {
        return TraceOutcome::kSameOrder;
      }
    } else if (shapes_.SameOrder(LayoutId(c.payload), LayoutId(payload))) {
      return TraceOutcome::kSameOrder;
    }
    if (!strength.mandatory) {
      if (!info(user).Has(kForward) || info(user).Has(kConstrainedCollective)) {
        return TraceOutcome::kOperandNotNegotiable;
      }
      ShapeId wanted =
          is_shape ? ShapeId(payload)
                   : shapes_.WithLayout(module_.shape(operands_[position]), LayoutId(payload));
      if (!rules_.NegotiateOperandLayout(module_, user, position - info(user).first_operand, wanted,
                                         OperandConstraintShape(position, user))) {
        return TraceOutcome::kOperandNotNegotiable;
      }
    }
    if (c.priority > strength.priority) return TraceOutcome::kHigherPriority;
    outcome = TraceOutcome::kRewritten;
  }
  c.payload = payload;
  c.priority = static_cast<int16_t>(strength.priority);
  c.flags = static_cast<uint8_t>(kExists | (strength.mandatory ? kMandatory : 0) |
                                 (strength.dfs ? kDfs : 0) | (is_shape ? kIsShape : 0));
  return outcome;
}

/// The array form: `layout` for an operand that is an array.
bool Engine::SetOperand(uint32_t position, InstId user, LayoutId layout, Strength strength,
                        Why why) {
  InstId op = operands_[position];
  uint32_t rank = info(op).rank;
  if (rank == kNotAnArray) {
    return Fail(DiagId::kLayoutNotAnArray,
                fmt::format("operand {} of {} is no array and cannot have a layout",
                            position - info(user).first_operand, Quote(user)),
                "", ExitCode::kVerifyFailed);
  }
  if (!FitsPlainly(layout, rank)) {
    HLOKIT_LAYOUT_CHECK(CheckLayout(layout, module_.shape(op), user));
  }
  if (rank == 0) return true;
  ++report_.requests;
  const OperandConstraint& c = operand_constraints_[position];
  if (c.payload == layout.value && (c.flags & (kExists | kIsShape)) == kExists) {
    // By far the most frequent case: nothing new.
    if (tracing()) {
      RecordRequest(TraceEventKind::kSetOperand, position, user, layout.value, layout.value, false,
                    Demoted(position, user, strength), TraceOutcome::kSameOrder, false, why);
    }
    return true;
  }
  uint32_t previous = kNone;
  if (tracing() && (operand_constraints_[position].flags & kExists) != 0) {
    previous = operand_constraints_[position].payload;
  }
  strength = Demoted(position, user, strength);
  TraceOutcome outcome = UpdateOperand(position, user, layout.value, false, strength);
  bool took_effect = TookEffect(outcome);
  if (tracing()) {
    EventId event = RecordRequest(TraceEventKind::kSetOperand, position, user, layout.value,
                                  previous, false, strength, outcome, took_effect, why);
    if (took_effect) operand_events_[position] = event;
  }
  if (!took_effect) return true;
  if (info(user).Has(kWide)) NoteOperandOfWide(user, rank, layout);
  Announce(OperandKey(position), strength.dfs, strength.priority);
  return true;
}

/// The shape form. An array of the operand's own type is the array form.
bool Engine::SetOperandShape(InstId user, uint32_t operand, ShapeId shape, Strength strength,
                             Why why) {
  if (operand >= OperandCount(user)) {
    return Fail(DiagId::kLayoutOperandCount,
                fmt::format("{} has no operand {}", Quote(user), operand),
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  }
  uint32_t position = info(user).first_operand + operand;
  InstId op = operands_[position];
  ShapeId own = module_.shape(op);
  if (!shapes_[shape].fully_set) {
    if (shapes_.IsArray(shape) && shapes_.rank(shape) == 0) return true;
    return Fail(DiagId::kLayoutMissing,
                fmt::format("operand {} of {} is asked to be {}, which has a part without a layout",
                            operand, Quote(user), shapes_.Text(shape)),
                "write the layout, or let missing layouts be filled in when the module is read");
  }
  if (shapes_.IsArray(shape)) {
    if (shapes_.rank(shape) == 0) return true;
    if (shapes_[shape].bare == shapes_[own].bare) {
      return SetOperand(position, user, shapes_.layout(shape), strength, why);
    }
  }
  HLOKIT_LAYOUT_CHECK(CheckSameStructure(shape, own, user));
  ++report_.requests;
  uint32_t previous = kNone;
  if (tracing() && (operand_constraints_[position].flags & kExists) != 0) {
    previous = OperandConstraintShape(position, user).value;
  }
  strength = Demoted(position, user, strength);
  TraceOutcome outcome = UpdateOperand(position, user, shape.value, true, strength);
  bool took_effect = TookEffect(outcome);
  if (tracing()) {
    EventId event = RecordRequest(TraceEventKind::kSetOperand, position, user, shape.value,
                                  previous, true, strength, outcome, took_effect, why);
    if (took_effect) operand_events_[position] = event;
  }
  if (!took_effect) return true;
  if (info(user).Has(kWide) && info(op).IsArray()) {
    NoteOperandOfWide(user, info(op).rank, shapes_.layout(shape));
  }
  Announce(OperandKey(position), strength.dfs, strength.priority);
  return true;
}

/// Same tuple structure, kinds of leaves and ranks.
bool Engine::CheckSameStructure(ShapeId a, ShapeId b, InstId where) {
  if (shapes_.Compatible(a, b)) return true;
  bool same = shapes_[a].subshape_count == shapes_[b].subshape_count;
  if (same) {
    std::vector<ShapeId> left = shapes_.Subshapes(a);
    std::vector<ShapeId> right = shapes_.Subshapes(b);
    for (size_t i = 0; same && i < left.size(); ++i) {
      const ShapeData& x = shapes_[left[i]];
      const ShapeData& y = shapes_[right[i]];
      same = x.count == y.count && x.IsTuple() == y.IsTuple() && x.IsArray() == y.IsArray();
    }
  }
  if (same) return true;
  return Fail(DiagId::kLayoutIncompatibleShape,
              fmt::format("at {}: {} and {} must have the same layouts but are built differently",
                          Quote(where), shapes_.Text(a, false), shapes_.Text(b, false)),
              "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
}

// ---- whole instructions ----

bool Engine::SetInstruction(ShapeId shape, InstId inst, Strength strength, bool allow_alias,
                            Why why) {
  if (!shapes_.Compatible(shape, module_.shape(inst))) {
    return Fail(DiagId::kLayoutIncompatibleShape,
                fmt::format("{} has the shape {} and cannot get the layouts of {}", Quote(inst),
                            shapes_.Text(module_.shape(inst), false), shapes_.Text(shape, false)),
                "run 'hlokit verify' on the module", ExitCode::kVerifyFailed);
  }
  std::vector<ShapeId> nodes;
  if (shapes_.IsTuple(shape)) shapes_.AppendSubshapes(shape, &nodes);
  uint32_t base_leaf = why.parent_leaf;
  for (uint32_t i = 0; i < shapes_[shape].subshape_count; ++i) {
    uint32_t buffer = BufferAt(inst, i);
    if (MoreBuffersAt(inst, i) != nullptr) {
      return Fail(DiagId::kLayoutTwoSources,
                  Place(inst, i) + " may come from two places and cannot be given a layout");
    }
    if (!allow_alias && buffers_[buffer].definer != inst) {
      return Fail(DiagId::kLayoutNotDefined, Place(inst, i) + " is passed on from " +
                                                 Quote(buffers_[buffer].definer) +
                                                 " and cannot be given a layout here");
    }
    LayoutId layout = shapes_.layout(nodes.empty() ? shape : nodes[i]);
    if (!layout.valid()) continue;
    why.parent_leaf = base_leaf + i;
    HLOKIT_LAYOUT_CHECK(SetBuffer(buffer, layout, strength, InstId(), why));
  }
  const InstInfo& own = info(inst);
  if (!shapes_.IsArray(shape) || !own.Has(kKeepsLayout) || own.opcode == Opcode::kWhile ||
      own.opcode == Opcode::kConditional) {
    return true;
  }
  why.rule = TraceRule::kFixedInstruction;
  why.parent_leaf = base_leaf;
  for (uint32_t k = 0; k < OperandCount(inst); ++k) {
    if (info(Operand(inst, k)).rank != shapes_.rank(shape) || !shapes_.layout(shape).valid())
      continue;
    HLOKIT_LAYOUT_CHECK(
        SetOperand(own.first_operand + k, inst, shapes_.layout(shape), strength, why));
  }
  return true;
}

}  // namespace hlokit::layout
