// hlokit assign: the module after layout assignment.
#include "hlokit/printer.h"
#include "src/cli/common.h"

namespace hlokit::cli {

void RegisterAssign(CLI::App& app, int& exit_code) {
  struct State {
    InputOptions input;
    AssignOptions assign;
    std::string output = "-";
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand("assign", "run layout assignment and print the module");
  command->footer(
      "Examples:\n  hlokit assign module.txt -o after.txt\n"
      "  hlokit assign --entry-layouts '(f32[6,10]{1,0}, unset) -> unset' module.txt\n"
      "  hlokit assign --unpin 0,2 --unpin-result module.txt\n"
      "  hlokit assign --device sm_80 module.txt");
  state->input.Register(*command);
  state->assign.Register(*command);
  command->add_option("-o,--output", state->output, "file to write; - is standard output");
  command->callback([state, &exit_code] {
    auto fail = [&](const Error& error) { exit_code = Report(error, state->input.path); };
    Result<Module> module = Load(state->input);
    if (!module) return fail(module.error());
    Result<PreparedAssignment> prepared = state->assign.Build(*module);
    if (!prepared) return fail(prepared.error());
    Result<LayoutAssignmentReport> report = AssignLayouts(*module, prepared->options);
    if (!report) return fail(report.error());
    for (const Diagnostic& warning : Warnings(*module, *report)) {
      std::fputs(FormatDiagnostic(warning, state->input.path).c_str(), stderr);
    }
    exit_code = Emit(PrintModule(*module), state->output);
  });
}

}  // namespace hlokit::cli
