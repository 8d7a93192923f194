// What do the GPU rules share while they visit one computation?
#ifndef HLOKIT_SRC_BACKEND_GPU_RUN_H_
#define HLOKIT_SRC_BACKEND_GPU_RUN_H_

#include "src/backend/dot_operand_origins.h"
#include "src/backend/rules.h"

namespace hlokit::backend {

/// One computation in one round.
struct GpuRun {
  LayoutServices& services;
  const Device& device;
  DotOperandOrigins origins;
};

// ---- families of rules with files of their own ----

/// Sections 4.3 and 4.4.
Status ConstrainConvolutionCall(GpuRun& run, InstId call);
Status ConstrainRawConvolution(GpuRun& run, InstId convolution);
/// The custom call is one of the convolution library.
bool IsConvolutionCall(const Module& module, InstId call);

/// Section 4.5, and the transpose row of 4.6.
Status ConstrainDot(GpuRun& run, InstId dot);
Status ConstrainTransposeOfDot(GpuRun& run, InstId transpose);

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_GPU_RUN_H_
