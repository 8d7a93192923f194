// The built-in devices (section 3.2), flags, and what users may say about a device.
#include <gtest/gtest.h>

#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

DiagId FirstProblem(const Result<Device>& device) {
  return device ? DiagId::kInternalError : device.error().diagnostics.at(0).id;
}

TEST(Devices, Capabilities) {
  struct Case {
    std::string_view name;
    Vendor vendor;
    int major, minor;
    std::string_view gfx;
  };
  constexpr Case kCases[] = {
      {"p100", Vendor::kCuda, 6, 0, ""},         {"sm_70", Vendor::kCuda, 7, 0, ""},
      {"sm_80", Vendor::kCuda, 8, 0, ""},        {"a100-sxm-80", Vendor::kCuda, 8, 0, ""},
      {"a6000", Vendor::kCuda, 8, 6, ""},        {"sm_90", Vendor::kCuda, 9, 0, ""},
      {"H100", Vendor::kCuda, 9, 0, ""},         {"sm_100", Vendor::kCuda, 10, 0, ""},
      {"gb300", Vendor::kCuda, 10, 3, ""},       {"rtx6000pro", Vendor::kCuda, 12, 0, ""},
      {"gfx90a", Vendor::kRocm, 0, 0, "gfx90a"}, {"mi200", Vendor::kRocm, 0, 0, "gfx90a"},
      {"mi300", Vendor::kRocm, 0, 0, "gfx942"},  {"pvc", Vendor::kOneApi, 0, 0, ""},
  };
  for (const Case& c : kCases) {
    Result<Device> device = FindDevice(c.name);
    ASSERT_TRUE(device) << c.name;
    EXPECT_EQ(device->backend, Backend::kGpu) << c.name;
    EXPECT_EQ(device->vendor, c.vendor) << c.name;
    EXPECT_EQ(device->compute_capability.major, c.major) << c.name;
    EXPECT_EQ(device->compute_capability.minor, c.minor) << c.name;
    EXPECT_EQ(device->gfx, c.gfx) << c.name;
  }
  EXPECT_EQ(FindDevice("sm_80")->name, "sm_80");  // reports call it what the user calls it
}

TEST(Devices, CapabilitiesCompareAsPairs) {
  EXPECT_TRUE((ComputeCapability{9, 0, "a"}.AtLeast(9, 0)));
  EXPECT_TRUE((ComputeCapability{10, 0, ""}.AtLeast(9, 5)));
  EXPECT_FALSE((ComputeCapability{8, 9, ""}.AtLeast(9, 0)));
  EXPECT_FALSE((ComputeCapability{7, 0, ""}.AtLeast(7, 5)));
}

TEST(Devices, UnknownNamesGetTheNearestOnes) {
  Result<Device> device = FindDevice("sm_81");
  ASSERT_FALSE(device);
  EXPECT_EQ(FirstProblem(device), DiagId::kUnknownDevice);
  EXPECT_NE(device.error().diagnostics[0].help.find("sm_80"), std::string::npos);
  EXPECT_EQ(device.error().exit_code, ExitCode::kUsage);
}

TEST(Devices, Choices) {
  std::vector<Diagnostic> warnings;
  auto choose = [&](BackendChoice choice) { return ChooseDevice(choice, &warnings); };
  EXPECT_EQ(choose({})->backend, Backend::kGeneric);
  EXPECT_EQ(choose({.backend = "cpu"})->backend, Backend::kCpu);
  EXPECT_EQ(choose({.device = "sm_80"})->backend, Backend::kGpu);
  EXPECT_EQ(choose({.backend = "gpu", .device = "sm_80"})->name, "sm_80");
  EXPECT_EQ(FirstProblem(choose({.backend = "gpu"})), DiagId::kDeviceMissing);
  EXPECT_EQ(FirstProblem(choose({.backend = "tpu"})), DiagId::kBackendNotAvailable);
  EXPECT_EQ(FirstProblem(choose({.backend = "cpu", .device = "sm_80"})),
            DiagId::kDeviceOfOtherBackend);
  EXPECT_EQ(FirstProblem(choose({.device = "sm_80", .device_file = "x.json"})),
            DiagId::kUsageError);
  EXPECT_EQ(FirstProblem(choose({.device_file = "/no/such/file.json"})), DiagId::kCannotOpen);
}

TEST(Devices, Flags) {
  Device device = backend_test::DeviceNamed("sm_80");
  EXPECT_TRUE(device.flags.pack_dot_operands);
  EXPECT_TRUE(SetBackendFlag(device, "--xla_gpu_force_conv_nchw"));
  EXPECT_TRUE(device.flags.force_conv_nchw);
  EXPECT_TRUE(SetBackendFlag(device, "xla_gpu_force_conv_nchw=false"));
  EXPECT_FALSE(device.flags.force_conv_nchw);
  auto problem = [&](Device& d, std::string_view text) {
    Status status = SetBackendFlag(d, text);
    return status ? DiagId::kInternalError : status.error().diagnostics[0].id;
  };
  EXPECT_EQ(problem(device, "xla_gpu_force_conv_nchw=maybe"), DiagId::kBadXlaFlag);
  EXPECT_EQ(problem(device, "xla_gpu_autotune_level=4"), DiagId::kUnknownXlaFlag);
  Device cpu = backend_test::DeviceNamed("cpu");
  EXPECT_EQ(problem(cpu, "xla_gpu_force_conv_nchw=true"), DiagId::kUnknownXlaFlag);
}

}  // namespace
}  // namespace hlokit
