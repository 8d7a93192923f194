#ifndef HLOKIT_REDUCE_H_
#define HLOKIT_REDUCE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

struct ReduceProgress {
  uint64_t instructions = 0, computations = 0;  ///< of the smallest module so far
  uint64_t tried = 0, kept = 0;                 ///< candidates
};

struct ReduceOptions {
  /// Does a candidate still show what is to be kept? Called from several threads at once, each with
  /// a module of its own that it may change. `text` is the candidate as it would be written.
  std::function<bool(Module& candidate, const std::string& text, unsigned thread)> keep;
  unsigned threads = 0;  ///< 0: one per processor
  /// Called on the calling thread whenever a smaller module was found.
  std::function<void(const ReduceProgress&)> progress;
};

struct ReducedModule {
  std::string text;
  ReduceProgress progress;
};

/// Makes a module smaller as long as `keep` says yes: takes a called computation as the entry, cuts
/// values off (they become parameters of the same name), drops results, unused parameters and
/// attributes, lets users read an operand instead. Every candidate passes the verifier, unless the
/// module itself does not. The answer does not depend on the number of threads. Fails with
/// kCheckFailed (S001) when `keep` says no to the module itself.
Result<ReducedModule> ReduceModule(const std::string& text, const ReduceOptions& options);

}  // namespace hlokit

#endif  // HLOKIT_REDUCE_H_
