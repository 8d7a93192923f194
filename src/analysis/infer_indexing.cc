// Which shape do gather and scatter have? hlo-verifier.md section 3.1.
#include <algorithm>

#include "src/analysis/inference_context.h"

namespace hlokit::inference {
namespace {

/// The indices array of a gather or scatter without its vector dimension.
struct Indices {
  Dims batch;           ///< dimensions without the vector dimension
  int64_t vector_size;  ///< 1 when the vector dimension is implied
};

Result<Indices> SplitIndices(const Context& c, size_t operand) {
  if (!IsIntegral(c.type(operand))) {
    return Fail("indices must be integers, not {}", c.Text(c.operand(operand)));
  }
  int64_t vector_dim = c.Int(AttrKind::kIndexVectorDim);
  if (vector_dim < 0 || vector_dim > c.rank(operand)) {
    return Fail("index_vector_dim {} is out of range for {}", vector_dim,
                c.Text(c.operand(operand)));
  }
  Indices out{.batch = {}, .vector_size = 1};
  for (uint32_t d = 0; d < c.rank(operand); ++d) {
    if (d == vector_dim) {
      out.vector_size = c.sizes(operand)[d];
    } else {
      c.AddDim(c.operand(operand), d, &out.batch);
    }
  }
  return out;
}

/// A list of dimensions that must be ascending, unique and in range.
Status ExpectSorted(std::span<const int64_t> dims, uint32_t rank, std::string_view what) {
  TRY(ExpectDimensions(dims, rank, what));
  if (!IsAscending(dims)) return Fail("{} must be in ascending order", what);
  return {};
}

/// `list` and `batching` name dimensions of the operand, sorted, without common members.
Status ExpectWindowDims(std::span<const int64_t> list, std::span<const int64_t> batching,
                        uint32_t rank, std::string_view list_name, std::string_view batching_name) {
  TRY(ExpectSorted(list, rank, list_name));
  TRY(ExpectSorted(batching, rank, batching_name));
  for (int64_t d : list) {
    if (Contains(batching, d))
      return Fail("dimension {} is in {} and in {}", d, list_name, batching_name);
  }
  return {};
}

/// The index vector maps to operand dimensions that are no batching dimensions.
Status ExpectIndexMap(std::span<const int64_t> map, std::span<const int64_t> batching,
                      const Indices& indices, uint32_t rank, std::string_view what) {
  if (!CompatibleSizes(static_cast<int64_t>(map.size()), indices.vector_size)) {
    return Fail("{} has {} entries, but an index vector {}", what, map.size(), indices.vector_size);
  }
  TRY(ExpectDimensions(map, rank, what));
  for (int64_t d : map) {
    if (Contains(batching, d))
      return Fail("{} names dimension {}, which is a batching one", what, d);
  }
  return {};
}

/// Batching dimensions of the indices go with those of the operand, in order.
Status ExpectIndicesBatching(const Context& c, size_t indices, std::span<const int64_t> own,
                             std::span<const int64_t> operand_dims, std::string_view what) {
  TRY(ExpectDimensions(own, c.rank(indices), what));
  if (Contains(own, c.Int(AttrKind::kIndexVectorDim))) {
    return Fail("{} names the index vector dimension", what);
  }
  if (own.size() != operand_dims.size()) {
    return Fail("{} has {} entries, but the operand {} batching dimensions", what, own.size(),
                operand_dims.size());
  }
  for (size_t i = 0; i < own.size(); ++i) {
    if (!CompatibleSizes(c.sizes(indices)[static_cast<size_t>(own[i])],
                         c.sizes(0)[static_cast<size_t>(operand_dims[i])])) {
      return Fail("batching dimension {} of the indices {} differs from that of the operand {}",
                  own[i], c.Text(c.operand(indices)), c.Text(c.operand(0)));
    }
  }
  return {};
}

Status ExpectSliceSizes(const Context& c, std::span<const int64_t> offset_dims,
                        std::span<const int64_t> collapsed, std::span<const int64_t> batching) {
  std::span<const int64_t> slice_sizes = c.Ints(AttrKind::kSliceSizes);
  if (slice_sizes.size() != c.rank(0)) {
    return Fail("gather has {} slice sizes, but the operand {} has {} dimensions",
                slice_sizes.size(), c.Text(c.operand(0)), c.rank(0));
  }
  if (slice_sizes.size() != offset_dims.size() + collapsed.size() + batching.size()) {
    return Fail("gather has {} slice sizes for {} offset, {} collapsed and {} batching dimensions",
                slice_sizes.size(), offset_dims.size(), collapsed.size(), batching.size());
  }
  for (uint32_t d = 0; d < c.rank(0); ++d) {
    int64_t size = c.sizes(0)[d];
    if (slice_sizes[d] < 0 || (size != kUnboundedSize && slice_sizes[d] > size)) {
      return Fail("slice size {} does not fit dimension {} of {}", slice_sizes[d], d,
                  c.Text(c.operand(0)));
    }
    if (slice_sizes[d] > 1 && (Contains(collapsed, d) || Contains(batching, d))) {
      return Fail("the slice size of collapsed or batching dimension {} is {}, not 1", d,
                  slice_sizes[d]);
    }
  }
  return {};
}

}  // namespace

Result<ShapeId> InferGather(const Context& c) {
  TRY(ExpectArrays(c));
  ASSIGN_OR_RETURN(Indices indices, SplitIndices(c, 1));
  std::span<const int64_t> offset_dims = c.Ints(AttrKind::kOffsetDims);
  std::span<const int64_t> collapsed = c.Ints(AttrKind::kCollapsedSliceDims);
  std::span<const int64_t> batching = c.Ints(AttrKind::kOperandBatchingDims);
  uint32_t rank = static_cast<uint32_t>(indices.batch.sizes.size() + offset_dims.size());
  TRY(ExpectSorted(offset_dims, rank, "offset_dims"));
  TRY(ExpectWindowDims(collapsed, batching, c.rank(0), "collapsed_slice_dims",
                       "operand_batching_dims"));
  TRY(ExpectIndexMap(c.Ints(AttrKind::kStartIndexMap), batching, indices, c.rank(0),
                     "start_index_map"));
  TRY(ExpectIndicesBatching(c, 1, c.Ints(AttrKind::kStartIndicesBatchingDims), batching,
                            "start_indices_batching_dims"));
  TRY(ExpectSliceSizes(c, offset_dims, collapsed, batching));
  std::span<const int64_t> slice_sizes = c.Ints(AttrKind::kSliceSizes);
  Dims out;
  size_t next_batch = 0;
  uint32_t next_window = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    if (!std::ranges::binary_search(offset_dims, d)) {
      out.Add(indices.batch.sizes[next_batch], indices.batch.dynamic[next_batch] != 0);
      ++next_batch;
      continue;
    }
    while (Contains(collapsed, next_window) || Contains(batching, next_window)) ++next_window;
    int64_t size = slice_sizes[next_window];
    out.Add(size, size == c.sizes(0)[next_window] &&
                      c.shapes.IsDynamicDimension(c.operand(0), next_window));
    ++next_window;
  }
  return c.Array(c.type(0), out);
}

namespace {

/// The updates of a scatter fit the windows of the operand and the indices.
Status ExpectUpdates(const Context& c, const Indices& indices, std::span<const int64_t> updates) {
  std::span<const int64_t> window_dims = c.Ints(AttrKind::kUpdateWindowDims);
  std::span<const int64_t> inserted = c.Ints(AttrKind::kInsertedWindowDims);
  std::span<const int64_t> batching = c.Ints(AttrKind::kInputBatchingDims);
  uint32_t rank = static_cast<uint32_t>(updates.size());
  if (rank != indices.batch.sizes.size() + window_dims.size()) {
    return Fail(
        "the updates have {} dimensions, but {} come from the indices and {} from the window", rank,
        indices.batch.sizes.size(), window_dims.size());
  }
  TRY(ExpectSorted(window_dims, rank, "update_window_dims"));
  TRY(ExpectWindowDims(inserted, batching, c.rank(0), "inserted_window_dims",
                       "input_batching_dims"));
  if (window_dims.size() + inserted.size() + batching.size() != c.rank(0)) {
    return Fail(
        "scatter has {} window, {} inserted and {} batching dimensions, but the operand {} "
        "has {}",
        window_dims.size(), inserted.size(), batching.size(), c.Text(c.operand(0)), c.rank(0));
  }
  size_t next_batch = 0;
  uint32_t next_window = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    if (!std::ranges::binary_search(window_dims, d)) {
      if (!CompatibleSizes(updates[d], indices.batch.sizes[next_batch])) {
        return Fail("dimension {} of the updates has size {}, but the indices have {}", d,
                    updates[d], indices.batch.sizes[next_batch]);
      }
      ++next_batch;
      continue;
    }
    while (Contains(inserted, next_window) || Contains(batching, next_window)) ++next_window;
    int64_t bound = c.sizes(0)[next_window];
    if (bound != kUnboundedSize && updates[d] > bound) {
      return Fail("dimension {} of the updates has size {}, but dimension {} of the operand {}", d,
                  updates[d], next_window, bound);
    }
    ++next_window;
  }
  return {};
}

}  // namespace

Result<ShapeId> InferScatter(const Context& c) {
  if (c.operand_count() < 3 || c.operand_count() % 2 == 0) {
    return Fail("scatter needs inputs, indices and as many updates, not {} operands",
                c.operand_count());
  }
  TRY(ExpectArrays(c));
  size_t n = c.operand_count() / 2;
  ASSIGN_OR_RETURN(Indices indices, SplitIndices(c, n));
  for (size_t i = 1; i < n; ++i) {
    if (!SameSizes(c.sizes(0), c.sizes(i))) {
      return Fail("the inputs of scatter differ in sizes: {} and {}", c.Text(c.operand(0)),
                  c.Text(c.operand(i)));
    }
    if (!SameSizes(c.sizes(n + 1), c.sizes(n + 1 + i))) {
      return Fail("the updates of scatter differ in sizes: {} and {}", c.Text(c.operand(n + 1)),
                  c.Text(c.operand(n + 1 + i)));
    }
  }
  TRY(ExpectUpdates(c, indices, c.sizes(n + 1)));
  std::span<const int64_t> batching = c.Ints(AttrKind::kInputBatchingDims);
  TRY(ExpectIndexMap(c.Ints(AttrKind::kScatterDimsToOperandDims), batching, indices, c.rank(0),
                     "scatter_dims_to_operand_dims"));
  TRY(ExpectIndicesBatching(c, n, c.Ints(AttrKind::kScatterIndicesBatchingDims), batching,
                            "scatter_indices_batching_dims"));
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  // The combiner takes elements of the inputs and of the updates.
  std::vector<ShapeId> elements;
  for (size_t i = 0; i < n; ++i) {
    elements.push_back(c.Array(c.type(i), std::span<const int64_t>()));
  }
  TRY(CheckReducer(c, callee, c.input.operands.subspan(n + 1), elements));
  return OneOrTuple(c, c.input.operands.first(n));
}

}  // namespace hlokit::inference
