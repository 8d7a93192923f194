// How are numbers and strings written?
#include "src/print/value_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "hlokit/float_codec.h"

namespace hlokit {
namespace {

constexpr size_t kFloatRoom = 48;  // sign, 17 digits, point, exponent, and then some

/// Does the text read back to exactly this value of type f32 or f64?
bool ReadsBack(ElementType type, double value, std::string_view text) {
  if (type == ElementType::kF32) {
    float parsed = 0;
    std::from_chars(text.data(), text.data() + text.size(), parsed);
    return parsed == static_cast<float>(value);
  }
  double parsed = 0;
  std::from_chars(text.data(), text.data() + text.size(), parsed);
  return parsed == value;
}

void AppendNan(ElementType type, uint64_t bits, TextBuffer* out) {
  out->Append(IsNegative(type, bits) ? "-nan" : "nan");
  const uint64_t payload = NanPayload(type, bits);
  if (payload == DefaultNanPayload(type)) return;
  out->Append("(0x");
  char* room = out->Room(16);
  out->Commit(std::to_chars(room, room + 16, payload, 16).ptr);
  out->Append(')');
}

/// 0: printed as it is; 'o': octal escape; else the letter behind the backslash.
constexpr std::array<char, 256> EscapeTable() {
  std::array<char, 256> table{};
  for (int c = 0; c < 256; ++c) table[c] = c < 32 || c >= 127 ? 'o' : 0;
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\''] = '\'';
  table['\\'] = '\\';
  return table;
}
constexpr std::array<char, 256> kEscape = EscapeTable();

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

void AppendGeneral(double value, int digits, TextBuffer* out) {
  char* room = out->Room(kFloatRoom);
  // std::to_chars with a precision is defined as printf in the C locale.
  out->Commit(
      std::to_chars(room, room + kFloatRoom, value, std::chars_format::general, digits).ptr);
}

void AppendFloat(ElementType type, uint64_t bits, TextBuffer* out) {
  const double value = DecodeFloat(type, bits);
  if (value != value) return AppendNan(type, bits, out);
  if (std::isinf(value)) return out->Append(value < 0 ? "-inf" : "inf");
  const FloatFormat format = FloatFormatOf(type);
  const size_t start = out->size();
  AppendGeneral(value, format.print_digits, out);
  if (format.long_digits == format.print_digits) return;
  if (ReadsBack(type, value, out->View(start))) return;
  out->Truncate(start);
  AppendGeneral(value, format.long_digits, out);
}

void AppendEscaped(std::string_view text, TextBuffer* out) {
  size_t plain = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const char escape = kEscape[c];
    if (escape == 0) continue;
    out->Append(text.substr(plain, i - plain));
    plain = i + 1;
    out->Append('\\');
    if (escape != 'o') {
      out->Append(escape);
      continue;
    }
    out->Append(static_cast<char>('0' + (c >> 6)));
    out->Append(static_cast<char>('0' + ((c >> 3) & 7)));
    out->Append(static_cast<char>('0' + (c & 7)));
  }
  out->Append(text.substr(plain));
}

void AppendQuoted(std::string_view text, TextBuffer* out) {
  out->Append('"');
  AppendEscaped(text, out);
  out->Append('"');
}

bool IsBareBraces(std::string_view text) {
  size_t i = 0;
  while (i < text.size() && IsBlank(text[i])) ++i;
  if (i == text.size() || text[i] != '{') return false;
  size_t depth = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      ++i;
      while (i < text.size() && IsBlank(text[i])) ++i;
      return i == text.size();
    }
  }
  return false;
}

}  // namespace hlokit
