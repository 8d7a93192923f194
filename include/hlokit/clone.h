#ifndef HLOKIT_CLONE_H_
#define HLOKIT_CLONE_H_

#include <span>
#include <string_view>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// Copies one instruction into `target` with other operands and shape. The name is made unique from
/// `name` (its own name when that is empty). Attributes are copied; lists of computations and of
/// control predecessors get storage of their own, so that a later edit of one does not show in the
/// other. Called computations are shared with the original; control predecessors are dropped.
InstId CloneInstruction(Module& module, InstId original, CompId target,
                        std::span<const InstId> operands, ShapeId shape,
                        std::string_view name = {});

/// What a clone of a computation was made from.
struct ComputationClone {
  CompId computation;
  /// Pairs (original, clone) of the computation itself, in the order in which clones were made.
  std::vector<std::pair<InstId, InstId>> instructions;
};

/// Copies a computation under the name "NAME.SUFFIX" (made unique). Instructions are copied in
/// creation order, keep their names up to uniqueness, and keep the control edges among themselves.
/// Bodies of fusions, computations of custom calls and wrapped computations are cloned along, with
/// the same suffix; every other called computation is shared. A computation that several of them
/// call is copied once; one that calls itself stays shared. No recursion; linear in the
/// instructions that are copied.
ComputationClone CloneComputationWithMap(Module& module, CompId original, std::string_view suffix);

inline CompId CloneComputation(Module& module, CompId original, std::string_view suffix = "clone") {
  return CloneComputationWithMap(module, original, suffix).computation;
}

}  // namespace hlokit

#endif  // HLOKIT_CLONE_H_
