// convolution: windows over spatial dimensions, groups of features and batches.
#include <algorithm>
#include <limits>

#include "src/analysis/attribute_values.h"
#include "src/eval/handlers.h"
#include "src/eval/native.h"
#include "src/eval/window.h"

namespace hlokit::eval {
namespace {

struct Geometry {
  ConvolutionDims dims;
  std::vector<WindowDimension> window;
  int64_t feature_groups = 1, batch_groups = 1;
  std::vector<int64_t> in_strides, kernel_strides, out_strides;
  std::span<const int64_t> in_sizes, kernel_sizes, out_sizes;
};

/// 64-bit sums that saturate when they become the type of the result.
void StoreSaturated(int64_t sum, const ArrayView& out, int64_t at) {
  const int bits = Info(out.type).bits;
  if (bits < 64) {
    const bool is_signed = Info(out.type).kind == ElementKind::kSigned;
    const int64_t high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    sum = std::clamp(sum, is_signed ? -high - 1 : 0, high);
  }
  ConvertElements(ElementType::kS64, &sum, out.type, out.data + at * out.width(), 1);
}

template <typename T>
T OneOutput(const Geometry& g, const T* in, const T* kernel, std::span<const int64_t> out_index) {
  const ConvolutionDims& dims = g.dims;
  const int64_t out_batch = out_index[dims.output_batch];
  const int64_t out_feature = out_index[dims.output_feature];
  const int64_t features = g.kernel_sizes[dims.kernel_input];
  const int64_t out_features = g.out_sizes[dims.output_feature];
  const int64_t feature_group = out_feature / (out_features / g.feature_groups);
  const int64_t batch_group = out_feature / (out_features / g.batch_groups);
  const int64_t batches = g.in_sizes[dims.input_batch] / g.batch_groups;
  const int64_t in_base = (batch_group * batches + out_batch) * g.in_strides[dims.input_batch] +
                          feature_group * features * g.in_strides[dims.input_feature];
  const int64_t kernel_base = out_feature * g.kernel_strides[dims.kernel_output];
  const size_t spatial = g.window.size();
  std::vector<int64_t> sizes(spatial), inside(spatial, 0);
  for (size_t i = 0; i < spatial; ++i) sizes[i] = g.window[i].size;
  T sum{};
  if (Product(sizes) == 0) return sum;
  do {
    int64_t in_at = in_base, kernel_at = kernel_base;
    bool seen = true;
    for (size_t i = 0; i < spatial && seen; ++i) {
      const int64_t dimension = dims.input_spatial[i];
      // The window walks forward; reversal turns the kernel.
      WindowDimension forward = g.window[i];
      forward.reversal = false;
      const int64_t index =
          forward.Index(out_index[dims.output_spatial[i]], inside[i], g.in_sizes[dimension]);
      seen = index >= 0;
      in_at += index * g.in_strides[dimension];
      const int64_t turned = g.window[i].reversal ? sizes[i] - 1 - inside[i] : inside[i];
      kernel_at += turned * g.kernel_strides[dims.kernel_spatial[i]];
    }
    if (!seen) continue;
    for (int64_t f = 0; f < features; ++f) {
      const T x = in[in_at + f * g.in_strides[dims.input_feature]];
      const T k = kernel[kernel_at + f * g.kernel_strides[dims.kernel_input]];
      if constexpr (std::is_same_v<T, int64_t>) {
        sum = static_cast<int64_t>(static_cast<uint64_t>(sum) +
                                   static_cast<uint64_t>(x) * static_cast<uint64_t>(k));
      } else {
        sum += x * k;
      }
    }
  } while (NextIndex(sizes, inside));
  return sum;
}

template <typename T>
Status Convolve(OpContext& c, const Geometry& g, ElementType sum_type) {
  const ArrayView out = c.out[0];
  std::vector<T> in(static_cast<size_t>(c.in[0].count)), kernel(static_cast<size_t>(c.in[1].count));
  ConvertElements(c.in[0].type, c.in[0].data, sum_type, in.data(), c.in[0].count);
  ConvertElements(c.in[1].type, c.in[1].data, sum_type, kernel.data(), c.in[1].count);
  if (out.count == 0) return {};
  int64_t products = g.kernel_sizes[g.dims.kernel_input];
  for (const WindowDimension& d : g.window) products *= d.size;
  TRY(c.engine.AddWork(c.id, out.count * std::max<int64_t>(products, 1)));
  std::vector<int64_t> index(out.sizes.size(), 0);
  int64_t at = 0;
  do {
    const T sum = OneOutput<T>(g, in.data(), kernel.data(), index);
    if constexpr (std::is_same_v<T, int64_t>) {
      StoreSaturated(sum, out, at);
    } else {
      ConvertElements(sum_type, &sum, out.type, out.data + at * out.width(), 1);
    }
    ++at;
  } while (NextIndex(out.sizes, index));
  return {};
}

}  // namespace

Status Convolution(OpContext& c) {
  std::optional<ConvolutionDims> dims =
      DecodeDimLabels(c.module.TextAttr(c.id, AttrKind::kDimLabels));
  if (!dims) return c.Refuse("dim_labels are malformed");
  Geometry g;
  g.dims = std::move(*dims);
  g.window = DecodeWindow(c.ints(AttrKind::kWindow), g.dims.input_spatial.size());
  g.feature_groups = c.integer(AttrKind::kFeatureGroupCount, 1);
  g.batch_groups = c.integer(AttrKind::kBatchGroupCount, 1);
  g.in_strides = RowMajorStrides(c.in[0].sizes);
  g.kernel_strides = RowMajorStrides(c.in[1].sizes);
  g.out_strides = RowMajorStrides(c.out[0].sizes);
  g.in_sizes = c.in[0].sizes;
  g.kernel_sizes = c.in[1].sizes;
  g.out_sizes = c.out[0].sizes;
  const int64_t features = g.out_sizes[g.dims.output_feature];
  if (g.feature_groups < 1 || g.batch_groups < 1 ||
      (features != 0 && (features < g.feature_groups || features < g.batch_groups))) {
    return c.Refuse("the groups do not fit the features");
  }
  const ElementType type = c.out[0].type;
  if (IsIntegral(type) || type == ElementType::kPred) {
    return Convolve<int64_t>(c, g, ElementType::kS64);
  }
  switch (ComputeType(type)) {
    case ElementType::kF32:
      return Convolve<float>(c, g, ElementType::kF32);
    case ElementType::kF64:
      return Convolve<double>(c, g, ElementType::kF64);
    case ElementType::kC64:
      return Convolve<std::complex<float>>(c, g, ElementType::kC64);
    default:
      return Convolve<std::complex<double>>(c, g, ElementType::kC128);
  }
}

}  // namespace hlokit::eval
