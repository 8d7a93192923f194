#ifndef HLOKIT_SRC_PRINT_ORDER_H_
#define HLOKIT_SRC_PRINT_ORDER_H_

#include <cstdint>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// Computes the post-order of the instructions of one computation after the other. The marks are
/// kept between calls, so that all computations of a module together cost linear time.
class InstructionOrder {
 public:
  explicit InstructionOrder(const Module& module) : module_(module) {}

  /// Live instructions in the order of hlo-text.md section 11.4 for unscheduled computations.
  /// The answer is valid until the next call.
  const std::vector<InstId>& PostOrder(CompId computation);
  /// Live instructions in stored order.
  const std::vector<InstId>& Stored(CompId computation);

 private:
  enum Mark : uint8_t { kNew = 0, kUsed = 1, kOpen = 2, kDone = 3 };
  Mark mark(InstId id) const { return static_cast<Mark>(marks_[id.value - base_]); }
  void set_mark(InstId id, Mark mark) { marks_[id.value - base_] = mark; }
  void Walk(InstId root);

  const Module& module_;
  uint32_t base_ = 0;           // smallest id of the computation at hand
  std::vector<uint8_t> marks_;  // by id - base_
  std::vector<InstId> stack_;
  std::vector<InstId> order_;
};

/// Computations, each after those that it calls, else in stored order.
std::vector<CompId> ComputationTopologicalOrder(const Module& module);

/// By computation number: is it the body of a fusion?
std::vector<bool> FusionBodies(const Module& module);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PRINT_ORDER_H_
