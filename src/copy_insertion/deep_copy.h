// How is a value copied leaf by leaf?
#ifndef HLOKIT_SRC_COPY_INSERTION_DEEP_COPY_H_
#define HLOKIT_SRC_COPY_INSERTION_DEEP_COPY_H_

#include <cstdint>
#include <vector>

#include "hlokit/rewriter.h"

namespace hlokit::copies {

/// By node of a shape (pre-order number): 1 = copy this leaf.
using NodeSet = std::vector<uint8_t>;
NodeSet AllNodes(const Module& module, InstId inst);
bool AnyLeaf(const Module& module, InstId inst, const NodeSet& nodes);

struct DeepCopied {
  InstId result;
  std::vector<InstId> copies;  ///< by node; invalid where nothing was copied
};

/// Takes the value of `inst` apart, copies the chosen leaves with exactly their shape, and puts it
/// together again. Leaves that are no arrays pass through. The new instructions carry nothing but
/// their shape. The module is otherwise unchanged: the caller redirects users.
DeepCopied DeepCopy(Rewriter& rewriter, InstId inst, const NodeSet& nodes);

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_DEEP_COPY_H_
