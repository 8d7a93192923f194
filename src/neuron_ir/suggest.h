#ifndef HLOKIT_SRC_NEURON_IR_SUGGEST_H_
#define HLOKIT_SRC_NEURON_IR_SUGGEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hlokit/io_transposes.h"
#include "hlokit/module.h"

namespace hlokit {

/// A transpose of an entry parameter that would save work in each step.
struct Suggestion {
  size_t parameter = 0;
  IoTranspose spec;
  int64_t bytes_saved = 0;   ///< logical bytes that copies or transposes no longer write, per step
  uint64_t ops_saved = 0;    ///< copies or transposes
  bool from_copies = false;  ///< else from transposes in the module
  std::string reason;        ///< plain words
};

struct SuggestOptions {
  std::vector<size_t> weights;  ///< parameter numbers to look at; empty = all
  size_t most_runs = 32;        ///< runs of layout assignment; parameters with most bytes first
};

struct Suggestions {
  std::vector<Suggestion> found;   ///< most bytes first; one per parameter at most
  int64_t copy_bytes_before = 0;   ///< of all copies that layout assignment inserts, per step
  int64_t copy_bytes_after = 0;    ///< the same with all suggestions from copies together
  std::vector<std::string> notes;  ///< parameters that were looked at and left alone, and why
};

/// Looks at copies that start at the entry layout of a parameter, and at parameters that are only
/// used through one and the same transpose. What a copy would save is measured: layout assignment
/// runs once more with the other entry layout. Fails as AssignLayouts does, and with kUsage (U001)
/// on a parameter number that does not exist.
Result<Suggestions> SuggestIoTransposes(const Module& module, const SuggestOptions& options);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_IR_SUGGEST_H_
