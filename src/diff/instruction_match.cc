// Which instructions of two computations are the same ones? First what is surely the same
// (contents), then what follows from it (neighbours), then guesses (names, op_name, place), each
// spread to its neighbours before the next guess. Copies follow from the values that they connect.
#include "src/diff/instruction_match.h"

#include <algorithm>
#include <unordered_set>

#include "src/diff/hash.h"

namespace hlokit {

InstructionMatcher::InstructionMatcher(const Side& a, const Side& b) : a_(a), b_(b) {
  partner_of_a_.resize(a.module().instruction_count());
  partner_of_b_.resize(b.module().instruction_count());
  std::unordered_set<uint64_t> contents_b;
  for (CompId computation : b.module().computation_order()) {
    for (InstId id : b.Order(computation)) {
      names_b_.emplace(b.module().name(id), id);
      contents_b.insert(b.Own(id));
    }
  }
  uint64_t same = 0, elsewhere = 0;
  for (CompId computation : a.module().computation_order()) {
    for (InstId id : a.Order(computation)) {
      if (a.IsPlumbing(id)) continue;
      auto namesake = names_b_.find(a.module().name(id));
      if (namesake != names_b_.end() && a.Own(id) == b.Own(namesake->second)) {
        ++same;
      } else if (contents_b.contains(a.Own(id))) {
        ++elsewhere;
      }
    }
  }
  trusts_names_ = same >= elsewhere;
}

InstructionPairs InstructionMatcher::Match(CompId a, CompId b) {
  comp_a_ = a;
  comp_b_ = b;
  if (a_.Content(a) != b_.Content(b) || a_.Order(a).size() != b_.Order(b).size() ||
      !MatchIsomorphic()) {
    MatchValues();
    MatchPlumbing();
  }
  InstructionPairs pairs;
  pairs.reserve(links_.size());
  for (InstId id : a_.Order(a)) {
    if (!FreeA(id)) pairs.emplace_back(id, PartnerOf(id));
  }
  Reset();
  return pairs;
}

void InstructionMatcher::Link(InstId a, InstId b) {
  partner_of_a_[a.value] = b;
  partner_of_b_[b.value] = a;
  links_.emplace_back(a, b);
}

void InstructionMatcher::Reset() {
  for (auto [a, b] : links_) {
    partner_of_a_[a.value] = {};
    partner_of_b_[b.value] = {};
  }
  links_.clear();
  spread_ = 0;
}

// ---- the same but for names ----

/// Pairs by place, from the root up. Fails (and forgets everything) at the first contradiction.
bool InstructionMatcher::MatchIsomorphic() {
  MatchParameters();
  InstId root_a = a_.module().computation(comp_a_).root;
  InstId root_b = b_.module().computation(comp_b_).root;
  if (FreeA(root_a) && FreeB(root_b)) Link(root_a, root_b);
  bool same = PartnerOf(root_a) == root_b && FollowIsomorphic();
  // What the root does not depend on: contents in order, users first.
  std::unordered_map<uint64_t, std::vector<InstId>> waiting;
  if (same && links_.size() != a_.Order(comp_a_).size()) {
    for (InstId id : b_.Order(comp_b_)) waiting[b_.Own(id)].push_back(id);
  }
  for (size_t i = a_.Order(comp_a_).size(); same && !waiting.empty() && i-- > 0;) {
    InstId id = a_.Order(comp_a_)[i];
    if (!FreeA(id)) continue;
    std::vector<InstId>& candidates = waiting[a_.Own(id)];
    while (!candidates.empty() && !FreeB(candidates.back())) candidates.pop_back();
    same = !candidates.empty();
    if (!same) break;
    Link(id, candidates.back());
    same = FollowIsomorphic();
  }
  if (!same) Reset();
  return same;
}

bool InstructionMatcher::FollowIsomorphic() {
  for (; spread_ < links_.size(); ++spread_) {
    auto [a, b] = links_[spread_];
    if (a_.Own(a) != b_.Own(b) || a_.module().opcode(a) != b_.module().opcode(b)) return false;
    std::span<const InstId> operands_a = a_.module().operands(a);
    std::span<const InstId> operands_b = b_.module().operands(b);
    if (operands_a.size() != operands_b.size()) return false;
    for (size_t k = 0; k < operands_a.size(); ++k) {
      if (FreeA(operands_a[k]) && FreeB(operands_b[k])) {
        Link(operands_a[k], operands_b[k]);
      } else if (PartnerOf(operands_a[k]) != operands_b[k]) {
        return false;
      }
    }
  }
  return true;
}

// ---- values ----

void InstructionMatcher::MatchValues() {
  MatchParameters();
  if (trusts_names_) {
    for (InstId id : a_.Order(comp_a_)) {
      InstId namesake = Namesake(id);
      if (namesake.valid() && a_.Own(id) == b_.Own(namesake)) Link(id, namesake);
    }
  }
  MatchContents(/*unique_only=*/true);
  Spread(Likeness::kSameContents);
  MatchContents(/*unique_only=*/false);
  if (trusts_names_) MatchNames(/*same_kind_only=*/true);
  InstId root_a = a_.Source(a_.module().computation(comp_a_).root);
  InstId root_b = b_.Source(b_.module().computation(comp_b_).root);
  if (FreeA(root_a) && FreeB(root_b) && SameKind(root_a, root_b)) Link(root_a, root_b);
  spread_ = 0;  // everything once more, with the weaker test
  Spread(Likeness::kSameKind);
  MatchOpNames();
  if (trusts_names_) MatchNames(/*same_kind_only=*/false);
  MatchReplaced();
}

void InstructionMatcher::MatchParameters() {
  const ComputationData& a = a_.module().computation(comp_a_);
  const ComputationData& b = b_.module().computation(comp_b_);
  for (size_t i = 0; i < std::min(a.parameters.size(), b.parameters.size()); ++i) {
    Link(a.parameters[i], b.parameters[i]);
  }
}

/// The free value of the same name in the other computation.
InstId InstructionMatcher::Namesake(InstId a) const {
  if (!FreeA(a) || a_.IsPlumbing(a)) return {};
  auto found = names_b_.find(a_.module().name(a));
  if (found == names_b_.end()) return {};
  InstId b = found->second;
  bool fits = b_.module().computation_of(b) == comp_b_ && FreeB(b) && !b_.IsPlumbing(b) &&
              b_.module().opcode(b) != Opcode::kParameter;
  return fits && a_.module().opcode(a) != Opcode::kParameter ? b : InstId();
}

void InstructionMatcher::MatchNames(bool same_kind_only) {
  for (InstId id : a_.Order(comp_a_)) {
    InstId namesake = Namesake(id);
    if (!namesake.valid() || (same_kind_only && !SameKind(id, namesake))) continue;
    Link(id, namesake);
  }
  Spread(Likeness::kSameKind);
}

/// Pairs of equal contents: those that occur once on each side, or all in order, users first. Where
/// the same value is computed twice, users decide which is which.
void InstructionMatcher::MatchContents(bool unique_only) {
  struct Candidates {
    std::vector<InstId> a, b;
  };
  std::unordered_map<uint64_t, Candidates> groups;
  auto is_candidate = [](const Side& side, InstId id) {
    return !side.IsPlumbing(id) && side.module().opcode(id) != Opcode::kParameter;
  };
  for (InstId id : a_.Order(comp_a_)) {
    if (FreeA(id) && is_candidate(a_, id)) groups[a_.Own(id)].a.push_back(id);
  }
  for (InstId id : b_.Order(comp_b_)) {
    if (!FreeB(id) || !is_candidate(b_, id)) continue;
    if (auto group = groups.find(b_.Own(id)); group != groups.end()) group->second.b.push_back(id);
  }
  if (unique_only) {
    for (InstId id : a_.Order(comp_a_)) {
      auto group = groups.find(a_.Own(id));
      if (group == groups.end() || group->second.a.size() != 1 || group->second.b.size() != 1 ||
          group->second.a[0] != id) {
        continue;
      }
      Link(id, group->second.b[0]);
    }
    return;
  }
  for (size_t i = a_.Order(comp_a_).size(); i-- > 0;) {
    InstId id = a_.Order(comp_a_)[i];
    if (!FreeA(id) || !is_candidate(a_, id)) continue;
    std::vector<InstId>& candidates = groups.at(a_.Own(id)).b;
    while (!candidates.empty() && !FreeB(candidates.back())) candidates.pop_back();
    if (candidates.empty()) continue;
    Link(id, candidates.back());
    Spread(Likeness::kSameContents);
  }
}

/// What front ends call the same operation, in order.
void InstructionMatcher::MatchOpNames() {
  auto key = [](const Side& side, InstId id) {
    uint64_t hash =
        Mix(static_cast<uint64_t>(side.module().opcode(id)), side.BareKey(side.module().shape(id)));
    return MixText(hash, OpName(side.module(), id));
  };
  struct Queue {
    std::vector<InstId> ids;
    size_t next = 0;
  };
  std::unordered_map<uint64_t, Queue> waiting;
  for (InstId id : b_.Order(comp_b_)) {
    if (FreeB(id) && !b_.IsPlumbing(id) && !OpName(b_.module(), id).empty()) {
      waiting[key(b_, id)].ids.push_back(id);
    }
  }
  if (waiting.empty()) return;
  for (InstId id : a_.Order(comp_a_)) {
    if (!FreeA(id) || a_.IsPlumbing(id) || OpName(a_.module(), id).empty()) continue;
    auto queue = waiting.find(key(a_, id));
    if (queue == waiting.end()) continue;
    Queue& candidates = queue->second;
    while (candidates.next < candidates.ids.size() && !FreeB(candidates.ids[candidates.next])) {
      ++candidates.next;
    }
    if (candidates.next == candidates.ids.size() ||
        !SameKind(id, candidates.ids[candidates.next])) {
      continue;
    }
    Link(id, candidates.ids[candidates.next]);
    Spread(Likeness::kSameKind);
  }
}

/// One operation in the place of another: the same user reads it, and it reads the same values.
void InstructionMatcher::MatchReplaced() {
  auto try_link = [&](InstId a, InstId b) {
    a = a_.Source(a);
    b = b_.Source(b);
    if (!FreeA(a) || !FreeB(b) || a_.module().opcode(a) == Opcode::kParameter ||
        b_.module().opcode(b) == Opcode::kParameter) {
      return;
    }
    if (SameKind(a, b) || SameOperands(a, b)) Link(a, b);
  };
  try_link(a_.module().computation(comp_a_).root, b_.module().computation(comp_b_).root);
  for (size_t i = 0; i < links_.size(); ++i) {  // grows
    auto [a, b] = links_[i];
    uint32_t count = std::min(a_.module().operand_count(a), b_.module().operand_count(b));
    for (uint32_t k = 0; k < count; ++k) {
      try_link(a_.module().operand(a, k), b_.module().operand(b, k));
    }
  }
}

void InstructionMatcher::Spread(Likeness likeness) {
  for (; spread_ < links_.size(); ++spread_) {
    auto [a, b] = links_[spread_];
    SpreadToOperands(a, b, likeness);
    if (likeness == Likeness::kSameKind) SpreadToUsers(a, b, likeness);
  }
}

void InstructionMatcher::SpreadToOperands(InstId a, InstId b, Likeness likeness) {
  uint32_t count = a_.module().operand_count(a);
  if (count != b_.module().operand_count(b)) return;
  for (uint32_t k = 0; k < count; ++k) {
    InstId from = a_.Source(a_.module().operand(a, k));
    InstId to = b_.Source(b_.module().operand(b, k));
    if (!FreeA(from) || !FreeB(to)) continue;
    bool alike =
        likeness == Likeness::kSameContents ? a_.Own(from) == b_.Own(to) : SameKind(from, to);
    if (alike) Link(from, to);
  }
}

/// Users that are the only ones of their kind at this operand on both sides.
void InstructionMatcher::SpreadToUsers(InstId a, InstId b, Likeness) {
  struct Candidates {
    InstId a, b;
    uint32_t count_a = 0, count_b = 0;
  };
  auto key = [](const Side& side, Use use) { return Mix(side.Local(use.user), use.operand); };
  std::unordered_map<uint64_t, Candidates> groups;
  for (Use use : a_.Uses(a)) {
    if (!FreeA(use.user)) continue;
    Candidates& group = groups[key(a_, use)];
    group.a = use.user;
    ++group.count_a;
  }
  if (groups.empty()) return;
  for (Use use : b_.Uses(b)) {
    if (!FreeB(use.user)) continue;
    auto group = groups.find(key(b_, use));
    if (group == groups.end()) continue;
    group->second.b = use.user;
    ++group->second.count_b;
  }
  for (Use use : a_.Uses(a)) {  // in order, so that the result does not depend on the table
    if (!FreeA(use.user)) continue;
    const Candidates& group = groups.at(key(a_, use));
    if (group.count_a == 1 && group.count_b == 1 && group.a == use.user && FreeB(group.b)) {
      Link(group.a, group.b);
    }
  }
}

bool InstructionMatcher::SameKind(InstId a, InstId b) const {
  return a_.module().opcode(a) == b_.module().opcode(b) &&
         a_.BareKey(a_.module().shape(a)) == b_.BareKey(b_.module().shape(b));
}

bool InstructionMatcher::SameOperands(InstId a, InstId b) const {
  std::span<const InstId> operands_a = a_.module().operands(a);
  std::span<const InstId> operands_b = b_.module().operands(b);
  if (operands_a.empty() || operands_a.size() != operands_b.size()) return false;
  for (size_t k = 0; k < operands_a.size(); ++k) {
    if (partner_of_a_[a_.Source(operands_a[k]).value] != b_.Source(operands_b[k])) return false;
  }
  return true;
}

// ---- plumbing ----

/// Copies are the same when the same user reads them at the same operand.
void InstructionMatcher::MatchPlumbing() {
  LinkPlumbing(a_.module().computation(comp_a_).root, b_.module().computation(comp_b_).root);
  std::span<const InstId> order = a_.Order(comp_a_);
  for (size_t i = order.size(); i-- > 0;) {
    InstId a = order[i];
    if (FreeA(a) || a_.IsPlumbing(a)) continue;
    InstId b = PartnerOf(a);
    uint32_t count = std::min(a_.module().operand_count(a), b_.module().operand_count(b));
    for (uint32_t k = 0; k < count; ++k) {
      LinkPlumbing(a_.module().operand(a, k), b_.module().operand(b, k));
    }
  }
  MatchUnreadPlumbing();
}

/// Plumbing that nobody reads: what passes on the same value, by name first.
void InstructionMatcher::MatchUnreadPlumbing() {
  auto is_unread = [](const Side& side, InstId id) {
    return side.IsPlumbing(id) && side.module().users(id).empty();
  };
  auto key = [](const Side& side, InstId id, InstId source_in_b) {
    uint64_t hash = Mix(static_cast<uint64_t>(side.module().opcode(id)), source_in_b.value);
    return Mix(hash, side.BareKey(side.module().shape(id)));
  };
  std::unordered_map<uint64_t, std::vector<InstId>> waiting;
  for (InstId id : b_.Order(comp_b_)) {
    if (FreeB(id) && is_unread(b_, id)) waiting[key(b_, id, b_.Source(id))].push_back(id);
  }
  if (waiting.empty()) return;
  std::span<const InstId> order = a_.Order(comp_a_);
  for (bool by_name : {true, false}) {
    if (by_name && !trusts_names_) continue;
    for (size_t i = order.size(); i-- > 0;) {
      InstId id = order[i];
      if (!FreeA(id) || !is_unread(a_, id)) continue;
      auto group = waiting.find(key(a_, id, PartnerOf(a_.Source(id))));
      if (group == waiting.end()) continue;
      if (by_name) {
        auto namesake = names_b_.find(a_.module().name(id));
        if (namesake == names_b_.end() || !FreeB(namesake->second)) continue;
        InstId b = namesake->second;
        if (b_.module().computation_of(b) == comp_b_ && is_unread(b_, b)) LinkPlumbing(id, b);
      } else {
        std::vector<InstId>& candidates = group->second;
        while (!candidates.empty() && !FreeB(candidates.back())) candidates.pop_back();
        if (!candidates.empty()) LinkPlumbing(id, candidates.back());
      }
    }
  }
}

/// Links two chains of plumbing as far as they run in parallel.
void InstructionMatcher::LinkPlumbing(InstId a, InstId b) {
  std::vector<std::pair<InstId, InstId>> stack = {{a, b}};
  while (!stack.empty()) {
    auto [x, y] = stack.back();
    stack.pop_back();
    if (!a_.IsPlumbing(x) || !b_.IsPlumbing(y)) continue;
    if (!SameKind(x, y)) {
      // One chain has a copy more: go on behind it.
      InstId behind_x = a_.Origin(x), behind_y = b_.Origin(y);
      if (behind_x != x || behind_y != y) stack.emplace_back(behind_x, behind_y);
      continue;
    }
    if (!FreeA(x) || !FreeB(y)) continue;
    InstId partner = partner_of_a_[a_.Source(x).value];
    bool both_free = !partner.valid() && FreeB(b_.Source(y));
    if (partner != b_.Source(y) && !both_free) continue;  // copies of other values
    Link(x, y);
    std::span<const InstId> operands_a = a_.module().operands(x);
    std::span<const InstId> operands_b = b_.module().operands(y);
    for (size_t k = std::min(operands_a.size(), operands_b.size()); k-- > 0;) {
      stack.emplace_back(operands_a[k], operands_b[k]);
    }
  }
}

}  // namespace hlokit
