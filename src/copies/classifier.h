// What the parts of the classification share.
#ifndef HLOKIT_SRC_COPIES_CLASSIFIER_H_
#define HLOKIT_SRC_COPIES_CLASSIFIER_H_

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hlokit/copies.h"
#include "hlokit/copy_insertion.h"
#include "hlokit/explain.h"
#include "hlokit/module.h"

namespace hlokit {

/// Facts about a module that many copies need.
class CopyContext {
 public:
  CopyContext(const Module& module, const ClassifyOptions& options);

  const Module& module() const { return module_; }
  bool IsFused(CompId computation) const { return fused_[computation.value] != 0; }
  /// Nothing when the computation is no branch of a conditional.
  InstId BranchOf(CompId computation) const { return branch_of_[computation.value]; }
  InstId LoopOf(CompId computation) const { return body_of_[computation.value]; }
  bool HasControlEdges(InstId inst) const;
  bool optimised() const { return optimised_; }
  bool has_before() const { return options_.before != nullptr; }
  /// Is there a copy of this name in the module before optimisation?
  bool WasThere(InstId copy) const {
    return before_names_.contains(std::string(module_.name(copy)));
  }
  /// Does the module before optimisation transpose with these dimensions?
  bool HadTranspose(std::span<const int64_t> dimensions) const;
  /// Why the copy has to stay, when overlapping live ranges say so.
  const LifetimeCopy* Needed(InstId copy) const;
  /// The instruction that makes the value, behind bitcasts and tuples that only pass it on.
  InstId Producer(InstId copy) const;
  /// The first user that is no bitcast; invalid when the value goes into a result.
  InstId Consumer(InstId inst, uint32_t* operand) const;
  Executions ExecutionsOf(CompId computation) const { return executions_[computation.value]; }

 private:
  const Module& module_;
  const ClassifyOptions& options_;
  std::vector<uint8_t> fused_;
  std::vector<InstId> branch_of_, body_of_;
  std::vector<uint8_t> control_;  // by instruction
  bool optimised_ = false;
  std::unordered_set<std::string> before_names_;
  std::vector<std::vector<int64_t>> before_transposes_;
  std::unordered_map<uint32_t, LifetimeCopy> needed_;
  std::vector<Executions> executions_;
};

/// Orders without dimensions of size 1 are equal: nothing moves.
bool SameOrder(const ShapePool& shapes, ShapeId a, ShapeId b);
int64_t MemorySpace(const ShapePool& shapes, ShapeId array);

/// The decision table, for one copy instruction or asynchronous copy.
void ApplyRules(const CopyContext& context, ClassifiedCopy& copy);
/// A transpose or reshape that moves elements.
void ClassifyTranspose(const CopyContext& context, ClassifiedCopy& copy);
/// A fusion: nothing when it is no copy.
std::optional<ClassifiedCopy> ClassifyFusion(const CopyContext& context, InstId fusion);
/// Fills upstream, downstream, has and wants.
void TellDisagreement(const CopyContext& context, ClassifiedCopy& copy);

}  // namespace hlokit

#endif  // HLOKIT_SRC_COPIES_CLASSIFIER_H_
