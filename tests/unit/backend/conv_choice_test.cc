// Section 4.2 of backend-hooks.md row by row, and the rows of section 6 about convolutions.
#include <gtest/gtest.h>

#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

using backend_test::DeviceNamed;
using T = ElementType;
using Flags = std::vector<std::string>;

struct Case {
  std::string_view device;
  Flags flags;
  ConvFacts facts;  // type, spatial dimensions of the input, rank of operand 0, rank of the result
  ConvLayout layout;
  std::string_view row;
};

constexpr ConvLayout kNchw = ConvLayout::kNchw, kNhwc = ConvLayout::kNhwc;
const Flags kForceNchw = {"xla_gpu_force_conv_nchw=true"};
const Flags kForceNhwc = {"xla_gpu_force_conv_nhwc=true"};
const Flags kRocmNhwc = {"TF_USE_ROCM_NHWC=true"};

const Case kCases[] = {
    {"v100", {}, {T::kS8, 2, 5, 5}, ConvLayout::kNchwVectC, "H1"},
    {"h100", kForceNhwc, {T::kS8, 2, 5, 5}, ConvLayout::kNchwVectC, "H1"},
    {"v100", {}, {T::kS8, 2, 4, 4}, kNhwc, "H2"},
    {"v100", kForceNchw, {T::kS8, 2, 4, 4}, kNhwc, "H2"},  // the force comes later
    {"v100", {}, {T::kU8, 2, 5, 5}, kNhwc, "H2"},          // vectors only of s8
    {"v100", {}, {T::kS8, 3, 5, 5}, kNhwc, "H2"},
    {"gfx90a", {}, {T::kS32, 2, 4, 4}, kNhwc, "H2"},
    {"h100", {}, {T::kF8e4m3fn, 2, 4, 4}, kNhwc, "H3"},
    {"gfx90a", kForceNchw, {T::kF8e5m2fnuz, 2, 4, 4}, kNhwc, "H3"},
    {"h100", kForceNchw, {T::kF16, 2, 4, 4}, kNchw, "H4"},
    {"p100", kForceNhwc, {T::kF32, 2, 4, 4}, kNhwc, "H5"},
    {"h100", {}, {T::kF64, 2, 4, 4}, kNchw, "H6"},
    {"b200", {}, {T::kF16, 3, 5, 5}, kNchw, "H7"},
    {"h100", {}, {T::kF32, 2, 4, 4}, kNhwc, "H8"},
    {"b200", {}, {T::kF32, 2, 4, 4}, kNhwc, "H8"},
    {"rtx6000pro", {}, {T::kF32, 2, 4, 4}, kNhwc, "H8"},
    {"h100", {}, {T::kF32, 1, 3, 3}, kNhwc, "H8"},
    {"v100", {}, {T::kF16, 2, 4, 4}, kNhwc, "H9"},
    {"a100", {}, {T::kBf16, 2, 4, 4}, kNhwc, "H9"},
    {"t4", {}, {T::kBf16, 2, 4, 4}, kNhwc, "H9"},
    {"v100", {}, {T::kF32, 2, 4, 4}, kNchw, "H10"},
    {"a100", {}, {T::kF32, 2, 4, 4}, kNchw, "H10"},
    {"p100", {}, {T::kF16, 2, 4, 4}, kNchw, "H10"},
    {"a100", {}, {T::kF16, 3, 5, 5}, kNchw, "H10"},  // the rank counts
    {"gfx90a", kRocmNhwc, {T::kBf16, 2, 4, 4}, kNhwc, "H11"},
    {"mi100", kRocmNhwc, {T::kF16, 2, 4, 4}, kNhwc, "H11"},
    {"gfx90a", {}, {T::kBf16, 2, 4, 4}, kNchw, "H12"},
    {"gfx90a", kRocmNhwc, {T::kF32, 2, 4, 4}, kNchw, "H12"},
    {"gfx1250", kRocmNhwc, {T::kBf16, 2, 4, 4}, kNchw, "H12"},
    {"pvc", {}, {T::kF32, 2, 4, 4}, kNhwc, "H13"},
};

TEST(ConvChoice, EveryRow) {
  for (const Case& c : kCases) {
    const ConvChoice& choice = ChooseConvLayout(DeviceNamed(c.device, c.flags), c.facts);
    std::string where = std::string(c.device) + " " + std::string(Info(c.facts.type).text);
    EXPECT_EQ(choice.row, c.row) << where;
    EXPECT_EQ(choice.layout, c.layout) << where;
  }
}

TEST(ConvChoice, ArchitectureWithFeatures) {
  Device device = DeviceNamed("gfx90a", kRocmNhwc);
  device.gfx = "gfx90a:sramecc+:xnack-";
  EXPECT_EQ(ChooseConvLayout(device, {T::kF16, 2, 4, 4}).row, "H11");
}

}  // namespace
}  // namespace hlokit
