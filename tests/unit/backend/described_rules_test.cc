// What the demands of a device file do to a module.
#include <gtest/gtest.h>

#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

using backend_test::AskedAt;
using backend_test::DeviceRun;
using backend_test::RunOn;

Device DeviceWith(std::string_view demands) {
  std::string text =
      "{\"schema\": \"hlokit.device/1\", \"name\": \"mine\", \"backend\": \"described\", "
      "\"demands\": [" +
      std::string(demands) + "]}";
  Result<Device> device = ReadDevice(text, "mine.json", nullptr);
  if (!device) {
    ADD_FAILURE() << FormatError(device.error());
    return {};
  }
  return *std::move(device);
}

constexpr std::string_view kModule =
    R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0}, f32[6,8]{1,0})->f32[4,8]{1,0}}
ENTRY main {
  x = f32[4,6] parameter(0)
  y = f32[6,8] parameter(1)
  d = f32[4,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT n = f32[4,8] negate(d)
})";

TEST(DescribedRules, Orders) {
  struct Case {
    std::string_view demand;
    int operand;
    std::string_view asked;
  };
  constexpr Case kCases[] = {
      {R"({"id": "r", "opcode": "dot", "operands": [1], "order": "column-major"})", 1, "r {0,1}"},
      {R"({"id": "r", "opcode": "dot", "operands": [1], "order": "column-major"})", 0, ""},
      {R"({"id": "r", "opcode": "dot", "result": true, "order": "column-major"})", -1, "r {0,1}"},
      {R"({"id": "r", "opcode": "dot", "operands": "all", "order": "dimension-minor", "dimension": 0})",
       0, "r {0,1}"},
      {R"({"id": "r", "opcode": "dot", "operands": "all", "order": "dimension-major", "dimension": -1})",
       0, "r {0,1}"},
      {R"({"id": "r", "opcode": "dot", "operands": [7], "order": "row-major"})", 0, ""},
      {R"({"id": "r", "opcode": "negate", "order": "row-major"})", 0, ""},
      {R"({"id": "r", "opcode": "dot", "types": ["bf16"], "order": "row-major"})", 0, ""},
      {R"({"id": "r", "opcode": "dot", "rank": [3, 9], "order": "row-major"})", 0, ""},
      {R"({"id": "r", "order": "row-major", "tiles": [[8, 128]]})", 0, "r {1,0:T(8,128)}"},
      {R"({"id": "r", "order": "row-major", "tiles": [[2, 8, 128]]})", 0, "r {1,0}"},
      {R"({"id": "r", "order": "row-major", "memory_space": 5})", -1, "r {1,0:S(5)}"},
  };
  for (const Case& c : kCases) {
    DeviceRun run = RunOn(DeviceWith(c.demand), kModule);
    EXPECT_EQ(AskedAt(run, "d", c.operand), c.asked) << c.demand;
  }
}

TEST(DescribedRules, ColumnMajorOperandCostsACopy) {
  DeviceRun run =
      RunOn(DeviceWith(R"({"id": "r", "opcode": "dot", "operands": [1], "order": "column-major"})"),
            kModule);
  ASSERT_EQ(run.report.copies.size(), 1u);
  EXPECT_EQ(run.module.name(run.report.copies[0].source), "y");
}

TEST(DescribedRules, ALaterMustWins) {
  DeviceRun run =
      RunOn(DeviceWith(R"({"id": "a", "opcode": "dot", "operands": [1], "order": "row-major"},
        {"id": "b", "opcode": "dot", "operands": [1], "order": "column-major"})"),
            kModule);
  EXPECT_EQ(run.report.copies.size(), 1u);
}

TEST(DescribedRules, AWishLosesAgainstAMust) {
  DeviceRun run =
      RunOn(DeviceWith(R"({"id": "a", "opcode": "dot", "operands": [1], "order": "row-major"},
        {"id": "b", "opcode": "dot", "operands": [1], "order": "column-major", "strength": "wish"})"),
            kModule);
  EXPECT_TRUE(run.report.copies.empty());
}

TEST(DescribedRules, ConvolutionArrangements) {
  constexpr std::string_view kConvolution = R"(HloModule m
ENTRY main {
  x = f16[8,32,32,16] parameter(0)
  f = f16[3,3,16,16] parameter(1)
  ROOT c = f16[8,32,32,16] convolution(x, f), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
})";
  DeviceRun run =
      RunOn(DeviceWith(R"({"id": "r", "opcode": "convolution", "order": "nchw"})"), kConvolution);
  // The example of section 4.1.
  EXPECT_EQ(AskedAt(run, "c", 0), "r {2,1,3,0}");
  EXPECT_EQ(AskedAt(run, "c", 1), "r {1,0,2,3}");
  EXPECT_EQ(AskedAt(run, "c", -1), "r {2,1,3,0}");
}

TEST(DescribedRules, CustomCallTargets) {
  constexpr std::string_view kCalls = R"(HloModule m
ENTRY main {
  x = f32[4,6] parameter(0)
  a = f32[4,6] custom-call(x), custom_call_target="mine"
  ROOT b = f32[4,6] custom-call(a), custom_call_target="yours"
})";
  DeviceRun run = RunOn(
      DeviceWith(R"({"id": "r", "opcode": "custom-call", "target": "mine", "order": "row-major"})"),
      kCalls);
  EXPECT_EQ(AskedAt(run, "a", 0), "r {1,0}");
  EXPECT_EQ(AskedAt(run, "b", 0), "");
}

// What is passed on is left alone, whatever the demand says.
TEST(DescribedRules, TuplesArePassedThrough) {
  DeviceRun run = RunOn(DeviceWith(R"({"id": "r", "order": "row-major"})"), R"(HloModule m
ENTRY main {
  x = f32[4,6] parameter(0)
  t = (f32[4,6]) tuple(x)
  g = f32[4,6] get-tuple-element(t), index=0
  ROOT n = f32[4,6] negate(g)
})");
  EXPECT_EQ(AskedAt(run, "t", 0), "");
  EXPECT_EQ(AskedAt(run, "t", -1), "");
  EXPECT_EQ(AskedAt(run, "x", -1), "r {1,0}");
}

}  // namespace
}  // namespace hlokit
