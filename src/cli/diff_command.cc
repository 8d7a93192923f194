// hlokit diff: in what do two modules differ? Layouts first, then copies, then everything else.
#include <memory>

#include "hlokit/diff.h"
#include "hlokit/exit_code.h"
#include "src/cli/common.h"
#include "src/cli/diff_output.h"

namespace hlokit::cli {

void RegisterDiff(CLI::App& app, int& exit_code) {
  struct State {
    InputOptions before, after;
    DiffOptions options;
    Format format = Format::kText;
    size_t most = 20;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      app.add_subcommand("diff", "layouts, copies and structure that two modules do not share");
  command->footer(
      "Examples:\n  hlokit diff before.txt after.txt\n"
      "  hlokit assign module.txt | hlokit diff module.txt -      what layout assignment does\n"
      "  hlokit diff --format json before.txt after.txt\n"
      "Exit codes: 0 when nothing differs, 1 when something does.");
  command->add_option("A", state->before.path, "the first module; - reads standard input")
      ->required();
  command->add_option("B", state->after.path, "the second module")->required();
  command
      ->add_option("--input-format", state->before.format,
                   "auto, text, proto, pbtxt or log; auto looks at the contents")
      ->check(CLI::IsMember({"auto", "text", "proto", "pbtxt", "log"}));
  command->add_flag("--strict", state->before.strict, "unknown opcodes and attributes are errors");
  command->add_flag("--no-fill{false},--fill{true}", state->before.fill_missing_layouts,
                    "leave shapes without a written layout unset (default: they get {n-1,...,0})");
  command->add_flag("--metadata", state->options.metadata, "metadata counts too");
  RegisterFormat(*command, &state->format);
  command->add_option("--most", state->most, "rows per section in text");
  command->callback([state, &exit_code] {
    auto fail = [&](const Error& error, const std::string& path) {
      exit_code = Report(error, path);
    };
    std::string second = state->after.path;
    state->after = state->before;
    state->after.path = second;
    Result<Module> before = Load(state->before);
    if (!before) return fail(before.error(), state->before.path);
    Result<Module> after = Load(state->after);
    if (!after) return fail(after.error(), state->after.path);
    ModuleDiff diff = DiffModules(*before, *after, state->options);
    exit_code = state->format == Format::kJson ? EmitJson(DiffJson(*before, *after, diff))
                                               : Emit(DiffText(*before, *after, diff, state->most));
    if (exit_code == 0 && !diff.IsEmpty()) exit_code = static_cast<int>(ExitCode::kCheckFailed);
  });
}

}  // namespace hlokit::cli
