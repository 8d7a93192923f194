// Which constraint propagates next? (sections 5.1 and 5.4)
//
// The worklist holds keys: the kind of a constraint in the top two bits, its number below. A popped
// constraint propagates with what it holds at that moment.
#include "src/layout/engine.h"

namespace hlokit::layout {

/// Depth-first constraints queue in order of announcement; the others keep non-increasing priority
/// from the end of the list.
void Engine::Announce(uint32_t key, bool dfs, int priority) {
  if (dfs) {
    announced_.push_back(key);
    return;
  }
  auto priority_of = [&](uint32_t other) -> int {
    uint32_t number = other & kKeyNumberMask;
    switch (other >> kKeyNumberBits) {
      case 0:
        return buffer_constraints_[number].priority;
      case 1:
        return operand_constraints_[number].priority;
      default:
        return computations_[number].priority;
    }
  };
  size_t at = announced_.size();
  while (at > 0 && priority_of(announced_[at - 1]) < priority) --at;
  announced_.insert(announced_.begin() + static_cast<std::ptrdiff_t>(at), key);
}

/// What was announced joins the worklist: depth-first constraints at the front, one before the
/// other, the rest at the back.
void Engine::Drain() {
  for (uint32_t key : announced_) {
    uint32_t number = key & kKeyNumberMask;
    bool dfs = true;
    switch (key >> kKeyNumberBits) {
      case 0:
        dfs = (buffer_constraints_[number].flags & kDfs) != 0;
        break;
      case 1:
        dfs = (operand_constraints_[number].flags & kDfs) != 0;
        break;
      default:
        break;
    }
    if (dfs) {
      worklist_.PushFront(key);
    } else {
      worklist_.PushBack(key);
    }
  }
  announced_.clear();
}

bool Engine::Propagate() {
  Drain();
  while (!worklist_.empty()) {
    uint32_t key = worklist_.PopFront();
    uint32_t number = key & kKeyNumberMask;
    ++report_.pops;
    switch (key >> kKeyNumberBits) {
      case 0:
        HLOKIT_LAYOUT_CHECK(PropagateBuffer(number));
        break;
      case 1:
        HLOKIT_LAYOUT_CHECK(PropagateOperand(number));
        break;
      default:
        HLOKIT_LAYOUT_CHECK(PropagateResult(CompId(number)));
    }
    if (!announced_.empty()) Drain();
  }
  return true;
}

bool Engine::PropagateResult(CompId computation) {
  const ComputationState& state = computations_[computation.value];
  if (tracing()) {
    RecordPop(TraceTarget::kComputation, computation.value, state.layout.result.value, true,
              kMandatory | kDfs, state.priority, state.result_event);
    cause_ = state.result_event;
  }
  if (options_.rules != nullptr && rules_.HasOwnPropagation()) {
    Result<bool> done = rules_.PropagateResult(*this, computation);
    if (!done) return Fail(std::move(done).error());
    if (*done) return true;
  }
  ShapeId result = state.layout.result;
  if (IsEntry(computation)) result = shapes_.WithoutMemorySpaces(result);
  InstId root = module_.computation(computation).root;
  return SetDefinitions(root, result, {false, true, cur_}, InstId(), {TraceRule::kResult, root});
}

/// Asks the buffers behind a value for the layouts of `shape` (section 5.3 step 2).
bool Engine::SetDefinitions(InstId value, ShapeId shape, Strength strength, InstId user, Why why) {
  auto set = [&](uint32_t number, LayoutId layout) {
    const Buffer& buffer = buffers_[number];
    if (buffer.rank == kNotAnArray) return true;
    const InstInfo& definer = info(buffer.definer);
    if (definer.opcode == Opcode::kReduce && !definer.IsArray()) return true;
    return SetBuffer(number, layout, strength, user, why);
  };
  auto set_all = [&](uint32_t index, LayoutId layout) {
    why.parent_leaf = index;
    if (!set(BufferAt(value, index), layout)) return false;
    if (const std::vector<uint32_t>* more = MoreBuffersAt(value, index)) {
      for (uint32_t number : *more) {
        if (!set(number, layout)) return false;
      }
    }
    return true;
  };
  if (!shapes_.IsTuple(shape)) {
    LayoutId layout = shapes_.layout(shape);
    return !layout.valid() || set_all(0, layout);
  }
  HLOKIT_LAYOUT_CHECK(CheckSameStructure(shape, module_.shape(value), value));
  std::vector<ShapeId> nodes = shapes_.Subshapes(shape);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    LayoutId layout = shapes_.layout(nodes[i]);
    if (layout.valid()) HLOKIT_LAYOUT_CHECK(set_all(i, layout));
  }
  return true;
}

}  // namespace hlokit::layout
