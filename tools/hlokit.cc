// hlokit: one program, one subcommand per question.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "hlokit/exit_code.h"
#include "src/base/limits.h"
#include "src/cli/common.h"
#include "src/eval/commands.h"
#include "src/input/commands.h"
#include "src/neuron/commands.h"
#include "src/neuron_ir/commands.h"
#include "src/tensor/commands.h"
#include "src/verify/command.h"

namespace {

/// "did you mean": for a subcommand or a flag that does not exist.
void Suggest(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command->get_name());
  }
  std::span<char*> words(argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0));
  if (words.empty()) return;
  std::string first = words[0];
  std::string nearest;
  if (std::find(commands.begin(), commands.end(), first) == commands.end()) {
    nearest = first.starts_with("-") ? "" : hlokit::cli::NearestWord(first, commands);
  } else {
    const CLI::App* command = app.get_subcommand(first);
    std::vector<std::string> flags;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
    for (std::string word : words.subspan(1)) {
      word = word.substr(0, word.find('='));
      if (!word.starts_with("--") || std::find(flags.begin(), flags.end(), word) != flags.end())
        continue;
      nearest = hlokit::cli::NearestWord(word, flags);
      break;
    }
  }
  if (!nearest.empty()) std::cerr << "Did you mean " << nearest << "?\n";
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe is a failed write with a message, not a sudden death.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{
      "Why is there a copy in my HLO that I never wrote, what does it cost, how do I get rid of "
      "it?"};
  app.name("hlokit");
  app.footer(
      "Examples:\n"
      "  hlokit explain module.txt            every copy that layout assignment inserts, by cause\n"
      "  hlokit explain module.txt copy.3     how one of them came about, hop by hop\n"
      "  hlokit copies dump.txt               what every copy of a dump is there for\n"
      "  hlokit why module.txt dot.7          why an instruction has its layout\n"
      "  hlokit assign module.txt             the module after the pass\n"
      "Exit codes: 0 ok, 1 a check said no, 2 usage, 3 cannot parse, 4 unsupported, 5 "
      "verification\n"
      "failed, 6 input or output failed, 7 a limit was reached, 70 internal error.");
  app.require_subcommand(1);
  app.fallthrough();  // the two limits may also stand behind the command
  hlokit::StartWithDefaultLimits();
  app.add_option("--max-memory",
                 "most memory to use, for instance 2G; 0: no limit (default: 90 % of the machine)")
      ->type_name("SIZE")
      ->check(hlokit::SetMemoryLimit);
  app.add_option("--timeout", "seconds after which to give up (default: none)")
      ->type_name("SECONDS")
      ->check(hlokit::SetTimeLimit);
  app.set_version_flag("--version", std::string("hlokit 0.1.0"));
  int exit_code = 0;
  hlokit::cli::RegisterExplain(app, exit_code);
  hlokit::cli::RegisterCopies(app, exit_code);
  hlokit::cli::RegisterWhy(app, exit_code);
  hlokit::cli::RegisterTrace(app, exit_code);
  hlokit::cli::RegisterDevices(app, exit_code);
  hlokit::cli::RegisterFmt(app, exit_code);
  hlokit::cli::RegisterStats(app, exit_code);
  hlokit::cli::RegisterAssign(app, exit_code);
  hlokit::cli::RegisterDiff(app, exit_code);
  hlokit::cli::RegisterExtract(app, exit_code);
  hlokit::cli::RegisterReduce(app, exit_code);
  hlokit::cli::RegisterVerify(app, exit_code);
  hlokit::cli::RegisterRun(app, exit_code);
  hlokit::cli::RegisterEqual(app, exit_code);
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
    if (code != 0) Suggest(app, argc, argv);
    return code == 0 ? 0 : static_cast<int>(hlokit::ExitCode::kUsage);
  }
  return exit_code;
}
