#ifndef HLOKIT_SRC_BASE_JSON_H_
#define HLOKIT_SRC_BASE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

enum class JsonKind : uint8_t { kNull, kBool, kInteger, kFloat, kString, kArray, kObject };

/// What nlohmann's type errors call a kind ("number", "string", …); the Neuron tools print these
/// words.
std::string_view JsonKindName(JsonKind kind);

/// One value. Children are linked; in an object, each child carries its key.
struct JsonNode {
  JsonKind kind = JsonKind::kNull;
  int64_t integer = 0;  ///< kInteger, kBool
  std::string text;     ///< kString, decoded; numbers as written
  std::string key;      ///< when the parent is an object
  uint32_t offset = 0;  ///< byte offset in the source
  int32_t first = -1;
  int32_t next = -1;
  uint32_t children = 0;
};

/// A JSON text as a flat tree that knows where every value stands. nodes[0] is the root.
class JsonDocument {
 public:
  /// Strict RFC 8259; fails with kCannotParse: N001 malformed (with line and column), N002 nested
  /// deeper than 64, more than 4 million values or 256 MiB. A key that stands twice is malformed,
  /// since readers disagree on which one counts.
  static Result<JsonDocument> Parse(std::string_view source);

  const JsonNode& node(int32_t id) const { return nodes_[static_cast<size_t>(id)]; }
  const JsonNode& root() const { return nodes_[0]; }
  /// The child with that key, or -1.
  int32_t Find(int32_t object, std::string_view key) const;
  SourceLocation LocationOf(uint32_t offset) const;
  /// An error that points at a value.
  std::unexpected<Error> Fail(DiagId id, int32_t node, std::string message,
                              std::string help = "") const;
  Diagnostic At(DiagId id, Severity severity, int32_t node, std::string message,
                std::string help = "") const;

 private:
  friend class JsonParser;
  std::string source_;
  std::vector<JsonNode> nodes_;
};

/// A JSON string literal with its quotes.
std::string JsonQuote(std::string_view text);
/// "[1, 2, 3]", the form that Python's json.dump writes.
std::string JsonList(const std::vector<int64_t>& values);

}  // namespace hlokit

#endif  // HLOKIT_SRC_BASE_JSON_H_
