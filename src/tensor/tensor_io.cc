// How does an array become its transposed self on the way to a file? Plans it once, delivers it as
// often as asked.

#include "src/tensor/tensor_io.h"

namespace hlokit {
namespace {

// Large enough for long runs on both sides, small enough to stay in the last-level cache for the
// writer.
constexpr int64_t kChunkBytes = int64_t{16} << 20;

}  // namespace

Result<TransposedArray> TransposedArray::Make(const ArrayInfo& array,
                                              std::span<const std::byte> data,
                                              std::span<const int64_t> reshape,
                                              std::span<const int64_t> transpose,
                                              int64_t element_bits, bool low_nibble_first) {
  ASSIGN_OR_RETURN(
      ReshapeTranspose composed,
      ComposeReshapeTranspose(array.shape, array.fortran_order, reshape, transpose, element_bits));
  TransposedArray result;
  result.data_ = data;
  result.info_ = {.descr = array.descr,
                  .item_bytes = array.item_bytes,
                  .elements = array.elements,
                  .bytes = array.bytes};
  for (int64_t axis : transpose) result.info_.shape.push_back(reshape[static_cast<size_t>(axis)]);
  if (array.bytes == 0) return result;  // no elements, or elements without bytes
  composed.spec.low_nibble_first = low_nibble_first;
  if (composed.needs_copy) {
    ASSIGN_OR_RETURN(result.copy_, PermutePlan::Make(composed.spec));
    composed.spec = {.dims = {reshape.begin(), reshape.end()},
                     .permutation = {transpose.begin(), transpose.end()},
                     .element_bits = element_bits,
                     .low_nibble_first = low_nibble_first};
  }
  ASSIGN_OR_RETURN(result.plan_, PermutePlan::Make(composed.spec));
  return result;
}

Status TransposedArray::Write(const ByteSink& sink, const PermuteOptions& options,
                              const PermuteProgress& progress) const {
  if (!plan_) return {};
  if (!copy_) return plan_->RunToSink(data_.data(), kChunkBytes, sink, options, progress);
  ASSIGN_OR_RETURN(const HugeBuffer copy, HugeBuffer::Make(static_cast<size_t>(copy_->bytes())));
  copy_->Run(data_.data(), copy.data(), options);
  return plan_->RunToSink(copy.data(), kChunkBytes, sink, options, progress);
}

}  // namespace hlokit
