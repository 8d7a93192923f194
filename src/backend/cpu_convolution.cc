// May a convolution run in the Eigen library on a CPU? (section 2.2)
#include <algorithm>
#include <bit>

#include "src/analysis/attribute_values.h"
#include "src/backend/rules.h"

namespace hlokit::backend {
namespace {

/// An allocation of these many bytes starts at a multiple of 16 at least.
bool SufficientlyAligned(const Module& module, ShapeId shape, const Device& device) {
  constexpr uint64_t kNeeded = 16;
  const ShapePool& shapes = module.shapes();
  if (!shapes.IsArray(shape)) return false;
  uint64_t bytes = 1;
  int64_t element_bytes = (Info(shapes.type(shape)).bits + 7) / 8;
  if (__builtin_mul_overflow(static_cast<uint64_t>(shapes.ElementCount(shape)),
                             static_cast<uint64_t>(element_bytes), &bytes) ||
      bytes > uint64_t{1} << 62) {
    bytes = uint64_t{1} << 62;
  }
  uint64_t own = std::bit_ceil(std::max<uint64_t>(bytes, 1));
  return std::min(own, static_cast<uint64_t>(device.minimum_alignment)) >= kNeeded;
}

bool CountsUp(std::span<const int64_t> numbers, int64_t first) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != first + static_cast<int64_t>(i)) return false;
  }
  return true;
}

/// Batch, spatial, feature; the kernel spatial, input feature, output feature.
bool IsCanonical(const ConvolutionDims& dims, int64_t rank) {
  return dims.input_batch == 0 && CountsUp(dims.input_spatial, 1) &&
         dims.input_feature == rank - 1 && CountsUp(dims.kernel_spatial, 0) &&
         dims.kernel_input == rank - 2 && dims.kernel_output == rank - 1 &&
         dims.output_batch == 0 && CountsUp(dims.output_spatial, 1) &&
         dims.output_feature == rank - 1;
}

bool HasReversedWindow(const Module& module, InstId convolution) {
  std::span<const int64_t> window = module.IntsAttr(convolution, AttrKind::kWindow);
  for (size_t at = kWindowReversal; at < window.size(); at += kWindowFields) {
    if (window[at] != 0) return true;
  }
  return false;
}

}  // namespace

bool MayBecomeEigenConvolution(const Module& module, InstId convolution, const Device& device) {
  const ShapePool& shapes = module.shapes();
  if (module.operand_count(convolution) < 2) return false;
  ShapeId input = module.shape(module.operand(convolution, 0));
  ShapeId kernel = module.shape(module.operand(convolution, 1));
  for (ShapeId shape : {input, kernel, module.shape(convolution)}) {
    if (!SufficientlyAligned(module, shape, device)) return false;
  }
  if (shapes.ElementCount(input) == 0 || shapes.ElementCount(kernel) == 0) return false;
  ElementType type = shapes.type(input);
  if (type != ElementType::kF16 && type != ElementType::kF32) return false;
  if (HasReversedWindow(module, convolution)) return false;
  std::optional<ConvolutionDims> dims =
      DecodeDimLabels(module.TextAttr(convolution, AttrKind::kDimLabels));
  if (!dims || dims->input_spatial.empty() || dims->input_spatial.size() > 3) return false;
  return IsCanonical(*dims, shapes.rank(input));
}

}  // namespace hlokit::backend
