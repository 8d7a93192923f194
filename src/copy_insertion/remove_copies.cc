// Step 2: which copies can go because their source and their result can take turns in one buffer?
//
// The values of every group that shares a buffer stand in a list, in the order of their
// definitions. Removing a copy joins two such lists, provided that no live ranges overlap then.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "hlokit/printer.h"
#include "src/copy_insertion/groups.h"
#include "src/copy_insertion/regions.h"
#include "src/copy_insertion/steps.h"

namespace hlokit::copies {
namespace {

/// One value in the list of its buffer.
struct Node {
  uint32_t before = kNone, after = kNone;
  std::vector<Use> uses;
  std::vector<ValueId> parts;  // results of removed copies that it stands for, when they live on
  // Is it dead before its neighbour `after` is written, all in one computation? Found out on
  // demand.
  enum : uint8_t { kOpen, kYes, kNo } chained = kOpen;
  ValueId run_start = kNone;  // the values from this one on are chained up to it, as of `epoch`
  uint32_t epoch = 0;
};

class CopyRemover {
 public:
  CopyRemover(const Steps& steps, Rewriter& rewriter, const Calls& calls, const Dataflow& flow)
      : steps_(steps),
        module_(steps.module),
        rewriter_(rewriter),
        calls_(calls),
        flow_(flow),
        order_(module_, calls, flow),
        regions_(module_, order_, steps.region_limit) {}
  void Run();

 private:
  void NumberInstructions();
  void MakeLists();
  void RecordCopies();
  bool TryElide(InstId copy);
  bool AllBefore(ValueId last, ValueId first, Conflict* conflict);
  BufferList ListOf(ValueId value) const;
  bool JoinRegions(InstId copy, ValueId source, ValueId result);
  std::vector<InstId> ReadersBehindTuples(InstId inst) const;
  void KeepOrder(InstId copy);
  void Join(InstId copy, ValueId source, ValueId result);
  void RememberConflict(InstId copy, const Conflict& conflict);
  void GiveReasons();
  ValueId First(ValueId value) const {
    while (nodes_[value].before != kNone) value = nodes_[value].before;
    return value;
  }
  ValueId Last(ValueId value) const {
    while (nodes_[value].after != kNone) value = nodes_[value].after;
    return value;
  }
  void Unchain(ValueId value) {
    if (nodes_[value].chained == Node::kYes) ++epoch_;
    nodes_[value].chained = Node::kOpen;
  }
  bool IsChained(ValueId value);
  ValueId RunStart(ValueId value);
  void Link(ValueId a, ValueId b) {
    if (a != kNone) Unchain(a);
    if (a != kNone) nodes_[a].after = b;
    if (b != kNone) nodes_[b].before = a;
  }

  const Steps& steps_;
  Module& module_;
  Rewriter& rewriter_;
  const Calls& calls_;
  const Dataflow& flow_;
  Order order_;
  Regions regions_;
  std::vector<uint32_t> number_;  // by instruction: depth-first, callees before callers
  std::vector<Node> nodes_;       // by value
  uint32_t epoch_ = 1;            // of Node::run_start
  struct Copy {
    ValueId source, result;
  };
  std::unordered_map<uint32_t, Copy> copies_;                     // by instruction
  std::unordered_map<ValueId, std::vector<InstId>> copies_from_;  // by source
  std::unordered_map<uint32_t, Conflict> conflicts_;              // by instruction
};

/// Parameters first, then the rest in post-order, each after the computations that it calls.
void CopyRemover::NumberInstructions() {
  number_.assign(module_.instruction_count(), 0);
  uint32_t next = 1;
  for (CompId computation : calls_.post_order()) {
    for (InstId parameter : module_.computation(computation).parameters) {
      number_[parameter.value] = next++;
    }
    for (InstId inst : InstructionPostOrder(module_, computation)) {
      if (number_[inst.value] == 0) number_[inst.value] = next++;
    }
  }
}

void CopyRemover::MakeLists() {
  Groups groups(module_, flow_);
  nodes_.resize(flow_.value_count());
  auto earlier = [&](ValueId a, ValueId b) {
    if (a == b) return false;
    uint32_t number_a = number_[flow_.value(a).inst.value];
    uint32_t number_b = number_[flow_.value(b).inst.value];
    if (number_a < number_b) return order_.DefinedBefore(a, b) || !order_.DefinedBefore(b, a);
    if (order_.DefinedBefore(b, a)) return false;
    return order_.DefinedBefore(a, b);
  };
  std::vector<ValueId> list;
  for (uint32_t group = 0; group < groups.count(); ++group) {
    std::span<const ValueId> members = groups.members(group);
    if (calls_.IsFused(module_.computation_of(flow_.value(members[0]).inst))) continue;
    list.assign(members.begin(), members.end());
    if (list.size() > 1) std::stable_sort(list.begin(), list.end(), earlier);
    for (size_t i = 0; i < list.size(); ++i) {
      std::span<const Use> uses = flow_.uses(list[i]);
      nodes_[list[i]].uses.assign(uses.begin(), uses.end());
      if (i > 0) Link(list[i - 1], list[i]);
    }
  }
}

void CopyRemover::RecordCopies() {
  for (CompId computation : module_.computation_order()) {
    if (calls_.IsFused(computation)) continue;
    for (InstId inst : module_.computation(computation).instructions) {
      if (module_.opcode(inst) != Opcode::kCopy) continue;
      ValueId source = flow_.ValueAt(module_.operand(inst, 0));
      copies_[inst.value] = {source, flow_.ValueAt(inst)};
      copies_from_[source].push_back(inst);
    }
  }
}

/// Is the value dead before the next one of its list is written, with both and all readers in one
/// computation? Within one computation that carries over: what is dead before a value that is dead
/// before a third one is dead before the third one too.
bool CopyRemover::IsChained(ValueId value) {
  Node& node = nodes_[value];
  if (node.chained != Node::kOpen) return node.chained == Node::kYes;
  CompId computation = module_.computation_of(flow_.value(value).inst);
  bool chained = module_.computation_of(flow_.value(node.after).inst) == computation;
  for (const Use& use : node.uses) {
    chained = chained && module_.computation_of(use.inst) == computation;
  }
  Conflict ignored;
  chained = chained && order_.LiveRangeBefore(value, node.parts, node.uses, node.after, &ignored);
  node.chained = chained ? Node::kYes : Node::kNo;
  return chained;
}

/// The earliest value from which on everything up to `value` is chained. Remembered, since lists of
/// thousands of updates are walked once per copy.
ValueId CopyRemover::RunStart(ValueId value) {
  ValueId start = value;
  while (true) {
    const Node& node = nodes_[start];
    if (start != value && node.epoch == epoch_ && node.run_start != kNone) {
      start = node.run_start;
      break;
    }
    if (node.before == kNone || !IsChained(node.before)) break;
    start = node.before;
  }
  nodes_[value].run_start = start;
  nodes_[value].epoch = epoch_;
  return start;
}

/// Is every value up to `last` dead before any value from `first` on is written? Of values that are
/// chained, the last one speaks for those before it, and the first one for those behind it.
bool CopyRemover::AllBefore(ValueId last, ValueId first, Conflict* conflict) {
  if (first == kNone) return true;
  for (ValueId a = last; a != kNone; a = nodes_[RunStart(a)].before) {
    bool speaks_for_next = false;
    for (ValueId b = first; b != kNone; b = nodes_[b].after) {
      if (!speaks_for_next &&
          !order_.LiveRangeBefore(a, nodes_[a].parts, nodes_[a].uses, b, conflict)) {
        return false;
      }
      speaks_for_next = nodes_[b].after != kNone && IsChained(b);
    }
  }
  return true;
}

/// The two values are one from now on: that of the source.
void CopyRemover::Join(InstId copy, ValueId source, ValueId result) {
  Unchain(source);
  std::vector<Use>& uses = nodes_[source].uses;
  std::erase_if(uses, [&](const Use& use) { return use.inst == copy; });
  std::vector<Use>& more = nodes_[result].uses;
  uses.insert(uses.end(), more.begin(), more.end());
  more.clear();
  std::vector<ValueId>& parts = nodes_[source].parts;
  if (flow_.LiveOutOfAny(result)) parts.push_back(result);
  parts.insert(parts.end(), nodes_[result].parts.begin(), nodes_[result].parts.end());
  Link(nodes_[result].before, nodes_[result].after);
  nodes_[result].before = nodes_[result].after = kNone;
  auto found = copies_from_.find(result);
  if (found != copies_from_.end()) {
    std::vector<InstId> moved = std::move(found->second);
    copies_from_.erase(found);
    for (InstId one : moved) {
      auto still_there = copies_.find(one.value);
      if (still_there == copies_.end()) continue;
      still_there->second.source = source;
      copies_from_[source].push_back(one);
    }
  }
  copies_.erase(copy.value);
}

BufferList CopyRemover::ListOf(ValueId value) const {
  BufferList list;
  for (ValueId at = First(value); at != kNone; at = nodes_[at].after) {
    if (at == value) list.at = list.values.size();
    list.values.push_back({at, nodes_[at].parts, nodes_[at].uses});
  }
  return list;
}

/// The second look: joins both lists value by value, with the control edges that this needs.
bool CopyRemover::JoinRegions(InstId copy, ValueId source, ValueId result) {
  if (steps_.region_limit == 0) return false;
  std::optional<Regions::Joined> joined = regions_.Join(copy, ListOf(source), ListOf(result));
  if (!joined) return false;
  nodes_[joined->list.front()].before = kNone;
  for (size_t i = 1; i < joined->list.size(); ++i) Link(joined->list[i - 1], joined->list[i]);
  Link(joined->list.back(), kNone);
  for (const OrderEdge& edge : joined->edges) rewriter_.AddControlEdge(edge.before, edge.after);
  return true;
}

/// Who reads the value, seen through tuples and their elements: those read no memory, and when they
/// are simplified away their control edges would move to where the elements come from.
std::vector<InstId> CopyRemover::ReadersBehindTuples(InstId inst) const {
  std::vector<InstId> readers, work = {inst};
  std::unordered_set<uint32_t> seen;
  while (!work.empty()) {
    InstId at = work.back();
    work.pop_back();
    for (InstId user : module_.users(at)) {
      if (!seen.insert(user.value).second) continue;
      Opcode opcode = module_.opcode(user);
      bool looked_through = opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement;
      (looked_through ? work : readers).push_back(user);
    }
  }
  return readers;
}

/// What had to wait for a copy because of control edges still waits when the copy is gone. Without
/// region analysis such edges are dropped, as XLA does.
void CopyRemover::KeepOrder(InstId copy) {
  std::span<const InstId> all = module_.control_predecessors(copy);
  std::span<const InstId> control = rewriter_.control_successors(copy);
  const std::vector<InstId> before(all.begin(), all.end()), after(control.begin(), control.end());
  const std::vector<InstId> readers = ReadersBehindTuples(copy);
  const InstId operand = module_.operand(copy, 0);
  rewriter_.DropControlEdges(copy);
  for (InstId one : before) {
    for (InstId other : readers) rewriter_.AddControlEdge(one, other);
    for (InstId other : after) rewriter_.AddControlEdge(one, other);
  }
  InstId start = operand;  // seen through the elements of a parameter
  while (module_.opcode(start) == Opcode::kGetTupleElement) start = module_.operand(start, 0);
  if (module_.opcode(start) == Opcode::kParameter) return;
  for (InstId other : after) rewriter_.AddControlEdge(operand, other);
}

bool CopyRemover::TryElide(InstId copy) {
  auto found = copies_.find(copy.value);
  if (found == copies_.end()) return false;
  auto [source, result] = found->second;
  Conflict conflict{OverlapKind::kLayout, source, result, {}};
  if (module_.shape(copy) != module_.shape(module_.operand(copy, 0))) {
    RememberConflict(copy, conflict);
    return false;
  }
  Node& from = nodes_[source];
  Node& to = nodes_[result];
  if (from.after == result) {
    // One after the other in one list: the same buffer already.
  } else if (to.before == kNone) {
    if (AllBefore(source, to.after, &conflict) && AllBefore(Last(result), from.after, &conflict)) {
      ValueId rest = from.after, last = Last(result);
      Link(source, result);
      if (rest != kNone) Link(last, rest);
    } else if (!JoinRegions(copy, source, result)) {
      RememberConflict(copy, conflict);
      return false;
    }
  } else if (from.after == kNone) {
    if (AllBefore(to.before, First(source), &conflict) && AllBefore(source, to.after, &conflict)) {
      ValueId head = First(source), before = to.before;
      Link(before, head);
      Link(source, result);
    } else if (!JoinRegions(copy, source, result)) {
      RememberConflict(copy, conflict);
      return false;
    }
  } else {
    conflict.kind = OverlapKind::kBothInside;
    RememberConflict(copy, conflict);
    return false;
  }
  Join(copy, source, result);
  return true;
}

void CopyRemover::RememberConflict(InstId copy, const Conflict& conflict) {
  if (steps_.reasons != nullptr) conflicts_[copy.value] = conflict;
}

/// What is known about the copies that stay, for whoever asks.
void CopyRemover::GiveReasons() {
  if (steps_.reasons == nullptr) return;
  std::vector<LifetimeCopy> kept;
  std::unordered_map<uint32_t, uint32_t> known;  // copy -> entry
  for (uint32_t i = 0; i < steps_.reasons->size(); ++i) known[(*steps_.reasons)[i].copy.value] = i;
  for (CompId computation : module_.computation_order()) {
    for (InstId inst : module_.computation(computation).instructions) {
      auto conflict = conflicts_.find(inst.value);
      if (conflict == conflicts_.end() || !copies_.contains(inst.value)) continue;
      auto entry = known.find(inst.value);
      LifetimeCopy reason{.copy = inst, .cause = LifetimeCause::kWasThere, .subject = inst};
      if (entry != known.end()) reason = (*steps_.reasons)[entry->second];
      reason.overlap = conflict->second.kind;
      reason.first = flow_.value(conflict->second.first).inst;
      reason.second = flow_.value(conflict->second.second).inst;
      reason.use = conflict->second.use;
      kept.push_back(reason);
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const LifetimeCopy& a, const LifetimeCopy& b) { return a.copy < b.copy; });
  *steps_.reasons = std::move(kept);
}

void CopyRemover::Run() {
  NumberInstructions();
  MakeLists();
  RecordCopies();
  const std::vector<CompId> order = module_.walk_order();
  for (bool changed = true; changed;) {
    changed = false;
    for (CompId computation : order) {
      const std::vector<InstId>& list = module_.computation(computation).instructions;
      for (size_t i = 0; i < list.size(); ++i) {
        InstId inst = list[i];
        if (module_.opcode(inst) != Opcode::kCopy || !TryElide(inst)) continue;
        changed = true;
        if (steps_.region_limit != 0) {
          KeepOrder(inst);
        } else {
          rewriter_.DropControlEdges(inst);
        }
        rewriter_.ReplaceUses(inst, module_.operand(inst, 0));
      }
    }
  }
  GiveReasons();
}

}  // namespace

Status RemoveCopies(const Steps& steps) {
  Calls calls(steps.module);
  ASSIGN_OR_RETURN(Dataflow flow, Dataflow::Make(steps.module, calls));
  Rewriter rewriter(steps.module, steps.log);
  CopyRemover(steps, rewriter, calls, flow).Run();
  return {};
}

}  // namespace hlokit::copies
