// Tokens, errors and small values of the text reader.
#include "src/read/parser.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "fmt/format.h"

namespace hlokit::read {

uint64_t HashBytes(std::string_view bytes) {
  uint64_t hash = bytes.size() * 0x9e3779b97f4a7c15ull;
  const char* p = bytes.data();
  size_t left = bytes.size();
  while (left >= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
    p += 8;
    left -= 8;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, p, left);
  hash = (hash ^ tail) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 29;
}

// ---- scopes ----

InstId ScopeTable::Find(std::string_view name, const Module& module) const {
  uint32_t mask = static_cast<uint32_t>(slots_.size()) - 1;
  uint32_t hash = static_cast<uint32_t>(HashBytes(name));
  for (uint32_t at = hash & mask; slots_[at].generation == generation_; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && module.name(slots_[at].id) == name) return slots_[at].id;
  }
  return {};
}

InstId ScopeTable::FindOrInsert(std::string_view name, InstId id, const Module* module) {
  if (2 * (count_ + 1) > slots_.size()) Grow();
  uint32_t mask = static_cast<uint32_t>(slots_.size()) - 1;
  uint32_t hash = static_cast<uint32_t>(HashBytes(name));
  uint32_t at = hash & mask;
  for (; slots_[at].generation == generation_; at = (at + 1) & mask) {
    if (module != nullptr && slots_[at].hash == hash && module->name(slots_[at].id) == name)
      return slots_[at].id;
  }
  slots_[at] = {generation_, hash, id};
  ++count_;
  return {};
}

void ScopeTable::Grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  uint32_t mask = static_cast<uint32_t>(slots_.size()) - 1;
  for (const Slot& slot : old) {
    if (slot.generation != generation_) continue;
    uint32_t at = slot.hash & mask;
    while (slots_[at].generation == generation_) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

// ---- the parser itself ----

Parser::Parser(std::string text, const ReadOptions& options) : options_(options), lexer_("") {
  uint32_t size = static_cast<uint32_t>(text.size());
  StrRef source = module_.text().Adopt(std::move(text));
  base_ = source.offset;
  module_.set_source_text(source);
  lexer_ = Lexer(size == 0 ? std::string_view("") : module_.str({base_, size}));
  scopes_.resize(1);
  anonymous_names_.resize(1);
  parameter_numbers_.resize(1);
}

Parser::Parser(std::string text, const ReadOptions& options, const Module& pools)
    : options_(options), module_(Module::SharingPools(pools)), lexer_("") {
  uint32_t size = static_cast<uint32_t>(text.size());
  StrRef source = module_.text().Adopt(std::move(text));
  base_ = source.offset;
  module_.set_source_text(source);
  lexer_ = Lexer(size == 0 ? std::string_view("") : module_.str({base_, size}));
  scopes_.resize(1);
  anonymous_names_.resize(1);
  parameter_numbers_.resize(1);
}

SourceLocation Parser::Locate(uint32_t offset) const {
  std::string_view text = lexer_.text();
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text.size()));
  SourceLocation place{1, 1};
  const char* line_begin = text.data();
  const char* end = text.data() + offset;
  while (const void* found = std::memchr(line_begin, '\n', end - line_begin)) {
    line_begin = static_cast<const char*>(found) + 1;
    ++place.line;
  }
  place.column = static_cast<uint32_t>(end - line_begin) + 1;
  return place;
}

Diagnostic Parser::MakeDiagnostic(DiagId id, uint32_t offset, std::string message,
                                  std::string help) const {
  std::string_view text = lexer_.text();
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text.size()));
  size_t line_begin = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  line_begin = line_begin == std::string_view::npos ? 0 : line_begin + 1;
  size_t line_end = text.find('\n', offset);
  if (line_end == std::string_view::npos) line_end = text.size();
  // A line of megabytes is of no use to anybody: keep the part that can be shown.
  SourceLocation location = Locate(offset);
  std::string_view line = text.substr(line_begin, line_end - line_begin);
  constexpr size_t kLongest = 4096;
  if (line.size() > kLongest)
    line = line.substr(0, std::max<size_t>(kLongest, offset - line_begin + 200));
  Diagnostic d{
      .id = id, .message = std::move(message), .location = location, .help = std::move(help)};
  d.source_line = std::string(line);
  return d;
}

bool Parser::Fail(DiagId id, uint32_t offset, std::string message, std::string help) {
  diagnostics_.push_back(MakeDiagnostic(id, offset, std::move(message), std::move(help)));
  return false;
}

void Parser::Warn(DiagId id, uint32_t offset, std::string message, std::string help) {
  Diagnostic d = MakeDiagnostic(id, offset, std::move(message), std::move(help));
  d.severity = Severity::kWarning;
  warnings_.push_back(std::move(d));
}

bool Parser::FailExpected(std::string_view what) {
  if (Is(Tok::kEnd)) {
    return FailHere(DiagId::kUnexpectedToken, fmt::format("expected {}, but the text ends", what),
                    "is the file truncated?");
  }
  std::string_view found = TokenText();
  if (Is(Tok::kError)) {
    if (found == "\"" || found == "'") {
      return FailHere(
          DiagId::kBadToken, fmt::format("expected {}, found a malformed string", what),
          "strings end with the quote they begin with, on bytes of UTF-8 and C escapes");
    }
    return FailHere(DiagId::kBadToken, fmt::format("expected {}, found '{}', which is no HLO token",
                                                   what, found.substr(0, 40)));
  }
  return FailHere(DiagId::kUnexpectedToken,
                  fmt::format("expected {}, found '{}'", what, found.substr(0, 60)));
}

bool Parser::Expect(Tok kind, std::string_view what) {
  if (token_.kind != kind) return FailExpected(what);
  Next();
  return true;
}

// ---- small values ----

bool Parser::ParseInteger(int64_t* value, std::string_view what) {
  if (!Is(Tok::kInteger)) return FailExpected(what);
  *value = token_.integer;
  Next();
  return true;
}

bool Parser::ParseInt32(int64_t* value) {
  uint32_t at = token_.begin;
  if (!ParseInteger(value)) return false;
  if (*value < std::numeric_limits<int32_t>::min() ||
      *value > std::numeric_limits<int32_t>::max()) {
    return Fail(DiagId::kBadAttributeValue, at, fmt::format("{} does not fit 32 bits", *value));
  }
  return true;
}

bool Parser::ParseBool(bool* value) {
  if (!IsKeyword(Keyword::kTrue) && !IsKeyword(Keyword::kFalse))
    return FailExpected("true or false");
  *value = IsKeyword(Keyword::kTrue);
  Next();
  return true;
}

bool Parser::ParseNumber(double* value) {
  if (Is(Tok::kDecimal)) {
    *value = token_.decimal;
  } else if (Is(Tok::kInteger)) {
    *value = static_cast<double>(token_.integer);
  } else if (IsKeyword(Keyword::kInf)) {
    *value = std::numeric_limits<double>::infinity();
  } else if (Is(Tok::kMinusInf)) {
    *value = -std::numeric_limits<double>::infinity();
  } else {
    return FailExpected("a number");
  }
  Next();
  return true;
}

bool Parser::ParseFloat(double* value) {
  uint32_t at = token_.begin;
  if (!ParseNumber(value)) return false;
  double largest = std::numeric_limits<float>::max();
  if (std::isfinite(*value) && std::abs(*value) > largest) {
    return Fail(DiagId::kBadAttributeValue, at, "the number does not fit a 32-bit float");
  }
  return true;
}

bool Parser::ParseString(std::string* value) {
  if (!Is(Tok::kString)) return FailExpected("a string");
  if (token_.has_escapes) {
    Unescape(WordText(), value);
  } else {
    *value = WordText();
  }
  Next();
  return true;
}

bool Parser::ParseIntList(std::vector<int64_t>* values) {
  values->clear();
  if (!Is(Tok::kLeftBrace)) return FailExpected("'{'");
  // Nearly every list is digits and commas: read it without cutting tokens.
  const char* p = lexer_.text().data() + token_.end;
  while (true) {
    const char* digits = p;
    int64_t value = 0;
    while (*p >= '0' && *p <= '9' && p - digits < 18) value = value * 10 + (*p++ - '0');
    if (p == digits) break;
    if (*p != ',' && *p != '}') break;
    values->push_back(value);
    if (*p++ == '}') {
      JumpTo(static_cast<uint32_t>(p - lexer_.text().data()));
      return true;
    }
  }
  values->clear();
  Next();
  if (Eat(Tok::kRightBrace)) return true;
  do {
    int64_t value;
    if (!ParseInteger(&value)) return false;
    values->push_back(value);
  } while (Eat(Tok::kComma));
  return Expect(Tok::kRightBrace, "',' or '}'");
}

bool Parser::ParseIntListList(std::vector<std::vector<int64_t>>* values) {
  values->clear();
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  if (Eat(Tok::kRightBrace)) return true;
  do {
    values->emplace_back();
    if (!ParseIntList(&values->back())) return false;
  } while (Eat(Tok::kComma));
  return Expect(Tok::kRightBrace, "',' or '}'");
}

bool Parser::ParseSizeList(std::vector<int64_t>* values) {
  values->clear();
  if (Is(Tok::kInteger)) {
    values->push_back(token_.integer);
    Next();
    return true;
  }
  if (!Is(Tok::kSizeList)) return FailExpected("sizes such as 3x3");
  const char* p = lexer_.text().data() + token_.begin;
  const char* end = lexer_.text().data() + token_.end;
  while (p < end) {
    int64_t value = 0;
    auto [stop, error] = std::from_chars(p, end, value);
    if (error != std::errc()) return FailHere(DiagId::kBadAttributeValue, "a size is too large");
    values->push_back(value);
    p = stop + 1;
  }
  Next();
  return true;
}

bool Parser::ParsePadList(std::vector<std::vector<int64_t>>* values) {
  values->clear();
  if (!Is(Tok::kPad)) return FailExpected("padding such as 0_1x2_3");
  const char* p = lexer_.text().data() + token_.begin;
  const char* end = lexer_.text().data() + token_.end;
  values->emplace_back();
  while (p < end) {
    int64_t value = 0;
    auto [stop, error] = std::from_chars(p, end, value);
    if (error != std::errc()) return FailHere(DiagId::kBadAttributeValue, "a padding is too large");
    values->back().push_back(value);
    if (stop < end && *stop == 'x') values->emplace_back();
    p = stop + 1;
  }
  Next();
  return true;
}

void AppendInteger(int64_t value, std::string* out) {
  fmt::format_int text(value);
  out->append(text.data(), text.size());
}

void AppendEscaped(std::string_view text, std::string* out) {
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      case '"':
        *out += "\\\"";
        break;
      case '\'':
        *out += "\\'";
        break;
      case '\\':
        *out += "\\\\";
        break;
      default:
        if (byte < 32 || byte >= 127) {
          *out += '\\';
          *out += static_cast<char>('0' + (byte >> 6));
          *out += static_cast<char>('0' + (byte >> 3 & 7));
          *out += static_cast<char>('0' + (byte & 7));
        } else {
          *out += c;
        }
    }
  }
}

}  // namespace hlokit::read
