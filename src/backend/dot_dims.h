// Which dimensions of the operands of a dot play which role? Shared by the CPU and the GPU rules.
#ifndef HLOKIT_SRC_BACKEND_DOT_DIMS_H_
#define HLOKIT_SRC_BACKEND_DOT_DIMS_H_

#include <optional>
#include <vector>

#include "hlokit/module.h"

namespace hlokit::backend {

/// One side of a dot; numbers of dimensions of that operand. Batch and contracting in the order in
/// which they are listed (the order matters, see matrix_groups.h), the others ascending.
struct DotSide {
  std::vector<int64_t> batch, contracting, free;
};
struct DotDims {
  DotSide side[2];  ///< left, right
};

/// Nothing when the attributes do not fit the operands (a module that nobody verified).
std::optional<DotDims> DimsOfDot(const Module& module, InstId dot);

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_DOT_DIMS_H_
