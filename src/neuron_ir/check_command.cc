// hlokit io-transposes check: do the transposes fit the module?
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "hlokit/input.h"
#include "src/cli/common.h"
#include "src/neuron_ir/commands.h"
#include "src/neuron_ir/entry_inputs.h"
#include "src/neuron_ir/spec_files.h"

namespace hlokit {
namespace {

struct State {
  SpecFiles specs;
  std::string module;
  bool positions = false;
};

/// Everything that is wrong or dubious, in the order of the file.
std::vector<Diagnostic> Problems(const Module& module, const EntryInputs& inputs,
                                 const CombinedSpecs& specs) {
  std::vector<Diagnostic> problems;
  const std::vector<InstId>& parameters = module.computation(module.entry()).parameters;
  for (const IoTranspose& spec : specs.entries) {
    const std::optional<size_t> number = inputs.Find(spec.input_name);
    if (!number) {
      problems.push_back(NoSuchInput(spec, inputs));
      continue;
    }
    if (std::optional<Diagnostic> problem = SpecProblem(module, parameters[*number], spec)) {
      problems.push_back(std::move(*problem));
      continue;
    }
    // The vendor's StaticIOTranspose folds every entry; what it cannot fold it refuses.
    const Result<IoTranspose> simple =
        SimplifyIoTranspose(spec, module.shapes().sizes(module.shape(parameters[*number])));
    if (!simple) {
      for (Diagnostic diagnostic : simple.error().diagnostics) {
        diagnostic.location = spec.location;
        problems.push_back(std::move(diagnostic));
      }
    } else if (simple->reshape.size() > kComfortableIoDimensions) {
      problems.push_back(
          {.id = DiagId::kManyIoDimensions,
           .severity = Severity::kWarning,
           .message = fmt::format(
               "the transpose of '{}' needs {} dimensions; consumers are made for up to {}",
               spec.input_name, simple->reshape.size(), kComfortableIoDimensions),
           .location = spec.location});
    }
  }
  return problems;
}

int Run(State state) {
  state.specs.aliases = state.positions ? AliasRule::kPositions : AliasRule::kNames;
  std::vector<Diagnostic> warnings;
  const Result<LoadedModule> loaded = LoadModule(state.module, {}, &warnings);
  for (const Diagnostic& warning : warnings)
    std::fputs(FormatDiagnostic(warning, state.module).c_str(), stderr);
  if (!loaded) return cli::Report(loaded.error(), state.module);
  const Result<EntryInputs> inputs = EntryInputs::Of(loaded->module);
  if (!inputs) return cli::Report(inputs.error(), state.module);
  std::string file;
  const Result<CombinedSpecs> specs = LoadSpecs(state.specs, &file);
  if (!specs) return cli::Report(specs.error(), file);
  for (const std::string& warning : specs->warnings) std::fputs(warning.c_str(), stderr);
  bool good = true;
  for (const Diagnostic& problem : Problems(loaded->module, *inputs, *specs)) {
    std::fputs(FormatDiagnostic(problem, specs->file).c_str(), stderr);
    good = good && problem.severity != Severity::kError;
  }
  if (!good) return static_cast<int>(ExitCode::kCheckFailed);
  return cli::Emit(fmt::format("{} transpose{} of {} input{} fit {}\n", specs->entries.size(),
                               specs->entries.size() == 1 ? "" : "s", inputs->names().size(),
                               inputs->names().size() == 1 ? "" : "s",
                               loaded->module.config().name));
}

}  // namespace

void RegisterIoTransposesCheck(CLI::App& group, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = group.add_subcommand("check", "do the transposes fit a module");
  command->footer(
      "Examples:\n"
      "  hlokit io-transposes check io_transposes.json --hlo graph.hlo\n"
      "  hlokit io-transposes check sg00/io_transposes.json sg01/io_transposes.json --hlo "
      "graph.hlo "
      "--netlist hlo_netlist.json\n"
      "Names are those of neff_input_names, else of the parameters. Exit code 1 when something "
      "does "
      "not fit.");
  command->add_option("FILE", state->specs.files, "io_transposes.json, one per subgraph")
      ->required();
  command->add_option("--hlo", state->module, "the module, in any form that hlokit opens")
      ->required();
  command->add_option("--netlist", state->specs.netlist,
                      "hlo_netlist.json; default: the one of this folder, if it is there");
  command->add_flag("--positions", state->positions,
                    "input<k> in the n-th file is entry k of Inputs of the n-th partition");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit
