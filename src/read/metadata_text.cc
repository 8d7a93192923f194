// Metadata: where an instruction comes from. hlo-text.md section 8.
#include <algorithm>
#include <charconv>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit::read {

// ---- metadata ----

namespace {

enum class FieldType { kString, kRawString, kInt32, kProfile };

struct MetadataField {
  std::string_view name;
  FieldType type;
  bool shows;  // the attribute is printed when this one is set
};

/// In printing order.
constexpr MetadataField kMetadataFields[] = {
    {"op_type", FieldType::kString, true},
    {"op_name", FieldType::kString, true},
    {"source_file", FieldType::kString, true},
    {"source_line", FieldType::kInt32, false},
    {"source_end_line", FieldType::kInt32, false},
    {"source_column", FieldType::kInt32, false},
    {"source_end_column", FieldType::kInt32, false},
    {"profile_type", FieldType::kProfile, false},
    {"deduplicated_name", FieldType::kString, false},
    {"scheduling_name", FieldType::kRawString, true},
    {"stack_frame_id", FieldType::kInt32, true},
    {"metadata_payload", FieldType::kString, true},
};
constexpr size_t kMetadataFieldCount = std::size(kMetadataFields);
constexpr size_t kStackFrameField = 10;

}  // namespace

uint32_t Parser::CanonicalMetadataEnd(int64_t* stack_frame_id) const {
  const char* begin = lexer_.text().data();
  const char* p = begin + token_.begin;
  if (*p++ != '{') return 0;
  size_t next_field = 0;
  bool shows = false;
  bool first = true;
  while (*p != '}') {
    if (!first && *p++ != ' ') return 0;
    first = false;
    // The name must be one of those behind the previous field.
    size_t field = next_field;
    while (field < kMetadataFieldCount) {
      std::string_view name = kMetadataFields[field].name;
      if (std::string_view(p, std::min<size_t>(name.size() + 1, begin + lexer_.text().size() - p))
              .starts_with(name) &&
          p[name.size()] == '=') {
        break;
      }
      ++field;
    }
    if (field == kMetadataFieldCount) return 0;
    next_field = field + 1;
    shows = shows || kMetadataFields[field].shows;
    p += kMetadataFields[field].name.size() + 1;
    switch (kMetadataFields[field].type) {
      case FieldType::kString: {
        if (*p++ != '"') return 0;
        const char* body = p;
        while (*p >= 32 && *p < 127 && *p != '"' && *p != '\\' && *p != '\'') ++p;
        if (*p != '"' || p == body) return 0;
        ++p;
        break;
      }
      case FieldType::kInt32: {
        int64_t value = 0;
        const char* digits = p;
        while (*p >= '0' && *p <= '9' && p - digits < 9) value = value * 10 + (*p++ - '0');
        if (p == digits || *digits == '0') return 0;
        if (field == kStackFrameField) *stack_frame_id = value;
        break;
      }
      default:
        return 0;
    }
  }
  return shows ? static_cast<uint32_t>(p + 1 - begin) : 0;
}

bool Parser::ParseMetadataFields(std::string* out, bool* printed, int64_t* stack_frame_id) {
  std::string values[kMetadataFieldCount];
  bool seen[kMetadataFieldCount] = {};
  *stack_frame_id = 0;
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  while (!Is(Tok::kRightBrace)) {
    if (Eat(Tok::kComma) && Is(Tok::kRightBrace)) return FailExpected("a metadata field");
    if (!Is(Tok::kAttributeName)) return FailExpected("a metadata field such as op_name=");
    std::string_view name = WordText();
    size_t field = 0;
    while (field < kMetadataFieldCount && kMetadataFields[field].name != name) ++field;
    if (field == kMetadataFieldCount) {
      return FailHere(DiagId::kBadAttributeValue, fmt::format("metadata has no field '{}'", name));
    }
    if (seen[field])
      return FailHere(DiagId::kRepeatedAttribute, fmt::format("'{}' appears twice", name));
    seen[field] = true;
    Next();
    std::string& value = values[field];
    switch (kMetadataFields[field].type) {
      case FieldType::kString:
      case FieldType::kRawString:
        if (!ParseString(&value)) return false;
        break;
      case FieldType::kInt32: {
        int64_t number;
        if (!ParseInt32(&number)) return false;
        if (number != 0) value = std::to_string(number);
        if (field == kStackFrameField) *stack_frame_id = number;
        break;
      }
      case FieldType::kProfile: {
        std::vector<int64_t> list;
        uint32_t at = token_.begin;
        if (!ParseIntList(&list)) return false;
        for (int64_t v : list) {
          if (v < 0 || v > 3)
            return Fail(DiagId::kBadAttributeValue, at, "a profile type is 0, 1, 2 or 3");
          value += (value.empty() ? "" : ",") + std::to_string(v);
        }
        break;
      }
    }
  }
  Next();
  out->clear();
  *printed = false;
  for (size_t i = 0; i < kMetadataFieldCount; ++i) {
    if (values[i].empty()) continue;
    const MetadataField& field = kMetadataFields[i];
    *printed = *printed || field.shows;
    if (!out->empty()) *out += ' ';
    *out += field.name;
    *out += '=';
    switch (field.type) {
      case FieldType::kString:
        *out += '"';
        AppendEscaped(values[i], out);
        *out += '"';
        break;
      case FieldType::kRawString:
        *out += '"' + values[i] + '"';
        break;
      case FieldType::kInt32:
        *out += values[i];
        break;
      case FieldType::kProfile:
        *out += '{' + values[i] + '}';
        break;
    }
  }
  return true;
}

bool Parser::ParseMetadataOrList(std::string* out) {
  bool printed;
  int64_t frame;
  std::string one;
  if (lexer_.At(token_.end).kind != Tok::kLeftBrace) {
    if (!ParseMetadataFields(&one, &printed, &frame)) return false;
    *out = "{" + one + "}";
    return true;
  }
  Next();
  std::vector<std::string> all;
  do {
    if (!ParseMetadataFields(&one, &printed, &frame)) return false;
    all.push_back("{" + one + "}");
  } while (Eat(Tok::kComma));
  *out = all.size() == 1 ? all[0] : fmt::format("{{{}}}", fmt::join(all, ", "));
  return Expect(Tok::kRightBrace, "',' or '}'");
}

}  // namespace hlokit::read
