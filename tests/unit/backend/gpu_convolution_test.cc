// Sections 4.1, 4.3 and 4.4: the arrays of convolution calls. The orders are those of the worked
// example of section 4.1 (dim_labels=b01f_01io->b01f).
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

using backend_test::AskedAt;
using backend_test::DeviceNamed;
using backend_test::RunOn;
using backend_test::TryRun;

/// x and f are operands 0 and 1 of the call %c; `more` comes behind them.
std::string Call(std::string_view type, std::string_view target, std::string_view more = "",
                 std::string_view more_parameters = "") {
  return fmt::format(R"(HloModule m
ENTRY main {{
  x = {0}[8,32,32,16] parameter(0)
  f = {0}[3,3,16,16] parameter(1)
{3}  c = ({0}[8,32,32,16], u8[0]) custom-call(x, f{2}), custom_call_target="{1}", window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f
  ROOT r = {0}[8,32,32,16] get-tuple-element(c), index=0
}}
)",
                     type, target, more, more_parameters);
}

constexpr std::string_view kForward = "__cudnn$convForward";

TEST(GpuConvolution, ForwardNhwc) {
  backend_test::DeviceRun run = RunOn(DeviceNamed("sm_80"), Call("f16", kForward));
  EXPECT_EQ(AskedAt(run, "c", 0), "gpu.conv.nhwc {3,2,1,0}");
  EXPECT_EQ(AskedAt(run, "c", 1), "gpu.conv.nhwc {2,1,0,3}");
  EXPECT_EQ(AskedAt(run, "c", -1), "gpu.conv.nhwc {3,2,1,0}");
}

TEST(GpuConvolution, ForwardNchw) {
  backend_test::DeviceRun run = RunOn(DeviceNamed("sm_80"), Call("f32", kForward));
  EXPECT_EQ(AskedAt(run, "c", 0), "gpu.conv.nchw {2,1,3,0}");
  EXPECT_EQ(AskedAt(run, "c", 1), "gpu.conv.nchw {1,0,2,3}");
  EXPECT_EQ(AskedAt(run, "c", -1), "gpu.conv.nchw {2,1,3,0}");
  EXPECT_EQ(layout_test::Layouts(run.module, "c"), "({2,1,3,0}, {0})");
}

// With 16 features on both sides every array may play every role.
TEST(GpuConvolution, Roles) {
  struct Case {
    std::string_view target, first, second, result;
  };
  // NHWC: images {3,2,1,0}, filter {2,1,0,3}.
  constexpr Case kCases[] = {
      {"__cudnn$convForward", "{3,2,1,0}", "{2,1,0,3}", "{3,2,1,0}"},
      {"__cudnn$convBackwardInput", "{3,2,1,0}", "{2,1,0,3}", "{3,2,1,0}"},
      {"__cudnn$convBackwardFilter", "{3,2,1,0}", "{3,2,1,0}", "{2,1,0,3}"},
      {"__cudnn$convBiasActivationForward", "{3,2,1,0}", "{2,1,0,3}", "{3,2,1,0}"},
      {"__cudnn$convForwardGraph", "{3,2,1,0}", "{2,1,0,3}", "{3,2,1,0}"},
  };
  for (const Case& c : kCases) {
    backend_test::DeviceRun run = RunOn(DeviceNamed("sm_80"), Call("f16", c.target));
    auto asked = [](std::string_view layout) { return "gpu.conv.nhwc " + std::string(layout); };
    EXPECT_EQ(AskedAt(run, "c", 0), asked(c.first)) << c.target;
    EXPECT_EQ(AskedAt(run, "c", 1), asked(c.second)) << c.target;
    EXPECT_EQ(AskedAt(run, "c", -1), asked(c.result)) << c.target;
  }
}

TEST(GpuConvolution, SideInputLooksLikeTheOutput) {
  std::string text = Call("f16", "__cudnn$convBiasActivationForward", ", b, s",
                          "  b = f16[16] parameter(2)\n  s = f16[8,32,32,16] parameter(3)\n");
  backend_test::DeviceRun run = RunOn(DeviceNamed("sm_80", {"xla_gpu_force_conv_nchw"}), text);
  EXPECT_EQ(AskedAt(run, "c", 2), "");
  EXPECT_EQ(AskedAt(run, "c", 3), "gpu.conv.nchw {2,1,3,0}");
}

TEST(GpuConvolution, GraphOperandsLookLikeTheOutput) {
  std::string text = Call("f16", "__cudnn$convForwardGraph", ", s, a",
                          "  s = f16[8,32,32,16] parameter(2)\n  a = f32[] parameter(3)\n");
  backend_test::DeviceRun run = RunOn(DeviceNamed("v100"), text);
  EXPECT_EQ(AskedAt(run, "c", 2), "gpu.conv.nhwc {3,2,1,0}");
  EXPECT_EQ(AskedAt(run, "c", 3), "");
}

TEST(GpuConvolution, ThirdOperandOfAForwardCallIsRefused) {
  Module module = layout_test::Read(Call("f16", kForward, ", b", "  b = f16[16] parameter(2)\n"));
  Result<LayoutAssignmentReport> report = TryRun(DeviceNamed("sm_80"), module, nullptr);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().diagnostics[0].id, DiagId::kBackendRefuses);
}

// Five dimensions of s8: the vector of features is the dimension that dim_labels does not name.
TEST(GpuConvolution, VectorsOfFeatures) {
  backend_test::DeviceRun run = RunOn(DeviceNamed("v100"), R"(HloModule m
ENTRY main {
  x = s8[8,4,32,32,4] parameter(0)
  f = s8[16,4,3,3,4] parameter(1)
  c = (s8[8,4,32,32,4], u8[0]) custom-call(x, f), custom_call_target="__cudnn$convForward", window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
  ROOT r = s8[8,4,32,32,4] get-tuple-element(c), index=0
}
)");
  EXPECT_EQ(AskedAt(run, "c", 0), "gpu.conv.nchw-vect-c {4,3,2,1,0}");
  EXPECT_EQ(AskedAt(run, "c", 1), "gpu.conv.nchw-vect-c {4,3,2,1,0}");
}

std::string Raw(std::string_view kind) {
  return fmt::format(R"(HloModule m
ENTRY main {{
  x = f16[8,32,32,16] parameter(0)
  f = f16[3,3,16,16] parameter(1)
  ROOT c = f16[8,32,32,16] convolution(x, f), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f{}
}}
)",
                     kind);
}

TEST(GpuConvolution, RawConvolutionsAreFree) {
  backend_test::DeviceRun run = RunOn(DeviceNamed("sm_80"), Raw(", convolution_kind=fprop"));
  EXPECT_EQ(AskedAt(run, "c", 0), "");
}

TEST(GpuConvolution, RawConvolutionsWithConvFusion) {
  Device device = DeviceNamed("sm_80", {"xla_gpu_experimental_enable_conv_fusion=true"});
  struct Case {
    std::string_view kind, input, filter, result;
  };
  // Section 4.4 by hand. dgrad exchanges the features of the filter: O=2, I=3. wgrad also exchanges
  // batch and feature of the images: N=3, C=0.
  constexpr Case kCases[] = {
      {"fprop", "{3,2,1,0}", "{2,1,0,3}", "{3,2,1,0}"},
      {"dgrad", "{3,2,1,0}", "{3,1,0,2}", "{3,2,1,0}"},
      {"wgrad", "{0,2,1,3}", "{3,1,0,2}", "{0,2,1,3}"},
  };
  for (const Case& c : kCases) {
    backend_test::DeviceRun run = RunOn(device, Raw(fmt::format(", convolution_kind={}", c.kind)));
    EXPECT_EQ(AskedAt(run, "c", 0), fmt::format("gpu.conv.nhwc {}", c.input)) << c.kind;
    EXPECT_EQ(AskedAt(run, "c", 1), fmt::format("gpu.conv.nhwc {}", c.filter)) << c.kind;
    EXPECT_EQ(AskedAt(run, "c", -1), fmt::format("gpu.conv.nhwc {}", c.result)) << c.kind;
  }
  Module unset = layout_test::Read(Raw(""));
  EXPECT_FALSE(TryRun(device, unset, nullptr));
}

}  // namespace
}  // namespace hlokit
