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

/// For each line (an index of the batch dimensions and of those of the ragged one's kind) its
/// group, or -1 behind the last group. `length` is the size of the ragged dimension, `inner` that
/// of the dimensions inside it. Group sizes [g] hold everywhere, [prefix…, g] for each place
/// outside it.
std::vector<int64_t> GroupsOfLines(const ArrayView& group_sizes, int64_t lines, int64_t length,
                                   int64_t inner) {
  const int64_t groups = group_sizes.sizes.back();
  std::vector<int64_t> of_line(static_cast<size_t>(lines), -1);
  const int64_t step = length * inner;
  for (int64_t first = 0, prefix = 0; first < lines; first += step, ++prefix) {
    const int64_t row = group_sizes.rank() == 1 ? 0 : prefix * groups;
    int64_t at = 0;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t size = std::max<int64_t>(IntegerAt(group_sizes, row + g), 0);
      const int64_t end = size > length - at ? length : at + size;
      std::fill(of_line.begin() + first + at * inner, of_line.begin() + first + end * inner, g);
      at = end;
    }
  }
  return of_line;
}

/// Elements of a kind of dimensions that lie inside dimension `ragged`.
int64_t InnerSize(const ArrayView& in, std::span<const int64_t> kind, int64_t ragged) {
  int64_t inner = 1;
  const auto at = std::find(kind.begin(), kind.end(), ragged);
  for (auto d = at == kind.end() ? at : at + 1; d != kind.end(); ++d) inner *= in.sizes[*d];
  return inner;
}

/// The ragged dimension is contracted: one product per group, over its part of that dimension.
Status RaggedContracted(OpContext& c, int64_t ragged, const Side& left) {
  const ArrayView lhs = c.in[0], sizes = c.in[2], out = c.out[0];
  const std::span<const int64_t> contracted = c.ints(AttrKind::kLhsContractingDims);
  const Side right = Converted(c.in[1], c.ints(AttrKind::kRhsBatchDims),
                               c.ints(AttrKind::kRhsContractingDims), false, out.type);
  const int64_t product = left.free * right.free, lines = left.batch * left.contracted;
  if (left.contracted != right.contracted || left.batch != right.batch ||
      sizes.sizes.back() * left.batch * product != out.count) {
    return c.Refuse("the sizes do not fit");
  }
  TRY(c.engine.AddWork(c.id, lines * product));
  const std::vector<int64_t> groups =
      GroupsOfLines(sizes, lines, lhs.sizes[ragged], InnerSize(lhs, contracted, ragged));
  const ElementType sum = SumType(out.type);
  const int64_t width = StorageBytes(sum);
  std::vector<std::byte> sums(static_cast<size_t>(out.count * width));
  for (int64_t line = 0; line < lines; ++line) {
    if (groups[line] < 0) continue;
    const int64_t b = line / left.contracted, k = line % left.contracted;
    Multiply(sum, left.data.data() + (b * left.free * left.contracted + k) * width,
             right.data.data() + line * right.free * width,
             sums.data() + (groups[line] * left.batch + b) * product * width, left.free, 1,
             right.free, left.contracted);
  }
  Finish(sum, sums.data(), out);
  return {};
}

/// The ragged dimension is free: rows of the left side meet the right side of their group.
Status RaggedFree(OpContext& c, int64_t ragged, const Side& left) {
  const ArrayView lhs = c.in[0], sizes = c.in[2], out = c.out[0];
  std::vector<int64_t> free, outer;
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!Contains(c.ints(AttrKind::kLhsBatchDims), d) &&
        !Contains(c.ints(AttrKind::kLhsContractingDims), d)) {
      free.push_back(d);
    }
  }
  for (int64_t d : c.ints(AttrKind::kRhsGroupDims)) outer.push_back(d);
  for (int64_t d : c.ints(AttrKind::kRhsBatchDims)) outer.push_back(d);
  const Side right =
      Converted(c.in[1], outer, c.ints(AttrKind::kRhsContractingDims), false, out.type);
  const int64_t lines = left.batch * left.free;
  if (left.contracted != right.contracted || right.batch != sizes.sizes.back() * left.batch ||
      lines * right.free != out.count) {
    return c.Refuse("the sizes do not fit");
  }
  TRY(c.engine.AddWork(c.id, out.count * std::max<int64_t>(left.contracted, 1)));
  const std::vector<int64_t> groups =
      GroupsOfLines(sizes, lines, lhs.sizes[ragged], InnerSize(lhs, free, ragged));
  const ElementType sum = SumType(out.type);
  const int64_t width = StorageBytes(sum);
  std::vector<std::byte> sums(static_cast<size_t>(out.count * width));
  for (int64_t line = 0; line < lines; ++line) {
    if (groups[line] < 0) continue;
    const int64_t part = groups[line] * left.batch + line / left.free;
    Multiply(sum, left.data.data() + line * left.contracted * width,
             right.data.data() + part * right.contracted * right.free * width,
             sums.data() + line * right.free * width, 1, left.contracted, right.free,
             left.contracted);
  }
  Finish(sum, sums.data(), out);
  return {};
}

}  // namespace

Status Dot(OpContext& c) { return DotOf(c, c.in[0], c.in[1]); }

Status RaggedDot(OpContext& c) {
  const std::span<const int64_t> ragged = c.ints(AttrKind::kLhsRaggedDims);
  const std::span<const int64_t> batch = c.ints(AttrKind::kLhsBatchDims);
  const std::span<const int64_t> contracted = c.ints(AttrKind::kLhsContractingDims);
  if (ragged.size() != 1 || c.in[2].rank() == 0) return c.Refuse("needs one ragged dimension");
  // Groups of whole batches: each is multiplied as it is.
  if (Contains(batch, ragged[0])) return DotOf(c, c.in[0], c.in[1]);
  const Side left = Converted(c.in[0], batch, contracted, true, c.out[0].type);
  if (left.batch * left.free * left.contracted == 0) return {};
  return Contains(contracted, ragged[0]) ? RaggedContracted(c, ragged[0], left)
                                         : RaggedFree(c, ragged[0], left);
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
