// static-io-transpose: transposes the weights of a Neuron work folder once, on the host.

#include "CLI/CLI.hpp"
#include "hlokit/exit_code.h"
#include "src/base/limits.h"
#include "src/neuron/commands.h"

int main(int argc, char** argv) {
  hlokit::StartWithDefaultLimits();
  CLI::App app;
  app.name("static-io-transpose");
  int exit_code = 0;
  hlokit::SetUpStaticIoTranspose(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(hlokit::ExitCode::kUsage);
  }
  return exit_code;
}
