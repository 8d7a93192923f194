// Which names are legal, and what becomes of the others? (hlo-text.md sections 10.1 and 10.2)
#ifndef HLOKIT_SRC_PROTO_NAMES_H_
#define HLOKIT_SRC_PROTO_NAMES_H_

#include <string>
#include <string_view>

#include "hlokit/element_type.h"

namespace hlokit::proto {

constexpr bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

/// Would sanitising leave the name as it is?
inline bool IsLegalName(std::string_view name) {
  if (name.empty()) return false;
  char first = name[0];
  if (!IsNameCharacter(first) || (first >= '0' && first <= '9') || first == '.' || first == '-')
    return false;
  for (char c : name) {
    if (!IsNameCharacter(c)) return false;
  }
  if (first == '_' && name.starts_with("__") && !name.starts_with("__xla_")) return false;
  return name.size() > 14 || ElementTypeFromText(name) == ElementType::kInvalid;
}

inline std::string SanitisedName(std::string_view name) {
  std::string out(name);
  if (out.empty()) return out;
  char first = out[0];
  if ((first >= '0' && first <= '9') || first == '.' || first == '-') out[0] = '_';
  for (char& c : out) {
    if (!IsNameCharacter(c)) c = '_';
  }
  if (ElementTypeFromText(out) != ElementType::kInvalid) out += '_';
  if (out.starts_with("__") && !out.starts_with("__xla_")) out[0] = 'a';
  return out;
}

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_NAMES_H_
