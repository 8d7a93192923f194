// What can be read from a trace and from the report of a run?
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

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

// ---- storage ----

LayoutTrace::LayoutTrace() = default;
LayoutTrace::~LayoutTrace() { Clear(); }
LayoutTrace::LayoutTrace(LayoutTrace&& other) noexcept { *this = std::move(other); }
LayoutTrace& LayoutTrace::operator=(LayoutTrace&& other) noexcept {
  std::swap(blocks_, other.blocks_);
  std::swap(next_, other.next_);
  std::swap(end_, other.end_);
  std::swap(size_, other.size_);
  std::swap(details_, other.details_);
  std::swap(parts_, other.parts_);
  std::swap(tables_, other.tables_);
  std::swap(rule_book_, other.rule_book_);
  return *this;
}

/// Blocks are huge pages where the system gives them: half of the price of a trace would be page
/// faults otherwise. A short trace stays in one block of small pages.
void LayoutTrace::NewBlock() {
  constexpr size_t kBytes = sizeof(Record) << kBlockBits;
  void* block = std::aligned_alloc(kBytes, kBytes);
  if (block == nullptr) LargeArrayAllocator<Record>::NoMemory();
  if (!blocks_.empty()) madvise(block, kBytes, MADV_HUGEPAGE);
  blocks_.push_back(static_cast<Record*>(block));
  next_ = blocks_.back();
  end_ = next_ + (size_t{1} << kBlockBits);
}

void LayoutTrace::Clear() {
  for (Record* block : blocks_) std::free(block);
  blocks_.clear();
  next_ = end_ = nullptr;
  size_ = 0;
  details_.clear();
  parts_.clear();
  tables_.reset();
  rule_book_.reset();
}

size_t LayoutTrace::MemoryBytes() const {
  return size_ * sizeof(Record) + details_.capacity() * sizeof(Detail) +
         parts_.capacity() * sizeof(Part);
}

// ---- unpacking ----

const LayoutTrace::Detail* LayoutTrace::FindDetail(EventId id) const {
  if ((record(id).bits & kHasDetail) == 0) return nullptr;
  return &*std::lower_bound(details_.begin(), details_.end(), id,
                            [](const Detail& d, EventId wanted) { return d.event < wanted; });
}

InstId LayoutTrace::TargetInstruction(const Record& r) const {
  if (tables_ == nullptr) return {};
  TraceEventKind kind = static_cast<TraceEventKind>(r.bits & 7);
  if (kind == TraceEventKind::kSetBuffer && r.target < tables_->buffers.size()) {
    return tables_->buffers[r.target].definer;
  }
  if (kind == TraceEventKind::kSetOperand && r.target < tables_->operand_users.size()) {
    return tables_->operand_users[r.target];
  }
  return {};
}

TraceEvent LayoutTrace::operator[](EventId id) const {
  const Record& r = record(id);
  TraceEvent event;
  event.parent = r.parent;
  event.target = r.target;
  event.payload = r.payload;
  event.kind = static_cast<TraceEventKind>(r.bits & 7);
  uint32_t shared = (r.bits >> kOutcomeShift) & 15;
  event.rule = static_cast<TraceRule>((r.bits >> kRuleShift) & 63);
  event.mandatory = (r.bits >> kFlagShift) & 1;
  event.dfs = (r.bits >> (kFlagShift + 1)) & 1;
  event.announced = (r.bits >> (kFlagShift + 2)) & 1;
  event.payload_is_shape = (r.bits >> (kFlagShift + 3)) & 1;
  event.priority = static_cast<int16_t>(static_cast<int32_t>(r.bits) >> kPriorityShift);
  switch (event.kind) {
    case TraceEventKind::kSetBuffer:
      event.target_kind = TraceTarget::kBuffer;
      event.outcome = static_cast<TraceOutcome>(shared);
      break;
    case TraceEventKind::kSetOperand:
      event.target_kind = TraceTarget::kOperand;
      event.outcome = static_cast<TraceOutcome>(shared);
      break;
    case TraceEventKind::kPop:
      event.target_kind = static_cast<TraceTarget>(shared);
      break;
    default:
      event.target_kind = TraceTarget::kComputation;
  }
  // Numbers of buffers and operands become places in the module.
  if (event.target_kind == TraceTarget::kComputation) {
    event.target_index = kResultIndex;
  } else if (tables_ != nullptr && event.target_kind == TraceTarget::kBuffer) {
    const LayoutTables::Place& place = tables_->buffers[r.target];
    event.target = place.definer.value;
    event.target_index = place.index;
  } else if (tables_ != nullptr) {
    event.target = tables_->operand_users[r.target].value;
    event.target_index = r.target - tables_->operand_begin[event.target];
  }
  if (event.IsRequest() && event.outcome != TraceOutcome::kNew) event.previous = event.payload;
  switch (static_cast<At>((r.bits >> kAtShift) & 3)) {
    case At::kTarget:
      if (event.target_kind != TraceTarget::kComputation) event.at = InstId(event.target);
      break;
    case At::kParentsTarget:
      event.at = TargetInstruction(record(r.parent));
      break;
    default:
      break;
  }
  if (const Detail* detail = FindDetail(id)) {
    if (static_cast<At>((r.bits >> kAtShift) & 3) == At::kDetail) event.at = detail->at;
    event.parent_leaf = detail->parent_leaf;
    event.backend_rule = detail->backend_rule;
    // Events about computation shapes keep the parameter or leaf number in the place of `previous`.
    if (event.target_kind == TraceTarget::kComputation) {
      event.target_index = detail->previous;
    } else {
      event.previous = detail->previous;
    }
  }
  auto part = std::upper_bound(parts_.begin(), parts_.end(), id,
                               [](EventId wanted, const Part& p) { return wanted < p.first; });
  if (part != parts_.begin()) {
    event.round = static_cast<uint16_t>((part - 1)->round);
    event.computation = (part - 1)->computation;
  }
  return event;
}

// ---- causes ----

uint32_t LayoutTrace::LeafCount(EventId shape_event) const {
  const Detail* detail = FindDetail(shape_event);
  return detail == nullptr ? 0 : detail->parent_leaf;
}

CauseHop LayoutTrace::Resolve(CauseHop hop) const {
  if (hop.event == kNoEvent || static_cast<TraceEventKind>(record(hop.event).bits & 7) !=
                                   TraceEventKind::kComputationShape) {
    return hop;
  }
  EventId low = hop.event + 1;
  EventId end = low + LeafCount(hop.event);
  EventId high = end;
  auto leaf_of = [&](EventId id) { return FindDetail(id)->previous; };
  while (low < high) {
    EventId middle = low + (high - low) / 2;
    if (leaf_of(middle) < hop.leaf) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == end || leaf_of(low) != hop.leaf) return {};
  return {low, 0};
}

CauseHop LayoutTrace::Cause(CauseHop hop) const {
  hop = Resolve(hop);
  if (hop.event == kNoEvent) return {};
  EventId parent = record(hop.event).parent;
  if (parent == kNoEvent) return {};
  const Detail* detail = FindDetail(hop.event);
  return Resolve({parent, (detail == nullptr ? 0 : detail->parent_leaf) + hop.leaf});
}

std::vector<CauseHop> LayoutTrace::CauseChain(CauseHop hop) const {
  std::vector<CauseHop> chain;
  for (hop = Resolve(hop); hop.event != kNoEvent; hop = Cause(hop)) chain.push_back(hop);
  return chain;
}

LayoutId LayoutTrace::LayoutAt(const Module& module, CauseHop hop) const {
  hop = Resolve(hop);
  if (hop.event == kNoEvent) return {};
  const TraceEvent event = (*this)[hop.event];
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
  if (tables == nullptr || instruction.value >= tables->points_to_begin.size()) return {};
  size_t entry = size_t{tables->points_to_begin[instruction.value]} + index;
  if (entry >= tables->points_to.size()) return {};
  uint32_t buffer = tables->points_to[entry];
  if (buffer >= tables->buffers.size()) return {};
  return {tables->buffers[buffer].definer, tables->buffers[buffer].index,
          tables->buffer_events[buffer]};
}

EventId LayoutAssignmentReport::FinalOperandDemand(InstId instruction, uint32_t operand) const {
  if (tables == nullptr || instruction.value + 1 >= tables->operand_begin.size()) return kNoEvent;
  size_t position = size_t{tables->operand_begin[instruction.value]} + operand;
  if (position >= tables->operand_begin[instruction.value + 1]) return kNoEvent;
  return tables->operand_events[position];
}

}  // namespace hlokit
