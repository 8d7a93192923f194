// Where does an element go? Instructions that move elements and compute nothing.
#include <algorithm>
#include <cstring>

#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::eval {
namespace {

/// Bit number `bit` of an array of elements of `bits` bits, packed without gaps.
bool BitAt(const ArrayView& array, int bits, int64_t bit) {
  const std::byte* element = array.data + bit / bits * array.width();
  const int64_t inside = bit % bits;
  return (static_cast<int>(element[inside / 8]) >> (inside % 8) & 1) != 0;
}

}  // namespace

Status CopyOp(OpContext& c) {
  if (c.in[0].type != c.out[0].type || c.in[0].count != c.out[0].count) {
    return c.Refuse("the result has another type or size");
  }
  if (c.out[0].count != 0) {
    std::memcpy(c.out[0].data, c.in[0].data,
                static_cast<size_t>(c.out[0].count * c.out[0].width()));
  }
  return {};
}

Status Reshape(OpContext& c) { return CopyOp(c); }

Status DynamicReshape(OpContext& c) {
  for (int64_t d = 0; d < c.out[0].rank(); ++d) {
    if (IntegerAt(c.in[static_cast<size_t>(d) + 1], 0) != c.out[0].sizes[d]) {
      return c.Refuse("arrays that are not full are not simulated");
    }
  }
  return CopyOp(c);
}

Status BitcastConvert(OpContext& c) {
  const ArrayView in = c.in[0], out = c.out[0];
  const int from = Info(in.type).bits, to = Info(out.type).bits;
  if (in.count * from != out.count * to) return c.Refuse("the result has another number of bits");
  if (out.count == 0) return {};
  if (from == to && in.width() == out.width()) {
    std::memcpy(out.data, in.data, static_cast<size_t>(out.count * out.width()));
    if (IsIntegral(out.type)) WrapPacked(out.type, out.data, out.count);
    return {};
  }
  std::memset(out.data, 0, static_cast<size_t>(out.count * out.width()));
  for (int64_t bit = 0; bit < out.count * to; ++bit) {
    if (!BitAt(in, from, bit)) continue;
    std::byte& byte = out.data[bit / to * out.width() + bit % to / 8];
    byte |= std::byte{1} << (bit % to % 8);
  }
  if (IsIntegral(out.type)) WrapPacked(out.type, out.data, out.count);
  return {};
}

Status Broadcast(OpContext& c) {
  const std::span<const int64_t> dimensions = c.module.dimensions(c.id);
  const std::vector<int64_t> in_strides = RowMajorStrides(c.in[0].sizes);
  std::vector<int64_t> from(c.out[0].sizes.size(), 0);
  if (dimensions.size() != in_strides.size()) return c.Refuse("dimensions do not fit the operand");
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const int64_t d = dimensions[i];
    if (d < 0 || d >= c.out[0].rank() || (c.in[0].sizes[i] != c.out[0].sizes[d])) {
      return c.Refuse("dimensions do not fit the operand");
    }
    from[d] = in_strides[i];
  }
  MoveBox(c.out[0].width(), c.out[0].sizes, c.in[0].data, from, c.out[0].data,
          RowMajorStrides(c.out[0].sizes));
  return {};
}

Status Transpose(OpContext& c) {
  const std::span<const int64_t> dimensions = c.module.dimensions(c.id);
  const std::vector<int64_t> in_strides = RowMajorStrides(c.in[0].sizes);
  std::vector<int64_t> from;
  for (int64_t d : dimensions) from.push_back(in_strides[d]);
  MoveBox(c.out[0].width(), c.out[0].sizes, c.in[0].data, from, c.out[0].data,
          RowMajorStrides(c.out[0].sizes));
  return {};
}

Status Reverse(OpContext& c) {
  std::vector<int64_t> from = RowMajorStrides(c.in[0].sizes);
  if (c.out[0].count == 0) return {};
  int64_t start = 0;
  for (int64_t d : c.module.dimensions(c.id)) {
    start += (c.in[0].sizes[d] - 1) * from[d];
    from[d] = -from[d];
  }
  MoveBox(c.out[0].width(), c.out[0].sizes, c.in[0].data + start * c.in[0].width(), from,
          c.out[0].data, RowMajorStrides(c.out[0].sizes));
  return {};
}

Status Slice(OpContext& c) {
  const std::span<const int64_t> ranges = c.ints(AttrKind::kSlice);
  std::vector<int64_t> from = RowMajorStrides(c.in[0].sizes);
  int64_t start = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    start += ranges[3 * d] * from[d];
    from[d] *= ranges[3 * d + 2];
  }
  MoveBox(c.out[0].width(), c.out[0].sizes, c.in[0].data + start * c.in[0].width(), from,
          c.out[0].data, RowMajorStrides(c.out[0].sizes));
  return {};
}

Status Pad(OpContext& c) {
  const std::span<const int64_t> padding = c.ints(AttrKind::kPadding);
  Fill(c.out[0], c.in[1].data);
  const size_t rank = c.in[0].sizes.size();
  std::vector<int64_t> from = RowMajorStrides(c.in[0].sizes);
  std::vector<int64_t> to = RowMajorStrides(c.out[0].sizes);
  std::vector<int64_t> sizes(rank);
  int64_t from_start = 0, to_start = 0;
  for (size_t d = 0; d < rank; ++d) {
    // Elements that land inside the result; negative padding cuts.
    const int64_t low = padding[3 * d], step = padding[3 * d + 2] + 1;
    const int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
    const int64_t room = c.out[0].sizes[d] - 1 - low;
    const int64_t last = room < 0 ? -1 : std::min(c.in[0].sizes[d] - 1, room / step);
    sizes[d] = std::max<int64_t>(last - first + 1, 0);
    from_start += first * from[d];
    to_start += (low + first * step) * to[d];
    to[d] *= step;
  }
  if (Product(sizes) == 0) return {};
  MoveBox(c.out[0].width(), sizes, c.in[0].data + from_start * c.in[0].width(), from,
          c.out[0].data + to_start * c.out[0].width(), to);
  return {};
}

Status Concatenate(OpContext& c) {
  const int64_t dimension = c.module.dimensions(c.id)[0];
  const std::vector<int64_t> to = RowMajorStrides(c.out[0].sizes);
  int64_t start = 0;
  for (const ArrayView& part : c.in) {
    MoveBox(part.width(), part.sizes, part.data, RowMajorStrides(part.sizes),
            c.out[0].data + start * to[dimension] * part.width(), to);
    start += part.sizes[dimension];
  }
  return {};
}

Status Iota(OpContext& c) {
  const int64_t dimension = c.integer(AttrKind::kIotaDimension);
  const ArrayView out = c.out[0];
  if (out.count == 0) return {};
  // One value per index, converted at once, then spread.
  std::vector<int64_t> numbers(static_cast<size_t>(out.sizes[dimension]));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  std::vector<std::byte> row(numbers.size() * static_cast<size_t>(out.width()));
  ConvertElements(ElementType::kS64, numbers.data(), out.type, row.data(), out.sizes[dimension]);
  std::vector<int64_t> from(out.sizes.size(), 0);
  from[dimension] = 1;
  MoveBox(out.width(), out.sizes, row.data(), from, out.data, RowMajorStrides(out.sizes));
  return {};
}

}  // namespace hlokit::eval
