// Is one value dead before another one is born?
#include "src/copy_insertion/order.h"

#include <algorithm>
#include <utility>

#include "hlokit/rewriter.h"
#include "src/copy_insertion/sharing.h"
#include "src/copy_insertion/transfers.h"

namespace hlokit::copies {

Order::Meeting Order::Meet(InstId a, InstId b) const {
  Meeting meeting{a, b, {}, {}};
  CompId in_a = module_.computation_of(a), in_b = module_.computation_of(b);
  auto up = [&](InstId& above, CompId& in, CompId& below) {
    below = in;
    above = calls_.caller(in);
    if (!above.valid()) return false;
    in = module_.computation_of(above);
    return true;
  };
  while (calls_.depth(in_a) > calls_.depth(in_b)) {
    if (!up(meeting.above_a, in_a, meeting.below_a)) return {};
  }
  while (calls_.depth(in_b) > calls_.depth(in_a)) {
    if (!up(meeting.above_b, in_b, meeting.below_b)) return {};
  }
  while (in_a != in_b) {
    if (!up(meeting.above_a, in_a, meeting.below_a)) return {};
    if (!up(meeting.above_b, in_b, meeting.below_b)) return {};
  }
  return meeting;
}

/// Compares the callers of both in the innermost computation that holds both.
Order::Constraint Order::Compare(InstId a, InstId b) {
  if (a == b) return Constraint::kSame;
  auto [above_a, above_b, below_a, below_b] = Meet(a, b);
  if (!above_a.valid()) return Constraint::kUnordered;
  if (above_a != above_b) {
    if (reach_.Reaches(above_a, above_b)) return Constraint::kBefore;
    if (reach_.Reaches(above_b, above_a)) return Constraint::kAfter;
    return Constraint::kUnordered;
  }
  if (above_b == b) return Constraint::kBeforeEnd;
  if (above_a == a) return Constraint::kUnordered;
  uint32_t callee_a = calls_.callee_number(below_a), callee_b = calls_.callee_number(below_b);
  switch (module_.opcode(above_a)) {
    case Opcode::kWhile:  // callee 0 is the body, 1 the condition, which runs first
      return callee_a > callee_b ? Constraint::kBefore : Constraint::kAfter;
    case Opcode::kConditional:
      return callee_a < callee_b ? Constraint::kExclusiveBefore : Constraint::kExclusiveAfter;
    default:
      return Constraint::kUnordered;
  }
}

/// Transfers and what else runs while others do: an edge would not say when they are over.
bool RunsBesideOthers(Opcode opcode) {
  std::string_view text = OpcodeText(opcode);
  return StartsTransfer(opcode) || EndsTransfer(opcode) || opcode == Opcode::kAsyncUpdate ||
         text.ends_with("-start") || text.ends_with("-done") ||
         opcode == Opcode::kCollectivePermute;
}

/// What the root of its computation, or something with an effect, reads directly or not. The rest
/// is dead code, or becomes it when copies go; an edge would keep it.
void Order::FindNeeded() {
  needed_.assign(module_.instruction_count(), 0);
  const std::vector<uint8_t> effects = ComputationsWithEffects(module_);
  std::vector<InstId> work;
  auto need = [&](InstId inst) {
    if (std::exchange(needed_[inst.value], 1) == 0) work.push_back(inst);
  };
  for (CompId computation : module_.computation_order()) {
    need(module_.computation(computation).root);
    for (InstId inst : module_.computation(computation).instructions) {
      if (HasEffect(module_, inst, effects)) need(inst);
      for (InstId before : module_.control_predecessors(inst)) {
        if (module_.opcode(inst) == Opcode::kCopy || module_.opcode(before) == Opcode::kCopy) {
          continue;
        }
        need(before);
        need(inst);
      }
    }
  }
  while (!work.empty()) {
    const InstId at = work.back();
    work.pop_back();
    for (InstId operand : module_.operands(at)) need(operand);
  }
}

/// Notes the edge that would let `a` run before `b`. Returns false when there must not be one: in a
/// schedule, behind a root, in front of what is there from the start, around transfers, at dead
/// code.
bool Order::Want(InstId a, InstId b) {
  if (wanted_ == nullptr || module_.config().is_scheduled) return false;
  auto [before, after, below_a, below_b] = Meet(a, b);
  if (!before.valid() || before == after) return false;
  CompId computation = module_.computation_of(before);
  if (calls_.IsAsync(computation) || calls_.IsFused(computation)) return false;
  if (module_.computation(computation).root == before) return false;
  for (InstId end : {before, after}) {
    Opcode opcode = module_.opcode(end);
    if (opcode == Opcode::kParameter || opcode == Opcode::kConstant) return false;
    if (RunsBesideOthers(opcode) || !needed_[end.value]) return false;
  }
  if (reach_.Reaches(after, before)) return false;
  wanted_->push_back({before, after});
  return true;
}

bool Order::ExecutesBefore(InstId a, InstId b) {
  Constraint constraint = Compare(a, b);
  return constraint == Constraint::kBefore || constraint == Constraint::kBeforeEnd ||
         constraint == Constraint::kExclusiveBefore;
}

/// A merge at the parameter of a body or a condition.
bool Order::IsLoopParameter(ValueId id) const {
  const Value& value = flow_.value(id);
  return value.merge && module_.opcode(value.inst) == Opcode::kParameter &&
         CallerOpcode(module_.computation_of(value.inst)) == Opcode::kWhile;
}

bool Order::DefinedBefore(ValueId a, ValueId b) {
  InstId inst_a = flow_.value(a).inst, inst_b = flow_.value(b).inst;
  CompId in_a = module_.computation_of(inst_a), in_b = module_.computation_of(inst_b);
  auto entry_parameter = [&](InstId inst, CompId in) {
    return in == module_.entry() && module_.opcode(inst) == Opcode::kParameter;
  };
  if (entry_parameter(inst_b, in_b)) return false;
  if (entry_parameter(inst_a, in_a)) return true;
  if (IsLoopParameter(a) && !IsLoopParameter(b) && NestedIn(inst_b, in_a)) return true;
  if (IsLoopParameter(b) && NestedIn(inst_a, in_b)) return false;
  if (flow_.value(b).merge) {
    Opcode opcode = module_.opcode(inst_b);
    if (opcode == Opcode::kWhile || opcode == Opcode::kConditional) {
      for (CompId callee : module_.called_computations(inst_b)) {
        if (NestedIn(inst_a, callee)) return true;
      }
    }
  }
  return ExecutesBefore(inst_a, inst_b);
}

/// One use against the definition of `b`.
bool Order::UseBefore(const Use& use, ValueId b, bool* exclusive_seen) {
  const Value& value = flow_.value(b);
  switch (Compare(use.inst, value.inst)) {
    case Constraint::kSame:
      if (CanShare(module_, use, value.node)) return true;
      break;
    case Constraint::kBefore:
    case Constraint::kBeforeEnd:
      return true;
    case Constraint::kExclusiveBefore:
    case Constraint::kExclusiveAfter:
      *exclusive_seen = true;
      return true;
    default:
      break;
  }
  std::span<const CompId> callees = module_.called_computations(use.inst);
  switch (module_.opcode(use.inst)) {
    case Opcode::kWhile:
      if (NestedIn(value.inst, callees[0])) return true;
      if (value.inst == module_.computation(callees[1]).parameters[0]) return true;
      break;
    case Opcode::kCall:
    case Opcode::kAsyncStart:
      if (!callees.empty() && NestedIn(value.inst, callees[0])) return true;
      break;
    case Opcode::kConditional:
      if (value.inst == use.inst) return true;
      for (CompId branch : callees) {
        if (!*exclusive_seen && NestedIn(value.inst, branch)) return true;
      }
      break;
    default:
      break;
  }
  if (value.merge && module_.opcode(value.inst) == Opcode::kWhile) {
    for (CompId callee : module_.called_computations(value.inst)) {
      if (NestedIn(use.inst, callee)) return true;
    }
  }
  return false;
}

bool Order::UsesBefore(ValueId a, std::span<const Use> uses, ValueId b, Conflict* conflict) {
  bool exclusive_seen = false;
  for (const Use& use : uses) {
    if (UseBefore(use, b, &exclusive_seen) || Want(use.inst, flow_.value(b).inst)) continue;
    *conflict = {OverlapKind::kUsedLater, a, b, use.inst};
    return false;
  }
  return true;
}

/// Is `a` part of the result of a computation that `inside` is or lies in? Then it is needed after
/// everything that runs inside.
bool Order::LivesBehind(ValueId a, CompId inside) const {
  if (!flow_.LiveOutOfAny(a)) return false;
  for (CompId at = inside;; at = module_.computation_of(calls_.caller(at))) {
    if (flow_.LiveOutOf(a, at)) return true;
    if (!calls_.caller(at).valid()) return false;
  }
}

bool Order::LiveRangeBefore(ValueId a, std::span<const ValueId> parts, std::span<const Use> uses,
                            ValueId b, Conflict* conflict) {
  CompId inside = module_.computation_of(flow_.value(b).inst);
  bool lives = LivesBehind(a, inside);
  for (size_t i = 0; i < parts.size() && !lives; ++i) lives = LivesBehind(parts[i], inside);
  if (lives) {
    *conflict = {OverlapKind::kLivesOn, a, b, {}};
    return false;
  }
  if (!uses.empty()) return UsesBefore(a, uses, b, conflict);
  if (DefinedBefore(a, b) || Want(flow_.value(a).inst, flow_.value(b).inst)) return true;
  *conflict = {OverlapKind::kOpenOrder, a, b, {}};
  return false;
}

}  // namespace hlokit::copies
