// Can an instruction write its result over one of its operands?
#ifndef HLOKIT_SRC_COPY_INSERTION_SHARING_H_
#define HLOKIT_SRC_COPY_INSERTION_SHARING_H_

#include "hlokit/module.h"
#include "src/copy_insertion/dataflow.h"

namespace hlokit::copies {

/// May node `node` of the result of `use.inst` lie in the memory of the operand that `use` reads?
/// Asks about the opcode only, not about who else needs the operand.
bool CanShare(const Module& module, const Use& use, uint32_t node);

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_SHARING_H_
