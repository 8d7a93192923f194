// What can be read from a trace and from the report of a run?
#include <algorithm>

#include "hlokit/layout_assignment.h"
#include "hlokit/layout_trace.h"

namespace hlokit {
namespace {

constexpr TraceRuleInfo kRules[] = {
#define HLOKIT_TRACE_RULE(id, name, section, reason) {name, section, reason},
#include "hlokit/layout_trace_rules.def"
};

constexpr TraceOutcomeInfo kOutcomes[] = {
#define HLOKIT_TRACE_OUTCOME(id, name, section, text) {name, section, text},
#include "hlokit/layout_trace_outcomes.def"
};

}  // namespace

const TraceRuleInfo& Info(TraceRule rule) { return kRules[static_cast<int>(rule)]; }
const TraceOutcomeInfo& Info(TraceOutcome outcome) { return kOutcomes[static_cast<int>(outcome)]; }

/// A hop onto a whole computation shape becomes a hop onto its leaf.
CauseHop LayoutTrace::Resolve(CauseHop hop) const {
  if (hop.event == kNoEvent || events_[hop.event].kind != TraceEventKind::kComputationShape) {
    return hop;
  }
  auto begin = events_.begin() + hop.event + 1;
  auto end = begin + LeafCount(hop.event);
  auto leaf = std::lower_bound(begin, end, hop.leaf, [](const TraceEvent& event, uint32_t index) {
    return event.target_index < index;
  });
  if (leaf == end || leaf->target_index != hop.leaf) return {};
  return {static_cast<EventId>(leaf - events_.begin()), 0};
}

CauseHop LayoutTrace::Cause(CauseHop hop) const {
  hop = Resolve(hop);
  if (hop.event == kNoEvent) return {};
  const TraceEvent& event = events_[hop.event];
  if (event.parent == kNoEvent) return {};
  return Resolve({event.parent, event.parent_leaf + hop.leaf});
}

std::vector<CauseHop> LayoutTrace::CauseChain(CauseHop hop) const {
  std::vector<CauseHop> chain;
  for (hop = Resolve(hop); hop.event != kNoEvent; hop = Cause(hop)) chain.push_back(hop);
  return chain;
}

LayoutId LayoutTrace::LayoutAt(const Module& module, CauseHop hop) const {
  hop = Resolve(hop);
  if (hop.event == kNoEvent) return {};
  const TraceEvent& event = events_[hop.event];
  if (!event.payload_is_shape) return event.layout();
  const ShapePool& shapes = module.shapes();
  if (hop.leaf >= shapes[event.shape()].subshape_count) return {};
  return shapes.layout(shapes.Subshape(event.shape(), hop.leaf));
}

std::string_view CopyReasonName(CopyReason reason) {
  static constexpr std::string_view kNames[] = {"operand", "root", "branch", "preparatory"};
  return kNames[static_cast<int>(reason)];
}

LayoutAssignmentReport::FinalBuffer LayoutAssignmentReport::FinalDemand(InstId instruction,
                                                                        uint32_t index) const {
  if (instruction.value >= points_to_begin.size()) return {};
  size_t entry = size_t{points_to_begin[instruction.value]} + index;
  if (entry >= points_to.size() || points_to[entry] >= buffers.size()) return {};
  return buffers[points_to[entry]];
}

EventId LayoutAssignmentReport::FinalOperandDemand(InstId instruction, uint32_t operand) const {
  if (instruction.value + 1 >= operand_begin.size()) return kNoEvent;
  size_t position = size_t{operand_begin[instruction.value]} + operand;
  if (position >= operand_begin[instruction.value + 1]) return kNoEvent;
  return operand_events[position];
}

}  // namespace hlokit
