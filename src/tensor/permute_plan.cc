// Which loops does a permutation really need? Checks a PermuteSpec and brings it into canonical
// form. Invariant of a plan: extents are at least 2, no two neighbouring loops could be one, and no
// loop is contiguous with the element run in source and output at once.

#include "src/tensor/permute_plan.h"

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlokit/permute.h"

namespace hlokit {
namespace {

std::string List(std::span<const int64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

Status CheckPermutation(const PermuteSpec& spec) {
  const size_t rank = spec.dims.size();
  std::vector<bool> seen(rank, false);
  bool good = spec.permutation.size() == rank;
  for (int64_t axis : spec.permutation) {
    good =
        good && axis >= 0 && static_cast<size_t>(axis) < rank && !seen[static_cast<size_t>(axis)];
    if (good) seen[static_cast<size_t>(axis)] = true;
  }
  if (good) return {};
  return MakeError(ExitCode::kUsage, DiagId::kBadPermutation,
                   fmt::format("{} is not a permutation of the {} axes of {}",
                               List(spec.permutation), rank, List(spec.dims)),
                   rank == 0
                       ? "a tensor without dimensions takes an empty list"
                       : fmt::format("every axis from 0 to {} must occur exactly once", rank - 1));
}

}  // namespace

namespace internal {

Result<int64_t> CheckedProduct(std::span<const int64_t> dims, int64_t factor) {
  int64_t product = factor;
  bool overflow = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      return MakeError(ExitCode::kUsage, DiagId::kBadExtent,
                       fmt::format("dimension {} in {} is negative", dim, List(dims)));
    }
    overflow = overflow || (dim != 0 && __builtin_mul_overflow(product, dim, &product));
  }
  // A zero anywhere makes the tensor empty, however large the other extents are.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  if (overflow || product > kMaxTensorBytes) {
    return MakeError(
        ExitCode::kUsage, DiagId::kBadExtent,
        fmt::format("a tensor of shape {} with elements of {} bytes cannot be addressed",
                    List(dims), factor));
  }
  return product;
}

void Canonicalise(std::vector<PermuteLoop>& loops, int64_t& run_bytes) {
  std::erase_if(loops, [](const PermuteLoop& loop) { return loop.extent == 1; });
  std::vector<PermuteLoop> fused;
  for (const PermuteLoop& loop : loops) {
    if (!fused.empty() && fused.back().src_stride == loop.src_stride * loop.extent &&
        fused.back().dst_stride == loop.dst_stride * loop.extent) {
      fused.back() = {fused.back().extent * loop.extent, loop.src_stride, loop.dst_stride};
    } else {
      fused.push_back(loop);
    }
  }
  if (!fused.empty() && fused.back().src_stride == run_bytes &&
      fused.back().dst_stride == run_bytes) {
    run_bytes *= fused.back().extent;
    fused.pop_back();
  }
  loops = std::move(fused);
}

}  // namespace internal

Result<PermutePlan> PermutePlan::Make(const PermuteSpec& spec) {
  TRY(CheckPermutation(spec));
  if (spec.element_bits != 4 && (spec.element_bits <= 0 || spec.element_bits % 8 != 0)) {
    return MakeError(ExitCode::kUsage, DiagId::kBadElementSize,
                     fmt::format("elements of {} bits are not supported", spec.element_bits),
                     "use 4 or a multiple of 8");
  }
  if (!spec.strides.empty() &&
      (spec.strides.size() != spec.dims.size() || spec.element_bits == 4)) {
    return MakeError(ExitCode::kUsage, DiagId::kBadExtent,
                     fmt::format("strides {} do not fit a source of shape {}", List(spec.strides),
                                 List(spec.dims)));
  }
  PermutePlan plan;
  plan.packed4_ = spec.element_bits == 4;
  plan.low_nibble_first_ = spec.low_nibble_first;
  const int64_t element_bytes = plan.packed4_ ? 1 : spec.element_bits / 8;
  ASSIGN_OR_RETURN(const int64_t total, internal::CheckedProduct(spec.dims, element_bytes));
  plan.run_bytes_ = element_bytes;
  plan.bytes_ = plan.packed4_ ? (total + 1) / 2 : total;
  if (total == 0) return plan;

  const size_t rank = spec.dims.size();
  std::vector<int64_t> strides(rank);
  int64_t stride = element_bytes;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = stride;
    stride *= spec.dims[i];
  }
  for (size_t i = 0; i < spec.strides.size(); ++i) {
    int64_t span = 0;
    if (spec.strides[i] < 0 ||
        __builtin_mul_overflow(spec.strides[i], element_bytes, &strides[i]) ||
        __builtin_mul_overflow(strides[i], spec.dims[i], &span) ||
        span > internal::kMaxTensorBytes) {
      return MakeError(ExitCode::kUsage, DiagId::kBadExtent,
                       fmt::format("strides {} are negative or too large", List(spec.strides)));
    }
  }
  plan.loops_.resize(rank);
  int64_t dst_stride = element_bytes;
  for (size_t i = rank; i-- > 0;) {
    const size_t axis = static_cast<size_t>(spec.permutation[i]);
    plan.loops_[i] = {spec.dims[axis], strides[axis], dst_stride};
    dst_stride *= spec.dims[axis];
  }
  internal::Canonicalise(plan.loops_, plan.run_bytes_);
  // Whole bytes that stay together need no unpacking.
  if (plan.packed4_ && plan.run_bytes_ % 2 == 0) {
    plan.packed4_ = false;
    plan.run_bytes_ /= 2;
    for (PermuteLoop& loop : plan.loops_) {
      loop.src_stride /= 2;
      loop.dst_stride /= 2;
    }
  }
  return plan;
}

Result<ReshapeTranspose> ComposeReshapeTranspose(std::span<const int64_t> shape, bool fortran_order,
                                                 std::span<const int64_t> reshape,
                                                 std::span<const int64_t> transpose,
                                                 int64_t element_bits) {
  ASSIGN_OR_RETURN(const int64_t elements, internal::CheckedProduct(shape, 1));
  ASSIGN_OR_RETURN(const int64_t reshaped, internal::CheckedProduct(reshape, 1));
  if (elements != reshaped) {
    return MakeError(ExitCode::kUsage, DiagId::kReshapeMismatch,
                     fmt::format("cannot reshape {} ({} elements) to {} ({} elements)", List(shape),
                                 elements, List(reshape), reshaped),
                     "the products of both lists must be equal");
  }
  ReshapeTranspose result;
  result.spec.element_bits = element_bits;
  result.spec.dims.assign(reshape.begin(), reshape.end());
  result.spec.permutation.assign(transpose.begin(), transpose.end());
  TRY(CheckPermutation(result.spec));
  if (!fortran_order || shape.size() < 2 || elements == 0) return result;

  // Walk both shapes from the inside. A dimension of `reshape` has one source stride if it lies
  // inside one dimension of `shape`; otherwise the source has to be copied to row-major first.
  std::vector<int64_t> fortran_strides(shape.size());
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    fortran_strides[i] = stride;
    stride *= shape[i];
  }
  result.spec.strides.assign(reshape.size(), 0);
  size_t axis = shape.size();
  int64_t left = 1;  // what the current source dimension still has to give
  int64_t next_stride = 1;
  for (size_t i = reshape.size(); i-- > 0;) {
    if (reshape[i] == 1) continue;
    while (left == 1) {
      --axis;
      left = shape[axis];
      next_stride = fortran_strides[axis];
    }
    if (left % reshape[i] != 0) {
      result.needs_copy = true;
      break;
    }
    result.spec.strides[i] = next_stride;
    next_stride *= reshape[i];
    left /= reshape[i];
  }
  if (!result.needs_copy && element_bits != 4) return result;
  result.needs_copy = true;
  result.spec.dims.assign(shape.rbegin(), shape.rend());
  result.spec.strides.clear();
  result.spec.permutation.resize(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    result.spec.permutation[i] = static_cast<int64_t>(shape.size() - 1 - i);
  }
  return result;
}

}  // namespace hlokit
