#ifndef HLOKIT_SRC_TENSOR_PYTHON_LITERAL_H_
#define HLOKIT_SRC_TENSOR_PYTHON_LITERAL_H_

// The small part of Python's literal syntax that a .npy header uses.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hlokit::internal {

enum class LiteralKind : uint8_t { kString, kInt, kBool, kNone, kTuple, kList, kDict };

/// One node; the children of a node (keys and values alternate in a dict) are linked by `next`.
struct Literal {
  LiteralKind kind = LiteralKind::kNone;
  std::string text;    ///< kString, decoded
  int64_t number = 0;  ///< kInt, kBool
  size_t begin = 0;    ///< byte range in the source
  size_t end = 0;
  int32_t first = -1;  ///< first child
  int32_t next = -1;   ///< next sibling
  int32_t children = 0;
};

struct LiteralTree {
  std::vector<Literal> nodes;  ///< nodes[0] is the root
  std::string error;           ///< empty on success
  size_t error_at = 0;         ///< byte offset
};

/// Parses one literal and nothing after it but white space. Nesting is limited to 32, nodes to 1
/// << 20.
LiteralTree ParseLiteral(std::string_view source);

}  // namespace hlokit::internal

#endif  // HLOKIT_SRC_TENSOR_PYTHON_LITERAL_H_
