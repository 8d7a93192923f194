// Which devices does hlokit know, and what is their data?
#include <algorithm>
#include <array>
#include <charconv>

#include "fmt/format.h"
#include "hlokit/backend.h"
#include "src/backend/device_facts.h"
#include "src/backend/rules.h"

namespace hlokit {
namespace {

using backend::CapabilityText;
using backend::DidYouMean;
using backend::ParseCapability;

constexpr std::string_view kBackendNames[] = {"generic", "cpu", "gpu", "described"};
constexpr std::string_view kVendorNames[] = {"none", "cuda", "rocm", "oneapi"};
constexpr std::string_view kDemandNames[] = {"row-major",       "column-major", "dimension-minor",
                                             "dimension-major", "nchw",         "nhwc"};

constexpr BackendFlagInfo kFlags[] = {
#define HLOKIT_BACKEND_FLAG(field, name, fallback, section, meaning) \
  {name, &BackendFlags::field, fallback, section, meaning},
#include "hlokit/backend_flags.def"
};

template <typename Kind, size_t n>
std::optional<Kind> FromName(const std::string_view (&names)[n], std::string_view name) {
  const std::string_view* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Kind>(found - std::begin(names));
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (end != 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

struct DeviceRow {
  Backend backend;
  Vendor vendor;
  std::string_view name, aliases, architecture, summary;
};
constexpr DeviceRow kRows[] = {
#define HLOKIT_DEVICE(backend, vendor, name, aliases, architecture, summary) \
  {Backend::backend, Vendor::vendor, name, aliases, architecture, summary},
#include "src/backend/devices.def"
};

std::vector<Device> MakeDevices() {
  std::vector<Device> devices;
  for (const DeviceRow& row : kRows) {
    Device& device = devices.emplace_back();
    device.name = row.name;
    device.aliases = SplitWords(row.aliases);
    device.summary = row.summary;
    device.backend = row.backend;
    device.vendor = row.vendor;
    if (row.vendor == Vendor::kCuda) {
      device.compute_capability = ParseCapability(row.architecture).value_or(ComputeCapability());
    } else if (row.vendor == Vendor::kRocm) {
      device.gfx = row.architecture;
    }
  }
  return devices;
}

/// Names are told apart by letters and digits only: "A100-SXM-80" is "a100_sxm_80".
std::string Folded(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    out += c == '-' ? '_' : c;
  }
  return out;
}

}  // namespace

std::string_view BackendName(Backend backend) {
  return kBackendNames[static_cast<size_t>(backend)];
}
std::optional<Backend> BackendFromName(std::string_view name) {
  return FromName<Backend>(kBackendNames, name);
}
std::string_view VendorName(Vendor vendor) { return kVendorNames[static_cast<size_t>(vendor)]; }
std::string_view DemandKindName(DemandKind kind) { return kDemandNames[static_cast<size_t>(kind)]; }
std::span<const BackendFlagInfo> BackendFlagTable() { return kFlags; }

namespace backend {

std::optional<Vendor> VendorFromName(std::string_view name) {
  return FromName<Vendor>(kVendorNames, name);
}
std::optional<DemandKind> DemandKindFromName(std::string_view name) {
  return FromName<DemandKind>(kDemandNames, name);
}

std::optional<ComputeCapability> ParseCapability(std::string_view text) {
  ComputeCapability out;
  const char* end = text.data() + text.size();
  auto [dot, major_error] = std::from_chars(text.data(), end, out.major);
  if (major_error != std::errc() || dot == end || *dot != '.') return std::nullopt;
  auto [rest, minor_error] = std::from_chars(dot + 1, end, out.minor);
  out.extension.assign(rest, end);
  bool good = minor_error == std::errc() && out.major > 0 && out.major < 1000 && out.minor >= 0 &&
              out.minor < 1000 &&
              (out.extension.empty() || out.extension == "a" || out.extension == "f");
  if (!good) return std::nullopt;
  return out;
}

std::string CapabilityText(const ComputeCapability& capability) {
  return fmt::format("{}.{}{}", capability.major, capability.minor, capability.extension);
}

}  // namespace backend

std::span<const Device> BuiltInDevices() {
  static const std::vector<Device> devices = MakeDevices();
  return devices;
}

Result<Device> FindDevice(std::string_view name) {
  std::string wanted = Folded(name);
  std::vector<std::string_view> names;
  for (const Device& device : BuiltInDevices()) {
    names.push_back(device.name);
    if (wanted == device.name) return device;
    for (const std::string& alias : device.aliases) {
      names.push_back(alias);
      if (wanted != alias) continue;
      // Reports call the device what the user calls it.
      Device found = device;
      *std::find(found.aliases.begin(), found.aliases.end(), alias) = found.name;
      found.name = alias;
      return found;
    }
  }
  return MakeError(
      ExitCode::kUsage, DiagId::kUnknownDevice, fmt::format("there is no device '{}'", name),
      DidYouMean(wanted, names, "`hlokit devices` lists all; --device-file reads one"));
}

Status SetBackendFlag(Device& device, std::string_view assignment) {
  std::string_view name = assignment.substr(0, assignment.find('='));
  bool has_value = name.size() != assignment.size();
  std::string_view value = has_value ? assignment.substr(name.size() + 1) : "true";
  while (name.starts_with('-')) name.remove_prefix(1);  // as in XLA_FLAGS
  std::vector<std::string_view> names;
  for (const BackendFlagInfo& flag : kFlags) {
    names.push_back(flag.name);
    if (flag.name != name) continue;
    bool on = value == "true" || value == "1";
    if (!on && value != "false" && value != "0") {
      return MakeError(ExitCode::kUsage, DiagId::kBadXlaFlag,
                       fmt::format("the flag {} cannot be '{}'", name, value),
                       "it takes true or false");
    }
    if (device.backend != Backend::kGpu) {
      return MakeError(ExitCode::kUsage, DiagId::kUnknownXlaFlag,
                       fmt::format("the rules of the {} backend do not read the flag {}",
                                   BackendName(device.backend), name),
                       "it belongs to --backend gpu");
    }
    device.flags.*(flag.field) = on;
    return {};
  }
  return MakeError(
      ExitCode::kUsage, DiagId::kUnknownXlaFlag,
      fmt::format("no layout rule reads a flag '{}'", name),
      DidYouMean(name, names,
                 fmt::format("flags that layout rules read: {}", fmt::join(names, ", "))));
}

std::unique_ptr<LayoutRules> MakeLayoutRules(const Device& device) {
  std::shared_ptr<const Device> kept = std::make_shared<const Device>(device);
  switch (device.backend) {
    case Backend::kGeneric:
      return nullptr;
    case Backend::kCpu:
      return backend::MakeCpuRules(std::move(kept));
    case Backend::kGpu:
      return backend::MakeGpuRules(std::move(kept));
    case Backend::kDescribed:
      return backend::MakeDescribedRules(std::move(kept));
  }
  return nullptr;
}

}  // namespace hlokit
