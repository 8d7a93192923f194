// hlokit verify: is this module sound?
#include "src/verify/command.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "hlokit/verifier.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"

namespace hlokit::cli {
namespace {

std::string_view SeverityText(Severity severity) {
  return severity == Severity::kError     ? "error"
         : severity == Severity::kWarning ? "warning"
                                          : "note";
}

nlohmann::ordered_json Json(const Module& module, const std::string& file,
                            const std::vector<VerifierFinding>& findings, bool valid) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const VerifierFinding& finding : findings) {
    const Diagnostic& diagnostic = finding.diagnostic;
    nlohmann::ordered_json row = {{"code", DiagCode(diagnostic.id)},
                                  {"severity", SeverityText(diagnostic.severity)},
                                  {"message", diagnostic.message}};
    if (finding.instruction.valid()) row["instruction"] = module.name(finding.instruction);
    if (finding.computation.valid()) row["computation"] = module.name(finding.computation);
    if (diagnostic.location.line != 0) {
      row["place"] = {{"file", file},
                      {"line", diagnostic.location.line},
                      {"column", diagnostic.location.column}};
    }
    if (!diagnostic.help.empty()) row["help"] = diagnostic.help;
    list.push_back(std::move(row));
  }
  return {{"schema", "hlokit.verify/1"},
          {"file", file},
          {"module", module.config().name},
          {"valid", valid},
          {"findings", std::move(list)}};
}

struct State {
  InputOptions input;
  Format format = Format::kText;
  VerifierOptions options;
  bool quiet = false;
};

void RegisterOptions(CLI::App& command, State& state) {
  VerifierOptions& o = state.options;
  command.add_flag("--layout-sensitive", o.layout_sensitive,
                   "layouts count where an opcode cannot change them");
  command
      .add_flag("--opcodes-keep-layouts", o.opcodes_keep_layouts,
                "elementwise opcodes and the like must keep layouts, as after layout assignment")
      ->needs("--layout-sensitive");
  command.add_flag(
      "--strict-layouts", o.strict_layouts,
      "--layout-sensitive, and bitcasts move no element, orders are permutations, no copy "
      "is useless");
  command.add_flag("--no-mixed-precision{false}", o.allow_mixed_precision,
                   "float types of different precision must not meet");
  command.add_flag("--allow-unbounded", o.allow_unbounded_dynamism,
                   "sizes written as ? are allowed");
  command.add_flag("--broadcast-sorted", o.broadcast_dimensions_sorted,
                   "the dimensions of broadcasts must be sorted");
  command.add_flag("--reshape-is-bitcast", o.reshape_is_bitcast,
                   "reshapes outside fusions must not move elements (with --layout-sensitive)");
  command.add_flag("--bitcast-may-change-padding", o.allow_bitcast_to_have_different_size,
                   "bitcasts may differ in bytes when the data are the same");
  command.add_flag("--same-threads", o.call_thread_names,
                   "callers and callees run on the same thread");
  command.add_flag("--no-device-numbers{false}", o.sharding_device_numbers,
                   "shardings may name devices that do not exist");
  command.add_flag("--names-unchanged", o.names_unchanged,
                   "names equal the recorded scheduling_name");
  command.add_flag("--no-host-memory", o.no_host_memory_space, "nothing may lie in host memory");
  command.add_flag("--no-deadlocks", o.no_collective_deadlocks,
                   "send, recv and collectives of scheduled modules cannot block");
  command.add_flag("--no-replica-groups{false}", o.check_replica_groups,
                   "replica groups are not checked");
  command.add_flag("--natural-element-sizes", o.natural_element_sizes,
                   "layouts give element sizes only to types below 8 bits");
  command.add_option("--max-findings", o.max_findings, "show at most this many problems")
      ->check(CLI::PositiveNumber);
}

}  // namespace

void RegisterVerify(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand("verify", "check that a module is sound");
  command->footer(
      "Examples:\n  hlokit verify module.txt\n  hlokit verify --strict-layouts after.txt\n"
      "  hlokit verify --format json module.txt\n"
      "Exit codes: 0 sound, 3 cannot be read, 5 not sound. What each code (V001, …) means is in\n"
      "docs/reference/verify.md.");
  state->input.Register(*command);
  RegisterFormat(*command, &state->format);
  command->add_flag("-q,--quiet", state->quiet, "print nothing, only set the exit code");
  RegisterOptions(*command, *state);
  command->callback([state, &exit_code] {
    Result<Module> module = Load(state->input);
    if (!module) {
      exit_code = Report(module.error(), state->input.path);
      return;
    }
    std::vector<VerifierFinding> findings = FindProblems(*module, state->options);
    bool valid = std::ranges::none_of(findings, [](const VerifierFinding& finding) {
      return finding.diagnostic.severity == Severity::kError;
    });
    exit_code = valid ? 0 : static_cast<int>(ExitCode::kVerifyFailed);
    if (state->quiet) return;
    if (state->format == Format::kJson) {
      int written = EmitJson(Json(*module, state->input.path, findings, valid));
      if (written != 0) exit_code = written;
      return;
    }
    std::string text;
    for (const VerifierFinding& finding : findings) {
      text += FormatDiagnostic(finding.diagnostic, state->input.path);
    }
    std::fputs(text.c_str(), stderr);
  });
}

}  // namespace hlokit::cli
