// Which rule sets are there? One class per backend; devices are data for them.
#ifndef HLOKIT_SRC_BACKEND_RULES_H_
#define HLOKIT_SRC_BACKEND_RULES_H_

#include <memory>

#include "hlokit/backend.h"

namespace hlokit::backend {

std::unique_ptr<LayoutRules> MakeCpuRules(std::shared_ptr<const Device> device);
std::unique_ptr<LayoutRules> MakeGpuRules(std::shared_ptr<const Device> device);
std::unique_ptr<LayoutRules> MakeDescribedRules(std::shared_ptr<const Device> device);

/// The book of a built-in backend: the rows of backend_rules.def with the device filled in.
std::shared_ptr<const LayoutRuleBook> MakeRuleBook(std::shared_ptr<const Device> device);

// ---- one file per family of rules ----

/// Sections 2.2 to 2.4, by themselves.
bool MayBecomeEigenConvolution(const Module& module, InstId convolution, const Device& device);
bool DotNeedsRowMajor(const Module& module, InstId dot);
/// The operand of a vector-matrix product that is read column by column; nothing otherwise.
std::optional<uint32_t> ProfitableColumnMajorOperand(const Module& module, InstId instruction);

/// Section 4.2 for one instruction with dim_labels.
ConvFacts FactsOfConvolution(const Module& module, InstId convolution);
BackendRule RuleOf(ConvLayout layout);
/// The arrangement of one array of an instruction with dim_labels: 0 and 1 are the operands, 2 the
/// result of a forward convolution. Invalid when it does not fit.
LayoutId ConvolutionArrayLayout(const Module& module, InstId convolution, ConvLayout layout,
                                uint32_t role, uint32_t rank);

/// Section 4.9: the layout of the side `target` of a reshape whose side `source` has the layout
/// `known`; invalid = no suggestion.
LayoutId AlignGpuReshape(const Module& module, LayoutId known, ShapeId source, ShapeId target);

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_RULES_H_
