// Does one instruction of a computation have to run before another one?
#include "src/copy_insertion/reach.h"

#include <algorithm>

#include "hlokit/printer.h"

namespace hlokit::copies {

Reach::Reach(const Module& module)
    : module_(module),
      before_begin_(module.instruction_count() + 1, 0),
      rank_(module.instruction_count(), 0),
      is_root_(module.instruction_count(), 0),
      scheduled_(module.config().is_scheduled),
      mark_(module.instruction_count(), 0) {
  for (CompId computation : module.computation_order()) {
    uint32_t next = 0;
    is_root_[module.computation(computation).root.value] = 1;
    if (scheduled_) {
      for (InstId inst : module.computation(computation).instructions) rank_[inst.value] = next++;
      continue;
    }
    for (InstId inst : InstructionPostOrder(module, computation)) rank_[inst.value] = next++;
  }
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    InstId inst{i};
    before_begin_[i] = static_cast<uint32_t>(before_.size());
    if (module.IsDead(inst)) continue;
    for (InstId operand : module.operands(inst)) before_.push_back(operand);
    for (InstId predecessor : module.control_predecessors(inst)) before_.push_back(predecessor);
  }
  before_begin_.back() = static_cast<uint32_t>(before_.size());
}

const std::vector<uint64_t>& Reach::Row(InstId to) {
  auto found = rows_.find(to.value);
  if (found != rows_.end()) return found->second;
  size_t words = (rank_[to.value] + 64) / 64;
  if (words_ + words > kMaxWords) {
    rows_.clear();
    words_ = 0;
  }
  words_ += words;
  std::vector<uint64_t>& row = rows_[to.value];
  row.assign(words, 0);
  work_.assign(1, to);
  while (!work_.empty()) {
    InstId at = work_.back();
    work_.pop_back();
    ForEachBefore(at, [&](InstId before) {
      uint32_t rank = rank_[before.value];
      if (rank >= words * 64) return;  // a circle: nobody verified the module
      uint64_t bit = uint64_t{1} << (rank % 64);
      if (row[rank / 64] & bit) return;
      row[rank / 64] |= bit;
      work_.push_back(before);
    });
  }
  return row;
}

std::optional<bool> Reach::ReachesNearby(InstId from, InstId to) {
  if (++search_ == 0) mark_.assign(mark_.size(), 0), search_ = 1;
  work_.assign(1, to);
  size_t edges = 0;
  for (size_t at = 0; at < work_.size(); ++at) {
    edges += before_begin_[work_[at].value + 1] - before_begin_[work_[at].value];
    if (edges > kNearby) return std::nullopt;
    bool found = false;
    ForEachBefore(work_[at], [&](InstId before) {
      found = found || before == from;
      if (rank_[before.value] <= rank_[from.value] || mark_[before.value] == search_) return;
      mark_[before.value] = search_;
      work_.push_back(before);
    });
    if (found) return true;
  }
  return false;
}

/// Numbers the instructions of a computation anew, in the old order as far as the edges let it.
/// Returns false, and changes nothing, when there is a circle.
bool Reach::RankAgain(CompId computation) {
  std::vector<InstId> order = module_.computation(computation).instructions;
  std::sort(order.begin(), order.end(),
            [&](InstId a, InstId b) { return rank_[a.value] < rank_[b.value]; });
  enum : uint8_t { kNew, kOpen, kDone };
  std::unordered_map<uint32_t, uint8_t> state;
  std::vector<InstId> done;
  bool circle = false;
  for (InstId start : order) {
    work_.assign(1, start);
    while (!work_.empty()) {
      InstId at = work_.back();
      uint8_t& mine = state[at.value];
      if (mine != kNew) {
        work_.pop_back();
        if (mine == kOpen) done.push_back(at);
        mine = kDone;
        continue;
      }
      mine = kOpen;
      ForEachBefore(at, [&](InstId before) {
        auto known = state.find(before.value);
        if (known == state.end()) return work_.push_back(before);
        circle = circle || known->second == kOpen;
      });
      if (circle) return false;
    }
  }
  for (uint32_t i = 0; i < done.size(); ++i) rank_[done[i].value] = i;
  return true;
}

bool Reach::AddEdges(std::span<const OrderEdge> edges) {
  std::vector<CompId> computations;
  for (const OrderEdge& edge : edges) {
    added_[edge.after.value].push_back(edge.before);
    CompId computation = module_.computation_of(edge.after);
    if (std::find(computations.begin(), computations.end(), computation) == computations.end()) {
      computations.push_back(computation);
    }
  }
  // Ranks of the edges that were there stay right when a later computation has a circle.
  bool fits = true;
  for (CompId computation : computations) fits = fits && RankAgain(computation);
  if (!fits) {
    for (const OrderEdge& edge : edges) added_[edge.after.value].pop_back();
  }
  rows_.clear();
  words_ = 0;
  return fits;
}

bool Reach::Reaches(InstId from, InstId to) {
  if (rank_[from.value] >= rank_[to.value]) return false;
  if (scheduled_) return !is_root_[from.value];
  if (!rows_.contains(to.value)) {
    if (std::optional<bool> nearby = ReachesNearby(from, to)) return *nearby;
  }
  return (Row(to)[rank_[from.value] / 64] >> (rank_[from.value] % 64) & 1) != 0;
}

}  // namespace hlokit::copies
