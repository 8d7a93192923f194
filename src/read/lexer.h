#ifndef HLOKIT_SRC_READ_LEXER_H_
#define HLOKIT_SRC_READ_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "hlokit/element_type.h"

namespace hlokit::read {

enum class Tok : uint8_t {
  kEnd,
  kError,
  // punctuation
  kEquals,
  kComma,
  kColon,
  kStar,
  kQuestion,
  kHash,
  kPlus,
  kTilde,
  kLeftSquare,
  kRightSquare,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kArrow,
  kLessEquals,
  kDots,
  // words
  kName,           // %word or word:
  kAttributeName,  // word=
  kType,
  kIdentifier,
  kDimLabels,
  kKeyword,
  // numbers
  kInteger,
  kDecimal,  // also nan and -nan
  kMinusInf,
  kSizeList,
  kPad,
  kString,
};

enum class Keyword : uint8_t {
  kNone,
  kTrue,
  kFalse,
  kInf,
  kHloModule,
  kEntry,
  kRoot,
  kFileLocations,
  kFileNames,
  kFunctionNames,
  kStackFrames,
  kMaximal,
  kReplicated,
  kManual,
  kLastTileDimReplicate,
  kShardAs,
  kShardLike,
  kUnknown,
  kUnreduced,
};

struct Token {
  Tok kind = Tok::kEnd;
  Keyword keyword = Keyword::kNone;
  ElementType type = ElementType::kInvalid;
  /// Strings: there are escapes. Integers: the value is above 2^63-1. nan: a payload is written.
  bool has_escapes = false;
  uint32_t begin = 0;       // first byte in the text
  uint32_t end = 0;         // one past the last byte, a dropped ':' or '=' included
  uint32_t text_begin = 0;  // the word or name without % : =; a string without its quotes
  uint32_t text_end = 0;
  union {
    int64_t integer = 0;  // integers
    double decimal;       // decimals, nan
  };
};

/// Cuts HLO text into tokens (hlo-text.md section 2). The text must be followed by a NUL byte.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// The token that begins at or after byte `from`.
  Token At(uint32_t from) const {
    Token token;
    At(from, &token);
    return token;
  }
  /// The same, written in place: the parser's way from token to token.
  void At(uint32_t from, Token* token) const;
  std::string_view text() const { return text_; }
  std::string_view Slice(uint32_t begin, uint32_t end) const {
    return text_.substr(begin, end - begin);
  }
  /// First byte at or after `from` that is not white space or comment; an unterminated comment
  /// stops at its '/'.
  uint32_t SkipBlank(uint32_t from) const;
  /// The end (one past the closing brace) of the raw text that begins with the '{' at `from`
  /// (section 2.4), or 0 when it never closes.
  uint32_t RawBracesEnd(uint32_t from) const;

 private:
  void LexWord(uint32_t at, Token* token) const;
  void LexNumber(uint32_t at, Token* token) const;
  void LexString(uint32_t at, Token* token) const;
  uint32_t DimLabelsEnd(uint32_t at) const;

  std::string_view text_;
};

/// Undoes C escapes; false when an escape is not allowed or the bytes are not UTF-8.
bool Unescape(std::string_view escaped, std::string* out);
bool IsUtf8(std::string_view bytes);
bool IsWordStart(unsigned char c);
bool IsWordCharacter(unsigned char c);

}  // namespace hlokit::read

#endif  // HLOKIT_SRC_READ_LEXER_H_
