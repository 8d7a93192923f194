// Which layouts do the parameters and the result of a computation have? (sections 2.2, 2.7 and 3.4)
#include <algorithm>

#include "src/layout/engine.h"

namespace hlokit::layout {
namespace {

constexpr int kDefaultPriority = -2;
constexpr int kGivenPriority = 3;

}  // namespace

/// Section 1.3: tokens and opaque leaves count as having a layout, an empty tuple has none.
bool Engine::AnyLayoutSet(ShapeId shape) const {
  auto set = [&](ShapeId leaf) { return !shapes_.IsArray(leaf) || shapes_.layout(leaf).valid(); };
  if (!shapes_.IsTuple(shape)) return set(shape);
  for (ShapeId node : shapes_.Subshapes(shape)) {
    if (!shapes_.IsTuple(node) && set(node)) return true;
  }
  return false;
}

bool Engine::AnyLayoutSet(const ComputationLayout& layout) const {
  return std::any_of(layout.parameters.begin(), layout.parameters.end(),
                     [&](ShapeId shape) { return AnyLayoutSet(shape); }) ||
         AnyLayoutSet(layout.result);
}

/// The computation constraint, made on first demand.
ComputationState& Engine::ConstraintOf(CompId computation) {
  ComputationState& state = computations_[computation.value];
  if (state.created) return state;
  state.created = true;
  const ComputationData& data = module_.computation(computation);
  ComputationLayout layout;
  TraceRule rule = TraceRule::kInitial;
  if (IsEntry(computation) && AnyLayoutSet(entry_object_)) {
    layout = entry_object_;
    state.result_set = state.parameters_set = true;
    state.priority = kGivenPriority;
    rule = TraceRule::kEntryPin;
  } else {
    state.priority = kDefaultPriority;
    auto initial = [&](InstId inst) {
      ShapeId shape = module_.shape(inst);
      return IsEntry(computation) ? shape : shapes_.WithDefaultLayouts(shape);
    };
    for (InstId parameter : data.parameters) layout.parameters.push_back(initial(parameter));
    layout.result = initial(data.root);
  }
  state.layout = layout;
  for (uint32_t p = 0; p < layout.parameters.size(); ++p) {
    InstId at = p < data.parameters.size() ? data.parameters[p] : InstId();
    SetComputationShape(computation, p, layout.parameters[p], rule, at, kNoEvent);
  }
  SetComputationShape(computation, kResultIndex, layout.result, rule, data.root, kNoEvent);
  return state;
}

bool Engine::ResultAvailable(CompId computation) const {
  return IsEntry(computation) || computations_[computation.value].result_set;
}

/// Changes one shape. In the trace each leaf gets `parent` (its leaf of the same number) as cause.
void Engine::SetComputationShape(CompId computation, uint32_t parameter, ShapeId shape,
                                 TraceRule rule, InstId at, EventId parent) {
  std::vector<EventId> none;
  SetComputationLeaves(computation, parameter, shape, rule, at, parent, none);
}

/// The same; where `leaf_parents` (by pre-order number) has an event, that one is the cause.
void Engine::SetComputationLeaves(CompId computation, uint32_t parameter, ShapeId shape,
                                  TraceRule rule, InstId at, EventId parent,
                                  std::span<const EventId> leaf_parents) {
  ComputationState& state = computations_[computation.value];
  ShapeId& slot =
      parameter == kResultIndex ? state.layout.result : state.layout.parameters[parameter];
  if (slot != shape) settled_ = false;
  slot = shape;
  if (!tracing()) return;
  state.parameter_events.resize(state.layout.parameters.size(), kNoEvent);
  EventId& event =
      parameter == kResultIndex ? state.result_event : state.parameter_events[parameter];
  event = RecordComputationShape(computation, parameter, shape, rule, at, parent, leaf_parents);
}

/// The shape that an instruction ended this round with, for the leaves that carry a layout in the
/// program; the other leaves stay as they are in the computation constraint.
bool Engine::AdoptShape(InstId inst, CompId computation, uint32_t parameter) {
  ComputationState& state = computations_[computation.value];
  ShapeId now = ComputationShape(state, parameter);
  EventId before = ComputationEvent(state, parameter);
  if (info(inst).IsArray() && shapes_.IsArray(now) && !tracing()) {
    // The frequent case without lists.
    LayoutId layout = TryInferLayout(inst, 0);
    if (!layout.valid() || !shapes_.layout(module_.shape(inst)).valid()) return true;
    if (shapes_.rank(now) == shapes_[layout].rank) {
      SetComputationShape(computation, parameter, shapes_.WithLayout(now, layout),
                          TraceRule::kAdopt, inst, before);
      return true;
    }
  }
  std::vector<ShapeId> written = shapes_.Subshapes(module_.shape(inst));
  std::vector<ShapeId> kept = shapes_.Subshapes(now);
  std::vector<LayoutId> layouts(kept.size());
  std::vector<EventId> parents(tracing() ? kept.size() : 0, kNoEvent);
  for (size_t i = 0; i < kept.size(); ++i) layouts[i] = shapes_.layout(kept[i]);
  for (uint32_t i = 0; i < written.size(); ++i) {
    if (!shapes_.IsArray(written[i]) || !shapes_.layout(written[i]).valid()) continue;
    LayoutId layout = TryInferLayout(inst, i);
    if (!layout.valid()) continue;
    if (i >= kept.size() || shapes_.rank(kept[i]) != shapes_[layout].rank ||
        !shapes_.IsArray(kept[i])) {
      return Fail(DiagId::kLayoutReverse,
                  Quote(computation) + " would get the layouts of " + Quote(inst) +
                      ", which has another shape",
                  "reverse order does not work for loops; run without it");
    }
    layouts[i] = layout;
    if (tracing()) parents[i] = BufferEvent(BufferAt(inst, i));
  }
  SetComputationLeaves(computation, parameter, shapes_.WithLeafLayouts(now, layouts),
                       TraceRule::kAdopt, inst, before, parents);
  return true;
}

bool Engine::Adopt(InstId result, std::span<const InstId> operands, CompId computation,
                   int priority) {
  ComputationState& state = ConstraintOf(computation);
  if (state.priority >= priority && !state.mismatched) return true;
  // The result of a mismatching branch is decided by its conditional.
  if (!state.mismatched) {
    HLOKIT_LAYOUT_CHECK(AdoptShape(result, computation, kResultIndex));
  }
  for (uint32_t p = 0; p < operands.size() && p < state.layout.parameters.size(); ++p) {
    HLOKIT_LAYOUT_CHECK(AdoptShape(operands[p], computation, p));
  }
  state.priority = priority;
  state.result_set = state.parameters_set = true;
  return true;
}

bool Engine::UpdateComputationLayouts(CompId computation) {
  // In normal order callees are finished; adopting for fusion bodies has no effect.
  if (options_.reverse_order) {
    for (InstId inst : StoredPostOrder(computation)) {
      std::span<const InstId> operands(operands_.data() + info(inst).first_operand,
                                       OperandCount(inst));
      std::span<const CompId> called = module_.called_computations(inst);
      if (called.empty()) continue;
      switch (info(inst).opcode) {
        case Opcode::kCall:
          HLOKIT_LAYOUT_CHECK(Adopt(inst, operands, called[0], cur_ + 1));
          break;
        case Opcode::kConditional:
          for (uint32_t k = 0; k < called.size() && k + 1 < operands.size(); ++k) {
            HLOKIT_LAYOUT_CHECK(Adopt(inst, operands.subspan(k + 1, 1), called[k], cur_ + 1));
          }
          break;
        case Opcode::kWhile:
          if (called.size() != 2 || operands.size() != 1) break;
          HLOKIT_LAYOUT_CHECK(Adopt(inst, operands, called[0], cur_ + 1));
          HLOKIT_LAYOUT_CHECK(Adopt(operands[0], operands, called[1], cur_ + 1));
          break;
        default:
          break;
      }
    }
  }
  ComputationState& state = computations_[computation.value];
  if (cur_ != 0 && !state.mismatched) return true;
  const ComputationData& data = module_.computation(computation);
  HLOKIT_LAYOUT_CHECK(Adopt(data.root, data.parameters, computation, cur_ + 2));
  if (IsEntry(computation)) entry_object_ = state.layout;
  return true;
}

}  // namespace hlokit::layout
