// Which instruction calls a computation, and how deep is it nested?
//
// Made for flattened call graphs: every computation that runs on its own has one caller. Embedded
// computations (of reduce, sort, fusions, …) may have several; the first one counts.
#ifndef HLOKIT_SRC_COPY_INSERTION_CALLS_H_
#define HLOKIT_SRC_COPY_INSERTION_CALLS_H_

#include <vector>

#include "hlokit/module.h"

namespace hlokit::copies {

class Calls {
 public:
  explicit Calls(const Module& module);

  /// Invalid for the entry and for computations that nobody calls.
  InstId caller(CompId computation) const { return caller_[computation.value]; }
  /// Which of the callees of the caller it is.
  uint32_t callee_number(CompId computation) const { return number_[computation.value]; }
  uint32_t depth(CompId computation) const { return depth_[computation.value]; }
  /// The body of a fusion.
  bool IsFused(CompId computation) const { return fused_[computation.value] != 0; }
  /// Called from an async-start.
  bool IsAsync(CompId computation) const;
  /// Reached from the entry (or from a computation that nobody calls) through call, while,
  /// conditional and async-start only.
  bool RunsOnItsOwn(CompId computation) const { return own_[computation.value] != 0; }
  /// Is the instruction in this computation or in one that it calls, at any depth?
  bool IsNestedIn(const Module& module, InstId inst, CompId computation) const;
  /// Callees before callers, from the computations that nobody calls in stored order.
  const std::vector<CompId>& post_order() const { return post_order_; }

 private:
  const Module* module_;
  std::vector<InstId> caller_;
  std::vector<uint32_t> number_, depth_;
  std::vector<uint8_t> fused_, own_;
  std::vector<CompId> post_order_;
};

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_CALLS_H_
