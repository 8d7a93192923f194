// fft: the defining sums along the last dimensions, one dimension after the other, in double.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/strided.h"

namespace hlokit::eval {
namespace {

using Complex = std::complex<double>;

/// Number k of the `length` roots of one; exact on the axes.
Complex Root(int64_t k, int64_t length) {
  if (4 * k % length == 0) {
    constexpr Complex kAxes[4] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return kAxes[4 * k / length];
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
  return {std::cos(angle), std::sin(angle)};
}

/// Transforms every line along one dimension.
void TransformLines(std::vector<Complex>& data, std::span<const int64_t> sizes, size_t dimension,
                    bool inverse) {
  const int64_t length = sizes[dimension];
  const int64_t step = RowMajorStrides(sizes)[dimension];
  std::vector<Complex> roots(static_cast<size_t>(length)), line(roots.size());
  for (int64_t k = 0; k < length; ++k) {
    roots[static_cast<size_t>(k)] = Root(k, length);
    if (!inverse) roots[static_cast<size_t>(k)] = std::conj(roots[static_cast<size_t>(k)]);
  }
  std::vector<int64_t> outer(sizes.begin(), sizes.end()), index(sizes.size(), 0);
  outer[dimension] = 1;
  const std::vector<int64_t> strides = RowMajorStrides(sizes);
  do {
    int64_t start = 0;
    for (size_t d = 0; d < index.size(); ++d) start += index[d] * strides[d];
    for (int64_t k = 0; k < length; ++k) {
      Complex sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        sum += data[static_cast<size_t>(start + i * step)] *
               roots[static_cast<size_t>(i * k % length)];
      }
      line[static_cast<size_t>(k)] = inverse ? sum / static_cast<double>(length) : sum;
    }
    for (int64_t k = 0; k < length; ++k)
      data[static_cast<size_t>(start + k * step)] = line[static_cast<size_t>(k)];
  } while (NextIndex(outer, index));
}

/// The second half of a spectrum whose first half is given: conjugates, mirrored.
std::vector<Complex> Mirrored(const std::vector<Complex>& half, std::span<const int64_t> half_sizes,
                              std::span<const int64_t> sizes, size_t transformed) {
  std::vector<Complex> out(static_cast<size_t>(Product(sizes)));
  std::vector<int64_t> index(sizes.size(), 0);
  const std::vector<int64_t> strides = RowMajorStrides(half_sizes);
  size_t at = 0;
  do {
    const bool given = index.back() < half_sizes.back();
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const bool turned = !given && d + transformed >= index.size();
      offset += (turned ? (sizes[d] - index[d]) % sizes[d] : index[d]) * strides[d];
    }
    const Complex value = half[static_cast<size_t>(offset)];
    out[at++] = given ? value : std::conj(value);
  } while (NextIndex(sizes, index));
  return out;
}

}  // namespace

Status Fft(OpContext& c) {
  const ArrayView in = c.in[0], out = c.out[0];
  const std::string_view type =
      EnumNames(AttrType::kFftType)[static_cast<size_t>(c.integer(AttrKind::kFftType))];
  const size_t transformed = c.ints(AttrKind::kFftLength).size();
  if (transformed > in.sizes.size()) return c.Refuse("fft_length is longer than the operand");
  if (out.count == 0 || in.count == 0) {
    std::fill(out.data, out.data + out.count * out.width(), std::byte{0});
    return {};
  }
  const bool inverse = type == "IFFT" || type == "IRFFT";
  std::vector<Complex> data(static_cast<size_t>(in.count));
  ConvertElements(in.type, in.data, ElementType::kC128, data.data(), in.count);
  const std::span<const int64_t> sizes = type == "IRFFT" ? out.sizes : in.sizes;
  if (type == "IRFFT") data = Mirrored(data, in.sizes, out.sizes, transformed);
  for (size_t i = 0; i < transformed; ++i) {
    const size_t dimension = sizes.size() - 1 - i;
    TRY(c.engine.AddWork(c.id, static_cast<int64_t>(data.size()) * sizes[dimension]));
    TransformLines(data, sizes, dimension, inverse);
  }
  if (type == "RFFT") {
    std::vector<Complex> half(static_cast<size_t>(out.count));
    MoveBox(sizeof(Complex), out.sizes, reinterpret_cast<std::byte*>(data.data()),
            RowMajorStrides(in.sizes), reinterpret_cast<std::byte*>(half.data()),
            RowMajorStrides(out.sizes));
    data = std::move(half);
  }
  ConvertElements(ElementType::kC128, data.data(), out.type, out.data, out.count);
  return {};
}

}  // namespace hlokit::eval
