// Does one instruction of a computation have to run before another one?
#include "src/copy_insertion/reach.h"

#include "hlokit/printer.h"

namespace hlokit::copies {

Reach::Reach(const Module& module)
    : before_begin_(module.instruction_count() + 1, 0),
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
    for (uint32_t i = before_begin_[at.value]; i < before_begin_[at.value + 1]; ++i) {
      uint32_t rank = rank_[before_[i].value];
      if (rank >= words * 64) continue;  // a circle: nobody verified the module
      uint64_t bit = uint64_t{1} << (rank % 64);
      if (row[rank / 64] & bit) continue;
      row[rank / 64] |= bit;
      work_.push_back(before_[i]);
    }
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
    for (uint32_t i = before_begin_[work_[at].value]; i < before_begin_[work_[at].value + 1]; ++i) {
      InstId before = before_[i];
      if (before == from) return true;
      if (rank_[before.value] <= rank_[from.value] || mark_[before.value] == search_) continue;
      mark_[before.value] = search_;
      work_.push_back(before);
    }
  }
  return false;
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
