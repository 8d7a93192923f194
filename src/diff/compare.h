// In what do two paired computations differ?
#ifndef HLOKIT_SRC_DIFF_COMPARE_H_
#define HLOKIT_SRC_DIFF_COMPARE_H_

#include <vector>

#include "hlokit/diff.h"
#include "src/diff/match.h"
#include "src/diff/side.h"

namespace hlokit {

/// Compares pairs of computations, exactly, and collects the differences.
class Comparer {
 public:
  Comparer(const Side& a, const Side& b, const ModuleMatch& match, const DiffOptions& options,
           ModuleDiff* diff);

  void Compare(const ComputationPair& pair);
  /// The copies of a computation that has no partner.
  void CollectCopies(const Side& side, CompId computation, std::vector<CopyChange>* out) const;

 private:
  void ComparePair(InstId a, InstId b);
  void CompareLayouts(InstId a, InstId b);
  void CompareOperands(InstId a, InstId b, InstructionChange* change) const;
  void CompareAttributes(InstId a, InstId b, InstructionChange* change) const;
  void CompareRoot(const ComputationPair& pair);
  void CompareSchedule(const ComputationPair& pair);
  /// The same value, or the same value behind copies that only one side has.
  bool SameValue(InstId a, InstId b) const;
  bool SameAttribute(const Attr& a, const Attr& b) const;
  bool SameCallees(const Attr& a, const Attr& b) const;
  bool SamePredecessors(const Attr& a, const Attr& b) const;
  bool SameLiteral(LiteralId a, LiteralId b) const;
  bool IsCompared(const Attr& attr) const;

  /// Marks values that are reached through plumbing that has no partner.
  void MarkRerouted(const Side& side, CompId computation, const std::vector<InstId>& partner,
                    std::vector<uint8_t>* rerouted) const;
  void CollectUnmatched(const Side& side, CompId computation, const std::vector<InstId>& partner,
                        std::vector<CopyChange>* copies, std::vector<InstId>* plumbing,
                        std::vector<InstId>* others) const;

  const Side& a_;
  const Side& b_;
  const ModuleMatch& match_;
  const DiffOptions& options_;
  ModuleDiff* diff_;
  std::vector<InstId> partner_of_a_, partner_of_b_;  // by instruction, of the current pair
  std::vector<uint8_t> rerouted_a_, rerouted_b_;     // by instruction
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_DIFF_COMPARE_H_
