// Which instructions of two computations are the same ones?
#ifndef HLOKIT_SRC_DIFF_INSTRUCTION_MATCH_H_
#define HLOKIT_SRC_DIFF_INSTRUCTION_MATCH_H_

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/diff/side.h"

namespace hlokit {

using InstructionPairs = std::vector<std::pair<InstId, InstId>>;

/// Finds pairs of instructions, one computation pair at a time.
class InstructionMatcher {
 public:
  InstructionMatcher(const Side& a, const Side& b);

  /// Do equal names mean the same instruction? Measured over the whole modules: instructions whose
  /// namesake has the same contents, against those whose contents now stand under another name.
  bool trusts_names() const { return trusts_names_; }

  /// The pairs, by position in the first computation. Each instruction occurs once at most.
  InstructionPairs Match(CompId a, CompId b);

 private:
  enum class Likeness : uint8_t { kSameContents, kSameKind };

  // What is linked so far.
  InstId& PartnerOf(InstId a) { return partner_of_a_[a.value]; }
  bool FreeA(InstId a) const { return !partner_of_a_[a.value].valid(); }
  bool FreeB(InstId b) const { return !partner_of_b_[b.value].valid(); }
  void Link(InstId a, InstId b);
  void Reset();

  // The whole computations at once, when they differ in names only.
  bool MatchIsomorphic();
  bool FollowIsomorphic();
  // Piece by piece.
  void MatchValues();
  void MatchParameters();
  void MatchNames(bool same_kind_only);
  void MatchContents(bool unique_only);
  void MatchOpNames();
  void MatchReplaced();
  void Spread(Likeness likeness);
  void SpreadToOperands(InstId a, InstId b, Likeness likeness);
  void SpreadToUsers(InstId a, InstId b, Likeness likeness);
  bool SameKind(InstId a, InstId b) const;
  bool SameOperands(InstId a, InstId b) const;
  InstId Namesake(InstId a) const;
  // Copies and the like, last.
  void MatchPlumbing();
  void MatchUnreadPlumbing();
  void LinkPlumbing(InstId a, InstId b);

  const Side& a_;
  const Side& b_;
  bool trusts_names_ = true;
  std::unordered_map<std::string_view, InstId> names_b_;
  std::vector<InstId> partner_of_a_, partner_of_b_;  // by instruction
  InstructionPairs links_;  // of the current computations, in order of discovery
  size_t spread_ = 0;       // links_ before this one have been spread
  CompId comp_a_, comp_b_;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_DIFF_INSTRUCTION_MATCH_H_
