// How are elements made from numbers?
#ifndef HLOKIT_SRC_EVAL_INPUTS_H_
#define HLOKIT_SRC_EVAL_INPUTS_H_

#include <cstddef>
#include <cstdint>

#include "hlokit/element_type.h"

namespace hlokit::eval {

/// Moderate values that depend on the seed and the number of the element.
void FillModerate(ElementType type, std::byte* out, int64_t count, uint64_t seed);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_INPUTS_H_
