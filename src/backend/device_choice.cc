// Which device does a user mean? --backend, --device, --device-file, --xla-flag and the options of
// the pass.
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/backend.h"
#include "hlokit/file.h"
#include "src/backend/device_facts.h"
#include "src/base/edit_distance.h"

namespace hlokit {
namespace backend {
std::string DidYouMean(std::string_view wanted, std::vector<std::string_view> names,
                       std::string otherwise) {
  constexpr size_t kMostNames = 3, kLongest = 200;
  if (wanted.size() > kLongest) return otherwise;
  auto distance = [&](std::string_view name) { return EditDistance(wanted, name); };
  size_t limit = std::max<size_t>(2, wanted.size() / 3);
  std::erase_if(names, [&](std::string_view name) { return distance(name) > limit; });
  std::stable_sort(names.begin(), names.end(), [&](std::string_view a, std::string_view b) {
    return distance(a) < distance(b);
  });
  if (names.empty()) return otherwise;
  if (names.size() > kMostNames) names.resize(kMostNames);
  return fmt::format("did you mean {}? {}", fmt::join(names, ", "), otherwise);
}

}  // namespace backend

namespace {

Result<Device> Named(const BackendChoice& choice, std::vector<Diagnostic>* warnings) {
  if (!choice.device_file.empty()) {
    constexpr size_t kMostBytes = size_t{16} << 20;
    ASSIGN_OR_RETURN(std::string text, ReadFile(choice.device_file, kMostBytes));
    return ReadDevice(text, choice.device_file, warnings);
  }
  if (!choice.device.empty()) return FindDevice(choice.device);
  std::string_view backend = choice.backend.empty() ? "generic" : std::string_view(choice.backend);
  if (backend == "generic" || backend == "cpu") return FindDevice(backend);
  return MakeError(
      ExitCode::kUsage, DiagId::kDeviceMissing,
      fmt::format("the {} backend has other rules on other devices: name one", backend),
      backend == "gpu" ? "for instance --device sm_80; `hlokit devices` lists all"
                       : "--device-file FILE reads a described device");
}

}  // namespace

Result<Device> ChooseDevice(const BackendChoice& choice, std::vector<Diagnostic>* warnings) {
  if (!choice.backend.empty() && !BackendFromName(choice.backend)) {
    return MakeError(ExitCode::kUsage, DiagId::kBackendNotAvailable,
                     fmt::format("there is no backend '{}'", choice.backend),
                     "backends: generic, cpu, gpu; described ones come with --device-file");
  }
  if (!choice.device.empty() && !choice.device_file.empty()) {
    return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                     fmt::format("--device {} and --device-file {} name two devices", choice.device,
                                 choice.device_file),
                     "leave one of them out");
  }
  ASSIGN_OR_RETURN(Device device, Named(choice, warnings));
  if (!choice.backend.empty() && BackendName(device.backend) != choice.backend) {
    return MakeError(ExitCode::kUsage, DiagId::kDeviceOfOtherBackend,
                     fmt::format("{} is a device of the {} backend, not of {}", device.name,
                                 BackendName(device.backend), choice.backend),
                     "leave --backend out: the device says which it is");
  }
  for (const std::string& flag : choice.flags) TRY(SetBackendFlag(device, flag));
  return device;
}

}  // namespace hlokit
