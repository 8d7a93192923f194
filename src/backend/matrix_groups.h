// Does an array collapse to a batch of matrices without moving data? (section 4.5, matrix_ok)
#ifndef HLOKIT_SRC_BACKEND_MATRIX_GROUPS_H_
#define HLOKIT_SRC_BACKEND_MATRIX_GROUPS_H_

#include <cstdint>
#include <span>

namespace hlokit::backend {

/// The dimensions of an array by role, each in the order in which it is listed: that order matters,
/// since a group must lie in memory as it is listed.
struct MatrixGroups {
  std::span<const int64_t> batch, rows, columns;
};

/// Each group lies together, its last listed dimension fastest, and the batch is not the fastest
/// group.
bool CollapsesToMatrices(std::span<const int64_t> minor_to_major, const MatrixGroups& groups);

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_MATRIX_GROUPS_H_
