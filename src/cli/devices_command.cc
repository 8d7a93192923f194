// hlokit devices: which machines are known, and what is the data of one?
#include "fmt/format.h"
#include "hlokit/file.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"

namespace hlokit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct State {
  std::string name;
  BackendOptions backend;
  Format format = Format::kText;
};

/// What tells the device apart: capability or architecture.
std::string Architecture(const Device& device) {
  if (device.vendor == Vendor::kCuda) {
    const ComputeCapability& c = device.compute_capability;
    return fmt::format("{}.{}{}", c.major, c.minor, c.extension);
  }
  return device.gfx;
}

std::string ListText() {
  std::vector<std::vector<std::string>> rows = {
      {"name", "backend", "vendor", "architecture", "other names", "what"}};
  for (const Device& device : BuiltInDevices()) {
    rows.push_back({device.name, std::string(BackendName(device.backend)),
                    device.vendor == Vendor::kNone ? "" : std::string(VendorName(device.vendor)),
                    Architecture(device), fmt::format("{}", fmt::join(device.aliases, " ")),
                    device.summary});
  }
  return Table(rows, "llllll") +
         "\nNext: hlokit devices NAME writes one as a device file; hlokit explain --device NAME "
         "FILE "
         "uses it.\n";
}

Json ListJson() {
  Json devices = Json::array();
  for (const Device& device : BuiltInDevices()) {
    devices.push_back(Json::parse(DeviceText(device)));
  }
  return {{"schema", "hlokit.devices/1"}, {"devices", devices}};
}

int Run(const State& state) {
  if (state.name.empty() && state.backend.choice.device_file.empty()) {
    return state.format == Format::kJson ? EmitJson(ListJson()) : Emit(ListText());
  }
  BackendOptions named = state.backend;
  named.choice.device = state.name;
  Result<Device> device = named.Choose(/*quiet=*/false);
  if (!device) return Report(device.error(), "");
  return Emit(DeviceText(*device));
}

}  // namespace

void RegisterDevices(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      app.add_subcommand("devices", "the devices that layout rules know, or one as a device file");
  command->footer(
      "Examples:\n"
      "  hlokit devices                            all of them\n"
      "  hlokit devices sm_80 > mine.json          one as a device file, to change it\n"
      "  hlokit devices --device-file mine.json    checks a device file and writes it back");
  command->add_option("NAME", state->name, "a device");
  command->add_option("--device-file", state->backend.choice.device_file, "check this device file");
  command->add_option("--xla-flag", state->backend.choice.flags, "NAME=VALUE, as for assign")
      ->expected(1)
      ->take_all();
  RegisterFormat(*command, &state->format);
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
