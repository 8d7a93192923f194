// Section 2: what the CPU rules ask for, row by row (C1 to C7), and their conditions.
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "src/backend/rules.h"
#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

using backend_test::AskedAt;
using backend_test::DeviceNamed;
using backend_test::DeviceRun;
using backend_test::RunOn;

DeviceRun OnCpu(std::string_view text) { return RunOn(DeviceNamed("cpu"), text); }

std::string Dot(std::string_view left, std::string_view right, std::string_view result,
                std::string_view dims) {
  return fmt::format(
      "HloModule m\nENTRY main {{\n  x = {} parameter(0)\n  y = {} parameter(1)\n"
      "  ROOT d = {} dot(x, y), {}\n}}\n",
      left, right, result, dims);
}
constexpr std::string_view kMatrix = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";

TEST(CpuRules, DotStrategies) {
  struct Case {
    std::string_view left, right, result, dims;
    bool row_major;
  };
  constexpr Case kCases[] = {
      {"f32[16,32]", "f32[32,64]", "f32[16,64]", kMatrix, true},
      {"bf16[16,32]", "bf16[32,64]", "bf16[16,64]", kMatrix, false},  // no library for it
      {"s32[16,32]", "s32[32,64]", "s32[16,64]", kMatrix, true},
      {"f32[1,32]", "f32[32,64]", "f32[1,64]", kMatrix, false},  // a vector times a matrix
      {"c64[1,32]", "c64[32,64]", "c64[1,64]", kMatrix, true},   // not for complex types
      {"f32[2,3]", "f32[3,64]", "f32[2,64]", kMatrix, false},    // both sides are tiny
      {"f32[3,32]", "f32[32,64]", "f32[3,64]", kMatrix, true},   // only one is
      {"f32[0,32]", "f32[32,64]", "f32[0,64]", kMatrix, false},  // empty
      {"f32[2,4,8]", "f32[2,8,6]", "f32[2,4,6]",
       "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
       true},
      {"f32[5,4,8]", "f32[8,6]", "f32[5,4,6]", "lhs_contracting_dims={2}, rhs_contracting_dims={0}",
       false},  // rank 3 without a batch
  };
  for (const Case& c : kCases) {
    Module module = layout_test::Read(Dot(c.left, c.right, c.result, c.dims));
    EXPECT_EQ(backend::DotNeedsRowMajor(module, layout_test::Find(module, "d")), c.row_major)
        << c.left << " x " << c.right;
  }
}

std::string Convolution(std::string_view input, std::string_view kernel, std::string_view result,
                        std::string_view window, std::string_view labels) {
  return fmt::format(
      "HloModule m\nENTRY main {{\n  x = {} parameter(0)\n  k = {} parameter(1)\n"
      "  ROOT c = {} convolution(x, k), window={{{}}}, dim_labels={}\n}}\n",
      input, kernel, result, window, labels);
}

TEST(CpuRules, EigenConvolutions) {
  struct Case {
    std::string_view input, kernel, result, window, labels;
    bool eigen;
  };
  constexpr Case kCases[] = {
      {"f32[2,8,8,4]", "f32[3,3,4,5]", "f32[2,6,6,5]", "size=3x3", "b01f_01io->b01f", true},
      {"f16[2,8,4]", "f16[3,4,5]", "f16[2,6,5]", "size=3", "b0f_0io->b0f", true},
      {"bf16[2,8,4]", "bf16[3,4,5]", "bf16[2,6,5]", "size=3", "b0f_0io->b0f", false},
      {"f32[2,4,8]", "f32[3,4,5]", "f32[2,6,5]", "size=3", "bf0_0io->b0f", false},
      {"f32[2,8,4]", "f32[3,4,5]", "f32[2,6,5]", "size=3 rhs_reversal=1", "b0f_0io->b0f", false},
      {"f32[1,2,1]", "f32[1,1,1]", "f32[1,2,1]", "size=1", "b0f_0io->b0f", false},  // 8 bytes
      {"f32[1,4,1]", "f32[4,1,1]", "f32[1,1,1]", "size=4", "b0f_0io->b0f", false},  // 4 bytes out
      {"f32[1,5,1]", "f32[3,1,1]", "f32[1,3,1]", "size=3", "b0f_0io->b0f", true},   // 12 round up
  };
  const Device cpu = DeviceNamed("cpu");
  for (const Case& c : kCases) {
    Module module = layout_test::Read(Convolution(c.input, c.kernel, c.result, c.window, c.labels));
    EXPECT_EQ(backend::MayBecomeEigenConvolution(module, layout_test::Find(module, "c"), cpu),
              c.eigen)
        << c.input << " " << c.labels;
  }
}

TEST(CpuRules, ConvolutionAndDotRowMajorThroughout) {
  DeviceRun run = OnCpu(Dot("f32[16,32]", "f32[32,64]", "f32[16,64]", kMatrix));
  EXPECT_EQ(AskedAt(run, "d", 0), "cpu.dot.row-major {1,0}");
  EXPECT_EQ(AskedAt(run, "d", 1), "cpu.dot.row-major {1,0}");
  EXPECT_EQ(AskedAt(run, "d", -1), "cpu.dot.row-major {1,0}");
  run = OnCpu(Convolution("f32[2,8,4]", "f32[3,4,5]", "f32[2,6,5]", "size=3", "b0f_0io->b0f"));
  EXPECT_EQ(AskedAt(run, "c", 1), "cpu.conv.row-major {2,1,0}");
  EXPECT_EQ(AskedAt(run, "c", -1), "cpu.conv.row-major {2,1,0}");
}

TEST(CpuRules, TopK) {
  DeviceRun run = OnCpu(R"(HloModule m
ENTRY main {
  x = f32[4,64] parameter(0)
  t = (f32[4,8], s32[4,8]) custom-call(x), custom_call_target="TopK"
  ROOT r = f32[4,8] get-tuple-element(t), index=0
})");
  EXPECT_EQ(AskedAt(run, "t", 0), "cpu.topk.row-major {1,0}");
  EXPECT_EQ(AskedAt(run, "t", -1), "cpu.topk.row-major {1,0}");
}

constexpr std::string_view kVectorTimesConstant = R"(HloModule m
ENTRY main {
  x = f32[8] parameter(0)
  c = f32[8,2] constant({{1,2},{3,4},{5,6},{7,8},{9,10},{11,12},{13,14},{15,16}})
  d = f32[2] dot(x, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}
)";

// Section 2.4: 8 elements of 4 bytes are 32 bytes, which is enough.
TEST(CpuRules, ConstantMatrixColumnMajor) {
  DeviceRun run = OnCpu(std::string(kVectorTimesConstant) + "  ROOT n = f32[2] negate(d)\n}\n");
  EXPECT_EQ(AskedAt(run, "d", 1), "cpu.dot.constant-column-major {0,1}");
  EXPECT_EQ(layout_test::Layouts(run.module, "c"), "{0,1}");
  EXPECT_TRUE(run.report.copies.empty());
}

TEST(CpuRules, ConstantWithAnotherUseStaysRowMajor) {
  DeviceRun run = OnCpu(std::string(kVectorTimesConstant) +
                        "  a = f32[8,2] add(c, c)\n  ROOT t = (f32[2], f32[8,2]) tuple(d, a)\n}\n");
  EXPECT_EQ(AskedAt(run, "d", 1), "cpu.row-major {1,0}");
  EXPECT_EQ(layout_test::Layouts(run.module, "c"), "{1,0}");
}

TEST(CpuRules, ShortVectorsAreNotWorthIt) {
  DeviceRun run = OnCpu(R"(HloModule m
ENTRY main {
  x = f32[7] parameter(0)
  c = f32[7,2] constant({{1,2},{3,4},{5,6},{7,8},{9,10},{11,12},{13,14}})
  ROOT d = f32[2] dot(x, c), lhs_contracting_dims={0}, rhs_contracting_dims={0}
})");
  EXPECT_EQ(AskedAt(run, "d", 1), "cpu.row-major {1,0}");
}

TEST(CpuRules, Collectives) {
  DeviceRun run = OnCpu(R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[3,4,5] parameter(0)
  g = f32[3,8,5] all-gather(x), replica_groups={{0,1}}, dimensions={1}
  ROOT r = f32[3,8,3] reduce-scatter(g), replica_groups={{0,1}}, dimensions={2}, to_apply=sum
})");
  EXPECT_EQ(AskedAt(run, "g", -1), "cpu.all-gather.dim-major {2,0,1}");
  EXPECT_EQ(AskedAt(run, "g", 0), "cpu.all-gather.dim-major {2,0,1}");
  EXPECT_EQ(AskedAt(run, "r", -1), "cpu.reduce-scatter.dim-major {1,0,2}");
}

TEST(CpuRules, EverythingElseReadsRowMajor) {
  DeviceRun run = OnCpu(R"(HloModule m, entry_computation_layout={(f32[4,6]{0,1})->f32[4,6]{0,1}}
ENTRY main {
  x = f32[4,6]{0,1} parameter(0)
  t = (f32[4,6]{0,1}) tuple(x)
  g = f32[4,6]{0,1} get-tuple-element(t), index=0
  ROOT n = f32[4,6]{0,1} negate(g)
})");
  EXPECT_EQ(AskedAt(run, "n", 0), "cpu.row-major {1,0}");
  // What is only passed on cannot be asked for an order.
  EXPECT_EQ(AskedAt(run, "t", 0), "");
  EXPECT_EQ(AskedAt(run, "g", 0), "");
  // One copy in front of negate, one behind it.
  EXPECT_EQ(run.report.copies.size(), 2u);
}

}  // namespace
}  // namespace hlokit
