#ifndef HLOKIT_SIMPLIFY_H_
#define HLOKIT_SIMPLIFY_H_

#include "hlokit/module.h"
#include "hlokit/rewriter.h"

namespace hlokit {

/// Removes instructions whose value nobody needs and that have no effect of their own, then
/// computations that nobody calls. Parameters stay. Returns whether anything went. Linear.
bool RemoveDeadCode(Module& module, EditLog::Group* log = nullptr);

/// get-tuple-element(tuple(…)) becomes the element; tuple(get-tuple-element(x, 0), …) of all
/// elements of x in order becomes x. `skip_entry` leaves the entry computation alone. Returns
/// whether anything changed. Linear.
bool SimplifyTuples(Module& module, bool skip_entry = false, EditLog::Group* log = nullptr);

}  // namespace hlokit

#endif  // HLOKIT_SIMPLIFY_H_
