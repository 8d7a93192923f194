// hlokit extract: an instruction with its context as a module of its own.
#include <memory>
#include <optional>

#include "hlokit/extract.h"
#include "hlokit/printer.h"
#include "src/cli/common.h"

namespace hlokit::cli {

void RegisterExtract(CLI::App& app, int& exit_code) {
  struct State {
    InputOptions input;
    std::string name;
    uint32_t height = ExtractOptions::kAllTheWay;
    std::string output = "-";
    bool elide = false;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand(
      "extract", "an instruction and what it depends on, as a module of its own");
  command->footer(
      "Examples:\n  hlokit extract module.txt dot.7 -o dot.txt\n"
      "  hlokit extract --height 2 module.txt dot.7    two operands up, then parameters\n"
      "  hlokit extract --height 1 module.txt copy.3 | hlokit explain -");
  state->input.Register(*command);
  command->add_option("INST", state->name, "name of an instruction, with or without %")->required();
  command
      ->add_option("--height", state->height,
                   "how many operands up to go; what lies above becomes parameters "
                   "(default: all the way)")
      ->default_str("")
      ->check(CLI::NonNegativeNumber);
  command->add_option("-o,--output", state->output, "file to write; - is standard output");
  command->add_flag("--elide", state->elide,
                    "large constants as {...}, as dumps have them (default: with their values)");
  command->callback([state, &exit_code] {
    auto fail = [&](const Error& error) { exit_code = Report(error, state->input.path); };
    Result<Module> module = Load(state->input);
    if (!module) return fail(module.error());
    Result<InstId> id = FindInstruction(*module, state->name);
    if (!id) return fail(id.error());
    Result<Module> extract = ExtractInstruction(*module, *id, {.height = state->height});
    if (!extract) return fail(extract.error());
    exit_code = Emit(PrintModule(*extract, {.large_constants = !state->elide}), state->output);
  });
}

}  // namespace hlokit::cli
