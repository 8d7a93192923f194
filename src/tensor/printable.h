#ifndef HLOKIT_SRC_TENSOR_PRINTABLE_H_
#define HLOKIT_SRC_TENSOR_PRINTABLE_H_

#include <string>
#include <string_view>

namespace hlokit::internal {

/// Text from a file as it may appear in a message: short, and nothing that a terminal could act on.
inline std::string Printable(std::string_view text) {
  std::string out;
  for (unsigned char c : text.substr(0, 80)) out += c < 32 || c >= 127 ? '?' : static_cast<char>(c);
  if (text.size() > 80) out += "...";
  return out;
}

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_PRINTABLE_H_
