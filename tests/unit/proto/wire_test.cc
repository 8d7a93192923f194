// Are protobuf fields read and written as the wire format says, and are lies about lengths noticed?
#include "src/proto/wire.h"

#include <gtest/gtest.h>

namespace hlokit::proto {
namespace {

std::string_view Problem(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
  }
  return reader.problem().what == nullptr ? "" : reader.problem().what;
}

TEST(Wire, ReadsAllWireTypes) {
  // 1: varint 300, 2: fixed64, 3: bytes "hi", 5: fixed32, 16: varint 1
  std::string bytes = {'\x08', '\xac', '\x02', '\x11', 1,      0, 0, 0, 0, 0,      0,      0,
                       '\x1a', 2,      'h',    'i',    '\x2d', 2, 0, 0, 0, '\x80', '\x01', 1};
  WireReader reader(bytes);
  WireField field;
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.number, 1u);
  EXPECT_EQ(field.value, 300u);
  EXPECT_EQ(field.raw.size(), 3u);
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.type, kFixed64);
  EXPECT_EQ(field.value, 1u);
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.bytes, "hi");
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.type, kFixed32);
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.number, 16u);
  EXPECT_FALSE(reader.Next(&field));
  EXPECT_EQ(reader.problem().what, nullptr);
}

TEST(Wire, RefusesLengthsThatLie) {
  EXPECT_EQ(Problem(std::string("\x0a\x05"
                                "abc",
                                5)),
            "a field claims more bytes than its message has left");
  // 2 GiB and 2^64-1 bytes are claimed; nothing is allocated for them.
  EXPECT_EQ(Problem("\x0a\x80\x80\x80\x80\x08"),
            "a field claims more bytes than its message has left");
  EXPECT_EQ(Problem("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            "a field claims more bytes than its message has left");
}

TEST(Wire, RefusesNumbersWithoutEnd) {
  EXPECT_EQ(Problem("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "a number has no end");
  EXPECT_EQ(Problem("\x08\x80"), "the input ends inside a number");
  EXPECT_EQ(Problem(std::string("\x00", 1)), "this is no field tag");
  EXPECT_EQ(Problem("\x0f"), "this is no field tag");
}

TEST(Wire, SkipsGroupsAndCountsTheirNesting) {
  WireReader reader("\x0b\x13\x14\x0c\x10\x05");  // 1{ 2{ } } 2: 5
  WireField field;
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.type, kStartGroup);
  EXPECT_EQ(field.bytes.size(), 2u);
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.value, 5u);
  EXPECT_EQ(Problem("\x0b\x13\x14"), "the input ends inside a group");
  EXPECT_EQ(Problem("\x0b\x14"), "a group ends that did not begin");
}

TEST(Wire, NestedMessagesGetTheirLength) {
  for (size_t size : {0u, 1u, 127u, 128u, 20000u, 3000000u}) {
    std::string out;
    WireWriter writer(&out);
    size_t outer = writer.Open(3);
    writer.PresentBytes(1, std::string(size, 'x'));
    writer.Close(outer);
    WireReader reader(out);
    WireField field;
    ASSERT_TRUE(reader.Next(&field));
    EXPECT_EQ(field.number, 3u);
    EXPECT_TRUE(reader.AtEnd());
    WireReader inner(field.bytes);
    ASSERT_TRUE(inner.Next(&field));
    EXPECT_EQ(field.bytes.size(), size);
  }
}

TEST(Wire, DefaultsAreNotWritten) {
  std::string out;
  WireWriter writer(&out);
  writer.Int(1, 0);
  writer.Bool(2, false);
  writer.Bytes(3, "");
  writer.Double(4, 0);
  writer.Packed(5, std::vector<int64_t>{});
  EXPECT_EQ(out, "");
  writer.Double(4, -0.0);
  EXPECT_EQ(out.size(), 9u);
  writer.Int(1, -1);
  EXPECT_EQ(out.size(), 20u);
}

}  // namespace
}  // namespace hlokit::proto
