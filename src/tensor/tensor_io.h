#ifndef HLOKIT_SRC_TENSOR_TENSOR_IO_H_
#define HLOKIT_SRC_TENSOR_TENSOR_IO_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "hlokit/npy.h"
#include "hlokit/permute.h"

namespace hlokit {

/// reshape + transpose of an array that stays where it is; the result is produced on demand, in
/// order.
class TransposedArray {
 public:
  /// `data` must outlive the object. Fails as ComposeReshapeTranspose does.
  static Result<TransposedArray> Make(const ArrayInfo& array, std::span<const std::byte> data,
                                      std::span<const int64_t> reshape,
                                      std::span<const int64_t> transpose, int64_t element_bits,
                                      bool low_nibble_first = true);

  /// The array that Write produces: row-major, of the transposed shape.
  const ArrayInfo& info() const { return info_; }
  Status Write(const ByteSink& sink, const PermuteOptions& options = {},
               const PermuteProgress& progress = {}) const;

 private:
  ArrayInfo info_;
  std::span<const std::byte> data_;
  std::optional<PermutePlan> copy_;  ///< Fortran-ordered sources that cannot be reshaped in place
  std::optional<PermutePlan> plan_;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_TENSOR_TENSOR_IO_H_
