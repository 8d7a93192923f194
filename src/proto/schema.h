// Which messages, fields and enums does the proto form have? Read from schema.def; shared by the
// reader of text protos, the writers of text protos and JSON, and the check for unknown fields.
#ifndef HLOKIT_SRC_PROTO_SCHEMA_H_
#define HLOKIT_SRC_PROTO_SCHEMA_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace hlokit::proto {

enum class MessageId : uint8_t {
#define HLOKIT_PROTO_MESSAGE(id, name) id,
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)
#define HLOKIT_PROTO_ENUM(id, name)
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
  kCount,
};

enum class EnumId : uint8_t {
#define HLOKIT_PROTO_MESSAGE(id, name)
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)
#define HLOKIT_PROTO_ENUM(id, name) id,
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
  kCount,
};

enum class FieldKind : uint8_t {
  kDouble,
  kFloat,
  kInt64,
  kUInt64,
  kInt32,
  kUInt32,
  kBool,
  kString,
  kBytes,
  kEnum,
  kMessage,
};

enum class FieldLabel : uint8_t { kSingular, kOptional, kRepeated, kMap };

struct FieldInfo {
  uint16_t number;
  FieldKind kind;
  FieldLabel label;
  uint8_t type;  ///< MessageId of kMessage, EnumId of kEnum
  std::string_view name;

  bool IsRepeated() const { return label == FieldLabel::kRepeated || label == FieldLabel::kMap; }
  MessageId message() const { return static_cast<MessageId>(type); }
  EnumId enumeration() const { return static_cast<EnumId>(type); }
};

struct EnumValue {
  int32_t number;
  std::string_view name;
};

/// Fields of a message by ascending number.
std::span<const FieldInfo> FieldsOf(MessageId message);
/// Full name without the package, for instance "HloModuleProto.ProfileInfo".
std::string_view MessageName(MessageId message);
/// Null when the message has no such field.
const FieldInfo* FindField(MessageId message, uint32_t number);
const FieldInfo* FindField(MessageId message, std::string_view name);
std::span<const EnumValue> ValuesOf(EnumId enumeration);
std::string_view EnumName(EnumId enumeration);

/// Can a repeated field of this kind be packed into one length-delimited field?
constexpr bool IsPackable(FieldKind kind) {
  return kind != FieldKind::kString && kind != FieldKind::kBytes && kind != FieldKind::kMessage;
}

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_SCHEMA_H_
