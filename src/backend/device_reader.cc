// What does a device file say? Strict: an unknown key is an error, since a misspelt demand that is
// passed over would give wrong answers quietly. Every problem is reported, not only the first.
#include "src/backend/object_reader.h"

namespace hlokit {
namespace backend {
namespace {

constexpr std::string_view kSchema = "hlokit.device/1";
/// Demands of one device; every pair of them is compared.
constexpr size_t kMostDemands = 1000;

class DeviceReader final : public ObjectReader {
 public:
  DeviceReader(const JsonDocument& json, const std::string& file, std::vector<Diagnostic>* warnings)
      : ObjectReader(json, file, &found_), warnings_(warnings) {}
  Result<Device> Read();

 private:
  void Schema(int32_t at);
  void Name(int32_t at) { device_.name = node(at).text; }
  void Aliases(int32_t at);
  void Summary(int32_t at) { device_.summary = node(at).text; }
  void ReadBackend(int32_t at);
  void ReadVendor(int32_t at);
  void Capability(int32_t at);
  void Gfx(int32_t at) { device_.gfx = node(at).text; }
  void DnnVersion(int32_t at) { device_.dnn_version = node(at).text; }
  void Alignment(int32_t at);
  void Flags(int32_t at);
  void Documentation(int32_t at) { device_.documentation = node(at).text; }
  void Demands(int32_t at);
  void CheckFacts(int32_t root);

  std::vector<Diagnostic>* warnings_;
  std::vector<Diagnostic> found_;
  Device device_;
  std::vector<int32_t> demand_nodes_;
};

void DeviceReader::Schema(int32_t at) {
  if (node(at).text == kSchema) return;
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("the schema is {}, not {}", JsonQuote(node(at).text), JsonQuote(kSchema)));
}

void DeviceReader::Aliases(int32_t at) {
  for (int32_t item = node(at).first; item >= 0; item = node(item).next) {
    if (IsKind(item, JsonKind::kString)) device_.aliases.push_back(node(item).text);
  }
}

void DeviceReader::ReadBackend(int32_t at) {
  std::optional<Backend> backend = BackendFromName(node(at).text);
  if (backend) {
    device_.backend = *backend;
    return;
  }
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("there is no backend {}", JsonQuote(node(at).text)),
          "generic, cpu, gpu, or described for a machine with demands of its own");
}

void DeviceReader::ReadVendor(int32_t at) {
  std::optional<Vendor> vendor = VendorFromName(node(at).text);
  if (vendor && *vendor != Vendor::kNone) {
    device_.vendor = *vendor;
    return;
  }
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("there is no vendor {}", JsonQuote(node(at).text)), "cuda, rocm or oneapi");
}

void DeviceReader::Capability(int32_t at) {
  std::optional<ComputeCapability> capability = ParseCapability(node(at).text);
  if (capability) {
    device_.compute_capability = *capability;
    return;
  }
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("{} is no compute capability", JsonQuote(node(at).text)),
          "write \"8.0\" or \"9.0a\"");
}

void DeviceReader::Alignment(int32_t at) {
  std::optional<int64_t> bytes = Integer(at, 1, int64_t{1} << 30);
  if (!bytes) return;
  if ((*bytes & (*bytes - 1)) != 0) {
    Problem(DiagId::kDeviceFileValue, at, fmt::format("{} is no power of two", *bytes));
  }
  device_.minimum_alignment = *bytes;
}

void DeviceReader::Flags(int32_t at) {
  for (int32_t child = node(at).first; child >= 0; child = node(child).next) {
    const std::string& name = node(child).key;
    std::vector<std::string_view> names;
    bool found = false;
    for (const BackendFlagInfo& flag : BackendFlagTable()) {
      names.push_back(flag.name);
      if (flag.name != name) continue;
      found = true;
      if (IsKind(child, JsonKind::kBool)) device_.flags.*(flag.field) = node(child).integer != 0;
    }
    if (found) continue;
    Problem(DiagId::kUnknownXlaFlag, child,
            fmt::format("no layout rule reads a flag {}", JsonQuote(name)),
            DidYouMean(name, names, fmt::format("flags: {}", fmt::join(names, ", "))));
  }
}

/// Facts that exclude each other.
void DeviceReader::CheckFacts(int32_t root) {
  auto refuse = [&](std::string_view key, bool allowed, std::string_view why) {
    int32_t at = json_.Find(root, key);
    if (at < 0 || allowed) return;
    Problem(DiagId::kDeviceContradiction, at,
            fmt::format("\"{}\" contradicts the rest: {}", key, why), "remove one of the two");
  };
  bool gpu = device_.backend == Backend::kGpu;
  bool described = device_.backend == Backend::kDescribed;
  refuse("vendor", gpu || described, "only devices of the gpu backend have a vendor");
  refuse("compute_capability", gpu && device_.vendor == Vendor::kCuda,
         "only gpu devices of the vendor cuda have a compute capability");
  refuse("gfx", gpu && device_.vendor == Vendor::kRocm,
         "only gpu devices of the vendor rocm have a gfx architecture");
  refuse("minimum_alignment", device_.backend == Backend::kCpu,
         "only the rules of the cpu backend read it");
  refuse("flags", gpu, "only the rules of the gpu backend read flags");
  refuse("demands", described, "only a device of the backend described has demands of its own");
  if (gpu && device_.vendor == Vendor::kNone) Require(root, "vendor");
  if (gpu && device_.vendor == Vendor::kCuda) Require(root, "compute_capability");
  if (gpu && device_.vendor == Vendor::kRocm) Require(root, "gfx");
  if (device_.flags.force_conv_nchw && device_.flags.force_conv_nhwc) {
    Problem(DiagId::kDeviceContradiction, json_.Find(root, "flags"),
            "xla_gpu_force_conv_nchw and xla_gpu_force_conv_nhwc contradict each other",
            "leave one of them out");
  }
}

void DeviceReader::Demands(int32_t at) {
  if (node(at).children > kMostDemands) {
    Problem(DiagId::kDeviceFileValue, at,
            fmt::format("{} demands are more than {}", node(at).children, kMostDemands));
    return;
  }
  for (int32_t item = node(at).first; item >= 0; item = node(item).next) {
    if (!IsKind(item, JsonKind::kObject)) continue;
    device_.demands.push_back(ReadDemand(json_, item, file_, errors_));
    demand_nodes_.push_back(item);
  }
}

Result<Device> DeviceReader::Read() {
  constexpr Key<DeviceReader> kKeys[] = {
      {"schema", JsonKind::kString, &DeviceReader::Schema},
      {"name", JsonKind::kString, &DeviceReader::Name},
      {"aliases", JsonKind::kArray, &DeviceReader::Aliases},
      {"summary", JsonKind::kString, &DeviceReader::Summary},
      {"backend", JsonKind::kString, &DeviceReader::ReadBackend},
      {"vendor", JsonKind::kString, &DeviceReader::ReadVendor},
      {"compute_capability", JsonKind::kString, &DeviceReader::Capability},
      {"gfx", JsonKind::kString, &DeviceReader::Gfx},
      {"dnn_version", JsonKind::kString, &DeviceReader::DnnVersion},
      {"minimum_alignment", JsonKind::kInteger, &DeviceReader::Alignment},
      {"flags", JsonKind::kObject, &DeviceReader::Flags},
      {"documentation", JsonKind::kString, &DeviceReader::Documentation},
      {"demands", JsonKind::kArray, &DeviceReader::Demands},
  };
  device_.file = file_;
  constexpr int32_t kRoot = 0;
  if (IsKind(kRoot, JsonKind::kObject)) {
    ReadObject(kRoot, kKeys);
    for (std::string_view key : {"schema", "name", "backend"}) Require(kRoot, key);
    CheckFacts(kRoot);
    CheckDemands(json_, demand_nodes_, device_.demands, file_, errors_, warnings_);
  }
  if (found_.empty()) return std::move(device_);
  return std::unexpected(
      Error{.exit_code = ExitCode::kCannotParse, .diagnostics = std::move(found_)});
}

}  // namespace
}  // namespace backend

Result<Device> ReadDevice(std::string_view text, const std::string& file,
                          std::vector<Diagnostic>* warnings) {
  Result<JsonDocument> json = JsonDocument::Parse(text);
  if (!json) {
    for (Diagnostic& diagnostic : json.error().diagnostics) diagnostic.file = file;
    return std::unexpected(std::move(json).error());
  }
  return backend::DeviceReader(*json, file, warnings).Read();
}

}  // namespace hlokit
