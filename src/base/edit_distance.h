// How far are two words apart? For "did you mean".
#ifndef HLOKIT_SRC_BASE_EDIT_DISTANCE_H_
#define HLOKIT_SRC_BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace hlokit {

/// Levenshtein distance. Quadratic: for words, not for texts.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace hlokit

#endif  // HLOKIT_SRC_BASE_EDIT_DISTANCE_H_
