// hlo-neff-wrapper: what do its options mean, and what does it print?
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/input.h"
#include "hlokit/neff_wrapper.h"
#include "hlokit/printer.h"
#include "hlokit/proto.h"
#include "hlokit/verifier.h"
#include "src/cli/common.h"
#include "src/neuron_ir/commands.h"
#include "src/neuron_ir/spec_files.h"

namespace hlokit {
namespace {

constexpr const char* kNothingToDo =
    "There are no io transposes nor zero-sized parameters. Output will not be produced.\n";

constexpr const char* kFooter =
    "Examples:\n"
    "  hlo-neff-wrapper --hlo graph.hlo --neff graph.neff --output wrapped_neff.hlo "
    "--io_transposes io_transposes.json\n"
    "  hlo-neff-wrapper --hlo graph.hlo --neff graph.neff --output wrapped_neff.hlo "
    "--netlist hlo_netlist.json \\\n"
    "      --modular-io-transposes \"sg00/io_transposes.json sg01/io_transposes.json\"\n"
    "Look into the result with `hlokit neff inspect`.";

enum class Transposes { kBoth, kCalls, kAttribute };

struct State {
  std::string hlo, neff, output;
  std::string single;
  std::vector<std::string> modular;
  SpecFiles specs;
  NeffWrapperOptions wrap;
  Transposes transposes = Transposes::kBoth;
  bool no_reshape_back = false, no_constant_inputs = false, names = false, positions = false;
  std::string form = "proto";
};

/// The vendor's driver passes all files in one argument, separated by blanks.
std::vector<std::string> SplitAtBlanks(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::istringstream words(argument);
    for (std::string word; words >> word;) files.push_back(word);
  }
  return files;
}

/// Options to meaning.
void Settle(State& state) {
  state.specs.files = SplitAtBlanks(state.modular);
  if (!state.single.empty()) state.specs.files = {state.single};
  state.specs.aliases = state.positions ? AliasRule::kPositions : AliasRule::kNames;
  state.wrap.calls = state.transposes != Transposes::kAttribute;
  state.wrap.attribute = state.transposes != Transposes::kCalls;
  state.wrap.reshape_back = !state.no_reshape_back;
  state.wrap.constant_inputs = !state.no_constant_inputs;
  state.wrap.mask = !state.names;
}

/// `about` is the file that an error is about.
Result<std::optional<Module>> Wrap(const State& state, std::string* about) {
  *about = state.hlo;
  std::vector<Diagnostic> warnings;
  ASSIGN_OR_RETURN(const LoadedModule loaded, LoadModule(state.hlo, {}, &warnings));
  for (const Diagnostic& warning : warnings)
    std::fputs(FormatDiagnostic(warning, state.hlo).c_str(), stderr);
  ASSIGN_OR_RETURN(const CombinedSpecs specs, LoadSpecs(state.specs, about));
  for (const std::string& warning : specs.warnings) std::fputs(warning.c_str(), stderr);
  *about = state.neff;
  ASSIGN_OR_RETURN(const std::string neff, ReadFile(state.neff, size_t{2} << 30));
  *about = specs.file;
  return WrapNeff(loaded.module, neff, specs.entries, state.wrap);
}

Status Write(const State& state, const Module& wrapped) {
  TRY(VerifyModule(wrapped));
  if (state.form == "text")
    return WriteFile(state.output, PrintModule(wrapped, {.large_constants = true}));
  const ProtoWrapper wrapper{.kind = state.form == "hlo" ? ProtoKind::kHlo : ProtoKind::kModule};
  ASSIGN_OR_RETURN(const std::string bytes, WriteProto(wrapped, wrapper));
  return WriteFile(state.output, bytes);
}

int Run(State state) {
  Settle(state);
  std::string about;
  const Result<std::optional<Module>> wrapped = Wrap(state, &about);
  if (!wrapped) return cli::Report(wrapped.error(), about);
  if (!wrapped->has_value()) {
    std::fputs(kNothingToDo, stderr);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(state.output, ignored)) {
      fmt::print(stderr, "{} is from an earlier run and does not belong to these files.\n",
                 state.output);
    }
    return static_cast<int>(ExitCode::kOk);
  }
  const Status written = Write(state, **wrapped);
  return written ? static_cast<int>(ExitCode::kOk) : cli::Report(written.error(), state.output);
}

void AddFormOptions(CLI::App& command, State& state) {
  const std::map<std::string, Transposes> transposes = {{"both", Transposes::kBoth},
                                                        {"calls", Transposes::kCalls},
                                                        {"attribute", Transposes::kAttribute}};
  command
      .add_option("--transposes", state.transposes,
                  "tell transposes as calls, as the attribute required_transpose, or both "
                  "(default)")
      ->transform(CLI::CheckedTransformer(transposes));
  command.add_flag("--no-reshape-back", state.no_reshape_back,
                   "computations of three instructions, as older compilers write them");
  command.add_flag("--valid-inputs-names", state.names,
                   "valid_inputs lists the names of transposed inputs instead of a 0/1 mask");
  command.add_flag("--tuple-elements", state.wrap.tuple_elements,
                   "take a tuple result apart with get-tuple-element and tuple");
  command.add_flag("--no-constant-inputs", state.no_constant_inputs,
                   "constants that carry neff_input_names do not become operands");
  command
      .add_option("--api-version", state.wrap.api_version,
                  "of the custom call: unspecified (default) or original")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, int64_t>{{"unspecified", 0}, {"original", 1}}));
  command
      .add_option("--form", state.form, "proto (HloModuleProto, default), hlo (HloProto) or text")
      ->check(CLI::IsMember({"proto", "hlo", "text"}));
}

}  // namespace

void SetUpNeffWrapper(CLI::App& command, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  command.description("Wrap a NEFF and the transposes of its inputs into a module.");
  command.footer(kFooter);
  command.add_option("--hlo", state->hlo, "the module, in any form that hlokit opens")->required();
  command.add_option("--neff", state->neff, "the compiled artefact")->required();
  command.add_option("--output", state->output, "the file to write; - is standard output")
      ->required();
  command.add_option("--netlist", state->specs.netlist,
                     "hlo_netlist.json; default: the one of this folder, if it is there");
  CLI::Option* single =
      command.add_option("--io_transposes,--io-transposes", state->single, "io_transposes.json");
  command
      .add_option("--modular-io-transposes,--modular_io_transposes", state->modular,
                  "one io_transposes.json per subgraph, separated by blanks")
      ->excludes(single);
  command.add_flag("--positions", state->positions,
                   "input<k> in the n-th file is entry k of Inputs of the n-th partition");
  AddFormOptions(command, *state);
  command.callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit
