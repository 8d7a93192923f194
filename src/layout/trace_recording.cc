// How is each action of the pass written into the trace?
#include <algorithm>
#include <memory>

#include "src/layout/engine.h"

namespace hlokit::layout {

static_assert(sizeof(LayoutTrace::Record) == 16);
// The tables fit into the bits that a record has for them.
static_assert(static_cast<int>(TraceOutcome::kHigherPriority) < 16);
static_assert(static_cast<int>(TraceRule::kChosenOutput) < 64);
static_assert(static_cast<int>(TraceEventKind::kPop) < 8);

/// A request on a buffer or an operand; returns its event.
EventId Engine::RecordRequest(TraceEventKind kind, uint32_t number, InstId target, uint32_t payload,
                              uint32_t previous, bool is_shape, Strength strength,
                              TraceOutcome outcome, bool announced, Why why) {
  using At = LayoutTrace::At;
  At at = why.at == target                     ? At::kTarget
          : why.rule == TraceRule::kDefinition ? At::kParentsTarget
          : why.at.valid()                     ? At::kDetail
                                               : At::kNone;
  LayoutTrace::Record record{
      number, payload, cause_,
      LayoutTrace::PackBits(kind, TraceTarget::kBuffer, outcome, why.rule, strength.mandatory,
                            strength.dfs, announced, is_shape, at, strength.priority)};
  bool same_previous = outcome == TraceOutcome::kNew || previous == payload;
  if (at == At::kDetail || why.parent_leaf != 0 || why.backend_rule != 0 || !same_previous) {
    record.bits |= LayoutTrace::kHasDetail;
    trace_->AddDetail({trace_->size(), why.at, why.parent_leaf,
                       outcome == TraceOutcome::kNew ? kNone : previous, why.backend_rule});
  }
  return trace_->Append(record);
}

void Engine::RecordPop(TraceTarget kind, uint32_t number, uint32_t payload, bool is_shape,
                       uint8_t flags, int priority, EventId parent) {
  trace_->Append(
      {number, payload, parent,
       LayoutTrace::PackBits(TraceEventKind::kPop, kind, TraceOutcome::kNew, TraceRule::kNone,
                             (flags & kMandatory) != 0, (flags & kDfs) != 0, false, is_shape,
                             LayoutTrace::At::kNone, priority)});
}

void Engine::RecordMarker(TraceEventKind kind, CompId computation) {
  LayoutTrace::Record record{
      kind == TraceEventKind::kRound ? static_cast<uint32_t>(cur_) : computation.value, kNone,
      kNoEvent, 0};
  bool announce = kind == TraceEventKind::kAnnounceResult;
  int priority = 0;
  if (announce) {
    const ComputationState& state = computations_[computation.value];
    record.parent = state.result_event;
    record.payload = state.layout.result.value;
    priority = state.priority;
  } else {
    trace_->StartPart(cur_, computation);
  }
  record.bits = LayoutTrace::PackBits(kind, TraceTarget::kComputation, TraceOutcome::kNew,
                                      TraceRule::kNone, announce, announce, announce, announce,
                                      LayoutTrace::At::kNone, priority);
  trace_->Append(record);
}

EventId Engine::RecordComputationShape(CompId computation, uint32_t parameter, ShapeId shape,
                                       TraceRule rule, InstId at, EventId parent,
                                       std::span<const EventId> leaf_parents) {
  std::vector<ShapeId> nodes = shapes_.Subshapes(shape);
  uint32_t leaves = 0;
  for (ShapeId node : nodes) leaves += shapes_.IsArray(node);
  int priority = computations_[computation.value].priority;
  // Shapes of computations always have details: number of leaves and parameter, or leaf number.
  auto append = [&](TraceEventKind kind, uint32_t payload, bool is_shape, EventId cause,
                    uint32_t parent_leaf, uint32_t number) {
    trace_->AddDetail({trace_->size(), at, parent_leaf, number});
    return trace_->Append(
        {computation.value, payload, cause,
         LayoutTrace::PackBits(kind, TraceTarget::kComputation, TraceOutcome::kNew, rule, false,
                               false, false, is_shape, LayoutTrace::At::kDetail, priority) |
             LayoutTrace::kHasDetail});
  };
  EventId header =
      append(TraceEventKind::kComputationShape, shape.value, true, parent, leaves, parameter);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (!shapes_.IsArray(nodes[i])) continue;
    bool own = i < leaf_parents.size() && leaf_parents[i] != kNoEvent;
    append(TraceEventKind::kComputationLeaf, shapes_.layout(nodes[i]).value, false,
           own ? leaf_parents[i] : parent, own ? 0 : i, i);
  }
  return header;
}

/// What the trace and the report need to tell places: the arrays of the engine move out.
void Engine::HandOverTables() {
  std::shared_ptr<LayoutTables> tables = std::make_shared<LayoutTables>();
  tables->points_to_begin.resize(original_instructions_);
  tables->operand_begin.resize(infos_.empty() ? 0 : original_instructions_ + 1);
  for (uint32_t i = 0; i < tables->operand_begin.size(); ++i) {
    if (i < original_instructions_) tables->points_to_begin[i] = infos_[i].points_to;
    tables->operand_begin[i] = infos_[i].first_operand;
  }
  tables->points_to = std::move(points_to_);
  tables->buffers.resize(buffers_.size());
  for (uint32_t b = 0; b < buffers_.size(); ++b) {
    tables->buffers[b] = {buffers_[b].definer, buffers_[b].index};
  }
  tables->operand_users = std::move(operand_users_);
  tables->buffer_events = std::move(buffer_events_);
  tables->operand_events = std::move(operand_events_);
  report_.tables = tables;
  trace_->SetTables(std::move(tables));
}

}  // namespace hlokit::layout
