// Does every instruction find in its buffers what it is to read?
//
// Runs a module with tokens in place of numbers. All values that must share memory lie in one
// buffer, and a buffer holds the token that was written into it last. The instructions of a
// computation run in a random order that operands, control edges and the schedule allow, branches
// are drawn, loops take 0 to 3 rounds. A token that is gone when somebody reads it means that a
// copy is missing, or an edge that orders the writer behind the reader.
#ifndef HLOKIT_TESTS_PROOF_BUFFER_RUN_H_
#define HLOKIT_TESTS_PROOF_BUFFER_RUN_H_

#include <cstdint>
#include <string>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

struct BufferRun {
  int64_t reads = 0;         ///< reads that were checked
  bool gave_up = false;      ///< too many steps
  std::string problem = {};  ///< the first read of a wrong token, empty when there is none
};

/// The module must be as copy insertion leaves it: flat, every group of values in one buffer.
Result<BufferRun> RunInBuffers(const Module& module, uint64_t seed);

}  // namespace hlokit

#endif  // HLOKIT_TESTS_PROOF_BUFFER_RUN_H_
