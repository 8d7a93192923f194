// Which message belongs to an attribute that a module keeps as canonical text? The other way round
// from attribute_text.h. Every function answers false when the text is not what the reader of HLO
// text or the reader of protos would have stored.
#ifndef HLOKIT_SRC_PROTO_TEXT_TO_WIRE_H_
#define HLOKIT_SRC_PROTO_TEXT_TO_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire.h"

namespace hlokit::proto {

/// Reads canonical attribute text from left to right.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}
  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  std::string_view Rest() const { return text_.substr(at_); }
  bool Eat(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void SkipBlanks() {
    while (Peek() == ' ' || Peek() == '\n') ++at_;
  }
  bool Int(int64_t* value);
  bool Number(double* value);
  /// Integers with commas between them; none is fine.
  bool Ints(std::vector<int64_t>* values);
  /// Word characters, at least one.
  bool Word(std::string_view* word);
  /// A string in double or single quotes, escapes undone.
  bool Quoted(std::string* value);
  /// Everything up to (not including) `end`, unescaped.
  bool RawUntil(char end, std::string_view* value);
  /// A value in braces with everything in it; strings inside do not count.
  bool Braces(std::string_view* value);

 private:
  std::string_view text_;
  size_t at_ = 0;
};

// Payloads of the messages.
bool AppendMetadataProto(std::string_view text, std::string* out);
bool AppendFrontendProto(std::string_view text, std::string* out);
bool AppendStatisticsProto(std::string_view text, std::string* out);
bool AppendOriginProto(std::string_view text, std::string* out);
bool AppendOriginArrayProto(TextCursor* cursor, std::string* out);
bool AppendAccuracyProto(std::string_view text, std::string* out);
bool AppendSparsityProto(std::string_view text, std::string* out);
bool AppendDimLabelsProto(std::string_view text, std::string* out);
bool AppendShardingProto(std::string_view text, std::string* out);
/// Whole fields of an instruction.
bool AppendReplicaGroupFields(std::string_view text, uint32_t* number, std::string* payload);
bool AppendPairFields(std::string_view text, std::string* out);
bool ReadIntListList(std::string_view text, std::vector<std::vector<int64_t>>* out);
/// MeshProto; `axes` gets the names in order.
bool AppendMeshProto(TextCursor* cursor, std::vector<std::string>* axes, std::string* out);
bool AppendAxisProto(TextCursor* cursor, const std::vector<std::string>& axes, std::string* out);

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_TEXT_TO_WIRE_H_
