// How is a text proto turned into a binary one? Driven by the schema, in one walk over the text,
// with an explicit stack of open messages. Accepts the whole text format: both brace styles,
// separators, comments, list brackets, adjacent strings, numbers for enum values and for unknown
// fields.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "hlokit/proto.h"
#include "kind_messages.h"
#include "schema.h"
#include "wire.h"

namespace hlokit {
namespace proto {
namespace {

constexpr size_t kMaxMessageDepth = 1000;

class PbtxtReader {
 public:
  explicit PbtxtReader(std::string_view text) : text_(text), writer_(&out_) {}
  bool Read(MessageId message);
  std::string Take() { return std::move(out_); }
  Error& error() { return error_; }

 private:
  struct Open {
    MessageId message;
    char close;        // '}' or '>', 0 for the file itself
    bool in_list;      // an element of a list of messages
    size_t begin = 0;  // of the payload in out_
    const FieldInfo* field = nullptr;
  };

  bool Fail(DiagId id, size_t at, std::string message, std::string help = "");
  bool FailSyntax(std::string_view expected);
  void Skip();
  bool Eat(char c);
  bool Name(std::string_view* name);
  bool Field();
  bool Value(const FieldInfo& field);
  bool List(const FieldInfo& field);
  bool OpenMessage(const FieldInfo& field, bool in_list);
  bool Closed();
  bool Scalar(const FieldInfo& field, uint64_t* bits);
  bool Integer(bool is_signed, int bits, uint64_t* value);
  bool Floating(double* value);
  bool EnumOrBool(const FieldInfo& field, uint64_t* value);
  bool String(std::string* value);
  bool OneString(std::string* value);
  bool Escape(std::string* value);
  bool UnknownByNumber(std::string_view number);
  std::string_view Token();
  void EmitScalar(const FieldInfo& field, uint64_t bits, bool packed);
  void FlushPacked();

  std::string_view text_;
  size_t at_ = 0;
  std::string out_;
  WireWriter writer_;
  std::vector<Open> stack_;
  Error error_;
  // Numbers of a repeated field that stand one after the other become one packed field.
  const FieldInfo* packed_field_ = nullptr;
  std::string packed_;
};

bool PbtxtReader::Fail(DiagId id, size_t at, std::string message, std::string help) {
  if (!error_.diagnostics.empty()) return false;
  error_.exit_code = ExitCode::kCannotParse;
  Diagnostic diagnostic{.id = id, .message = std::move(message), .help = std::move(help)};
  at = std::min(at, text_.size());
  size_t line_begin = text_.substr(0, at).rfind('\n');
  line_begin = line_begin == std::string_view::npos ? 0 : line_begin + 1;
  size_t line_end = std::min(text_.find('\n', at), text_.size());
  diagnostic.location.line =
      static_cast<uint32_t>(std::count(text_.begin(), text_.begin() + at, '\n') + 1);
  diagnostic.location.column = static_cast<uint32_t>(at - line_begin + 1);
  diagnostic.source_line =
      std::string(text_.substr(line_begin, std::min<size_t>(line_end - line_begin, 400)));
  error_.diagnostics.push_back(std::move(diagnostic));
  return false;
}

bool PbtxtReader::FailSyntax(std::string_view expected) {
  Skip();
  std::string found =
      at_ == text_.size() ? "the end of the text" : fmt::format("'{}'", text_.substr(at_, 1));
  return Fail(DiagId::kPbtxtSyntax, at_, fmt::format("expected {}, found {}", expected, found));
}

void PbtxtReader::Skip() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      ++at_;
    } else {
      return;
    }
  }
}

bool PbtxtReader::Eat(char c) {
  Skip();
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool PbtxtReader::Name(std::string_view* name) {
  Skip();
  size_t begin = at_;
  while (at_ < text_.size() && IsWord(text_[at_])) ++at_;
  *name = text_.substr(begin, at_ - begin);
  return !name->empty() || FailSyntax("a field name");
}

/// A number or word: everything up to white space or punctuation.
std::string_view PbtxtReader::Token() {
  Skip();
  size_t begin = at_;
  if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
  while (at_ < text_.size()) {
    char c = text_[at_];
    bool exponent_sign = (c == '-' || c == '+') && at_ > begin &&
                         (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') &&
                         !text_.substr(begin, 2).starts_with("0x");
    if (!IsWord(c) && c != '.' && !exponent_sign) break;
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

void PbtxtReader::FlushPacked() {
  if (packed_field_ == nullptr) return;
  writer_.PresentBytes(packed_field_->number, packed_);
  packed_field_ = nullptr;
  packed_.clear();
}

void PbtxtReader::EmitScalar(const FieldInfo& field, uint64_t bits, bool packed) {
  WireType type = field.kind == FieldKind::kDouble  ? kFixed64
                  : field.kind == FieldKind::kFloat ? kFixed32
                                                    : kVarint;
  std::string* target = &out_;
  if (packed) {
    if (packed_field_ != &field) FlushPacked();
    packed_field_ = &field;
    target = &packed_;
  } else {
    // Proto3: a scalar at its default is not written, unless its presence means something.
    if (bits == 0 && field.label == FieldLabel::kSingular) return;
    writer_.Tag(field.number, type);
  }
  if (type == kVarint) {
    WireWriter(target).Varint(bits);
  } else {
    target->append(reinterpret_cast<const char*>(&bits), type == kFixed64 ? 8 : 4);
  }
}

bool PbtxtReader::Read(MessageId message) {
  stack_.push_back({message, 0, false});
  while (!stack_.empty()) {
    Skip();
    Open& top = stack_.back();
    if (at_ == text_.size()) {
      if (top.close != 0) return FailSyntax(fmt::format("'{}' or a field", top.close));
      FlushPacked();
      return true;
    }
    if (top.close != 0 && text_[at_] == top.close) {
      ++at_;
      if (!Closed()) return false;
      continue;
    }
    if (!Field()) return false;
  }
  return true;
}

/// Behind the bracket that closes a message: end of its element in a list, separators.
bool PbtxtReader::Closed() {
  FlushPacked();
  Open done = stack_.back();
  stack_.pop_back();
  writer_.Close(done.begin);
  if (done.in_list) {
    if (Eat(',')) return OpenMessage(*done.field, true);
    if (!Eat(']')) return FailSyntax("',' or ']'");
  }
  if (!Eat(',')) Eat(';');
  return true;
}

bool PbtxtReader::OpenMessage(const FieldInfo& field, bool in_list) {
  char close = 0;
  if (Eat('{')) close = '}';
  if (close == 0 && Eat('<')) close = '>';
  if (close == 0) return FailSyntax("'{'");
  if (stack_.size() >= kMaxMessageDepth)
    return Fail(DiagId::kProtoTooDeep, at_, "messages are nested too deep");
  FlushPacked();
  stack_.push_back({field.message(), close, in_list, 0, &field});
  stack_.back().begin = writer_.Open(field.number);
  return true;
}

bool PbtxtReader::Field() {
  size_t at = at_;
  std::string_view name;
  if (!Name(&name)) return false;
  MessageId message = stack_.back().message;
  if (name[0] >= '0' && name[0] <= '9') return UnknownByNumber(name);
  const FieldInfo* field = FindField(message, name);
  if (field == nullptr) {
    return Fail(
        DiagId::kPbtxtUnknownField, at,
        fmt::format("the message {} has no field '{}'", MessageName(message), name.substr(0, 80)));
  }
  bool colon = Eat(':');
  Skip();
  if (field->kind == FieldKind::kMessage) {
    if (field->IsRepeated() && Eat('[')) {
      if (!Eat(']')) return OpenMessage(*field, true);
      if (!Eat(',')) Eat(';');
      return true;
    }
    return OpenMessage(*field, false);
  }
  if (!colon) return FailSyntax("':'");
  bool ok = field->IsRepeated() && Eat('[') ? List(*field) : Value(*field);
  if (!ok) return false;
  if (!Eat(',')) Eat(';');
  return true;
}

bool PbtxtReader::List(const FieldInfo& field) {
  if (Eat(']')) return true;
  do {
    if (!Value(field)) return false;
  } while (Eat(','));
  return Eat(']') || FailSyntax("',' or ']'");
}

bool PbtxtReader::Value(const FieldInfo& field) {
  if (field.kind == FieldKind::kString || field.kind == FieldKind::kBytes) {
    std::string value;
    if (!String(&value)) return false;
    FlushPacked();
    if (!value.empty() || field.label != FieldLabel::kSingular)
      writer_.PresentBytes(field.number, value);
    return true;
  }
  uint64_t bits;
  if (!Scalar(field, &bits)) return false;
  bool packed = field.label == FieldLabel::kRepeated;
  if (!packed) FlushPacked();
  EmitScalar(field, bits, packed);
  return true;
}

bool PbtxtReader::Scalar(const FieldInfo& field, uint64_t* bits) {
  switch (field.kind) {
    case FieldKind::kDouble: {
      double value;
      if (!Floating(&value)) return false;
      *bits = std::bit_cast<uint64_t>(value);
      return true;
    }
    case FieldKind::kFloat: {
      double value;
      if (!Floating(&value)) return false;
      *bits = std::bit_cast<uint32_t>(static_cast<float>(value));
      return true;
    }
    case FieldKind::kInt64:
      return Integer(true, 64, bits);
    case FieldKind::kUInt64:
      return Integer(false, 64, bits);
    case FieldKind::kInt32:
      return Integer(true, 32, bits);
    case FieldKind::kUInt32:
      return Integer(false, 32, bits);
    default:
      return EnumOrBool(field, bits);
  }
}

/// Digits in base 8, 10 or 16, as C writes them.
bool ParseDigits(std::string_view digits, uint64_t* value) {
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  std::from_chars_result result =
      std::from_chars(digits.data(), digits.data() + digits.size(), *value, base);
  return result.ec == std::errc() && result.ptr == digits.data() + digits.size() && !digits.empty();
}

bool PbtxtReader::Integer(bool is_signed, int bits, uint64_t* value) {
  bool negative = Eat('-');
  size_t at = at_;
  std::string_view token = Token();
  uint64_t size;
  if (token.empty() || !ParseDigits(token, &size)) {
    return Fail(DiagId::kPbtxtSyntax, at,
                fmt::format("expected an integer, found '{}'", token.substr(0, 60)));
  }
  uint64_t largest = is_signed ? (uint64_t{1} << (bits - 1)) - 1 : ~uint64_t{0} >> (64 - bits);
  if (negative && is_signed) ++largest;
  if (size > largest || (negative && !is_signed && size != 0)) {
    return Fail(DiagId::kPbtxtSyntax, at,
                fmt::format("{}{} does not fit the type of the field", negative ? "-" : "",
                            token.substr(0, 60)));
  }
  *value = negative ? uint64_t{0} - size : size;
  return true;
}

bool PbtxtReader::Floating(double* value) {
  bool negative = Eat('-');
  Skip();
  size_t at = at_;
  std::string token(Token());
  std::transform(token.begin(), token.end(), token.begin(),
                 [](char c) { return static_cast<char>(std::tolower(c)); });
  if (token == "inf" || token == "infinity") {
    *value = std::numeric_limits<double>::infinity();
  } else if (token == "nan") {
    *value = std::numeric_limits<double>::quiet_NaN();
  } else {
    std::string_view digits = token;
    if (digits.ends_with('f') && !digits.starts_with("0x")) digits.remove_suffix(1);
    uint64_t integer;
    std::from_chars_result result =
        std::from_chars(digits.data(), digits.data() + digits.size(), *value);
    if (digits.starts_with("0x") && ParseDigits(digits, &integer)) {
      *value = static_cast<double>(integer);
    } else if (result.ec == std::errc::result_out_of_range &&
               result.ptr == digits.data() + digits.size()) {
      // Too large or too small: strtod knows which.
      *value = std::strtod(token.c_str(), nullptr);
    } else if (digits.empty() || result.ec != std::errc() ||
               result.ptr != digits.data() + digits.size()) {
      return Fail(DiagId::kPbtxtSyntax, at,
                  fmt::format("expected a number, found '{}'", token.substr(0, 60)));
    }
  }
  if (negative) *value = -*value;
  return true;
}

bool PbtxtReader::EnumOrBool(const FieldInfo& field, uint64_t* value) {
  Skip();
  size_t at = at_;
  std::string_view token = Token();
  if (field.kind == FieldKind::kBool) {
    if (token == "true" || token == "True" || token == "t" || token == "1") {
      *value = 1;
    } else if (token == "false" || token == "False" || token == "f" || token == "0") {
      *value = 0;
    } else {
      return Fail(DiagId::kPbtxtSyntax, at,
                  fmt::format("expected true or false, found '{}'", token.substr(0, 60)));
    }
    return true;
  }
  for (const EnumValue& known : ValuesOf(field.enumeration())) {
    if (known.name == token) {
      *value = static_cast<uint64_t>(static_cast<int64_t>(known.number));
      return true;
    }
  }
  int32_t number;
  std::from_chars_result result =
      std::from_chars(token.data(), token.data() + token.size(), number);
  if (token.empty() || result.ec != std::errc() || result.ptr != token.data() + token.size()) {
    return Fail(
        DiagId::kPbtxtUnknownField, at,
        fmt::format("'{}' is no value of {}", token.substr(0, 80), EnumName(field.enumeration())));
  }
  *value = static_cast<uint64_t>(static_cast<int64_t>(number));
  return true;
}

bool PbtxtReader::String(std::string* value) {
  Skip();
  if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\''))
    return FailSyntax("a string");
  while (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
    if (!OneString(value)) return false;
    Skip();
  }
  return true;
}

bool PbtxtReader::OneString(std::string* value) {
  size_t begin = at_;
  char quote = text_[at_++];
  while (at_ < text_.size()) {
    // Copy what needs no attention in one go.
    size_t plain = at_;
    while (plain < text_.size() && text_[plain] != quote && text_[plain] != '\\' &&
           text_[plain] != '\n')
      ++plain;
    value->append(text_.substr(at_, plain - at_));
    at_ = plain;
    if (at_ == text_.size() || text_[at_] == '\n') break;
    if (text_[at_++] == quote) return true;
    if (!Escape(value)) return false;
  }
  return Fail(DiagId::kPbtxtSyntax, begin, "a string has no end");
}

bool PbtxtReader::Escape(std::string* value) {
  size_t at = at_ - 1;
  if (at_ == text_.size()) return Fail(DiagId::kPbtxtSyntax, at, "a string has no end");
  char c = text_[at_++];
  auto digits = [&](int base, int most, uint32_t* code) {
    size_t end = at_;
    auto is_digit = [&](char d) {
      return base == 8 ? d >= '0' && d <= '7' : std::isxdigit(static_cast<unsigned char>(d)) != 0;
    };
    while (end < text_.size() && end - at_ < static_cast<size_t>(most) && is_digit(text_[end]))
      ++end;
    std::from_chars_result result =
        std::from_chars(text_.data() + at_, text_.data() + end, *code, base);
    bool ok = result.ec == std::errc() && end != at_;
    at_ = end;
    return ok;
  };
  uint32_t code = 0;
  if (c >= '0' && c <= '7') {
    --at_;
    if (!digits(8, 3, &code) || code > 255)
      return Fail(DiagId::kPbtxtSyntax, at, "an octal escape is above 255");
    value->push_back(static_cast<char>(code));
    return true;
  }
  if (c == 'x' || c == 'X') {
    if (!digits(16, 2, &code))
      return Fail(DiagId::kPbtxtSyntax, at, "\\x needs hexadecimal digits");
    value->push_back(static_cast<char>(code));
    return true;
  }
  if (c == 'u' || c == 'U') {
    size_t before = at_;
    int count = c == 'u' ? 4 : 8;
    bool ok =
        digits(16, count, &code) && at_ - before == static_cast<size_t>(count) && code <= 0x10ffff;
    if (!ok) return Fail(DiagId::kPbtxtSyntax, at, "this is no Unicode escape");
    if (code < 0x80) {
      value->push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      value->push_back(static_cast<char>(0xc0 | (code >> 6)));
      value->push_back(static_cast<char>(0x80 | (code & 63)));
    } else {
      if (code < 0x10000) {
        value->push_back(static_cast<char>(0xe0 | (code >> 12)));
      } else {
        value->push_back(static_cast<char>(0xf0 | (code >> 18)));
        value->push_back(static_cast<char>(0x80 | ((code >> 12) & 63)));
      }
      value->push_back(static_cast<char>(0x80 | ((code >> 6) & 63)));
      value->push_back(static_cast<char>(0x80 | (code & 63)));
    }
    return true;
  }
  constexpr std::string_view kLetters = "abfnrtv\\'\"?";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"?";
  size_t letter = kLetters.find(c);
  if (letter == std::string_view::npos) return Fail(DiagId::kPbtxtSyntax, at, "this is no escape");
  value->push_back(kMeanings[letter]);
  return true;
}

/// A field that only its number names, as hlokit and protobuf libraries write unknown ones.
bool PbtxtReader::UnknownByNumber(std::string_view digits) {
  size_t at = at_ - digits.size();
  uint64_t number;
  if (!ParseDigits(digits, &number) || number == 0 || number >= (1u << 29)) {
    return Fail(DiagId::kPbtxtUnknownField, at,
                fmt::format("{} is no field number", digits.substr(0, 60)));
  }
  FlushPacked();
  uint32_t field = static_cast<uint32_t>(number);
  bool colon = Eat(':');
  Skip();
  if (at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '<')) {
    // A nested unknown message: everything in it is unknown too.
    static constexpr FieldInfo kUnknown{0, FieldKind::kMessage, FieldLabel::kSingular,
                                        static_cast<uint8_t>(MessageId::BufferAssignmentProto), ""};
    char close = text_[at_++] == '{' ? '}' : '>';
    if (stack_.size() >= kMaxMessageDepth)
      return Fail(DiagId::kProtoTooDeep, at_, "messages are nested too deep");
    stack_.push_back({MessageId::BufferAssignmentProto, close, false, 0, &kUnknown});
    stack_.back().begin = writer_.Open(field);
    return true;
  }
  if (!colon) return FailSyntax("':'");
  if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
    std::string value;
    if (!String(&value)) return false;
    writer_.PresentBytes(field, value);
  } else {
    bool negative = Eat('-');
    size_t value_at = at_;
    std::string_view token = Token();
    uint64_t value;
    if (!ParseDigits(token, &value)) {
      return Fail(DiagId::kPbtxtSyntax, value_at,
                  fmt::format("expected a value, found '{}'", token.substr(0, 60)));
    }
    bool hex = token.starts_with("0x");
    if (hex && token.size() == 10) {
      writer_.Tag(field, kFixed32);
      out_.append(reinterpret_cast<const char*>(&value), 4);
    } else if (hex && token.size() == 18) {
      writer_.Tag(field, kFixed64);
      out_.append(reinterpret_cast<const char*>(&value), 8);
    } else {
      writer_.Tag(field, kVarint);
      writer_.Varint(negative ? uint64_t{0} - value : value);
    }
  }
  if (!Eat(',')) Eat(';');
  return true;
}

}  // namespace
}  // namespace proto

std::optional<ProtoKind> DetectPbtxt(std::string_view text) {
  // The first field name decides; what holds a module directly needs a look at the other ones.
  size_t at = 0;
  while (at < text.size()) {
    char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at;
    } else {
      break;
    }
  }
  size_t end = at;
  while (end < text.size() && proto::IsWord(text[end])) ++end;
  std::string_view name = text.substr(at, end - at);
  while (end < text.size() && (text[end] == ' ' || text[end] == '\n')) ++end;
  bool opens = end < text.size() && (text[end] == ':' || text[end] == '{' || text[end] == '<');
  if (!opens || name.empty()) return std::nullopt;
  if (name == "hlo") return ProtoKind::kSnapshot;
  if (name == "hlo_module") {
    if (text.find("\npartitions") != std::string_view::npos) return ProtoKind::kUnoptimizedSnapshot;
    if (text.find("\nconfig") != std::string_view::npos) return ProtoKind::kModuleWithConfig;
    return ProtoKind::kHlo;
  }
  if (proto::FindField(proto::MessageId::HloModuleProto, name) != nullptr)
    return ProtoKind::kModule;
  return std::nullopt;
}

Result<std::string> PbtxtToProto(std::string_view text, ProtoKind kind) {
  proto::PbtxtReader reader(text);
  if (reader.Read(proto::MessageOf(kind))) return reader.Take();
  return std::unexpected(std::move(reader.error()));
}

}  // namespace hlokit
