// How is a binary proto written as a text proto? Driven by the schema: the bytes are walked once,
// fields come in the order of the bytes, nothing is decoded into objects.
#include <fmt/format.h>

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

/// Deepest nesting of messages; protobuf libraries stop at 100.
constexpr size_t kMaxMessageDepth = 1000;

class PbtxtWriter {
 public:
  bool Write(std::string_view bytes, MessageId message);
  std::string Take() { return std::move(out_); }
  const WireProblem& problem() const { return problem_; }

 private:
  struct Open {
    MessageId message;
    WireReader reader;
    bool is_map_entry = false;
  };
  void Indent() { out_.append(2 * (stack_.size() - 1), ' '); }
  bool Field(const WireField& field);
  void Scalar(const FieldInfo& info, uint64_t value);
  bool Packed(const FieldInfo& info, const WireField& field);
  void Name(std::string_view name) {
    Indent();
    out_ += name;
    out_ += ": ";
  }
  void Quoted(std::string_view bytes);
  void Unknown(const WireField& field);
  bool Fail(const char* at, const char* what) {
    problem_ = {at, what};
    return false;
  }
  void Enter(std::string_view name, std::string_view bytes, MessageId message) {
    Indent();
    out_ += name;
    out_ += " {\n";
    stack_.push_back({message, WireReader(bytes)});
  }

  std::string out_;
  std::vector<Open> stack_;
  WireProblem problem_;
};

void AppendDouble(double value, int digits, int exact_digits, std::string* out) {
  if (std::isnan(value)) {
    *out += "nan";
    return;
  }
  if (std::isinf(value)) {
    *out += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[48];
  std::to_chars_result result =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
  double back = 0;
  bool same;
  if (exact_digits == 9) {
    float narrow = 0;
    std::from_chars(buffer, result.ptr, narrow);
    // Subnormal numbers always get all digits: the C library reports them as out of range, which
    // the protobuf libraries take for a number that was not read back.
    bool subnormal = narrow != 0 && std::fabs(narrow) < std::numeric_limits<float>::min();
    same = narrow == static_cast<float>(value) && !subnormal;
  } else {
    std::from_chars(buffer, result.ptr, back);
    same = back == value;
  }
  if (!same) {
    result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general,
                           exact_digits);
  }
  out->append(buffer, result.ptr);
}

void PbtxtWriter::Quoted(std::string_view bytes) {
  out_ += '"';
  for (char c : bytes) {
    unsigned char u = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '"':
        out_ += "\\\"";
        break;
      case '\'':
        out_ += "\\'";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      default:
        if (u < 0x20 || u >= 0x7f) {
          out_ += '\\';
          out_ += static_cast<char>('0' + (u >> 6));
          out_ += static_cast<char>('0' + ((u >> 3) & 7));
          out_ += static_cast<char>('0' + (u & 7));
        } else {
          out_ += c;
        }
    }
  }
  out_ += '"';
}

void PbtxtWriter::Scalar(const FieldInfo& info, uint64_t value) {
  Name(info.name);
  switch (info.kind) {
    case FieldKind::kDouble:
      AppendDouble(std::bit_cast<double>(value), 15, 17, &out_);
      break;
    case FieldKind::kFloat:
      AppendDouble(std::bit_cast<float>(static_cast<uint32_t>(value)), 6, 9, &out_);
      break;
    case FieldKind::kBool:
      out_ += value != 0 ? "true" : "false";
      break;
    case FieldKind::kUInt64:
      out_ += fmt::format_int(value).c_str();
      break;
    case FieldKind::kUInt32:
      out_ += fmt::format_int(static_cast<uint32_t>(value)).c_str();
      break;
    case FieldKind::kInt32:
      out_ += fmt::format_int(AsInt32(value)).c_str();
      break;
    case FieldKind::kEnum: {
      int32_t number = AsInt32(value);
      std::string_view name;
      for (const EnumValue& known : ValuesOf(info.enumeration())) {
        if (known.number == number) name = known.name;
      }
      if (name.empty()) {
        out_ += fmt::format_int(number).c_str();
      } else {
        out_ += name;
      }
      break;
    }
    default:
      out_ += fmt::format_int(AsInt64(value)).c_str();
  }
  out_ += '\n';
}

bool PbtxtWriter::Packed(const FieldInfo& info, const WireField& field) {
  if (info.kind == FieldKind::kDouble || info.kind == FieldKind::kFloat) {
    size_t width = info.kind == FieldKind::kDouble ? 8 : 4;
    if (field.bytes.size() % width != 0)
      return Fail(field.raw.data(), "a list of numbers ends inside one");
    for (size_t i = 0; i < field.bytes.size(); i += width) {
      uint64_t value = 0;
      std::memcpy(&value, field.bytes.data() + i, width);
      Scalar(info, value);
    }
    return true;
  }
  if (ForEachVarint(field, [&](uint64_t value) { Scalar(info, value); })) return true;
  return Fail(field.raw.data(), "a list of numbers ends inside one");
}

void PbtxtWriter::Unknown(const WireField& field) {
  Indent();
  out_ += fmt::format_int(field.number).c_str();
  switch (field.type) {
    case kVarint:
      out_ += fmt::format(": {}\n", field.value);
      return;
    case kFixed64:
      out_ += fmt::format(": 0x{:016x}\n", field.value);
      return;
    case kFixed32:
      out_ += fmt::format(": 0x{:08x}\n", field.value);
      return;
    default:  // groups are shown as their bytes too: their inside is as unknown as they are
      out_ += ": ";
      Quoted(field.bytes);
      out_ += '\n';
  }
}

bool PbtxtWriter::Field(const WireField& field) {
  MessageId message = stack_.back().message;
  const FieldInfo* info = FindField(message, field.number);
  bool fits = info != nullptr;
  if (fits) {
    switch (info->kind) {
      case FieldKind::kMessage:
      case FieldKind::kString:
      case FieldKind::kBytes:
        fits = field.type == kBytesType;
        break;
      case FieldKind::kDouble:
        fits = field.type == kFixed64;
        break;
      case FieldKind::kFloat:
        fits = field.type == kFixed32;
        break;
      default:
        fits = field.type == kVarint;
    }
  }
  if (info != nullptr && !fits && field.type == kBytesType && info->IsRepeated() &&
      IsPackable(info->kind)) {
    return Packed(*info, field);
  }
  if (!fits) {
    Unknown(field);
    return true;
  }
  switch (info->kind) {
    case FieldKind::kMessage:
      if (stack_.size() >= kMaxMessageDepth)
        return Fail(field.raw.data(), "messages are nested too deep");
      Enter(info->name, field.bytes, info->message());
      return true;
    case FieldKind::kString:
    case FieldKind::kBytes:
      Name(info->name);
      Quoted(field.bytes);
      out_ += '\n';
      return true;
    default:
      Scalar(*info, field.value);
      return true;
  }
}

bool PbtxtWriter::Write(std::string_view bytes, MessageId message) {
  stack_.push_back({message, WireReader(bytes)});
  WireField field;
  while (true) {
    WireReader& reader = stack_.back().reader;
    if (reader.Next(&field)) {
      if (!Field(field)) return false;
      continue;
    }
    if (reader.problem().what != nullptr) return Fail(reader.problem().at, reader.problem().what);
    stack_.pop_back();
    if (stack_.empty()) return true;
    Indent();
    out_ += "}\n";
  }
}

}  // namespace
}  // namespace proto

Result<std::string> ProtoToPbtxt(std::string_view bytes, ProtoKind kind) {
  proto::PbtxtWriter writer;
  if (writer.Write(bytes, proto::MessageOf(kind))) return writer.Take();
  return MakeError(
      ExitCode::kCannotParse, DiagId::kProtoBroken,
      fmt::format("{} (at byte {})", writer.problem().what, writer.problem().at - bytes.data()),
      "the proto is damaged or cut off");
}

}  // namespace hlokit
