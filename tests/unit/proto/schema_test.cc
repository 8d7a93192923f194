// Do the field tables say the same as the files in proto/, as protoc's library understands them?
#include "src/proto/schema.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <fstream>

namespace hlokit::proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

FieldKind KindOf(FieldDescriptor::Type type) {
  switch (type) {
    case FieldDescriptor::TYPE_DOUBLE:
      return FieldKind::kDouble;
    case FieldDescriptor::TYPE_FLOAT:
      return FieldKind::kFloat;
    case FieldDescriptor::TYPE_INT64:
      return FieldKind::kInt64;
    case FieldDescriptor::TYPE_UINT64:
      return FieldKind::kUInt64;
    case FieldDescriptor::TYPE_INT32:
      return FieldKind::kInt32;
    case FieldDescriptor::TYPE_UINT32:
      return FieldKind::kUInt32;
    case FieldDescriptor::TYPE_BOOL:
      return FieldKind::kBool;
    case FieldDescriptor::TYPE_STRING:
      return FieldKind::kString;
    case FieldDescriptor::TYPE_BYTES:
      return FieldKind::kBytes;
    case FieldDescriptor::TYPE_ENUM:
      return FieldKind::kEnum;
    default:
      return FieldKind::kMessage;
  }
}

TEST(Schema, EqualsTheProtoFiles) {
  std::ifstream file(HLOKIT_DESCRIPTORS, std::ios::binary);
  google::protobuf::FileDescriptorSet set;
  ASSERT_TRUE(set.ParseFromIstream(&file));
  google::protobuf::DescriptorPool pool;
  for (const google::protobuf::FileDescriptorProto& proto : set.file()) {
    ASSERT_NE(pool.BuildFile(proto), nullptr) << proto.name();
  }
  for (int i = 0; i < static_cast<int>(MessageId::kCount); ++i) {
    MessageId id = static_cast<MessageId>(i);
    std::string name = "xla." + std::string(MessageName(id));
    const Descriptor* message = pool.FindMessageTypeByName(name);
    ASSERT_NE(message, nullptr) << name;
    EXPECT_EQ(static_cast<int>(FieldsOf(id).size()), message->field_count()) << name;
    for (const FieldInfo& field : FieldsOf(id)) {
      const FieldDescriptor* other = message->FindFieldByNumber(field.number);
      ASSERT_NE(other, nullptr) << name << "." << field.name;
      EXPECT_EQ(field.name, other->name()) << name;
      EXPECT_EQ(field.kind, KindOf(other->type())) << name << "." << field.name;
      EXPECT_EQ(field.IsRepeated(), other->is_repeated()) << name << "." << field.name;
      EXPECT_EQ(field.label == FieldLabel::kMap, other->is_map()) << name << "." << field.name;
      EXPECT_EQ(field.label == FieldLabel::kOptional,
                other->containing_oneof() != nullptr || other->has_optional_keyword())
          << name << "." << field.name;
      if (field.kind == FieldKind::kMessage) {
        EXPECT_EQ("xla." + std::string(MessageName(field.message())),
                  other->message_type()->full_name());
      }
      if (field.kind == FieldKind::kEnum) {
        EXPECT_EQ("xla." + std::string(EnumName(field.enumeration())),
                  other->enum_type()->full_name());
        ASSERT_EQ(static_cast<int>(ValuesOf(field.enumeration()).size()),
                  other->enum_type()->value_count());
        for (const EnumValue& value : ValuesOf(field.enumeration())) {
          ASSERT_NE(other->enum_type()->FindValueByNumber(value.number), nullptr);
          EXPECT_EQ(value.name, other->enum_type()->FindValueByNumber(value.number)->name());
        }
      }
    }
  }
}

TEST(Schema, FindsFieldsByNumberAndName) {
  EXPECT_EQ(FindField(MessageId::HloInstructionProto, 36u)->name, "operand_ids");
  EXPECT_EQ(FindField(MessageId::HloInstructionProto, "operand_ids")->number, 36);
  EXPECT_EQ(FindField(MessageId::HloInstructionProto, 4u), nullptr);
  EXPECT_EQ(FindField(MessageId::HloInstructionProto, 100000u), nullptr);
  EXPECT_EQ(FindField(MessageId::BufferAssignmentProto, 1u), nullptr);
}

}  // namespace
}  // namespace hlokit::proto
