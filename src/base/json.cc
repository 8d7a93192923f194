// Where in a JSON text does a value stand? nlohmann's parser forgets positions, so this small
// reader exists: strict, with an explicit stack, bounded in depth and in values.

#include "src/base/json.h"

#include <algorithm>
#include <set>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hlokit {

class JsonParser {
 public:
  explicit JsonParser(JsonDocument& document) : document_(document), source_(document.source_) {}

  Status Run() {
    TRY(Value());
    while (!stack_.empty()) TRY(Step());
    SkipSpace();
    if (at_ != source_.size()) return Fail("unexpected text after the end");
    return {};
  }

 private:
  static constexpr size_t kMaxDepth = 64;
  static constexpr size_t kMaxNodes = size_t{1} << 22;

  struct Open {
    int32_t node;
    int32_t last = -1;
    std::set<std::string> keys;
  };

  std::unexpected<Error> Fail(std::string message, DiagId id = DiagId::kBadJson) {
    JsonNode here;
    here.offset = static_cast<uint32_t>(std::min(at_, source_.size()));
    document_.nodes_.push_back(here);
    return document_.Fail(id, static_cast<int32_t>(document_.nodes_.size() - 1),
                          std::move(message));
  }

  void SkipSpace() {
    while (at_ < source_.size() &&
           std::string_view(" \t\r\n").find(source_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool Eat(char c) {
    SkipSpace();
    if (at_ >= source_.size() || source_[at_] != c) return false;
    ++at_;
    return true;
  }

  /// The next member of the innermost container, or its end.
  Status Step() {
    const int32_t node = stack_.back().node;
    const bool object = document_.nodes_[node].kind == JsonKind::kObject;
    if (Eat(object ? '}' : ']')) {
      if (pending_comma_) return Fail("a value must follow the comma");
      stack_.pop_back();
      return {};
    }
    if (document_.nodes_[node].children > 0 && !pending_comma_) {
      if (!Eat(',')) return Fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
      pending_comma_ = true;
      return {};
    }
    pending_comma_ = false;
    key_.clear();
    if (object) {
      SkipSpace();
      const size_t key_at = at_;
      if (at_ >= source_.size() || source_[at_] != '"') return Fail("expected a key in quotes");
      TRY(String(key_));
      if (!stack_.back().keys.insert(key_).second) {
        at_ = key_at;
        return Fail(fmt::format("the key {} stands twice", JsonQuote(key_)));
      }
      if (!Eat(':')) return Fail("expected ':'");
    }
    return Value();
  }

  Result<int32_t> Add(JsonKind kind) {
    if (document_.nodes_.size() >= kMaxNodes) return Fail("too many values", DiagId::kJsonTooLarge);
    const int32_t id = static_cast<int32_t>(document_.nodes_.size());
    JsonNode node;
    node.kind = kind;
    node.offset = static_cast<uint32_t>(at_);
    node.key = std::move(key_);
    key_.clear();
    document_.nodes_.push_back(std::move(node));
    if (!stack_.empty()) {
      Open& open = stack_.back();
      (open.last < 0 ? document_.nodes_[open.node].first : document_.nodes_[open.last].next) = id;
      open.last = id;
      ++document_.nodes_[open.node].children;
    }
    return id;
  }

  Status Value() {
    SkipSpace();
    if (at_ >= source_.size()) return Fail("the text ends too early");
    const char c = source_[at_];
    if (c == '{' || c == '[') {
      if (stack_.size() == kMaxDepth) return Fail("nested too deeply", DiagId::kJsonTooLarge);
      ASSIGN_OR_RETURN(const int32_t id, Add(c == '{' ? JsonKind::kObject : JsonKind::kArray));
      stack_.push_back({.node = id});
      ++at_;
      return {};
    }
    if (c == '"') {
      ASSIGN_OR_RETURN(const int32_t id, Add(JsonKind::kString));
      return String(document_.nodes_[id].text);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return Number();
    for (const auto& [word, kind, value] :
         {std::tuple{std::string_view("true"), JsonKind::kBool, 1},
          {std::string_view("false"), JsonKind::kBool, 0},
          {std::string_view("null"), JsonKind::kNull, 0}}) {
      if (source_.substr(at_, word.size()) != word) continue;
      ASSIGN_OR_RETURN(const int32_t id, Add(kind));
      document_.nodes_[id].integer = value;
      at_ += word.size();
      return {};
    }
    return Fail("expected a value");
  }

  size_t Digits() {
    const size_t begin = at_;
    while (at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '9') ++at_;
    return at_ - begin;
  }

  Status Number() {
    ASSIGN_OR_RETURN(const int32_t id, Add(JsonKind::kInteger));
    const size_t begin = at_;
    const bool negative = source_[at_] == '-';
    if (negative) ++at_;
    const size_t first = at_;
    const size_t digits = Digits();
    if (digits == 0) return Fail("expected digits");
    if (digits > 1 && source_[first] == '0') return Fail("a number must not start with 0");
    bool integer = true;
    if (at_ < source_.size() && source_[at_] == '.') {
      ++at_;
      integer = false;
      if (Digits() == 0) return Fail("expected digits after the point");
    }
    if (at_ < source_.size() && (source_[at_] == 'e' || source_[at_] == 'E')) {
      ++at_;
      integer = false;
      if (at_ < source_.size() && (source_[at_] == '+' || source_[at_] == '-')) ++at_;
      if (Digits() == 0) return Fail("expected digits in the exponent");
    }
    JsonNode& node = document_.nodes_[id];
    node.text = std::string(source_.substr(begin, at_ - begin));
    int64_t value = 0;
    for (size_t i = first; integer && i < first + digits; ++i) {
      const int64_t digit = source_[i] - '0';
      // Numbers beyond 64 bits become floats, as in other readers.
      integer = !__builtin_mul_overflow(value, 10, &value) &&
                !(negative ? __builtin_sub_overflow(value, digit, &value)
                           : __builtin_add_overflow(value, digit, &value));
    }
    node.kind = integer ? JsonKind::kInteger : JsonKind::kFloat;
    node.integer = integer ? value : 0;
    return {};
  }

  Result<uint32_t> Hex4() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = at_ < source_.size() ? source_[at_] : ' ';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Fail("expected four hexadecimal digits");
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    return value;
  }

  static void AppendUtf8(uint32_t code, std::string& out) {
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xC0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      out += static_cast<char>(0xE0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (code & 0x3F));
    } else {
      out += static_cast<char>(0xF0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
      out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      out += static_cast<char>(0x80 | (code & 0x3F));
    }
  }

  Status Unicode(std::string& out) {
    ASSIGN_OR_RETURN(uint32_t code, Hex4());
    if (code >= 0xD800 && code < 0xDC00) {
      if (source_.substr(at_, 2) != "\\u") return Fail("half of a surrogate pair");
      at_ += 2;
      ASSIGN_OR_RETURN(const uint32_t low, Hex4());
      if (low < 0xDC00 || low > 0xDFFF) return Fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      return Fail("half of a surrogate pair");
    }
    AppendUtf8(code, out);
    return {};
  }

  Status String(std::string& out) {
    std::string text;
    for (++at_;; ++at_) {
      if (at_ >= source_.size()) return Fail("a string has no end");
      const char c = source_[at_];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 32) return Fail("a control character in a string");
      if (c != '\\') {
        text += c;
        continue;
      }
      ++at_;
      const char escape = at_ < source_.size() ? source_[at_] : ' ';
      constexpr std::string_view kFrom = "\"\\/bfnrt";
      constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
      if (escape == 'u') {
        ++at_;
        TRY(Unicode(text));
        --at_;
      } else if (const size_t index = kFrom.find(escape); index != std::string_view::npos) {
        text += kTo[index];
      } else {
        return Fail("unknown escape");
      }
    }
    ++at_;
    out = std::move(text);
    return {};
  }

  JsonDocument& document_;
  std::string_view source_;
  size_t at_ = 0;
  std::string key_;
  bool pending_comma_ = false;
  std::vector<Open> stack_;
};

Result<JsonDocument> JsonDocument::Parse(std::string_view source) {
  constexpr size_t kMaxBytes = size_t{256} << 20;
  if (source.size() > kMaxBytes) {
    return MakeError(ExitCode::kCannotParse, DiagId::kJsonTooLarge,
                     fmt::format("{} bytes of JSON", source.size()));
  }
  JsonDocument document;
  document.source_ = std::string(source);
  JsonParser parser(document);
  TRY(parser.Run());
  return document;
}

std::string_view JsonKindName(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "boolean";
    case JsonKind::kInteger:
    case JsonKind::kFloat:
      return "number";
    case JsonKind::kString:
      return "string";
    case JsonKind::kArray:
      return "array";
    case JsonKind::kObject:
      break;
  }
  return "object";
}

int32_t JsonDocument::Find(int32_t object, std::string_view key) const {
  for (int32_t child = node(object).first; child >= 0; child = node(child).next) {
    if (node(child).key == key) return child;
  }
  return -1;
}

SourceLocation JsonDocument::LocationOf(uint32_t offset) const {
  SourceLocation location{1, 1};
  for (uint32_t i = 0; i < offset && i < source_.size(); ++i) {
    ++location.column;
    if (source_[i] == '\n') location = {location.line + 1, 1};
  }
  return location;
}

Diagnostic JsonDocument::At(DiagId id, Severity severity, int32_t at, std::string message,
                            std::string help) const {
  const uint32_t offset = node(at).offset;
  const size_t end = std::min(source_.find('\n', offset), source_.size());
  const size_t before = offset == 0 ? std::string::npos : source_.rfind('\n', offset - 1);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return {.id = id,
          .severity = severity,
          .message = std::move(message),
          .location = LocationOf(offset),
          .source_line = source_.substr(begin, end - begin),
          .help = std::move(help)};
}

std::unexpected<Error> JsonDocument::Fail(DiagId id, int32_t at, std::string message,
                                          std::string help) const {
  Error error{.exit_code = ExitCode::kCannotParse, .diagnostics = {}};
  error.diagnostics.push_back(At(id, Severity::kError, at, std::move(message), std::move(help)));
  return std::unexpected(std::move(error));
}

std::string JsonQuote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 32) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string JsonList(const std::vector<int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace hlokit
