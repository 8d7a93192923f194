// Who calls whom, from where, and how?
#ifndef HLOKIT_SRC_PASSES_SHARED_CALL_GRAPH_H_
#define HLOKIT_SRC_PASSES_SHARED_CALL_GRAPH_H_

#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// How a computation is used: as code that runs on its own, or as a function on elements.
enum class CallContext : uint8_t { kNone, kControlFlow, kEmbedded, kBoth };

/// What a call of this opcode is: call, while, conditional and async-start run their callees; all
/// others embed them.
CallContext ContextOf(Opcode opcode);

/// One instruction that calls a computation; `index` says which of its callees.
struct CallSite {
  InstId instruction;
  uint32_t index;
};

class CallGraph {
 public:
  explicit CallGraph(const Module& module);
  /// Callers first come from the order of computations and of instructions in them.
  const std::vector<CallSite>& callers(CompId computation) const {
    return callers_[computation.value];
  }
  /// Seen from the entry: embedded wins over control flow of an embedded caller. Computations that
  /// nobody calls run on their own.
  CallContext context(CompId computation) const { return context_[computation.value]; }
  /// Callees before callers, from the roots in stored order; computations in circles are left out.
  const std::vector<CompId>& post_order() const { return post_order_; }
  bool has_circle() const { return has_circle_; }

 private:
  std::vector<std::vector<CallSite>> callers_;
  std::vector<CallContext> context_;
  std::vector<CompId> post_order_;
  bool has_circle_ = false;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_CALL_GRAPH_H_
