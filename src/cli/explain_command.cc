// hlokit explain: which copies does layout assignment insert, by cause, and how did one come about?
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "fmt/format.h"
#include "hlokit/explain.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"
#include "src/cli/copies_output.h"
#include "src/cli/explain_output.h"

namespace hlokit::cli {
namespace {

struct State {
  InputOptions input;
  AssignOptions assign;
  std::string id;
  Format format = Format::kText;
  bool all = false;
  bool no_check = false;
  size_t most = 40;
};

/// The copies or causes that `id` names: "copy.3", "C2", or the number of a row.
std::vector<uint32_t> CopiesNamed(const ExplainedRun& run, std::string_view id) {
  if (id.starts_with("%")) id.remove_prefix(1);
  for (uint32_t i = 0; i < run.explanation.copies.size(); ++i) {
    const AddedArrayCopy& part = run.report.parts[run.explanation.copies[i].part];
    if (run.module.name(part.copy) == id) return {i};
    if (run.module.name(run.report.copies[run.explanation.copies[i].added].top) == id) return {i};
  }
  std::string_view number = id.starts_with("C") || id.starts_with("c") ? id.substr(1) : id;
  size_t row = 0;
  std::from_chars_result end = std::from_chars(number.data(), number.data() + number.size(), row);
  if (end.ec == std::errc() && end.ptr == number.data() + number.size() && row >= 1 &&
      row <= run.explanation.causes.size()) {
    return run.explanation.causes[row - 1].copies;
  }
  return {};
}

/// "no copy" is an answer too: an existing copy of the input, or nothing of that name.
Error NotFound(const ExplainedRun& run, const std::string& id) {
  std::string help = run.explanation.causes.empty()
                         ? "layout assignment inserts no copies into this module"
                         : fmt::format("rows are C1 to C{}; `hlokit why` explains any instruction",
                                       run.explanation.causes.size());
  InstId existing = run.module.FindInstruction(id);
  std::string message =
      existing.valid()
          ? fmt::format("'{}' is in the input already, layout assignment did not insert it", id)
          : fmt::format("there is no inserted copy and no row '{}'", id);
  return MakeError(ExitCode::kUsage, DiagId::kUsageError, message, help).error();
}

/// Runs the assignment again with the change of a cause and counts what is left.
std::optional<WhatIf> CheckWayOut(const State& state, const Cause& cause) {
  if (cause.flags.empty()) return std::nullopt;
  AssignOptions changed = state.assign;
  if (cause.flags[0] == "--unpin") changed.unpin.push_back(cause.flags[1]);
  if (cause.flags[0] == "--unpin-result") changed.unpin_result = true;
  Result<ExplainedRun> run = RunExplained(state.input, changed, /*quiet=*/true);
  if (!run) return std::nullopt;
  return WhatIf{run->explanation.copies.size(), run->explanation.logical_bytes};
}

/// Layouts were assigned before the module was written: says so, and answers from what is there.
int FromDump(const State& state, const std::string& reason) {
  Result<Module> module = Load(state.input, /*quiet=*/true);
  if (!module) return Report(module.error(), state.input.path);
  Diagnostic note{.id = DiagId::kLayoutsAlreadyAssigned,
                  .severity = Severity::kNote,
                  .message = "layout assignment cannot run again on this module (" + reason +
                             "); this is what the module itself shows",
                  .help = "the dump before optimisation gives the whole chain of causes"};
  std::fputs(FormatDiagnostic(note, state.input.path).c_str(), stderr);
  return ExplainDump(*module, state.input.path, state.id, state.format, state.most);
}

int Run(const State& state) {
  Result<ExplainedRun> run = RunExplained(state.input, state.assign, /*quiet=*/false);
  if (!run && run.error().diagnostics.front().id == DiagId::kLayoutBitcast) {
    return FromDump(state, run.error().diagnostics.front().message);
  }
  if (!run) return Report(run.error(), state.input.path);
  if (state.id.empty()) {
    return state.format == Format::kJson ? EmitJson(SummaryJson(*run))
                                         : Emit(SummaryText(*run, state.most));
  }
  std::vector<uint32_t> copies = CopiesNamed(*run, state.id);
  if (copies.empty()) return Report(NotFound(*run, state.id), state.input.path);
  const Cause& cause = run->explanation.causes[run->explanation.copies[copies[0]].cause];
  std::optional<WhatIf> what_if = state.no_check ? std::nullopt : CheckWayOut(state, cause);
  return state.format == Format::kJson ? EmitJson(DetailJson(*run, copies, what_if, state.all))
                                       : Emit(DetailText(*run, copies, what_if, state.all));
}

}  // namespace

void RegisterExplain(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      app.add_subcommand("explain", "which copies does layout assignment insert, and why");
  command->footer(
      "Examples:\n"
      "  hlokit explain module.txt              one row per cause, most bytes first\n"
      "  hlokit explain module.txt C1           the first row, hop by hop\n"
      "  hlokit explain module.txt copy.3       one copy, hop by hop\n"
      "  hlokit explain --unpin 0 module.txt    what if parameter 0 were free?");
  state->input.Register(*command);
  command->add_option("ID", state->id, "a row (C1) or the name of an inserted copy");
  state->assign.Register(*command);
  RegisterFormat(*command, &state->format);
  command->add_flag("--all", state->all,
                    "with ID: every request on the constraints of the chain, not only the chain");
  command->add_flag("--no-check", state->no_check,
                    "with ID: do not run the assignment again to check the way out");
  command->add_option("--most", state->most, "rows shown in text");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
