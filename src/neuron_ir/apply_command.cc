// hlokit io-transposes apply: the module whose parameters arrive already transposed.
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "hlokit/input.h"
#include "hlokit/printer.h"
#include "hlokit/proto.h"
#include "hlokit/verifier.h"
#include "src/cli/common.h"
#include "src/neuron_ir/apply.h"
#include "src/neuron_ir/commands.h"
#include "src/neuron_ir/spec_files.h"

namespace hlokit {
namespace {

struct State {
  std::string module, output = "-";
  SpecFiles specs;
  bool proto = false;
};

/// `about` is the file that an error is about.
Result<std::string> Apply(const State& state, std::string* about) {
  *about = state.module;
  std::vector<Diagnostic> warnings;
  ASSIGN_OR_RETURN(LoadedModule loaded, LoadModule(state.module, {}, &warnings));
  for (const Diagnostic& warning : warnings)
    std::fputs(FormatDiagnostic(warning, state.module).c_str(), stderr);
  ASSIGN_OR_RETURN(const CombinedSpecs specs, LoadSpecs(state.specs, about));
  for (const std::string& warning : specs.warnings) std::fputs(warning.c_str(), stderr);
  TRY(ApplyIoTransposes(loaded.module, specs.entries));
  *about = state.module;
  TRY(VerifyModule(loaded.module));
  if (state.proto) return WriteProto(loaded.module, {.kind = ProtoKind::kModule});
  return PrintModule(loaded.module, {.large_constants = true});
}

int Run(const State& state) {
  std::string about;
  const Result<std::string> applied = Apply(state, &about);
  return applied ? cli::Emit(*applied, state.output) : cli::Report(applied.error(), about);
}

}  // namespace

void RegisterIoTransposesApply(CLI::App& group, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      group.add_subcommand("apply", "the module whose parameters arrive already transposed");
  command->footer(
      "Example:\n"
      "  hlokit io-transposes apply graph.hlo io_transposes.json -o moved.hlo\n"
      "Users of a parameter see the same value as before, through the inverse transpose.");
  command->add_option("MODULE", state->module, "the module, in any form that hlokit opens")
      ->required();
  command->add_option("SPEC", state->specs.files, "io_transposes.json, one per subgraph")
      ->required();
  command->add_option("--netlist", state->specs.netlist,
                      "hlo_netlist.json; default: the one of this folder, if it is there");
  command->add_option("-o,--output", state->output, "the file to write; default: standard output");
  command->add_flag("--proto", state->proto, "write an HloModuleProto instead of text");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit
