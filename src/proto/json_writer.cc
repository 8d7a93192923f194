// How is a binary proto written as JSON? In the JSON form of protocol buffers: lowerCamelCase
// names, 64-bit integers as strings, bytes in base64, enums by name, maps as objects.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>

#include "hlokit/proto.h"
#include "kind_messages.h"
#include "schema.h"
#include "wire.h"

namespace hlokit {
namespace proto {
namespace {

constexpr int kMaxMessageDepth = 250;

class JsonWriter {
 public:
  bool Message(std::string_view bytes, MessageId message, int depth);
  std::string Take() { return std::move(out_); }
  const WireProblem& problem() const { return problem_; }

 private:
  bool Fail(const char* at, const char* what) {
    problem_ = {at, what};
    return false;
  }
  void Line(int depth) {
    out_ += '\n';
    out_.append(static_cast<size_t>(depth), ' ');
  }
  bool Values(const FieldInfo& info, const std::vector<WireField>& fields, int depth);
  bool Value(const FieldInfo& info, const WireField& field, int depth);
  bool Map(const FieldInfo& info, const std::vector<WireField>& fields, int depth);
  void Scalar(const FieldInfo& info, uint64_t value);
  void Quoted(std::string_view text);
  void Base64(std::string_view bytes);
  void Number(double value, bool is_float);

  std::string out_;
  WireProblem problem_;
};

/// op_name -> opName
std::string CamelCase(std::string_view name) {
  std::string out;
  bool upper = false;
  for (char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

void JsonWriter::Quoted(std::string_view text) {
  out_ += '"';
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += text[i];
    } else if (c < 0x20) {
      constexpr std::string_view kShort = "\b\f\n\r\t";
      size_t known = kShort.find(text[i]);
      if (known != std::string_view::npos) {
        out_ += '\\';
        out_ += "bfnrt"[known];
      } else {
        out_ += fmt::format("\\u{:04x}", c);
      }
    } else if (c < 0x80) {
      out_ += text[i];
    } else {
      // Valid UTF-8 stays; other bytes become the replacement character.
      int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : 0;
      bool ok = more != 0 && c < 0xf5 && i + more < text.size() + 0;
      for (int k = 1; ok && k <= more; ++k)
        ok = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
      if (ok) {
        out_ += text.substr(i, more + 1);
        i += static_cast<size_t>(more);
      } else {
        out_ += "\xef\xbf\xbd";
      }
    }
  }
  out_ += '"';
}

void JsonWriter::Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  out_ += '"';
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out_ += k <= count ? kDigits[(group >> (18 - 6 * k)) & 63] : '=';
  }
  out_ += '"';
}

void JsonWriter::Number(double value, bool is_float) {
  if (std::isnan(value)) {
    out_ += "\"NaN\"";
  } else if (std::isinf(value)) {
    out_ += value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  } else {
    char buffer[48];
    std::to_chars_result result =
        is_float ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value))
                 : std::to_chars(buffer, buffer + sizeof buffer, value);
    out_.append(buffer, result.ptr);
  }
}

void JsonWriter::Scalar(const FieldInfo& info, uint64_t value) {
  switch (info.kind) {
    case FieldKind::kDouble:
      return Number(std::bit_cast<double>(value), false);
    case FieldKind::kFloat:
      return Number(std::bit_cast<float>(static_cast<uint32_t>(value)), true);
    case FieldKind::kBool:
      out_ += value != 0 ? "true" : "false";
      return;
    case FieldKind::kInt32:
      out_ += std::to_string(AsInt32(value));
      return;
    case FieldKind::kUInt32:
      out_ += std::to_string(static_cast<uint32_t>(value));
      return;
    case FieldKind::kUInt64:
      out_ += fmt::format("\"{}\"", value);
      return;
    case FieldKind::kEnum:
      for (const EnumValue& known : ValuesOf(info.enumeration())) {
        if (known.number != AsInt32(value)) continue;
        out_ += '"';
        out_ += known.name;
        out_ += '"';
        return;
      }
      out_ += std::to_string(AsInt32(value));
      return;
    default:
      out_ += fmt::format("\"{}\"", AsInt64(value));
  }
}

bool JsonWriter::Value(const FieldInfo& info, const WireField& field, int depth) {
  switch (info.kind) {
    case FieldKind::kMessage:
      return Message(field.bytes, info.message(), depth);
    case FieldKind::kString:
      Quoted(field.bytes);
      return true;
    case FieldKind::kBytes:
      Base64(field.bytes);
      return true;
    default:
      Scalar(info, field.value);
      return true;
  }
}

bool JsonWriter::Map(const FieldInfo& info, const std::vector<WireField>& fields, int depth) {
  out_ += '{';
  bool first = true;
  const FieldInfo& key_info = *FindField(info.message(), 1);
  const FieldInfo& value_info = *FindField(info.message(), 2);
  for (const WireField& entry : fields) {
    WireField key;
    WireField value;
    WireReader reader(entry.bytes);
    WireField part;
    while (reader.Next(&part)) {
      if (part.number == 1) key = part;
      if (part.number == 2) value = part;
    }
    if (reader.problem().what != nullptr) return Fail(reader.problem().at, reader.problem().what);
    if (!first) out_ += ',';
    first = false;
    Line(depth + 1);
    if (key_info.kind == FieldKind::kString) {
      Quoted(key.bytes);
    } else {
      Scalar(key_info, key.value);
    }
    out_ += ": ";
    if (!Value(value_info, value, depth + 1)) return false;
  }
  if (!first) Line(depth);
  out_ += '}';
  return true;
}

bool JsonWriter::Values(const FieldInfo& info, const std::vector<WireField>& fields, int depth) {
  if (info.label == FieldLabel::kMap) return Map(info, fields, depth);
  if (!info.IsRepeated()) {
    if (info.kind != FieldKind::kMessage || fields.size() == 1)
      return Value(info, fields.back(), depth);
    std::string merged;  // several occurrences of a message are one message
    for (const WireField& field : fields) merged += field.bytes;
    return Message(merged, info.message(), depth);
  }
  out_ += '[';
  bool first = true;
  auto next = [&] {
    if (!first) out_ += ',';
    first = false;
    if (info.kind == FieldKind::kMessage) Line(depth + 1);
  };
  for (const WireField& field : fields) {
    if (!IsPackable(info.kind) || field.type != kBytesType) {
      next();
      if (!Value(info, field, depth + 1)) return false;
      continue;
    }
    if (info.kind == FieldKind::kDouble || info.kind == FieldKind::kFloat) {
      size_t width = info.kind == FieldKind::kDouble ? 8 : 4;
      if (field.bytes.size() % width != 0)
        return Fail(field.raw.data(), "a list of numbers ends inside one");
      for (size_t i = 0; i < field.bytes.size(); i += width) {
        uint64_t value = 0;
        std::memcpy(&value, field.bytes.data() + i, width);
        next();
        Scalar(info, value);
      }
    } else if (!ForEachVarint(field, [&](uint64_t value) {
                 next();
                 Scalar(info, value);
               })) {
      return Fail(field.raw.data(), "a list of numbers ends inside one");
    }
  }
  if (info.kind == FieldKind::kMessage && !first) Line(depth);
  out_ += ']';
  return true;
}

bool JsonWriter::Message(std::string_view bytes, MessageId message, int depth) {
  if (depth > kMaxMessageDepth) return Fail(bytes.data(), "messages are nested too deep");
  std::map<uint32_t, std::vector<WireField>> by_number;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    const FieldInfo* info = FindField(message, field.number);
    if (info == nullptr) continue;  // the JSON form has no place for unknown fields
    bool is_bytes = info->kind == FieldKind::kMessage || info->kind == FieldKind::kString ||
                    info->kind == FieldKind::kBytes;
    bool fits = is_bytes                           ? field.type == kBytesType
                : info->kind == FieldKind::kDouble ? field.type == kFixed64
                : info->kind == FieldKind::kFloat  ? field.type == kFixed32
                                                   : field.type == kVarint;
    fits |= !is_bytes && info->IsRepeated() && field.type == kBytesType;
    if (fits) by_number[field.number].push_back(field);
  }
  if (reader.problem().what != nullptr) return Fail(reader.problem().at, reader.problem().what);
  out_ += '{';
  bool first = true;
  for (const auto& [number, fields] : by_number) {
    const FieldInfo& info = *FindField(message, number);
    if (!first) out_ += ',';
    first = false;
    Line(depth + 1);
    out_ += '"';
    out_ += CamelCase(info.name);
    out_ += "\": ";
    if (!Values(info, fields, depth + 1)) return false;
  }
  if (!first) Line(depth);
  out_ += '}';
  return true;
}

}  // namespace
}  // namespace proto

Result<std::string> ProtoToJson(std::string_view bytes, ProtoKind kind) {
  proto::JsonWriter writer;
  if (writer.Message(bytes, proto::MessageOf(kind), 0)) return writer.Take() + "\n";
  return MakeError(
      ExitCode::kCannotParse, DiagId::kProtoBroken,
      fmt::format("{} (at byte {})", writer.problem().what, writer.problem().at - bytes.data()),
      "the proto is damaged or cut off");
}

}  // namespace hlokit
