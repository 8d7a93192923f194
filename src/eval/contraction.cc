// dot, ragged-dot, scaled-dot: products are added in index order.
#include <algorithm>

#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::eval {
namespace {

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// One side of a dot as a dense array of three dimensions in the type that computes.
struct Side {
  int64_t batch = 1, free = 1, contracted = 1;
  std::vector<std::byte> data;
};

/// Dimensions in the order batch, then free and contracted in the order asked for.
Side Arrange(const ArrayView& in, std::span<const int64_t> batch,
             std::span<const int64_t> contracted, bool free_first, ElementType type) {
  Side side;
  std::vector<int64_t> free;
  for (int64_t d = 0; d < in.rank(); ++d) {
    if (!Contains(batch, d) && !Contains(contracted, d)) free.push_back(d);
  }
  std::vector<int64_t> order(batch.begin(), batch.end());
  const auto append = [&](std::span<const int64_t> list) {
    order.insert(order.end(), list.begin(), list.end());
  };
  free_first ? append(free) : append(contracted);
  free_first ? append(contracted) : append(free);
  for (int64_t d : batch) side.batch *= in.sizes[d];
  for (int64_t d : free) side.free *= in.sizes[d];
  for (int64_t d : contracted) side.contracted *= in.sizes[d];
  std::vector<int64_t> sizes, from;
  const std::vector<int64_t> strides = RowMajorStrides(in.sizes);
  for (int64_t d : order) {
    sizes.push_back(in.sizes[d]);
    from.push_back(strides[d]);
  }
  std::vector<std::byte> moved(static_cast<size_t>(in.count * in.width()));
  MoveBox(in.width(), sizes, in.data, from, moved.data(), RowMajorStrides(sizes));
  side.data.resize(static_cast<size_t>(in.count * StorageBytes(type)));
  ConvertElements(in.type, moved.data(), type, side.data.data(), in.count);
  return side;
}

/// The type in which sums are kept: float for low floats, 64 bits for integers.
ElementType SumType(ElementType type) {
  if (IsIntegral(type) || type == ElementType::kPred) return ElementType::kS64;
  return ComputeType(type);
}

template <typename T>
void MultiplyRows(const T* left, const T* right, T* out, int64_t rows, int64_t length,
                  int64_t columns, int64_t left_step) {
  for (int64_t row = 0; row < rows; ++row) {
    T* target = out + row * columns;
    for (int64_t k = 0; k < length; ++k) {
      const T factor = left[row * left_step + k];
      const T* source = right + k * columns;
      for (int64_t i = 0; i < columns; ++i) {
        if constexpr (std::is_same_v<T, int64_t>) {
          target[i] = static_cast<int64_t>(static_cast<uint64_t>(target[i]) +
                                           static_cast<uint64_t>(factor) *
                                               static_cast<uint64_t>(source[i]));
        } else {
          target[i] += factor * source[i];
        }
      }
    }
  }
}

/// out[rows, columns] += left[rows, length] * right[length, columns], all in the sum type.
void Multiply(ElementType type, const std::byte* left, const std::byte* right, std::byte* out,
              int64_t rows, int64_t length, int64_t columns, int64_t left_step) {
  WithNative(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsComplex<T> || std::is_same_v<T, int64_t>) {
      MultiplyRows<T>(reinterpret_cast<const T*>(left), reinterpret_cast<const T*>(right),
                      reinterpret_cast<T*>(out), rows, length, columns, left_step);
    }
  });
}

/// From the sum type: integers wrap.
void Finish(ElementType sum, const std::byte* sums, const ArrayView& out) {
  ConvertElements(sum, sums, out.type, out.data, out.count);
}

/// Operands become the type of the result first.
Side Converted(const ArrayView& in, std::span<const int64_t> batch,
               std::span<const int64_t> contracted, bool free_first, ElementType result) {
  if (in.type == result) return Arrange(in, batch, contracted, free_first, SumType(result));
  std::vector<std::byte> data(static_cast<size_t>(in.count * StorageBytes(result)));
  ConvertElements(in.type, in.data, result, data.data(), in.count);
  return Arrange({result, in.sizes, data.data(), in.count}, batch, contracted, free_first,
                 SumType(result));
}

Status DotOf(OpContext& c, const ArrayView& lhs, const ArrayView& rhs) {
  const ArrayView out = c.out[0];
  const ElementType sum = SumType(out.type);
  const Side left = Converted(lhs, c.ints(AttrKind::kLhsBatchDims),
                              c.ints(AttrKind::kLhsContractingDims), true, out.type);
  const Side right = Converted(rhs, c.ints(AttrKind::kRhsBatchDims),
                               c.ints(AttrKind::kRhsContractingDims), false, out.type);
  if (left.batch * left.free * right.free != out.count || left.contracted != right.contracted) {
    return c.Refuse("the sizes do not fit");
  }
  TRY(c.engine.AddWork(c.id, out.count * std::max<int64_t>(left.contracted, 1)));
  const int64_t width = StorageBytes(sum);
  std::vector<std::byte> sums(static_cast<size_t>(out.count * width));
  for (int64_t b = 0; b < left.batch; ++b) {
    Multiply(sum, left.data.data() + b * left.free * left.contracted * width,
             right.data.data() + b * right.free * right.contracted * width,
             sums.data() + b * left.free * right.free * width, left.free, left.contracted,
             right.free, left.contracted);
  }
  Finish(sum, sums.data(), out);
  return {};
}

/// Limits of the groups along a dimension of `size`: group_sizes added up.
std::vector<std::pair<int64_t, int64_t>> GroupRanges(const ArrayView& group_sizes, int64_t size) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int64_t start = 0;
  for (int64_t g = 0; g < group_sizes.count; ++g) {
    const int64_t length = std::max<int64_t>(IntegerAt(group_sizes, g), 0);
    const int64_t end = length > size - start ? size : start + length;
    ranges.emplace_back(start, end);
    start = end;
  }
  return ranges;
}

}  // namespace

Status Dot(OpContext& c) { return DotOf(c, c.in[0], c.in[1]); }

Status RaggedDot(OpContext& c) {
  const ArrayView lhs = c.in[0], rhs = c.in[1], groups = c.in[2], out = c.out[0];
  const std::span<const int64_t> ragged = c.ints(AttrKind::kLhsRaggedDims);
  const std::span<const int64_t> group_dims = c.ints(AttrKind::kRhsGroupDims);
  if (ragged.size() != 1) return c.Refuse("needs one ragged dimension");
  if (Contains(c.ints(AttrKind::kLhsBatchDims), ragged[0])) return DotOf(c, lhs, rhs);
  if (groups.rank() != 1) return c.Refuse("group sizes of more than one dimension are not known");
  if (!c.ints(AttrKind::kLhsBatchDims).empty()) {
    return c.Refuse("batch dimensions beside a ragged dimension are not known");
  }
  const ElementType sum = SumType(out.type);
  const int64_t width = StorageBytes(sum);
  const std::vector<std::pair<int64_t, int64_t>> ranges = GroupRanges(groups, lhs.sizes[ragged[0]]);
  std::vector<std::byte> sums(static_cast<size_t>(out.count * width));
  TRY(c.engine.AddWork(c.id, lhs.count));
  if (Contains(c.ints(AttrKind::kLhsContractingDims), ragged[0])) {
    // One product per group, over its part of the contracted dimension.
    const Side left = Converted(lhs, {}, c.ints(AttrKind::kLhsContractingDims), true, out.type);
    const Side right = Converted(rhs, {}, c.ints(AttrKind::kRhsContractingDims), false, out.type);
    if (left.contracted != lhs.sizes[ragged[0]] || left.contracted != right.contracted ||
        left.free * right.free * groups.count != out.count) {
      return c.Refuse("this combination of dimensions is not known");
    }
    for (size_t g = 0; g < ranges.size(); ++g) {
      const auto [start, end] = ranges[g];
      Multiply(sum, left.data.data() + start * width,
               right.data.data() + start * right.free * width,
               sums.data() + static_cast<int64_t>(g) * left.free * right.free * width, left.free,
               end - start, right.free, left.contracted);
    }
  } else {
    // Rows of the left side that belong to a group meet that group of the right side.
    const std::vector<int64_t> group(group_dims.begin(), group_dims.end());
    const Side left = Converted(lhs, {}, c.ints(AttrKind::kLhsContractingDims), true, out.type);
    const Side right =
        Converted(rhs, group, c.ints(AttrKind::kRhsContractingDims), false, out.type);
    if (left.free != lhs.sizes[ragged[0]] || right.batch != groups.count ||
        left.free * right.free != out.count || left.contracted != right.contracted) {
      return c.Refuse("this combination of dimensions is not known");
    }
    for (size_t g = 0; g < ranges.size(); ++g) {
      const auto [start, end] = ranges[g];
      Multiply(sum, left.data.data() + start * left.contracted * width,
               right.data.data() + static_cast<int64_t>(g) * right.contracted * right.free * width,
               sums.data() + start * right.free * width, end - start, left.contracted, right.free,
               left.contracted);
    }
  }
  Finish(sum, sums.data(), out);
  return {};
}

namespace {

/// An operand times its scale, in float: each scale covers an equal share of every dimension.
Result<std::vector<float>> Scaled(OpContext& c, const ArrayView& in, const ArrayView& scale) {
  std::vector<float> values(static_cast<size_t>(in.count)),
      scales(static_cast<size_t>(scale.count));
  ConvertElements(in.type, in.data, ElementType::kF32, values.data(), in.count);
  ConvertElements(scale.type, scale.data, ElementType::kF32, scales.data(), scale.count);
  std::vector<int64_t> share(in.sizes.size(), 1);
  const bool scalar = scale.rank() == 0;
  if (!scalar && scale.rank() != in.rank()) return c.Refuse("a scale has another rank");
  for (size_t d = 0; d < in.sizes.size() && !scalar; ++d) {
    if (scale.sizes[d] == 0 || in.sizes[d] % scale.sizes[d] != 0) {
      if (in.sizes[d] == 0) continue;
      return c.Refuse("a scale does not divide its operand");
    }
    share[d] = std::max<int64_t>(in.sizes[d] / scale.sizes[d], 1);
  }
  if (in.count == 0) return values;
  const std::vector<int64_t> strides = RowMajorStrides(scale.sizes);
  std::vector<int64_t> index(in.sizes.size(), 0);
  size_t element = 0;
  do {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size() && !scalar; ++d) offset += index[d] / share[d] * strides[d];
    values[element++] *= scales[static_cast<size_t>(offset)];
  } while (NextIndex(in.sizes, index));
  return values;
}

}  // namespace

Status ScaledDot(OpContext& c) {
  ASSIGN_OR_RETURN(std::vector<float> left, Scaled(c, c.in[0], c.in[2]));
  ASSIGN_OR_RETURN(std::vector<float> right, Scaled(c, c.in[1], c.in[3]));
  const ElementType type = c.out[0].type;
  if (!IsFloating(type)) return c.Refuse("the result is no float");
  // The products of scaled operands are added in float and rounded once.
  std::vector<float> sums(static_cast<size_t>(c.out[0].count));
  OpContext inner = c;
  inner.out[0] = {ElementType::kF32, c.out[0].sizes, reinterpret_cast<std::byte*>(sums.data()),
                  c.out[0].count};
  TRY(DotOf(
      inner,
      {ElementType::kF32, c.in[0].sizes, reinterpret_cast<std::byte*>(left.data()), c.in[0].count},
      {ElementType::kF32, c.in[1].sizes, reinterpret_cast<std::byte*>(right.data()),
       c.in[1].count}));
  ConvertElements(ElementType::kF32, sums.data(), type, c.out[0].data, c.out[0].count);
  return {};
}

}  // namespace hlokit::eval
