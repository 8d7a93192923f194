// Which dimension of a convolution plays which role?
#include "src/analysis/attribute_values.h"

namespace hlokit {
namespace {

/// One of the three strings: two letters, digits for spatial dimensions, `?` for none.
bool DecodeLabels(std::string_view text, char first, char second, int64_t* first_dim,
                  int64_t* second_dim, std::vector<int64_t>* spatial) {
  for (size_t i = 0; i < text.size(); ++i) {
    char ch = text[i];
    int64_t position = static_cast<int64_t>(i);
    if (ch == '?') continue;
    if (ch == first || ch == second) {
      int64_t& slot = ch == first ? *first_dim : *second_dim;
      if (slot != -1) return false;
      slot = position;
      continue;
    }
    if (ch < '0' || ch > '9') return false;
    size_t number = static_cast<size_t>(ch - '0');
    if (number >= spatial->size()) spatial->resize(number + 1, -1);
    if ((*spatial)[number] != -1) return false;
    (*spatial)[number] = position;
  }
  for (int64_t dimension : *spatial) {
    if (dimension == -1) return false;
  }
  return true;
}

}  // namespace

std::optional<ConvolutionDims> DecodeDimLabels(std::string_view text) {
  size_t underscore = text.find('_');
  size_t arrow = text.find("->");
  if (underscore == std::string_view::npos || arrow == std::string_view::npos ||
      arrow < underscore) {
    return std::nullopt;
  }
  ConvolutionDims dims;
  if (!DecodeLabels(text.substr(0, underscore), 'b', 'f', &dims.input_batch, &dims.input_feature,
                    &dims.input_spatial) ||
      !DecodeLabels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o',
                    &dims.kernel_input, &dims.kernel_output, &dims.kernel_spatial) ||
      !DecodeLabels(text.substr(arrow + 2), 'b', 'f', &dims.output_batch, &dims.output_feature,
                    &dims.output_spatial)) {
    return std::nullopt;
  }
  return dims;
}

}  // namespace hlokit
