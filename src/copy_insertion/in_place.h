// Which operands does an instruction update in place?
#ifndef HLOKIT_SRC_COPY_INSERTION_IN_PLACE_H_
#define HLOKIT_SRC_COPY_INSERTION_IN_PLACE_H_

#include <vector>

#include "hlokit/module.h"

namespace hlokit::copies {

/// Node `from` of an operand and node `to` of the result must be one buffer. Nodes are pre-order
/// numbers.
struct InPlacePair {
  uint32_t operand;
  uint32_t from;
  uint32_t to;
};

/// The pairs of one instruction, in the order in which its opcode lists them. Nodes that do not
/// exist are left out.
std::vector<InPlacePair> InPlacePairs(const Module& module, InstId inst);

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_IN_PLACE_H_
