// Is the text form of protos read and written as protobuf libraries do?
#include <gtest/gtest.h>

#include "hlokit/proto.h"

namespace hlokit {
namespace {

/// Reads a text proto of a module and writes it again.
std::string Again(std::string_view text) {
  Result<std::string> bytes = PbtxtToProto(text, ProtoKind::kModule);
  if (!bytes) return FormatError(bytes.error());
  return ProtoToPbtxt(*bytes, ProtoKind::kModule).value_or("broken");
}

TEST(Pbtxt, AcceptsTheWholeFormat) {
  std::string want =
      "name: \"m\"\ncomputations {\n  name: \"e\"\n  instructions {\n    name: \"c\"\n    "
      "dimensions: 1\n"
      "    dimensions: 2\n    distribution: RNG_NORMAL\n    epsilon: 0.5\n  }\n}\nid: "
      "-3\nis_dynamic: true\n";
  EXPECT_EQ(
      Again("name: \"m\" computations { name: \"e\" instructions { name: \"c\" dimensions: [1, 2] "
            "distribution: RNG_NORMAL epsilon: 5e-1 } } id: -3 is_dynamic: true"),
      want);
  // Other braces, separators, comments, lists of messages, numbers for enums, other bases, joined
  // strings.
  EXPECT_EQ(Again("# a comment\nname: 'm',computations: [<name: \"e\"; instructions {name:\"\" "
                  "\"c\", dimensions: 1;"
                  "dimensions: 0x2 distribution: 2 epsilon: 0.5f}>]\nid: -03;is_dynamic: t"),
            want);
}

TEST(Pbtxt, StringsAndEscapes) {
  EXPECT_EQ(Again("name: \"a\\n\\t\\\"\\'\\\\\\001\\377\\x41\\u00e9\""),
            "name: \"a\\n\\t\\\"\\'\\\\\\001\\377A\\303\\251\"\n");
}

TEST(Pbtxt, Numbers) {
  auto literal = [](std::string_view fields) {
    return PbtxtToProto("computations { instructions { literal { " + std::string(fields) + " } } }",
                        ProtoKind::kModule);
  };
  std::string text = *ProtoToPbtxt(*literal("f32s: [1, -0.0, inf, -inf, nan, 1e-45, 3.4028235e38, "
                                            "0.1] f64s: [0.1, 1e300] u64s: 18446744073709551615 "
                                            "s32s: -2147483648"),
                                   ProtoKind::kModule);
  for (const char* part :
       {"f32s: 1\n", "f32s: -0\n", "f32s: inf\n", "f32s: -inf\n", "f32s: nan\n",
        "f32s: 1.40129846e-45\n", "f32s: 3.40282347e+38\n", "f32s: 0.1\n", "f64s: 0.1\n",
        "f64s: 1e+300\n", "u64s: 18446744073709551615\n", "s32s: -2147483648\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  }
  EXPECT_FALSE(literal("s32s: 2147483648").has_value());
  EXPECT_FALSE(literal("u32s: -1").has_value());
  EXPECT_FALSE(literal("s64s: 9223372036854775808").has_value());
  EXPECT_FALSE(literal("f32s: 1.2.3").has_value());
}

TEST(Pbtxt, UnknownFieldsByNumber) {
  EXPECT_EQ(Again("300: 5 301: \"x\" 302: 0x00000007 303: 0x0000000000000007 304 { 1: 2 }"),
            "300: 5\n301: \"x\"\n302: 0x00000007\n303: 0x0000000000000007\n304: \"\\010\\002\"\n");
}

struct Wrong {
  const char* text;
  const char* code;
  uint32_t line;
  uint32_t column;
};
class WrongPbtxt : public testing::TestWithParam<Wrong> {};
TEST_P(WrongPbtxt, HasItsPlace) {
  Result<std::string> bytes = PbtxtToProto(GetParam().text, ProtoKind::kModule);
  ASSERT_FALSE(bytes.has_value());
  const Diagnostic& d = bytes.error().diagnostics[0];
  EXPECT_EQ(DiagCode(d.id), GetParam().code);
  EXPECT_EQ(d.location.line, GetParam().line);
  EXPECT_EQ(d.location.column, GetParam().column);
}
INSTANTIATE_TEST_SUITE_P(
    Cases, WrongPbtxt,
    testing::Values(Wrong{"name: \"m\"\n  nonsense: 1", "B012", 2, 3},
                    Wrong{"name \"m\"", "B011", 1, 6}, Wrong{"name: m", "B011", 1, 7},
                    Wrong{"name: \"m", "B011", 1, 7}, Wrong{"id: x", "B011", 1, 5},
                    Wrong{"computations {\n name: \"e\"\n", "B011", 3, 1},
                    Wrong{"computations { ]", "B011", 1, 16}, Wrong{"is_dynamic: 2", "B011", 1, 13},
                    Wrong{"0: 1", "B012", 1, 1}, Wrong{"}", "B011", 1, 1},
                    Wrong{"profile_info { profile_type: SOME }", "B012", 1, 30}));

TEST(Pbtxt, DeepNestingIsAnErrorNotACrash) {
  std::string open;
  for (int i = 0; i < 100000; ++i)
    open += "recovery_module { original_value_recovery_table { entries { ";
  Result<std::string> bytes =
      PbtxtToProto("original_value_recovery_table { entries { " + open, ProtoKind::kModule);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().diagnostics[0].id, DiagId::kProtoTooDeep);
}

TEST(Pbtxt, Detection) {
  EXPECT_EQ(DetectPbtxt("name: \"m\""), ProtoKind::kModule);
  EXPECT_EQ(DetectPbtxt("# made by hand\n\nhlo_module {\n}\n"), ProtoKind::kHlo);
  EXPECT_EQ(DetectPbtxt("hlo_module {\n}\nconfig {\n}"), ProtoKind::kModuleWithConfig);
  EXPECT_EQ(DetectPbtxt("hlo_module {\n}\npartitions {\n}"), ProtoKind::kUnoptimizedSnapshot);
  EXPECT_EQ(DetectPbtxt("hlo <"), ProtoKind::kSnapshot);
  EXPECT_EQ(DetectPbtxt("HloModule m"), std::nullopt);
  EXPECT_EQ(DetectPbtxt("ENTRY e {"), std::nullopt);
  EXPECT_EQ(DetectPbtxt(""), std::nullopt);
}

TEST(Json, FollowsTheJsonFormOfProtobuf) {
  std::string bytes = *PbtxtToProto(
      "name: \"m\\n\" id: 5 frontend_attributes { map { key: \"a\" value: \"b\" } } payloads: "
      "\"\\001\\002\" "
      "computations { instructions { epsilon: 0.5 distribution: RNG_NORMAL operand_ids: [1, 2] } }",
      ProtoKind::kModule);
  EXPECT_EQ(*ProtoToJson(bytes, ProtoKind::kModule),
            "{\n \"name\": \"m\\n\",\n \"computations\": [\n  {\n   \"instructions\": [\n    {\n"
            "     \"distribution\": \"RNG_NORMAL\",\n     \"epsilon\": 0.5,\n     \"operandIds\": "
            "[\"1\",\"2\"]\n    }\n   ]\n"
            "  }\n ],\n \"id\": \"5\",\n \"frontendAttributes\": {\n  \"map\": {\n   \"a\": "
            "\"b\"\n  }\n },\n"
            " \"payloads\": [\"AQI=\"]\n}\n");
}

}  // namespace
}  // namespace hlokit
