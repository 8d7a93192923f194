// What do the attributes mean that are kept as text? Decoded on demand, with linear effort.
#ifndef HLOKIT_SRC_ANALYSIS_ATTRIBUTE_VALUES_H_
#define HLOKIT_SRC_ANALYSIS_ATTRIBUTE_VALUES_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hlokit {

/// dim_labels (hlo-text.md section 8.7): the dimension number of each role. Roles that do not occur
/// are -1; a spatial vector has one entry per spatial number.
struct ConvolutionDims {
  int64_t input_batch = -1, input_feature = -1;
  int64_t kernel_input = -1, kernel_output = -1;
  int64_t output_batch = -1, output_feature = -1;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
};
/// Nothing when the text is no legal dim_labels value.
std::optional<ConvolutionDims> DecodeDimLabels(std::string_view text);

}  // namespace hlokit

#endif  // HLOKIT_SRC_ANALYSIS_ATTRIBUTE_VALUES_H_
