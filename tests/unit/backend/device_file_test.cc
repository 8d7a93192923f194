// Device files: read, write, and every way to get them wrong, with the place.
#include <gtest/gtest.h>

#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

Result<Device> ReadText(std::string_view text, std::vector<Diagnostic>* warnings = nullptr) {
  return ReadDevice(text, "device.json", warnings);
}

TEST(DeviceFile, BuiltInDevicesSurviveARoundTrip) {
  for (const Device& device : BuiltInDevices()) {
    std::string text = DeviceText(device);
    Result<Device> again = ReadText(text);
    ASSERT_TRUE(again) << FormatError(again.error());
    EXPECT_EQ(DeviceText(*again), text);
    EXPECT_EQ(again->backend, device.backend);
    EXPECT_EQ(again->vendor, device.vendor);
    EXPECT_EQ(again->compute_capability.major, device.compute_capability.major);
    EXPECT_EQ(again->gfx, device.gfx);
    EXPECT_EQ(again->flags, device.flags);
  }
}

constexpr std::string_view kDescribed = R"({
  "schema": "hlokit.device/1",
  "name": "mine",
  "backend": "described",
  "demands": [
    {"id": "mine.dot", "opcode": "dot", "operands": [0, 1], "types": ["f32", "bf16"], "rank": [2, 4],
     "order": "dimension-minor", "dimension": -1, "tiles": [[8, 128], [2, 1]], "memory_space": 1},
    {"id": "mine.rest", "reason": "It is so.", "order": "row-major", "strength": "wish"}
  ]
})";

TEST(DeviceFile, Demands) {
  std::vector<Diagnostic> warnings;
  Result<Device> device = ReadText(kDescribed, &warnings);
  ASSERT_TRUE(device) << FormatError(device.error());
  ASSERT_EQ(device->demands.size(), 2u);
  const Demand& dot = device->demands[0];
  EXPECT_EQ(dot.opcode, Opcode::kDot);
  EXPECT_EQ(dot.operands, (std::vector<uint32_t>{0, 1}));
  EXPECT_FALSE(dot.result);
  EXPECT_EQ(dot.types, (std::vector<ElementType>{ElementType::kF32, ElementType::kBf16}));
  EXPECT_EQ(dot.min_rank, 2u);
  EXPECT_EQ(dot.max_rank, 4u);
  EXPECT_EQ(dot.order, DemandKind::kDimensionMinor);
  EXPECT_EQ(dot.dimension, -1);
  EXPECT_EQ(dot.tiles, (std::vector<std::vector<int64_t>>{{8, 128}, {2, 1}}));
  EXPECT_EQ(dot.memory_space, 1);
  EXPECT_TRUE(dot.mandatory);
  EXPECT_EQ(dot.line, 6u);
  const Demand& rest = device->demands[1];
  EXPECT_FALSE(rest.opcode.has_value());
  EXPECT_TRUE(rest.all_operands);
  EXPECT_TRUE(rest.result);
  EXPECT_FALSE(rest.mandatory);
  Result<Device> again = ReadText(DeviceText(*device));
  ASSERT_TRUE(again) << FormatError(again.error());
  EXPECT_EQ(DeviceText(*again), DeviceText(*device));
}

struct Bad {
  const char* name;
  std::string_view text;
  DiagId id;
  uint32_t line, column;
};

const Bad kBad[] = {
    {"malformed", "{\n  \"schema\" 1}", DiagId::kBadJson, 2, 12},
    {"no object", "[]", DiagId::kDeviceFileValue, 1, 1},
    {"another schema", R"({"schema": "hlokit.device/9", "name": "x", "backend": "cpu"})",
     DiagId::kDeviceFileValue, 1, 12},
    {"a missing key", R"({"schema": "hlokit.device/1", "backend": "cpu"})", DiagId::kDeviceFileKey,
     1, 1},
    {"an unknown key",
     "{\"schema\": \"hlokit.device/1\", \"name\": \"x\", \"backend\": \"cpu\",\n \"vendr\": 1}",
     DiagId::kDeviceFileKey, 2, 11},
    {"no such backend", R"({"schema": "hlokit.device/1", "name": "x", "backend": "tpu"})",
     DiagId::kDeviceFileValue, 1, 55},
    {"a number for a text", R"({"schema": "hlokit.device/1", "name": 7, "backend": "cpu"})",
     DiagId::kDeviceFileValue, 1, 39},
    {"a capability of an AMD device",
     "{\"schema\": \"hlokit.device/1\", \"name\": \"x\", \"backend\": \"gpu\",\n"
     " \"vendor\": \"rocm\", \"gfx\": \"gfx90a\",\n \"compute_capability\": \"8.0\"}",
     DiagId::kDeviceContradiction, 3, 24},
    {"demands of the gpu backend",
     "{\"schema\": \"hlokit.device/1\", \"name\": \"x\", \"backend\": \"gpu\",\n"
     " \"vendor\": \"cuda\", \"compute_capability\": \"8.0\",\n \"demands\": []}",
     DiagId::kDeviceContradiction, 3, 13},
    {"both arrangements forced",
     "{\"schema\": \"hlokit.device/1\", \"name\": \"x\", \"backend\": \"gpu\",\n"
     " \"vendor\": \"cuda\", \"compute_capability\": \"8.0\",\n"
     " \"flags\": {\"xla_gpu_force_conv_nchw\": true, \"xla_gpu_force_conv_nhwc\": true}}",
     DiagId::kDeviceContradiction, 3, 11},
    {"no such flag",
     "{\"schema\": \"hlokit.device/1\", \"name\": \"x\", \"backend\": \"gpu\",\n"
     " \"vendor\": \"cuda\", \"compute_capability\": \"8.0\",\n \"flags\": {\"xla_gpu_x\": true}}",
     DiagId::kUnknownXlaFlag, 3, 25},
    {"a capability that is none",
     "{\"schema\": \"hlokit.device/1\", \"name\": \"x\", \"backend\": \"gpu\",\n"
     " \"vendor\": \"cuda\", \"compute_capability\": \"eight\"}",
     DiagId::kDeviceFileValue, 2, 42},
};

TEST(DeviceFile, Problems) {
  for (const Bad& bad : kBad) {
    Result<Device> device = ReadText(bad.text);
    ASSERT_FALSE(device) << bad.name;
    const Diagnostic& first = device.error().diagnostics.at(0);
    EXPECT_EQ(first.id, bad.id) << bad.name << ": " << first.message;
    EXPECT_EQ(first.location.line, bad.line) << bad.name;
    EXPECT_EQ(first.location.column, bad.column) << bad.name;
    EXPECT_EQ(first.file, "device.json") << bad.name;
    EXPECT_EQ(device.error().exit_code, ExitCode::kCannotParse) << bad.name;
  }
}

/// A described device whose demands start on line 2.
std::string WithDemands(std::string_view demands) {
  return "{\"schema\": \"hlokit.device/1\", \"name\": \"x\", \"backend\": \"described\", "
         "\"demands\": [\n" +
         std::string(demands) + "]}";
}

TEST(DeviceFile, DemandsThatContradictThemselves) {
  struct Case {
    std::string_view demand;
    DiagId id;
    uint32_t column;
  };
  constexpr Case kCases[] = {
      {R"({"id": "a", "order": "sideways"})", DiagId::kDeviceFileValue, 22},
      {R"({"id": "a"})", DiagId::kDeviceFileKey, 1},
      {R"({"id": "a", "opcode": "dott", "order": "row-major"})", DiagId::kDeviceFileValue, 23},
      {R"({"id": "a", "rank": [4, 2], "order": "row-major"})", DiagId::kDeviceContradiction, 21},
      {R"({"id": "a", "order": "row-major", "dimension": 1})", DiagId::kDeviceContradiction, 48},
      {R"({"id": "a", "order": "dimension-minor"})", DiagId::kDeviceFileKey, 1},
      {R"({"id": "a", "rank": 2, "order": "dimension-minor", "dimension": 2})",
       DiagId::kDeviceContradiction, 65},
      {R"({"id": "a", "opcode": "dot", "order": "nhwc"})", DiagId::kDeviceContradiction, 39},
      {R"({"id": "a", "target": "t", "order": "row-major"})", DiagId::kDeviceContradiction, 23},
      {R"({"id": "a", "operands": [], "order": "row-major"})", DiagId::kDeviceContradiction, 25},
      {R"({"id": "a", "types": ["f31"], "order": "row-major"})", DiagId::kDeviceFileValue, 23},
      {R"({"id": "a", "tiles": [[0]], "order": "row-major"})", DiagId::kDeviceFileValue, 24},
      {R"({"id": "a", "strength": "maybe", "order": "row-major"})", DiagId::kDeviceFileValue, 25},
  };
  for (const Case& c : kCases) {
    Result<Device> device = ReadText(WithDemands(c.demand));
    ASSERT_FALSE(device) << c.demand;
    const Diagnostic& first = device.error().diagnostics.at(0);
    EXPECT_EQ(first.id, c.id) << c.demand << ": " << first.message;
    EXPECT_EQ(first.location.line, 2u) << c.demand;
    EXPECT_EQ(first.location.column, c.column) << c.demand;
  }
}

TEST(DeviceFile, EveryProblemIsReported) {
  Result<Device> device = ReadText(
      WithDemands("{\"id\": \"a\", \"order\": \"x\"},\n{\"id\": \"a\", \"order\": \"row-major\"}"));
  ASSERT_FALSE(device);
  ASSERT_EQ(device.error().diagnostics.size(), 2u);
  EXPECT_EQ(device.error().diagnostics[1].id, DiagId::kDeviceContradiction);  // the id stands twice
  EXPECT_EQ(device.error().diagnostics[1].location.line, 3u);
}

TEST(DeviceFile, DemandsThatMeet) {
  struct Case {
    std::string_view demands;
    std::string_view warning;  // part of it; empty = none
  };
  constexpr Case kCases[] = {
      {R"({"id": "a", "opcode": "dot", "operands": [0], "order": "row-major"},
          {"id": "b", "opcode": "dot", "operands": [0, 1], "order": "column-major"})",
       "\"b\" holds"},
      {R"({"id": "a", "opcode": "dot", "operands": [0], "order": "row-major"},
          {"id": "b", "operands": "all", "order": "column-major", "strength": "wish"})",
       "\"a\" holds"},
      {R"({"id": "a", "opcode": "dot", "operands": [0], "order": "row-major"},
          {"id": "b", "opcode": "dot", "operands": [1], "order": "column-major"})",
       ""},
      {R"({"id": "a", "opcode": "dot", "order": "row-major", "types": ["f32"]},
          {"id": "b", "opcode": "dot", "order": "column-major", "types": ["bf16"]})",
       ""},
      {R"({"id": "a", "opcode": "dot", "order": "row-major", "rank": 2},
          {"id": "b", "opcode": "dot", "order": "column-major", "rank": [3, 5]})",
       ""},
      {R"({"id": "a", "order": "row-major"},
          {"id": "b", "opcode": "dot", "order": "row-major", "tiles": [[8, 128]]})",
       "those of \"a\" stay"},
      {R"({"id": "b", "opcode": "dot", "order": "row-major", "tiles": [[8, 128]]},
          {"id": "a", "order": "row-major"})",
       ""},
  };
  for (const Case& c : kCases) {
    std::vector<Diagnostic> warnings;
    Result<Device> device = ReadText(WithDemands(c.demands), &warnings);
    ASSERT_TRUE(device) << FormatError(device.error());
    ASSERT_EQ(warnings.size(), c.warning.empty() ? 0u : 1u) << c.demands;
    if (c.warning.empty()) continue;
    EXPECT_EQ(warnings[0].id, DiagId::kDeviceRulesMeet);
    EXPECT_EQ(warnings[0].location.line, 3u);
    EXPECT_NE(warnings[0].message.find(c.warning), std::string::npos) << warnings[0].message;
  }
}

}  // namespace
}  // namespace hlokit
