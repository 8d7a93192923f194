// hlokit: one program, one subcommand per question.
#include <csignal>
#include <string>

#include "CLI/CLI.hpp"
#include "hlokit/exit_code.h"
#include "src/cli/common.h"
#include "src/input/commands.h"
#include "src/neuron/commands.h"
#include "src/neuron_ir/commands.h"
#include "src/tensor/commands.h"
#include "src/verify/command.h"

int main(int argc, char** argv) {
  // A closed pipe is a failed write with a message, not a sudden death.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{
      "Why is there a copy in my HLO that I never wrote, what does it cost, how do I get rid of it?"};
  app.name("hlokit");
  app.footer(
      "Examples:\n"
      "  hlokit explain module.txt            every copy that layout assignment inserts, by cause\n"
      "  hlokit explain module.txt copy.3     how one of them came about, hop by hop\n"
      "  hlokit why module.txt dot.7          why an instruction has its layout\n"
      "  hlokit assign module.txt             the module after the pass\n"
      "Exit codes: 0 ok, 1 a check said no, 2 usage, 3 cannot parse, 4 unsupported, 5 verification\n"
      "failed, 6 input or output failed, 70 internal error.");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("hlokit 0.1.0"));
  int exit_code = 0;
  hlokit::cli::RegisterExplain(app, exit_code);
  hlokit::cli::RegisterWhy(app, exit_code);
  hlokit::cli::RegisterTrace(app, exit_code);
  hlokit::cli::RegisterFmt(app, exit_code);
  hlokit::cli::RegisterStats(app, exit_code);
  hlokit::cli::RegisterAssign(app, exit_code);
  hlokit::cli::RegisterDiff(app, exit_code);
  hlokit::cli::RegisterExtract(app, exit_code);
  hlokit::cli::RegisterVerify(app, exit_code);
  hlokit::cli::RegisterConvert(app, exit_code);
  hlokit::cli::RegisterLs(app, exit_code);
  hlokit::RegisterPermute(app, exit_code);
  hlokit::RegisterStaticIoTranspose(app, exit_code);
  CLI::App* io_transposes = hlokit::RegisterIoTransposes(app, exit_code);
  hlokit::RegisterIoTransposesCheck(*io_transposes, exit_code);
  hlokit::RegisterIoTransposesSuggest(*io_transposes, exit_code);
  hlokit::RegisterIoTransposesApply(*io_transposes, exit_code);
  hlokit::RegisterNeff(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(hlokit::ExitCode::kUsage);
  }
  return exit_code;
}
