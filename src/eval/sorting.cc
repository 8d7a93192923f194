// sort and topk.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "src/eval/function.h"
#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::eval {
namespace {

/// Merges sorted halves with a comparator that may fail; stable.
template <typename Less>
Status MergeSort(std::vector<int64_t>& order, Less less) {
  std::vector<int64_t> merged(order.size());
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t low = 0; low < order.size(); low += 2 * width) {
      const size_t middle = std::min(low + width, order.size());
      const size_t high = std::min(low + 2 * width, order.size());
      size_t left = low, right = middle, to = low;
      while (left < middle && right < high) {
        ASSIGN_OR_RETURN(const bool second_first, less(order[right], order[left]));
        merged[to++] = second_first ? order[right++] : order[left++];
      }
      while (left < middle) merged[to++] = order[left++];
      while (right < high) merged[to++] = order[right++];
    }
    order.swap(merged);
  }
  return {};
}

/// Offsets of the first element of every line along one dimension.
std::vector<int64_t> LineStarts(std::span<const int64_t> sizes, int64_t dimension) {
  const std::vector<int64_t> strides = RowMajorStrides(sizes);
  std::vector<int64_t> outer(sizes.begin(), sizes.end());
  std::vector<int64_t> starts, index(sizes.size(), 0);
  outer[dimension] = 1;
  if (Product(sizes) == 0) return starts;
  do {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
    starts.push_back(offset);
  } while (NextIndex(outer, index));
  return starts;
}

}  // namespace

Status Sort(OpContext& c) {
  const size_t n = c.in.size();
  ASSIGN_OR_RETURN(Function less, Function::Make(c, c.module.to_apply(c.id)));
  bool fits = less.parameters() == 2 * n && less.results() == 1 && c.out.size() == n &&
              less.result_type(0) == ElementType::kPred;
  for (size_t i = 0; fits && i < n; ++i) {
    fits = less.parameter_type(2 * i) == c.in[i].type &&
           less.parameter_type(2 * i + 1) == c.in[i].type;
  }
  if (!fits) return c.Refuse("the comparison does not fit the operands");
  const int64_t dimension = c.module.dimensions(c.id)[0];
  const std::span<const int64_t> sizes = c.in[0].sizes;
  if (c.in[0].count == 0) return {};
  const int64_t length = sizes[dimension];
  const int64_t step = RowMajorStrides(sizes)[dimension];
  std::vector<int64_t> order(static_cast<size_t>(length));
  std::vector<const std::byte*> arguments(2 * n);
  for (int64_t start : LineStarts(sizes, dimension)) {
    std::iota(order.begin(), order.end(), 0);
    TRY(MergeSort(order, [&](int64_t a, int64_t b) -> Result<bool> {
      for (size_t i = 0; i < n; ++i) {
        arguments[2 * i] = c.in[i].data + (start + a * step) * c.in[i].width();
        arguments[2 * i + 1] = c.in[i].data + (start + b * step) * c.in[i].width();
      }
      std::byte answer{};
      std::byte* result = &answer;
      TRY(less.Apply(arguments, {&result, 1}, 1));
      return answer != std::byte{0};
    }));
    for (size_t i = 0; i < n; ++i) {
      const int64_t width = c.in[i].width();
      for (int64_t k = 0; k < length; ++k) {
        std::memcpy(c.out[i].data + (start + k * step) * width,
                    c.in[i].data + (start + order[static_cast<size_t>(k)] * step) * width,
                    static_cast<size_t>(width));
      }
    }
  }
  return {};
}

Status TopK(OpContext& c) {
  const ArrayView in = c.in[0], values = c.out[0], places = c.out[1];
  if (IsComplex(in.type)) return c.Refuse("complex numbers have no order");
  if (in.rank() == 0) return c.Refuse("a scalar has no last dimension");
  const bool largest = c.integer(AttrKind::kLargest, 1) != 0;
  const int64_t length = in.sizes.back(), k = values.sizes.back();
  if (in.count == 0) return {};
  std::vector<int64_t> order(static_cast<size_t>(length));
  std::vector<int64_t> whole;
  std::vector<double> real;
  if (IsFloating(in.type)) {
    real.resize(static_cast<size_t>(in.count));
    ConvertElements(in.type, in.data, ElementType::kF64, real.data(), in.count);
  } else {
    for (int64_t i = 0; i < in.count; ++i) whole.push_back(IntegerAt(in, i));
  }
  // NaNs count as larger than everything; equal elements keep their order.
  const auto above = [&](int64_t a, int64_t b) {
    if (real.empty()) return whole[static_cast<size_t>(a)] > whole[static_cast<size_t>(b)];
    const double x = real[static_cast<size_t>(a)], y = real[static_cast<size_t>(b)];
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);
    return x > y;
  };
  for (int64_t line = 0; line * length < in.count; ++line) {
    const int64_t start = line * length;
    std::iota(order.begin(), order.end(), start);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return largest ? above(a, b) : above(b, a); });
    for (int64_t i = 0; i < k; ++i) {
      const int64_t from = order[static_cast<size_t>(i)], place = from - start;
      std::memcpy(values.data + (line * k + i) * values.width(), in.data + from * in.width(),
                  static_cast<size_t>(in.width()));
      ConvertElements(ElementType::kS64, &place, places.type,
                      places.data + (line * k + i) * places.width(), 1);
    }
  }
  return {};
}

}  // namespace hlokit::eval
