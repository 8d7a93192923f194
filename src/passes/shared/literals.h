// How is the value of a constant moved to other dimensions?
#ifndef HLOKIT_SRC_PASSES_SHARED_LITERALS_H_
#define HLOKIT_SRC_PASSES_SHARED_LITERALS_H_

#include <span>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

/// A literal whose dimension i is dimension permutation[i] of `literal`. An elided value stays
/// elided. Literals are stored in logical order, so elements move here where a physical view would
/// not move them.
Result<LiteralId> PermuteLiteral(Module& module, LiteralId literal,
                                 std::span<const int64_t> permutation);

}  // namespace hlokit

#endif  // HLOKIT_SRC_PASSES_SHARED_LITERALS_H_
