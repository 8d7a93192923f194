// How is schema.def turned into tables? One pass at compile time: rows of a message stand together,
// so each message is a range of the field table.
#include "schema.h"

#include <array>

namespace hlokit::proto {
namespace {

constexpr uint8_t None = 0;
// The last column of a field row names a message or an enum; both are looked up by that name.
namespace message_ids {
#define HLOKIT_PROTO_MESSAGE(id, name) constexpr uint8_t id = static_cast<uint8_t>(MessageId::id);
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)
#define HLOKIT_PROTO_ENUM(id, name) constexpr uint8_t id = static_cast<uint8_t>(EnumId::id);
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
using proto::None;
}  // namespace message_ids

struct Row {
  MessageId message;
  FieldInfo field;
};

constexpr FieldInfo kFields[] = {
#define HLOKIT_PROTO_MESSAGE(id, name)
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type) \
  {number, FieldKind::kind, FieldLabel::label, message_ids::type, #name},
#define HLOKIT_PROTO_ENUM(id, name)
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
};

constexpr MessageId kOwners[] = {
#define HLOKIT_PROTO_MESSAGE(id, name)
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type) MessageId::message,
#define HLOKIT_PROTO_ENUM(id, name)
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
};

constexpr EnumValue kValues[] = {
#define HLOKIT_PROTO_MESSAGE(id, name)
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)
#define HLOKIT_PROTO_ENUM(id, name)
#define HLOKIT_PROTO_VALUE(enumeration, number, name) {number, #name},
#include "schema.def"
};

constexpr EnumId kValueOwners[] = {
#define HLOKIT_PROTO_MESSAGE(id, name)
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)
#define HLOKIT_PROTO_ENUM(id, name)
#define HLOKIT_PROTO_VALUE(enumeration, number, name) EnumId::enumeration,
#include "schema.def"
};

constexpr std::string_view kMessageNames[] = {
#define HLOKIT_PROTO_MESSAGE(id, name) name,
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)
#define HLOKIT_PROTO_ENUM(id, name)
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
};

constexpr std::string_view kEnumNames[] = {
#define HLOKIT_PROTO_MESSAGE(id, name)
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)
#define HLOKIT_PROTO_ENUM(id, name) name,
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
};

/// Start of each owner's rows, one more entry at the end. Rows of one owner stand together and
/// owners ascend, apart from owners without rows.
template <size_t kOwnerCount, typename Owner, size_t kRowCount>
constexpr std::array<uint16_t, kOwnerCount + 1> Starts(const Owner (&owners)[kRowCount]) {
  std::array<uint16_t, kOwnerCount + 1> starts{};
  uint16_t at = 0;
  for (size_t owner = 0; owner < kOwnerCount; ++owner) {
    starts[owner] = at;
    while (at < kRowCount && static_cast<size_t>(owners[at]) == owner) ++at;
  }
  starts[kOwnerCount] = at;
  return starts;
}

constexpr size_t kMessageCount = static_cast<size_t>(MessageId::kCount);
constexpr size_t kEnumCount = static_cast<size_t>(EnumId::kCount);
constexpr auto kFieldStarts = Starts<kMessageCount>(kOwners);
constexpr auto kValueStarts = Starts<kEnumCount>(kValueOwners);
static_assert(kFieldStarts[kMessageCount] == std::size(kFields), "schema.def: rows out of order");
static_assert(kValueStarts[kEnumCount] == std::size(kValues), "schema.def: rows out of order");

}  // namespace

std::span<const FieldInfo> FieldsOf(MessageId message) {
  size_t i = static_cast<size_t>(message);
  return {kFields + kFieldStarts[i], static_cast<size_t>(kFieldStarts[i + 1] - kFieldStarts[i])};
}

std::string_view MessageName(MessageId message) {
  return kMessageNames[static_cast<size_t>(message)];
}

const FieldInfo* FindField(MessageId message, uint32_t number) {
  std::span<const FieldInfo> fields = FieldsOf(message);
  size_t low = 0;
  size_t high = fields.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (fields[middle].number < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < fields.size() && fields[low].number == number ? &fields[low] : nullptr;
}

const FieldInfo* FindField(MessageId message, std::string_view name) {
  for (const FieldInfo& field : FieldsOf(message)) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::span<const EnumValue> ValuesOf(EnumId enumeration) {
  size_t i = static_cast<size_t>(enumeration);
  return {kValues + kValueStarts[i], static_cast<size_t>(kValueStarts[i + 1] - kValueStarts[i])};
}

std::string_view EnumName(EnumId enumeration) {
  return kEnumNames[static_cast<size_t>(enumeration)];
}

}  // namespace hlokit::proto
