#ifndef HLOKIT_SRC_TENSOR_PERMUTE_PLAN_H_
#define HLOKIT_SRC_TENSOR_PERMUTE_PLAN_H_

// What the files of the permutation share among themselves.

#include <cstdint>
#include <span>
#include <vector>

#include "hlokit/permute.h"

namespace hlokit::internal {

/// No tensor may be larger: every byte offset, also a doubled one, then fits an int64_t.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 60;

/// factor * the product of the extents. Fails on negative extents and beyond kMaxTensorBytes.
Result<int64_t> CheckedProduct(std::span<const int64_t> dims, int64_t factor);

/// Drops loops of extent 1, fuses neighbours that move together, absorbs the innermost into the
/// run.
void Canonicalise(std::vector<PermuteLoop>& loops, int64_t& run_bytes);

/// Runs canonical loops (output order, outermost first) over elements of run_bytes.
void RunLoops(std::span<const PermuteLoop> loops, int64_t run_bytes, const uint8_t* src,
              uint8_t* dst, const PermuteOptions& options);

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_PERMUTE_PLAN_H_
