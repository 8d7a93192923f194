// hlokit fmt: reads a module and prints it as XLA prints dumps.
#include "hlokit/printer.h"
#include "src/cli/common.h"

namespace hlokit::cli {
namespace {

PrintOptions ForStyle(const std::string& style) {
  if (style == "short") return PrintOptions::Short();
  if (style == "canonical") return PrintOptions::Canonical();
  if (style == "fingerprint") return PrintOptions::Fingerprint();
  return PrintOptions::Default();
}

}  // namespace

void RegisterFmt(CLI::App& app, int& exit_code) {
  struct State {
    InputOptions input;
    std::string output = "-";
    std::string style = "dump";
    bool large_constants = false;
    bool no_metadata = false;
    bool operand_shapes = false;
    bool no_percent = false;
    bool no_backend_config = false;
    bool async_sugar = false;
    bool compact_gte = false;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand("fmt", "read a module and print it");
  command->footer(
      "Examples:\n  hlokit fmt module.txt\n  hlokit fmt --style short module.txt -o short.txt");
  state->input.Register(*command);
  command->add_option("-o,--output", state->output, "file to write; - is standard output");
  command->add_option("--style", state->style, "dump, short, canonical or fingerprint")
      ->check(CLI::IsMember({"dump", "short", "canonical", "fingerprint"}));
  command->add_flag("--large-constants", state->large_constants,
                    "print the values of all constants");
  command->add_flag("--no-metadata", state->no_metadata, "leave metadata out");
  command->add_flag("--operand-shapes", state->operand_shapes,
                    "print the types of operands, as old dumps do");
  command->add_flag("--no-percent", state->no_percent, "print names without %");
  command->add_flag("--no-backend-config", state->no_backend_config, "leave backend configs out");
  command->add_flag("--async-sugar", state->async_sugar,
                    "print add-start(...) instead of async-start(...), calls=...");
  command->add_flag(
      "--compact-gte", state->compact_gte,
      "print %x#0 instead of get-tuple-element instructions (their own attributes are left out)");
  command->callback([state, &exit_code] {
    Result<Module> module = Load(state->input);
    if (!module) {
      exit_code = Report(module.error(), state->input.path);
      return;
    }
    PrintOptions options = ForStyle(state->style);
    if (state->large_constants) options.large_constants = true;
    if (state->no_metadata) options.metadata = false;
    if (state->operand_shapes) options.operand_shapes = true;
    if (state->no_percent) options.percent = false;
    if (state->no_backend_config) options.backend_config = false;
    options.async_sugar = options.async_sugar || state->async_sugar;
    options.compact_gte = options.compact_gte || state->compact_gte;
    exit_code = Emit(PrintModule(*module, options), state->output);
  });
}

}  // namespace hlokit::cli
