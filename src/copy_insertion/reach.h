// Does one instruction of a computation have to run before another one?
//
// A snapshot of the operand and control edges of the module: later edits do not count, but for
// edges that are added here. Rows of ancestors are computed when they are first asked for, and kept
// within a fixed amount of memory.
#ifndef HLOKIT_SRC_COPY_INSERTION_REACH_H_
#define HLOKIT_SRC_COPY_INSERTION_REACH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "hlokit/module.h"

namespace hlokit::copies {

/// `before` has to run before `after`, in one computation.
struct OrderEdge {
  InstId before, after;
};

class Reach {
 public:
  explicit Reach(const Module& module);
  /// Both in one computation: is `to` reachable from `from` along operands and control edges? In a
  /// scheduled module: does it come later, `from` not being the root? An instruction does not reach
  /// itself.
  bool Reaches(InstId from, InstId to);
  /// Number of the instruction in an order in which everything comes after what it needs.
  uint32_t Rank(InstId inst) const { return rank_[inst.value]; }
  /// Adds all edges, or none when they would close a circle.
  bool AddEdges(std::span<const OrderEdge> edges);

 private:
  bool RankAgain(CompId computation);
  template <typename F>
  void ForEachBefore(InstId inst, F visit) const {
    for (uint32_t i = before_begin_[inst.value]; i < before_begin_[inst.value + 1]; ++i) {
      visit(before_[i]);
    }
    if (added_.empty()) return;
    auto found = added_.find(inst.value);
    if (found == added_.end()) return;
    for (InstId before : found->second) visit(before);
  }
  const std::vector<uint64_t>& Row(InstId to);
  /// Looks at what stands between the two; nothing when that is much.
  std::optional<bool> ReachesNearby(InstId from, InstId to);

  const Module& module_;
  static constexpr size_t kMaxWords = size_t{1} << 24;       // 128 MiB of rows
  std::vector<uint32_t> before_begin_;                       // by instruction, one more
  std::vector<InstId> before_;                               // operands and control predecessors
  std::unordered_map<uint32_t, std::vector<InstId>> added_;  // the same, of AddEdges
  std::vector<uint32_t> rank_;                               // within the computation
  std::vector<uint8_t> is_root_;                             // by instruction
  bool scheduled_ = false;
  std::unordered_map<uint32_t, std::vector<uint64_t>> rows_;
  size_t words_ = 0;
  std::vector<InstId> work_;
  static constexpr size_t kNearby = 512;  // edges
  std::vector<uint32_t> mark_;            // by instruction: the search that saw it last
  uint32_t search_ = 0;
};

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_REACH_H_
