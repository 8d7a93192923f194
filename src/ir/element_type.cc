#include "hlokit/element_type.h"

namespace hlokit {

ElementType ElementTypeFromText(std::string_view word) {
  if (word.size() < 2 || word.size() > 13) return ElementType::kInvalid;
  for (int i = 1; i < kElementTypeCount; ++i) {
    if (kElementTypes[i].text == word) return static_cast<ElementType>(i);
  }
  return ElementType::kInvalid;
}

}  // namespace hlokit
