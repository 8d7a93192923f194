// Which outputs and operands does a fusion not need?
#ifndef HLOKIT_SRC_EDIT_FUSION_OUTPUTS_H_
#define HLOKIT_SRC_EDIT_FUSION_OUTPUTS_H_

#include <vector>

#include "hlokit/rewriter.h"

namespace hlokit {

/// Narrows the result tuple of every fusion of the computation whose elements are not all read;
/// with one left, the fusion returns that element itself. Only fusions whose users are all
/// get-tuple-elements. Returns the fusions that changed; dead code stays in their bodies. A fusion
/// may be gone afterwards, when only a control edge held its last element.
std::vector<InstId> RemoveUnusedFusionOutputs(Rewriter& rewriter, CompId computation);

/// Takes parameters that the body does not read out of body and fusion.
void RemoveUnusedFusionOperands(Rewriter& rewriter, InstId fusion);

/// A value that a fusion reads several times becomes one operand and one parameter. Does nothing
/// when another instruction calls the body too.
void MergeEqualFusionOperands(Rewriter& rewriter, InstId fusion);

}  // namespace hlokit

#endif  // HLOKIT_SRC_EDIT_FUSION_OUTPUTS_H_
