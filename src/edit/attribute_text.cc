// How are the attributes that stay text taken apart and put together again?
#include "hlokit/attribute_text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>

namespace hlokit {
namespace {

/// Position just behind the string that starts at `at` (a quote), or npos.
size_t EndOfString(std::string_view text, size_t at) {
  char quote = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// Position just behind the brace group that starts at `at`; text in double quotes does not count.
size_t EndOfBraces(std::string_view text, size_t at) {
  int depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    if (text[i] == '"') {
      i = EndOfString(text, i);
      if (i == std::string_view::npos) return i;
      --i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

/// May the value be written bare, as raw braces?
bool IsRawBraces(std::string_view value) {
  return !value.empty() && value.front() == '{' && EndOfBraces(value, 0) == value.size();
}

std::string_view Inside(std::string_view text) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return {};
  return text.substr(1, text.size() - 2);
}

bool IsSeparator(char c) { return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

TextFields ParseFields(std::string_view text) {
  TextFields fields;
  std::string_view rest = Inside(text);
  while (true) {
    while (!rest.empty() && IsSeparator(rest.front())) rest.remove_prefix(1);
    size_t equal = rest.find('=');
    if (equal == std::string_view::npos) return fields;
    std::string name(rest.substr(0, equal));
    rest.remove_prefix(equal + 1);
    if (rest.empty()) return fields;
    size_t end = std::string_view::npos;
    bool string = rest.front() == '"' || rest.front() == '\'';
    if (string) {
      end = EndOfString(rest, 0);
    } else if (rest.front() == '{') {
      end = EndOfBraces(rest, 0);
    } else {
      end = static_cast<size_t>(std::find_if(rest.begin(), rest.end(), IsSeparator) - rest.begin());
    }
    if (end == std::string_view::npos) return fields;
    std::string_view value = rest.substr(0, end);
    fields.emplace_back(std::move(name), string ? UnescapeText(value.substr(1, value.size() - 2))
                                                : std::string(value));
    rest.remove_prefix(end);
  }
}

struct MetadataField {
  std::string_view name;
  enum { kString, kRaw, kPlain } form;
};
constexpr MetadataField kMetadataFields[] = {
    {"op_type", MetadataField::kString},           {"op_name", MetadataField::kString},
    {"source_file", MetadataField::kString},       {"source_line", MetadataField::kPlain},
    {"source_end_line", MetadataField::kPlain},    {"source_column", MetadataField::kPlain},
    {"source_end_column", MetadataField::kPlain},  {"profile_type", MetadataField::kPlain},
    {"deduplicated_name", MetadataField::kString}, {"scheduling_name", MetadataField::kRaw},
    {"stack_frame_id", MetadataField::kPlain},     {"metadata_payload", MetadataField::kString},
};

}  // namespace

TextFields ParseFrontendAttributes(std::string_view text) { return ParseFields(text); }

std::string FrontendAttributesText(TextFields fields) {
  if (fields.empty()) return {};
  std::stable_sort(fields.begin(), fields.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    if (out.size() > 1) out += ',';
    out += name;
    out += '=';
    if (IsRawBraces(value)) {
      out += value;
    } else {
      out += '"';
      out += EscapeText(value);
      out += '"';
    }
  }
  out += '}';
  return out;
}

TextFields ParseMetadata(std::string_view text) { return ParseFields(text); }

std::string MetadataText(const TextFields& fields) {
  std::string out;
  for (const MetadataField& field : kMetadataFields) {
    const std::string* value = FindField(fields, field.name);
    if (value == nullptr || value->empty()) continue;
    if (field.form == MetadataField::kPlain && *value == "0") continue;
    out += out.empty() ? '{' : ' ';
    out += field.name;
    out += '=';
    if (field.form == MetadataField::kPlain) {
      out += *value;
    } else {
      out += '"';
      out += field.form == MetadataField::kString ? EscapeText(*value) : *value;
      out += '"';
    }
  }
  if (!out.empty()) out += '}';
  return out;
}

const std::string* FindField(const TextFields& fields, std::string_view name) {
  for (const auto& field : fields) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

std::vector<std::string_view> ShardingMembers(std::string_view text) {
  std::string_view rest = Inside(text);
  if (rest.empty() || rest.front() != '{') return {text};
  std::vector<std::string_view> members;
  while (true) {
    size_t open = rest.find('{');
    if (open == std::string_view::npos) return members;
    size_t end = EndOfBraces(rest, open);
    if (end == std::string_view::npos) return members;
    members.push_back(rest.substr(open, end - open));
    rest.remove_prefix(end);
  }
}

std::string TupleShardingText(std::span<const std::string> members) {
  std::string out = "{";
  for (size_t i = 0; i < members.size(); ++i) {
    if (i != 0) out += ", ";
    if (i != 0 && i % 5 == 0) out += "/*index=" + std::to_string(i) + "*/";
    out += members[i];
  }
  out += '}';
  return out;
}

std::string EscapeText(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    unsigned char byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\'':
        out += "\\'";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (byte < 32 || byte >= 127) {
          char octal[5];
          std::snprintf(octal, sizeof octal, "\\%03o", byte);
          out += octal;
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string UnescapeText(std::string_view escaped) {
  constexpr std::string_view kLetters = "abfnrtv";
  constexpr std::string_view kBytes = "\a\b\f\n\r\t\v";
  std::string out;
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\' || i + 1 == escaped.size()) {
      out += escaped[i];
      continue;
    }
    char next = escaped[++i];
    if (next >= '0' && next <= '7') {
      int value = 0;
      size_t end = std::min(i + 3, escaped.size());
      for (; i < end && escaped[i] >= '0' && escaped[i] <= '7'; ++i)
        value = value * 8 + (escaped[i] - '0');
      --i;
      out += static_cast<char>(value);
    } else if (size_t at = kLetters.find(next); at != std::string_view::npos) {
      out += kBytes[at];
    } else {
      out += next;
    }
  }
  return out;
}

}  // namespace hlokit
