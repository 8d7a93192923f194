// Whose rules apply? --backend, --device, --device-file, --xla-flag.
#include "src/cli/backend_options.h"

#include <cstdio>

namespace hlokit::cli {

void BackendOptions::Register(CLI::App& app) {
  constexpr const char* kGroup = "Backend";
  app.add_option("--backend", choice.backend,
                 "whose rules apply: generic (default), cpu or gpu; a device says it too")
      ->group(kGroup);
  app.add_option("--device", choice.device,
                 "the device, for instance sm_80 or gfx90a; `hlokit devices` lists all")
      ->group(kGroup);
  app.add_option("--device-file", choice.device_file,
                 "a device described in JSON (docs/reference/device-file.md)")
      ->group(kGroup);
  app.add_option("--xla-flag", choice.flags,
                 "NAME=VALUE of an XLA flag that changes layout rules; may stand several times")
      ->group(kGroup)
      ->expected(1)
      ->take_all();
}

Result<Device> BackendOptions::Choose(bool quiet) const {
  std::vector<Diagnostic> warnings;
  Result<Device> device = ChooseDevice(choice, &warnings);
  for (const Diagnostic& warning : quiet ? std::vector<Diagnostic>() : warnings) {
    std::fputs(FormatDiagnostic(warning, choice.device_file).c_str(), stderr);
  }
  if (!device) {
    // Nothing is wrong with the module that the command reports on.
    for (Diagnostic& problem : device.error().diagnostics) {
      if (problem.file.empty()) problem.file = "hlokit";
    }
  }
  return device;
}

}  // namespace hlokit::cli
