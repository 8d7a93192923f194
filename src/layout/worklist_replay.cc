// What was in the worklist at each moment? The events of a trace are played again (section 5.1).
#include <cassert>
#include <deque>
#include <memory>
#include <unordered_map>

#include "hlokit/layout_trace.h"

namespace hlokit {
namespace {

struct EntryHash {
  size_t operator()(const WorklistEntry& e) const {
    uint64_t key = (uint64_t{e.target} << 32) | e.target_index;
    key = (key ^ (static_cast<uint64_t>(e.target_kind) << 61)) * 0x9e3779b97f4a7c15ull;
    return key ^ (key >> 29);
  }
};
struct SameConstraint {
  bool operator()(const WorklistEntry& a, const WorklistEntry& b) const {
    return a.target_kind == b.target_kind && a.target == b.target &&
           a.target_index == b.target_index;
  }
};

WorklistEntry EntryOf(const TraceEvent& event) {
  WorklistEntry entry;
  entry.target_kind = event.target_kind;
  entry.target = event.target;
  entry.target_index = event.target_kind == TraceTarget::kComputation ? 0 : event.target_index;
  return entry;
}

}  // namespace

struct WorklistReplay::State {
  std::unordered_map<WorklistEntry, ReplayedConstraint, EntryHash, SameConstraint> constraints;
  std::vector<WorklistEntry> announced;
  std::deque<WorklistEntry> worklist;

  void Announce(const WorklistEntry& entry) {
    const ReplayedConstraint& c = constraints[entry];
    size_t at = announced.size();
    while (!c.dfs && at > 0 && constraints[announced[at - 1]].priority < c.priority) --at;
    announced.insert(announced.begin() + static_cast<std::ptrdiff_t>(at), entry);
  }

  void DrainInto(std::deque<WorklistEntry>* list) {
    for (const WorklistEntry& entry : announced) {
      if (constraints[entry].dfs) {
        list->push_front(entry);
      } else {
        list->push_back(entry);
      }
    }
  }

  void Apply(EventId id, const TraceEvent& event) {
    WorklistEntry entry = EntryOf(event);
    switch (event.kind) {
      case TraceEventKind::kRound:
        constraints.clear();
        announced.clear();
        worklist.clear();
        break;
      case TraceEventKind::kComputation:
      case TraceEventKind::kComputationShape:
      case TraceEventKind::kComputationLeaf:
        break;
      case TraceEventKind::kAnnounceResult:
        constraints[entry] = {event.payload, true, true, event.priority, event.parent};
        announced.push_back(entry);
        break;
      case TraceEventKind::kSetBuffer:
      case TraceEventKind::kSetOperand: {
        if (!TookEffect(event.outcome)) break;
        ReplayedConstraint& c = constraints[entry];
        if (event.outcome == TraceOutcome::kStrengthened) {
          c.mandatory = c.mandatory || event.mandatory;
          c.dfs = c.dfs || event.dfs;
          if (event.priority > c.priority) c.priority = event.priority;
          entry.strengthened = true;
        } else {
          c = {event.payload, event.mandatory, event.dfs, event.priority, id};
        }
        if (event.announced) Announce(entry);
        break;
      }
      case TraceEventKind::kPop:
        DrainInto(&worklist);
        announced.clear();
        assert(!worklist.empty() && SameConstraint()(worklist.front(), entry));
        if (!worklist.empty()) worklist.pop_front();
        break;
    }
  }
};

WorklistReplay::WorklistReplay(const LayoutTrace& trace)
    : trace_(&trace), state_(std::make_unique<State>()) {}
WorklistReplay::~WorklistReplay() = default;
WorklistReplay::WorklistReplay(WorklistReplay&&) noexcept = default;

bool WorklistReplay::Step() {
  if (next_ >= trace_->size()) return false;
  state_->Apply(next_, (*trace_)[next_]);
  ++next_;
  return true;
}

std::vector<WorklistEntry> WorklistReplay::Worklist() const {
  std::deque<WorklistEntry> list = state_->worklist;
  state_->DrainInto(&list);
  return {list.begin(), list.end()};
}

ReplayedConstraint WorklistReplay::Contents(const WorklistEntry& entry) const {
  auto found = state_->constraints.find(entry);
  return found == state_->constraints.end() ? ReplayedConstraint{} : found->second;
}

}  // namespace hlokit
