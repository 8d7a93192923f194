// Which shape does a convolution have?
#include <algorithm>

#include "src/analysis/attribute_values.h"
#include "src/analysis/inference_context.h"

namespace hlokit::inference {
namespace {

/// Every dimension below `rank` has exactly one role.
Status ExpectAllRoles(int64_t first, int64_t second, std::span<const int64_t> spatial,
                      uint32_t rank, size_t spatial_count, std::string_view what) {
  if (rank != spatial_count + 2 || spatial.size() != spatial_count) {
    return Fail("the {} has {} dimensions, but dim_labels names {}", what, rank,
                spatial.size() + 2);
  }
  std::vector<int64_t> all(spatial.begin(), spatial.end());
  all.push_back(first);
  all.push_back(second);
  return ExpectDimensions(all, rank, fmt::format("dim_labels of the {}", what));
}

struct Features {
  int64_t batch, input, kernel_input, kernel_output;
};

/// The rules of feature and batch groups.
Status ExpectGroups(const Features& f, int64_t feature_groups, int64_t batch_groups) {
  if (feature_groups < 1)
    return Fail("feature_group_count must be positive, not {}", feature_groups);
  if (batch_groups < 1) return Fail("batch_group_count must be positive, not {}", batch_groups);
  if (feature_groups > 1 && batch_groups > 1) {
    return Fail("feature_group_count and batch_group_count cannot both be more than 1");
  }
  if (f.input != kUnboundedSize) {
    if (f.input % feature_groups != 0) {
      return Fail("feature_group_count {} does not divide the {} input features", feature_groups,
                  f.input);
    }
    if (!CompatibleSizes(f.kernel_input, f.input / feature_groups)) {
      return Fail("the kernel takes {} input features, but each group has {}", f.kernel_input,
                  f.input / feature_groups);
    }
  }
  if (f.kernel_output != kUnboundedSize) {
    if (f.kernel_output % feature_groups != 0) {
      return Fail("feature_group_count {} does not divide the {} output features", feature_groups,
                  f.kernel_output);
    }
    if (f.kernel_output % batch_groups != 0) {
      return Fail("batch_group_count {} does not divide the {} output features", batch_groups,
                  f.kernel_output);
    }
  }
  if (f.batch != kUnboundedSize && f.batch % batch_groups != 0) {
    return Fail("batch_group_count {} does not divide the batch size {}", batch_groups, f.batch);
  }
  return {};
}

}  // namespace

Result<ShapeId> InferConvolution(const Context& c) {
  TRY(ExpectArrays(c));
  if (!SameTypeButPrecision(c.type(0), c.type(1))) {
    return Fail("the operands of convolution have different types: {} and {}", Info(c.type(0)).text,
                Info(c.type(1)).text);
  }
  std::optional<ConvolutionDims> dims = DecodeDimLabels(c.Words(AttrKind::kDimLabels));
  if (!dims) return Fail("dim_labels cannot be understood");
  std::span<const int64_t> window = c.Ints(AttrKind::kWindow);
  size_t spatial = window.size() / kWindowFields;
  TRY(ExpectAllRoles(dims->input_batch, dims->input_feature, dims->input_spatial, c.rank(0),
                     spatial, "lhs"));
  TRY(ExpectAllRoles(dims->kernel_input, dims->kernel_output, dims->kernel_spatial, c.rank(1),
                     spatial, "rhs"));
  uint32_t rank = static_cast<uint32_t>(spatial + 2);
  TRY(ExpectAllRoles(dims->output_batch, dims->output_feature, dims->output_spatial, rank, spatial,
                     "output"));
  auto lhs_size = [&](int64_t d) { return c.sizes(0)[static_cast<size_t>(d)]; };
  auto rhs_size = [&](int64_t d) { return c.sizes(1)[static_cast<size_t>(d)]; };
  Features features{lhs_size(dims->input_batch), lhs_size(dims->input_feature),
                    rhs_size(dims->kernel_input), rhs_size(dims->kernel_output)};
  int64_t batch_groups = c.Int(AttrKind::kBatchGroupCount, 1);
  TRY(ExpectGroups(features, c.Int(AttrKind::kFeatureGroupCount, 1), batch_groups));
  Dims base;
  for (size_t i = 0; i < spatial; ++i) {
    c.AddDim(c.operand(0), static_cast<uint32_t>(dims->input_spatial[i]), &base);
    int64_t size = window[i * kWindowFields + kWindowSize];
    if (!CompatibleSizes(size, rhs_size(dims->kernel_spatial[i]))) {
      return Fail("the window has size {} in spatial dimension {}, but the kernel {}", size, i,
                  rhs_size(dims->kernel_spatial[i]));
    }
  }
  ASSIGN_OR_RETURN(Dims windowed, WindowedDims(base, window, /*allow_empty=*/true));
  Dims out{std::vector<int64_t>(rank), std::vector<uint8_t>(rank)};
  auto set = [&](int64_t d, int64_t size, bool dynamic) {
    out.sizes[static_cast<size_t>(d)] = size;
    out.dynamic[static_cast<size_t>(d)] = dynamic ? 1 : 0;
  };
  set(dims->output_batch,
      features.batch == kUnboundedSize ? kUnboundedSize : features.batch / batch_groups,
      c.shapes.IsDynamicDimension(c.operand(0), static_cast<uint32_t>(dims->input_batch)));
  set(dims->output_feature, features.kernel_output,
      c.shapes.IsDynamicDimension(c.operand(1), static_cast<uint32_t>(dims->kernel_output)));
  for (size_t i = 0; i < spatial; ++i) {
    set(dims->output_spatial[i], windowed.sizes[i], windowed.dynamic[i] != 0);
  }
  ElementType type = c.HasDeclared() && c.shapes.IsArray(c.input.declared)
                         ? c.shapes.type(c.input.declared)
                         : WiderType(c.type(0), c.type(1));
  return c.Array(type, out);
}

}  // namespace hlokit::inference
