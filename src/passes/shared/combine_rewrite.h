// How does one collective with many operands replace many collectives?
#ifndef HLOKIT_SRC_PASSES_SHARED_COMBINE_REWRITE_H_
#define HLOKIT_SRC_PASSES_SHARED_COMBINE_REWRITE_H_

#include <span>

#include "src/passes/shared/combine.h"

namespace hlokit {

/// Replaces the members (at least two, in operand order) by one collective with a tuple result and
/// a get-tuple-element per member (section 4).
void ReplaceByCombined(Rewriter& rewriter, const CombinerSetup& setup,
                       std::span<const InstId> members);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_COMBINE_REWRITE_H_
