// Where does a new computation stand among the others?
//
// XLA keeps the computations of a module in an order in which callees come before their callers,
// and repairs it call by call: when a new call has its callee behind the caller, the caller and
// what calls it move right behind the callee; all others keep their order. Passes walk over the
// computations in this order, so it decides which names new instructions get. (The way of
// Marchetti-Spaccamela, Nanni and Rohnert, 1996.)
#ifndef HLOKIT_SRC_EDIT_CALLEE_FIRST_ORDER_H_
#define HLOKIT_SRC_EDIT_CALLEE_FIRST_ORDER_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// Follows the edits of one pass that adds computations; at the end Store makes the order the walk
/// order of the module. Circles of calls are left as they are.
class CalleeFirstOrder {
 public:
  explicit CalleeFirstOrder(const Module& module);
  /// Takes in computations that were added to the module since, in the order of their numbers.
  void AddNewComputations();
  void AddCall(CompId caller, CompId callee);
  void RemoveCall(CompId caller, CompId callee);
  void Store(Module& module) const;

 private:
  static uint64_t Key(CompId caller, CompId callee) {
    return (uint64_t{caller.value} << 32) | callee.value;
  }
  void Append(CompId computation);
  /// The caller and all that call it, directly or not, up to a position.
  std::vector<CompId> CallersUpTo(CompId caller, uint32_t position);

  const Module& module_;
  std::vector<uint32_t> position_;                // by computation
  std::vector<CompId> order_;                     // by position
  std::vector<std::vector<CompId>> callers_;      // calls that were removed may still stand
  std::unordered_map<uint64_t, uint32_t> calls_;  // how often
  std::vector<uint8_t> marked_;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_EDIT_CALLEE_FIRST_ORDER_H_
