// Slices whose place is a value: dynamic-slice, dynamic-update-slice, gather, scatter.
#include <algorithm>
#include <cstring>

#include "src/eval/function.h"
#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::eval {
namespace {

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Start indices from scalars, or from one vector.
std::vector<int64_t> Starts(const OpContext& c, size_t first, size_t rank) {
  std::vector<int64_t> starts;
  for (size_t i = first; i < c.in.size(); ++i) {
    for (int64_t k = 0; k < c.in[i].count; ++k) starts.push_back(IntegerAt(c.in[i], k));
  }
  starts.resize(rank);
  return starts;
}

/// The places of the batch (indices) and window dimensions, shared by gather and scatter.
struct IndexMap {
  std::vector<int64_t> batch_dims;   // of the result (gather) or the updates (scatter)
  std::vector<int64_t> window_dims;  // likewise
  std::vector<int64_t> window_to_operand;
  std::span<const int64_t> index_to_operand;
  std::span<const int64_t> operand_batching, indices_batching;
  int64_t index_vector_dim = 0;
};

/// The operand index at which the slice for one position of the batch dimensions starts.
/// `batch` has one number per dimension of the indices without the vector dimension.
void SliceStart(const IndexMap& map, const ArrayView& indices, std::span<const int64_t> strides,
                std::span<const int64_t> batch, std::vector<int64_t>* start) {
  std::fill(start->begin(), start->end(), 0);
  int64_t offset = 0;
  for (size_t i = 0, k = 0; i < indices.sizes.size(); ++i) {
    if (static_cast<int64_t>(i) == map.index_vector_dim) continue;
    offset += batch[k++] * strides[i];
  }
  const bool has_vector = map.index_vector_dim < indices.rank();
  const int64_t step = has_vector ? strides[map.index_vector_dim] : 0;
  for (size_t i = 0; i < map.index_to_operand.size(); ++i) {
    (*start)[map.index_to_operand[i]] = IntegerAt(indices, offset + static_cast<int64_t>(i) * step);
  }
  for (size_t i = 0; i < map.operand_batching.size(); ++i) {
    int64_t place = map.indices_batching[i];
    if (place > map.index_vector_dim) --place;
    (*start)[map.operand_batching[i]] = batch[place];
  }
}

}  // namespace

int64_t IntegerAt(const ArrayView& array, int64_t i) {
  if (array.type == ElementType::kU64) {
    uint64_t value;
    std::memcpy(&value, array.data + i * 8, sizeof(value));
    return value > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(value);
  }
  int64_t value = 0;
  ConvertElements(array.type, array.data + i * array.width(), ElementType::kS64, &value, 1);
  return value;
}

Status DynamicSlice(OpContext& c) {
  const ArrayView in = c.in[0], out = c.out[0];
  const std::vector<int64_t> strides = RowMajorStrides(in.sizes);
  const std::vector<int64_t> starts = Starts(c, 1, in.sizes.size());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    offset += ClampStart(starts[d], in.sizes[d], out.sizes[d]) * strides[d];
  }
  MoveBox(out.width(), out.sizes, in.data + offset * in.width(), strides, out.data,
          RowMajorStrides(out.sizes));
  return {};
}

Status DynamicUpdateSlice(OpContext& c) {
  const ArrayView update = c.in[1], out = c.out[0];
  TRY(CopyOp(c));
  const std::vector<int64_t> strides = RowMajorStrides(out.sizes);
  const std::vector<int64_t> starts = Starts(c, 2, out.sizes.size());
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    offset += ClampStart(starts[d], out.sizes[d], update.sizes[d]) * strides[d];
  }
  MoveBox(out.width(), update.sizes, update.data, RowMajorStrides(update.sizes),
          out.data + offset * out.width(), strides);
  return {};
}

Status Gather(OpContext& c) {
  const ArrayView in = c.in[0], indices = c.in[1], out = c.out[0];
  IndexMap map;
  map.index_to_operand = c.ints(AttrKind::kStartIndexMap);
  map.operand_batching = c.ints(AttrKind::kOperandBatchingDims);
  map.indices_batching = c.ints(AttrKind::kStartIndicesBatchingDims);
  map.index_vector_dim = c.integer(AttrKind::kIndexVectorDim);
  const std::span<const int64_t> offset_dims = c.ints(AttrKind::kOffsetDims);
  const std::span<const int64_t> collapsed = c.ints(AttrKind::kCollapsedSliceDims);
  const std::span<const int64_t> slice = c.ints(AttrKind::kSliceSizes);
  const std::vector<int64_t> in_strides = RowMajorStrides(in.sizes);
  const std::vector<int64_t> out_strides = RowMajorStrides(out.sizes);
  const std::vector<int64_t> index_strides = RowMajorStrides(indices.sizes);
  // The window: dimensions of the operand that stay, and where they go.
  std::vector<int64_t> window, from, to;
  for (int64_t d = 0; d < in.rank(); ++d) {
    if (Contains(collapsed, d) || Contains(map.operand_batching, d)) continue;
    if (window.size() == offset_dims.size()) return c.Refuse("offset_dims do not fit the operand");
    to.push_back(out_strides[offset_dims[window.size()]]);
    from.push_back(in_strides[d]);
    window.push_back(slice[d]);
  }
  std::vector<int64_t> batch_sizes, batch_strides;
  for (int64_t d = 0; d < out.rank(); ++d) {
    if (Contains(offset_dims, d)) continue;
    batch_sizes.push_back(out.sizes[d]);
    batch_strides.push_back(out_strides[d]);
  }
  if (out.count == 0) return {};
  std::vector<int64_t> batch(batch_sizes.size(), 0), start(in.sizes.size(), 0);
  do {
    SliceStart(map, indices, index_strides, batch, &start);
    int64_t source = 0, target = 0;
    for (size_t d = 0; d < start.size(); ++d) {
      source += ClampStart(start[d], in.sizes[d], slice[d]) * in_strides[d];
    }
    for (size_t d = 0; d < batch.size(); ++d) target += batch[d] * batch_strides[d];
    MoveBox(out.width(), window, in.data + source * in.width(), from,
            out.data + target * out.width(), to);
  } while (NextIndex(batch_sizes, batch));
  return {};
}

namespace {

/// Copies the operands to the results; refuses a computation that does not fit.
Status StartScatter(OpContext& c, const Function& combine, size_t n) {
  if (combine.parameters() != 2 * n || combine.results() != n || c.out.size() != n) {
    return c.Refuse("the computation does not fit the operands");
  }
  for (size_t i = 0; i < n; ++i) {
    if (combine.parameter_type(i) != c.in[i].type || combine.result_type(i) != c.out[i].type ||
        combine.parameter_type(n + i) != c.in[n + 1 + i].type) {
      return c.Refuse("the computation does not fit the operands");
    }
    if (c.out[i].count != 0) {
      std::memcpy(c.out[i].data, c.in[i].data,
                  static_cast<size_t>(c.out[i].count * c.out[i].width()));
    }
  }
  return {};
}

/// Combines element `update` of the updates into element `target` of the results.
Status CombineOne(OpContext& c, Function& combine, size_t n, int64_t target, int64_t update,
                  std::vector<const std::byte*>& arguments, std::vector<std::byte*>& results) {
  for (size_t i = 0; i < n; ++i) {
    results[i] = c.out[i].data + target * c.out[i].width();
    arguments[i] = results[i];
    arguments[n + i] = c.in[n + 1 + i].data + update * c.in[n + 1 + i].width();
  }
  return combine.Apply(arguments, results, 1);
}

}  // namespace

Status Scatter(OpContext& c) {
  const size_t n = c.in.size() / 2;
  const ArrayView indices = c.in[n], updates = c.in[n + 1];
  ASSIGN_OR_RETURN(Function combine, Function::Make(c, c.module.to_apply(c.id)));
  TRY(StartScatter(c, combine, n));
  IndexMap map;
  map.index_to_operand = c.ints(AttrKind::kScatterDimsToOperandDims);
  map.operand_batching = c.ints(AttrKind::kInputBatchingDims);
  map.indices_batching = c.ints(AttrKind::kScatterIndicesBatchingDims);
  map.index_vector_dim = c.integer(AttrKind::kIndexVectorDim);
  const std::span<const int64_t> window_dims = c.ints(AttrKind::kUpdateWindowDims);
  const std::span<const int64_t> inserted = c.ints(AttrKind::kInsertedWindowDims);
  const std::span<const int64_t> sizes = c.out[0].sizes;
  // Dimensions of the operand that a window covers, and how far.
  std::vector<int64_t> operand_of_window, window(sizes.size(), 1);
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (Contains(inserted, d) || Contains(map.operand_batching, d)) continue;
    if (operand_of_window.size() == window_dims.size()) {
      return c.Refuse("update_window_dims do not fit the operand");
    }
    window[d] = updates.sizes[window_dims[operand_of_window.size()]];
    operand_of_window.push_back(d);
  }
  if (updates.count == 0) return {};
  const std::vector<int64_t> strides = RowMajorStrides(sizes);
  const std::vector<int64_t> index_strides = RowMajorStrides(indices.sizes);
  std::vector<int64_t> position(updates.sizes.size(), 0), batch, start(sizes.size(), 0);
  std::vector<const std::byte*> arguments(2 * n);
  std::vector<std::byte*> results(n);
  int64_t update = 0;
  do {
    batch.clear();
    for (int64_t d = 0; d < updates.rank(); ++d) {
      if (!Contains(window_dims, d)) batch.push_back(position[d]);
    }
    SliceStart(map, indices, index_strides, batch, &start);
    // A window that does not fit into the operand as a whole is left out.
    bool inside = true;
    for (size_t d = 0; d < start.size(); ++d) {
      inside = inside && start[d] >= 0 && start[d] <= sizes[d] - window[d];
    }
    if (inside) {
      for (size_t i = 0; i < operand_of_window.size(); ++i) {
        start[operand_of_window[i]] += position[window_dims[i]];
      }
      int64_t target = 0;
      for (size_t d = 0; d < start.size(); ++d) target += start[d] * strides[d];
      TRY(CombineOne(c, combine, n, target, update, arguments, results));
    }
    ++update;
  } while (NextIndex(updates.sizes, position));
  return {};
}

}  // namespace hlokit::eval
