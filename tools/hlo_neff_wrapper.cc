// hlo-neff-wrapper: puts a compiled artefact and the transposes of its inputs into a module.

#include <csignal>

#include "CLI/CLI.hpp"
#include "hlokit/exit_code.h"
#include "src/base/limits.h"
#include "src/neuron_ir/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  hlokit::StartWithDefaultLimits();
  CLI::App app;
  app.name("hlo-neff-wrapper");
  int exit_code = 0;
  hlokit::SetUpNeffWrapper(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(hlokit::ExitCode::kUsage);
  }
  return exit_code;
}
