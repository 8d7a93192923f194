// What is the next token? hlo-text.md section 2.
#include "src/read/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace hlokit::read {
namespace {

enum : uint8_t { kBlank = 1, kStart = 2, kWord = 4, kDigit = 8 };

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> table{};
  for (char c : {' ', '\t', '\r', '\n'}) table[static_cast<unsigned char>(c)] = kBlank;
  for (int c = 'a'; c <= 'z'; ++c) table[c] = kStart | kWord;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = kStart | kWord;
  table['_'] = kStart | kWord;
  for (int c = '0'; c <= '9'; ++c) table[c] = kWord | kDigit;
  table['.'] = kWord;
  table['-'] = kWord;
  return table;
}

constexpr std::array<uint8_t, 256> kClass = MakeClasses();

constexpr uint8_t Class(char c) { return kClass[static_cast<unsigned char>(c)]; }
constexpr bool Digit(char c) { return (Class(c) & kDigit) != 0; }

struct KeywordRow {
  std::string_view text;
  Keyword keyword;
};

constexpr KeywordRow kKeywords[] = {
    {"true", Keyword::kTrue},
    {"false", Keyword::kFalse},
    {"inf", Keyword::kInf},
    {"HloModule", Keyword::kHloModule},
    {"ENTRY", Keyword::kEntry},
    {"ROOT", Keyword::kRoot},
    {"FileLocations", Keyword::kFileLocations},
    {"FileNames", Keyword::kFileNames},
    {"FunctionNames", Keyword::kFunctionNames},
    {"StackFrames", Keyword::kStackFrames},
    {"maximal", Keyword::kMaximal},
    {"replicated", Keyword::kReplicated},
    {"manual", Keyword::kManual},
    {"last_tile_dim_replicate", Keyword::kLastTileDimReplicate},
    {"shard_as", Keyword::kShardAs},
    {"shard_like", Keyword::kShardLike},
    {"unknown", Keyword::kUnknown},
    {"unreduced", Keyword::kUnreduced},
};

/// By first character: the lengths (as bits) that keywords have.
constexpr std::array<uint32_t, 128> MakeKeywordLengths() {
  std::array<uint32_t, 128> table{};
  for (const KeywordRow& row : kKeywords) table[row.text[0]] |= 1u << row.text.size();
  return table;
}
constexpr std::array<uint32_t, 128> kKeywordLengths = MakeKeywordLengths();

constexpr bool MayBeKeyword(std::string_view word) {
  return word.size() < 32 && (kKeywordLengths[word[0]] >> word.size() & 1) != 0;
}

/// The end of a NaN payload "(0x…)" at `at`, or `at` when there is none.
uint32_t PayloadEnd(std::string_view text, uint32_t at, uint64_t* payload) {
  if (text.substr(at, 3) != "(0x") return at;
  const char* begin = text.data() + at + 3;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(begin, end, *payload, 16);
  if (error != std::errc() || stop == end || *stop != ')') return at;
  return static_cast<uint32_t>(stop + 1 - text.data());
}

constexpr uint64_t kNanBits = 0x7ff0000000000000ull;
constexpr uint64_t kQuietBit = uint64_t{1} << 51;

/// The token for nan or -nan whose word ends at `at`.
void FinishNan(std::string_view text, uint32_t at, bool negative, Token* token) {
  uint64_t payload = kQuietBit;
  uint32_t end = PayloadEnd(text, at, &payload);
  token->kind = Tok::kDecimal;
  token->end = end;
  if (end != at && (payload == 0 || payload >= (uint64_t{1} << 52))) {
    token->kind = Tok::kError;
    return;
  }
  token->decimal = std::bit_cast<double>(kNanBits | payload | (negative ? uint64_t{1} << 63 : 0));
  token->has_escapes = end != at;  // a payload was written
}

}  // namespace

bool IsWordStart(unsigned char c) { return (kClass[c] & kStart) != 0; }
bool IsWordCharacter(unsigned char c) { return (kClass[c] & kWord) != 0; }

uint32_t Lexer::SkipBlank(uint32_t from) const {
  const char* p = text_.data() + from;
  const char* end = text_.data() + text_.size();
  while (true) {
    while (p < end && (Class(*p) & kBlank) != 0) ++p;
    if (p + 1 >= end || *p != '/') break;
    if (p[1] == '*') {
      size_t close = text_.find("*/", p + 2 - text_.data());
      if (close == std::string_view::npos) break;
      p = text_.data() + close + 2;
    } else if (p[1] == '/') {
      p += 2;
      while (p < end && *p != '\n' && *p != '\r') ++p;
    } else {
      break;
    }
  }
  return static_cast<uint32_t>(p - text_.data());
}

void Lexer::At(uint32_t from, Token* out) const {
  uint32_t at = from;
  const char* data = text_.data();
  // The common case is one blank or none.
  if ((Class(data[at]) & kBlank) != 0 && at < text_.size()) ++at;
  if ((Class(data[at]) & kBlank) != 0 || data[at] == '/') at = SkipBlank(at);
  Token& token = *out;
  token.keyword = Keyword::kNone;
  token.has_escapes = false;
  token.begin = at;
  token.end = at + 1;
  if (at >= text_.size()) {
    token.end = at;
    token.kind = Tok::kEnd;
    return;
  }
  char c = data[at];
  uint8_t kind = Class(c);
  if ((kind & kStart) != 0) {
    LexWord(at, out);
    return;
  }
  if ((kind & kDigit) != 0) {
    LexNumber(at, out);
    return;
  }
  token.kind = Tok::kError;
  switch (c) {
    case '%': {
      if ((Class(data[at + 1]) & kStart) == 0) return;
      uint32_t end = at + 2;
      while ((Class(data[end]) & kWord) != 0) ++end;
      token.kind = Tok::kName;
      token.text_begin = at + 1;
      token.text_end = token.end = end;
      return;
    }
    case '=':
      token.kind = Tok::kEquals;
      return;
    case ',':
      token.kind = Tok::kComma;
      return;
    case ':':
      token.kind = Tok::kColon;
      return;
    case '*':
      token.kind = Tok::kStar;
      return;
    case '#':
      token.kind = Tok::kHash;
      return;
    case '+':
      token.kind = Tok::kPlus;
      return;
    case '~':
      token.kind = Tok::kTilde;
      return;
    case '[':
      token.kind = Tok::kLeftSquare;
      return;
    case ']':
      token.kind = Tok::kRightSquare;
      return;
    case '{':
      token.kind = Tok::kLeftBrace;
      return;
    case '}':
      token.kind = Tok::kRightBrace;
      return;
    case '(':
      token.kind = Tok::kLeftParen;
      return;
    case ')':
      token.kind = Tok::kRightParen;
      return;
    case '<':
      if (data[at + 1] == '=') {
        token.kind = Tok::kLessEquals;
        token.end = at + 2;
      }
      return;
    case '.':
      if (data[at + 1] == '.' && data[at + 2] == '.') {
        token.kind = Tok::kDots;
        token.end = at + 3;
      }
      return;
    case '-':
      if (data[at + 1] == '>') {
        token.kind = Tok::kArrow;
        token.end = at + 2;
        return;
      }
      LexNumber(at, out);
      return;
    case '?':
      LexNumber(at, out);
      return;
    case '"':
    case '\'':
      LexString(at, out);
      return;
    default:
      return;
  }
}

void Lexer::LexWord(uint32_t at, Token* token) const {
  const char* data = text_.data();
  uint32_t end = at + 1;
  while ((Class(data[end]) & kWord) != 0) ++end;
  token->text_begin = at;
  token->text_end = token->end = end;
  if (data[end] == ':') {
    token->kind = Tok::kName;
    token->end = end + 1;
    return;
  }
  if (data[end] == '=') {
    token->kind = Tok::kAttributeName;
    token->end = end + 1;
    return;
  }
  std::string_view word(data + at, end - at);
  if (ElementType type = ElementTypeFromText(word); type != ElementType::kInvalid) {
    token->kind = Tok::kType;
    token->type = type;
    return;
  }
  if (word == "nan") {
    FinishNan(text_, end, false, token);
    return;
  }
  if (MayBeKeyword(word)) {
    for (const KeywordRow& row : kKeywords) {
      if (row.text == word) {
        token->kind = Tok::kKeyword;
        token->keyword = row.keyword;
        return;
      }
    }
  }
  if (word[0] == 'b' || word[0] == 'f') {
    if (uint32_t labels = DimLabelsEnd(at); labels != 0) {
      token->kind = Tok::kDimLabels;
      token->text_end = token->end = labels;
      return;
    }
  }
  token->kind = Tok::kIdentifier;
}

uint32_t Lexer::DimLabelsEnd(uint32_t at) const {
  // [0-9bf?]{2,}_[0-9io?]{2,}->[0-9bf?]{2,}
  const char* data = text_.data();
  uint32_t p = at;
  auto run = [&](char x, char y) {
    uint32_t begin = p;
    while (Digit(data[p]) || data[p] == x || data[p] == y || data[p] == '?') ++p;
    return p - begin >= 2;
  };
  if (!run('b', 'f') || data[p] != '_') return 0;
  ++p;
  if (!run('i', 'o') || data[p] != '-' || data[p + 1] != '>') return 0;
  p += 2;
  return run('b', 'f') ? p : 0;
}

void Lexer::LexNumber(uint32_t at, Token* token) const {
  const char* data = text_.data();
  uint32_t p = at;
  bool negative = data[p] == '-';
  if (negative) ++p;
  uint32_t digits = p;
  while (Digit(data[p])) ++p;
  bool has_integer = p != digits;
  // 1: decimals.
  uint32_t q = p;
  bool has_fraction = false;
  bool has_point = data[q] == '.';
  if (has_point) {
    ++q;
    uint32_t fraction = q;
    while (Digit(data[q])) ++q;
    has_fraction = q != fraction;
  }
  bool mantissa = has_integer || (has_point && has_fraction && negative);
  if (data[at] != '?' && mantissa) {
    uint32_t end = 0;
    if (data[q] == 'e' || data[q] == 'E') {
      uint32_t e = q + 1;
      if (data[e] == '+' || data[e] == '-') ++e;
      uint32_t exponent = e;
      while (Digit(data[e])) ++e;
      if (e != exponent) end = e;
    }
    if (end == 0 && has_point) end = q;
    if (end != 0) {
      token->kind = Tok::kDecimal;
      token->end = end;
      auto [stop, error] = std::from_chars(data + at, data + end, token->decimal);
      if (error == std::errc::result_out_of_range) {
        // strtod tells overflow (infinity) from underflow (zero or a denormal).
        token->decimal = std::strtod(std::string(data + at, data + end).c_str(), nullptr);
      }
      return;
    }
  }
  // 2: labels such as 01bf_01io->01bf; a '?' may begin them.
  if (!negative && (data[p] == 'b' || data[p] == 'f' || data[p] == '?' || data[p] == '_')) {
    if (uint32_t labels = DimLabelsEnd(at); labels != 0) {
      token->kind = Tok::kDimLabels;
      token->text_begin = at;
      token->text_end = token->end = labels;
      return;
    }
  }
  if (data[at] == '?') {
    token->kind = Tok::kQuestion;
    return;
  }
  // 3: 2x3x4
  if (has_integer && !negative && data[p] == 'x' && Digit(data[p + 1])) {
    uint32_t end = p;
    while (data[end] == 'x' && Digit(data[end + 1])) {
      ++end;
      while (Digit(data[end])) ++end;
    }
    token->kind = Tok::kSizeList;
    token->text_begin = at;
    token->text_end = token->end = end;
    return;
  }
  // 4: low_high[_interior]x…
  if (has_integer && data[p] == '_') {
    uint32_t end = at;
    auto signed_run = [&](uint32_t from) {
      if (data[from] == '-') ++from;
      uint32_t begin = from;
      while (Digit(data[from])) ++from;
      return from == begin ? 0 : from;
    };
    auto one = [&](uint32_t from) -> uint32_t {
      uint32_t low = signed_run(from);
      if (low == 0 || data[low] != '_') return 0;
      uint32_t high = signed_run(low + 1);
      if (high == 0) return 0;
      if (data[high] == '_' && Digit(data[high + 1])) {
        ++high;
        while (Digit(data[high])) ++high;
      }
      return high;
    };
    if (uint32_t first = one(at); first != 0) {
      end = first;
      while (data[end] == 'x') {
        uint32_t next = one(end + 1);
        if (next == 0) break;
        end = next;
      }
      token->kind = Tok::kPad;
      token->text_begin = at;
      token->text_end = token->end = end;
      return;
    }
  }
  // 5: integers: up to 2^64-1, kept as the 64-bit pattern.
  if (has_integer) {
    token->end = p;
    token->text_begin = at;
    token->text_end = p;
    token->kind = Tok::kInteger;
    std::errc error{};
    if (negative) {
      error = std::from_chars(data + at, data + p, token->integer).ec;
    } else {
      uint64_t value = 0;
      error = std::from_chars(data + at, data + p, value).ec;
      token->integer = static_cast<int64_t>(value);
      token->has_escapes = value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    }
    if (error != std::errc()) token->kind = Tok::kError;
    return;
  }
  if (negative && text_.substr(at, 4) == "-inf") {
    token->kind = Tok::kMinusInf;
    token->end = at + 4;
    return;
  }
  if (negative && text_.substr(at, 4) == "-nan") {
    FinishNan(text_, at + 4, true, token);
    return;
  }
  token->kind = Tok::kError;
  token->end = at + 1;
}

void Lexer::LexString(uint32_t at, Token* token) const {
  char quote = text_[at];
  size_t p = at + 1;
  token->kind = Tok::kError;
  bool plain = true;  // no escapes, no bytes above ASCII
  while (p < text_.size() && text_[p] != quote) {
    unsigned char c = static_cast<unsigned char>(text_[p]);
    if (c == '\\') {
      token->has_escapes = true;
      ++p;
      if (p >= text_.size() || text_[p] == '\n' || text_[p] == '\r') return;
    } else if (c >= 0x80) {
      plain = false;
    }
    ++p;
  }
  if (p >= text_.size()) return;
  token->text_begin = at + 1;
  token->text_end = static_cast<uint32_t>(p);
  token->end = static_cast<uint32_t>(p + 1);
  std::string_view body = Slice(token->text_begin, token->text_end);
  if (!plain && !IsUtf8(body)) return;
  if (token->has_escapes) {
    std::string ignored;
    if (!Unescape(body, &ignored)) return;
  }
  token->kind = Tok::kString;
}

uint32_t Lexer::RawBracesEnd(uint32_t from) const {
  int64_t depth = 0;
  bool quoted = false;
  for (size_t p = from; p < text_.size(); ++p) {
    char c = text_[p];
    if (quoted) {
      if (c == '\\') {
        ++p;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return static_cast<uint32_t>(p + 1);
    }
  }
  return 0;
}

bool IsUtf8(std::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    unsigned char c = static_cast<unsigned char>(bytes[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    int extra = c >= 0xf0 && c <= 0xf4  ? 3
                : c >= 0xe0 && c < 0xf0 ? 2
                : c >= 0xc2 && c < 0xe0 ? 1
                                        : 0;
    if (extra == 0 || i + extra >= bytes.size()) return false;
    uint32_t code = c & (0x3f >> extra);
    for (int k = 1; k <= extra; ++k) {
      unsigned char next = static_cast<unsigned char>(bytes[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    if (extra == 2 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))) return false;
    if (extra == 3 && (code < 0x10000 || code > 0x10ffff)) return false;
    i += 1 + extra;
  }
  return true;
}

namespace {

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xc0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xe0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out += static_cast<char>(0xf0 | code >> 18);
    *out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool Unescape(std::string_view escaped, std::string* out) {
  out->clear();
  for (size_t i = 0; i < escaped.size();) {
    char c = escaped[i++];
    if (c != '\\') {
      *out += c;
      continue;
    }
    if (i == escaped.size()) return false;
    c = escaped[i++];
    constexpr std::string_view kFrom = "abfnrtv\\?'\"";
    constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\?'\"";
    if (size_t known = kFrom.find(c); known != std::string_view::npos) {
      *out += kTo[known];
    } else if (c >= '0' && c <= '7') {
      int value = c - '0';
      for (int k = 0; k < 2 && i < escaped.size() && escaped[i] >= '0' && escaped[i] <= '7'; ++k) {
        value = value * 8 + (escaped[i++] - '0');
      }
      if (value > 255) return false;
      *out += static_cast<char>(value);
    } else if (c == 'x' || c == 'X') {
      uint32_t value = 0;
      size_t begin = i;
      while (i < escaped.size() && HexValue(escaped[i]) >= 0) {
        value = value * 16 + HexValue(escaped[i++]);
        if (value > 255) return false;
      }
      if (i == begin) return false;
      *out += static_cast<char>(value);
    } else if (c == 'u' || c == 'U') {
      uint32_t code = 0;
      for (int k = 0; k < (c == 'u' ? 4 : 8); ++k) {
        if (i == escaped.size() || HexValue(escaped[i]) < 0) return false;
        code = code * 16 + HexValue(escaped[i++]);
      }
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
      AppendUtf8(code, out);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace hlokit::read
