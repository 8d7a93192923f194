// Which layouts are demanded before anything propagates? (sections 4.1 and 4.4 to 4.6)
#include "fmt/format.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

/// The sources in order; the later one stands here, the earlier it propagates.
bool Engine::AddMandatoryConstraints(CompId computation) {
  std::span<const InstId> all = module_.computation(computation).instructions;
  for (InstId inst : all) HLOKIT_LAYOUT_CHECK(ConstrainInstruction(computation, inst));
  for (InstId inst : all) {
    switch (info(inst).opcode) {
      case Opcode::kCall:
        HLOKIT_LAYOUT_CHECK(ConstrainCall(inst));
        break;
      case Opcode::kWhile:
        HLOKIT_LAYOUT_CHECK(ConstrainWhile(inst));
        break;
      case Opcode::kConditional:
        HLOKIT_LAYOUT_CHECK(ConstrainConditional(inst));
        break;
      default:
        break;
    }
  }
  return AnnounceResult(computation);
}

/// Section 4.1: the first row that fits.
bool Engine::ConstrainInstruction(CompId computation, InstId inst) {
  cause_ = kNoEvent;
  switch (info(inst).opcode) {
    case Opcode::kInfeed:
      return SetInstruction(module_.shape(inst), inst, Mandatory(), false,
                            {TraceRule::kInfeed, inst});
    case Opcode::kOutfeed: {
      const Attr* shape = module_.FindAttr(inst, AttrKind::kOutfeedShape);
      ShapeId wanted = shape != nullptr          ? ShapeId(shape->low)
                       : OperandCount(inst) != 0 ? module_.shape(Operand(inst, 0))
                                                 : ShapeId();
      if (!wanted.valid()) return true;
      return SetOperandShape(inst, 0, wanted, Mandatory(), {TraceRule::kOutfeed, inst});
    }
    case Opcode::kParameter:
      return ConstrainParameter(computation, inst);
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kReduceScatter:
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
    case Opcode::kCollectiveBroadcast:
      if (info(inst).Has(kConstrainedCollective)) return ConstrainCollective(inst);
      return ConstrainChannel(inst);
    default:
      return true;
  }
}

bool Engine::ConstrainParameter(CompId computation, InstId inst) {
  const ComputationState& state = computations_[computation.value];
  bool pinned = options_.reverse_order || (IsEntry(computation) && AnyLayoutSet(entry_object_)) ||
                (!state.mismatched && state.parameters_set);
  if (!pinned) return true;
  uint32_t number = static_cast<uint32_t>(module_.parameter_number(inst));
  if (number >= state.layout.parameters.size()) return true;
  ShapeId shape = state.layout.parameters[number];
  if (!AnyLayoutSet(shape)) return true;
  shape = shapes_.WithoutMemorySpaces(shape);
  cause_ = ComputationEvent(state, number);
  HLOKIT_LAYOUT_CHECK(
      SetInstruction(shape, inst, Mandatory(), false, {TraceRule::kParameter, inst}));
  return !options_.reverse_order || PushToUsers(inst, shape);
}

/// Reverse order: the users of a parameter are asked to take it as it is.
bool Engine::PushToUsers(InstId parameter, ShapeId parameter_shape) {
  struct Step {
    InstId inst;
    ShapeId shape;
    uint32_t leaf;  // of the parameter's shape
    uint32_t next;  // into the uses of `inst`
  };
  std::vector<Step> stack = {{parameter, parameter_shape, 0, uses_begin_[parameter.value]}};
  while (!stack.empty()) {
    Step& top = stack.back();
    if (top.next == uses_begin_[top.inst.value + 1]) {
      stack.pop_back();
      continue;
    }
    uint32_t position = uses_[top.next++];
    InstId user = operand_users_[position];
    // One visit per user, at its first use.
    if (top.next - 1 != uses_begin_[top.inst.value] &&
        operand_users_[uses_[top.next - 2]] == user) {
      continue;
    }
    if (info(user).opcode == Opcode::kTuple) continue;
    Why why{TraceRule::kReversePush, user, top.leaf};
    if (info(user).opcode != Opcode::kGetTupleElement) {
      if (!shapes_[top.shape].fully_set && !(shapes_.IsArray(top.shape))) {
        return Fail(DiagId::kLayoutReverse,
                    Quote(parameter) + " has layouts for a part of its elements only, and " +
                        Quote(user) + " takes the whole of it",
                    "give all elements a layout or none, or do not use reverse order");
      }
      HLOKIT_LAYOUT_CHECK(SetOperandShape(user, position - info(user).first_operand, top.shape,
                                          {false, false, cur_}, why));
      continue;
    }
    uint32_t element = static_cast<uint32_t>(module_.tuple_index(user));
    ShapeId shape = shapes_.element(top.shape, element);
    uint32_t leaf = top.leaf + shapes_.element_offset(top.shape, element);
    HLOKIT_LAYOUT_CHECK(SetInstruction(shape, user, {false, false, cur_}, true, why));
    stack.push_back({user, shape, leaf, uses_begin_[user.value]});
  }
  return true;
}

bool Engine::ConstrainCollective(InstId inst) {
  Why why{TraceRule::kConstrainedCollective, inst};
  ShapeId shape = module_.shape(inst);
  HLOKIT_LAYOUT_CHECK(SetInstruction(shape, inst, Mandatory(), false, why));
  for (uint32_t k = 0; k < OperandCount(inst); ++k) {
    ShapeId wanted = shape;
    if (shapes_.IsTuple(shape)) {
      if (k >= shapes_.element_count(shape)) {
        return Fail(DiagId::kLayoutStructure,
                    "the shape of " + Quote(inst) + " does not fit its operands", "",
                    ExitCode::kVerifyFailed);
      }
      wanted = shapes_.element(shape, k);
    }
    HLOKIT_LAYOUT_CHECK(SetOperandShape(inst, k, wanted, Mandatory(), why));
  }
  return true;
}

/// Section 4.6: all all-reduces of one channel get the layout of the first.
bool Engine::ConstrainChannel(InstId inst) {
  Opcode opcode = info(inst).opcode;
  if (opcode != Opcode::kAllReduce && opcode != Opcode::kAllReduceStart &&
      opcode != Opcode::kAllReduceDone) {
    return true;
  }
  bool done = opcode == Opcode::kAllReduceDone;
  InstId start = done && OperandCount(inst) != 0 ? Operand(inst, 0) : inst;
  const Attr* channel = module_.FindAttr(start, AttrKind::kChannelId);
  if (channel == nullptr || module_.config().use_spmd_partitioning()) return true;
  if (!options_.channel_table) {
    return Fail(DiagId::kLayoutChannelTable,
                fmt::format("{} has channel {}, and there is no channel table", Quote(inst),
                            channel->integer()),
                "run without --no-channel-table");
  }
  if (done) {
    return Fail(DiagId::kLayoutChannelTable,
                Quote(inst) + " completes an all-reduce with a channel, which is not supported",
                "use a plain all-reduce, or partition the module (num_partitions)");
  }
  auto known = channels_.find(channel->integer());
  if (known == channels_.end()) return true;
  if (OperandCount(inst) == 0 || !info(Operand(inst, 0)).IsArray()) {
    return Fail(DiagId::kLayoutChannelShape,
                fmt::format("{} has channel {} but its first operand is no array", Quote(inst),
                            channel->integer()));
  }
  cause_ = known->second.second;
  ShapeId shape = shapes_.WithLayout(module_.shape(Operand(inst, 0)), known->second.first);
  return SetInstruction(shape, inst, Mandatory(), false, {TraceRule::kChannel, inst});
}

bool Engine::RecordChannels(CompId computation) {
  if (!options_.channel_table) return true;
  for (InstId inst : computations_[computation.value].channel_all_reduces) {
    int64_t channel = module_.IntAttr(inst, AttrKind::kChannelId);
    if (!info(inst).IsArray()) {
      return Fail(DiagId::kLayoutChannelShape,
                  fmt::format("{} has channel {} and reduces several arrays", Quote(inst), channel),
                  "split it into all-reduces of one array each");
    }
    LayoutId layout = InferLayout(inst, 0);
    if (!layout.valid()) return false;
    channels_.try_emplace(channel, layout, BufferEvent(BufferAt(inst)));
  }
  return true;
}

/// Section 4.4.
bool Engine::ConstrainCustomCalls(CompId computation) {
  for (InstId inst : computations_[computation.value].constrained_custom_calls) {
    cause_ = kNoEvent;
    Why why{TraceRule::kCustomCall, inst};
    HLOKIT_LAYOUT_CHECK(SetInstruction(module_.shape(inst), inst, Mandatory(), true, why));
    if (module_.IsCustomCall(inst, "LayoutConstraint")) {
      if (OperandCount(inst) == 0) continue;
      HLOKIT_LAYOUT_CHECK(SetOperandShape(inst, 0, module_.shape(inst), Mandatory(), why));
      continue;
    }
    for (uint32_t k = 0; k < OperandCount(inst); ++k) {
      InstId op = Operand(inst, k);
      std::span<const ShapeId> declared = module_.operand_layout_constraints(inst);
      if (k >= declared.size()) {
        return Fail(DiagId::kLayoutOperandCount,
                    fmt::format("{} has {} operands and {} operand_layout_constraints", Quote(inst),
                                OperandCount(inst), declared.size()),
                    "give one constraint per operand", ExitCode::kVerifyFailed);
      }
      ShapeId wanted = declared[k];
      HLOKIT_LAYOUT_CHECK(SetOperandShape(inst, k, wanted, Mandatory(), why));
      if (info(op).opcode != Opcode::kCopy) continue;
      HLOKIT_LAYOUT_CHECK(
          SetOperandShape(op, 0, wanted, Mandatory(), {TraceRule::kCustomCallCopy, inst}));
    }
  }
  return true;
}

/// Section 4.5.
bool Engine::AnnounceResult(CompId computation) {
  ComputationState& state = computations_[computation.value];
  if (state.mismatched) {
    SetComputationShape(computation, kResultIndex, state.wanted_result, TraceRule::kConditional,
                        InstId(), state.wanted_result_event);
    state.result_set = true;
    state.priority = cur_ + 2;
  } else {
    bool announce =
        options_.reverse_order || cur_ > 0 ||
        (IsEntry(computation) && AnyLayoutSet(entry_object_) && AnyLayoutSet(entry_object_.result));
    if (!announce || !ResultAvailable(computation)) return true;
  }
  Announce(ComputationKey(computation), true, state.priority);
  if (tracing()) RecordMarker(TraceEventKind::kAnnounceResult, computation);
  return true;
}

}  // namespace hlokit::layout
