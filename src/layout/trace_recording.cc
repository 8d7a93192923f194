// How is each action of the pass written into the trace?
#include "src/layout/engine.h"

namespace hlokit::layout {

void Engine::RecordRequest(TraceEventKind kind, InstId target, uint32_t index, uint32_t payload,
                           uint32_t previous, bool is_shape, Strength strength,
                           TraceOutcome outcome, bool announced, Why why) {
  TraceEvent event;
  event.parent = cause_;
  event.parent_leaf = why.parent_leaf;
  event.target = target.value;
  event.target_index = index;
  event.payload = payload;
  event.previous = previous;
  event.at = why.at;
  event.computation = current_;
  event.round = static_cast<uint16_t>(cur_);
  event.kind = kind;
  event.rule = why.rule;
  event.outcome = outcome;
  event.mandatory = strength.mandatory;
  event.dfs = strength.dfs;
  event.announced = announced;
  event.payload_is_shape = is_shape;
  event.target_kind =
      kind == TraceEventKind::kSetBuffer ? TraceTarget::kBuffer : TraceTarget::kOperand;
  event.priority = static_cast<int16_t>(strength.priority);
  trace_->Add(event);
}

void Engine::RecordPop(TraceTarget kind, InstId target, uint32_t index, uint32_t payload,
                       bool is_shape, uint8_t flags, int priority, EventId parent) {
  TraceEvent event;
  event.parent = parent;
  event.target = target.value;
  event.target_index = index;
  event.payload = payload;
  event.computation = current_;
  event.round = static_cast<uint16_t>(cur_);
  event.kind = TraceEventKind::kPop;
  event.mandatory = (flags & kMandatory) != 0;
  event.dfs = (flags & kDfs) != 0;
  event.payload_is_shape = is_shape;
  event.target_kind = kind;
  event.priority = static_cast<int16_t>(priority);
  trace_->Add(event);
}

void Engine::RecordMarker(TraceEventKind kind, CompId computation) {
  TraceEvent event;
  event.target = kind == TraceEventKind::kRound ? static_cast<uint32_t>(cur_) : computation.value;
  event.target_index = kResultIndex;
  event.computation = computation;
  event.round = static_cast<uint16_t>(cur_);
  event.kind = kind;
  event.target_kind = TraceTarget::kComputation;
  if (kind == TraceEventKind::kAnnounceResult) {
    const ComputationState& state = computations_[computation.value];
    event.parent = state.result_event;
    event.payload = state.layout.result.value;
    event.payload_is_shape = true;
    event.mandatory = event.dfs = event.announced = true;
    event.priority = static_cast<int16_t>(state.priority);
  }
  trace_->Add(event);
}

EventId Engine::RecordComputationShape(CompId computation, uint32_t parameter, ShapeId shape,
                                       TraceRule rule, InstId at, EventId parent,
                                       std::span<const EventId> leaf_parents) {
  TraceEvent event;
  event.parent = parent;
  event.target = computation.value;
  event.target_index = parameter;
  event.payload = shape.value;
  event.payload_is_shape = true;
  event.at = at;
  event.computation = current_;
  event.round = static_cast<uint16_t>(cur_);
  event.kind = TraceEventKind::kComputationShape;
  event.rule = rule;
  event.target_kind = TraceTarget::kComputation;
  event.priority = static_cast<int16_t>(computations_[computation.value].priority);
  EventId header = trace_->Add(event);
  event.kind = TraceEventKind::kComputationLeaf;
  event.payload_is_shape = false;
  std::vector<ShapeId> nodes = shapes_.Subshapes(shape);
  uint32_t leaves = 0;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (!shapes_.IsArray(nodes[i])) continue;
    bool own = i < leaf_parents.size() && leaf_parents[i] != kNoEvent;
    event.parent = own ? leaf_parents[i] : parent;
    event.parent_leaf = own ? 0 : i;
    event.target_index = i;
    event.payload = shapes_.layout(nodes[i]).value;
    trace_->Add(event);
    ++leaves;
  }
  trace_->SetLeafCount(header, leaves);
  return header;
}

/// The demands of the last round go to the report: the arrays that say where they are, too.
void Engine::MoveDemandsToReport() {
  report_.points_to_begin.resize(original_instructions_);
  report_.operand_begin.resize(original_instructions_ + 1);
  for (uint32_t i = 0; i <= original_instructions_; ++i) {
    if (i < original_instructions_) report_.points_to_begin[i] = infos_[i].points_to;
    report_.operand_begin[i] = infos_[i].first_operand;
  }
  report_.points_to = std::move(points_to_);
  report_.buffers.resize(buffers_.size());
  for (uint32_t b = 0; b < buffers_.size(); ++b) {
    report_.buffers[b] = {buffers_[b].definer, buffers_[b].index, buffer_events_[b]};
  }
  report_.operand_events = std::move(operand_events_);
}

}  // namespace hlokit::layout
