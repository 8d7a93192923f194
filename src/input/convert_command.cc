// hlokit convert: the same module in another form.
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "hlokit/input.h"
#include "hlokit/printer.h"
#include "hlokit/proto.h"
#include "src/cli/common.h"
#include "src/input/commands.h"

namespace hlokit::cli {
namespace {

struct State {
  std::string input;
  std::string output = "-";
  std::string to;
  std::string message;
  std::string input_format = "auto";
  bool strict = false;
  bool fill = true;
};

/// The form that the name of the output asks for; empty when it says nothing.
std::string FormOf(std::string_view output) {
  if (output.ends_with(".gz")) output.remove_suffix(3);
  if (output.ends_with(".pb")) return "proto";
  if (output.ends_with(".pbtxt") || output.ends_with(".textproto")) return "pbtxt";
  if (output.ends_with(".json")) return "json";
  if (output.ends_with(".txt") || output.ends_with(".hlo")) return "text";
  return "";
}

/// A module that was read from text goes into an HloProto, as dumps do; one from a proto into the
/// message that it came from. --message changes that, and drops what stood around the module.
ProtoWrapper WrapperFor(const State& state, const LoadedModule& loaded) {
  ProtoWrapper wrapper;
  bool from_proto = loaded.format == InputFormat::kProto || loaded.format == InputFormat::kPbtxt;
  if (from_proto) wrapper = loaded.wrapper;
  if (state.message == "module") wrapper = {.kind = ProtoKind::kModule};
  if (state.message == "hlo" && wrapper.kind != ProtoKind::kHlo)
    wrapper = {.kind = ProtoKind::kHlo};
  return wrapper;
}

Result<std::string> Convert(const State& state, const LoadedModule& loaded, const std::string& to) {
  if (to == "text") {
    PrintOptions options;
    options.large_constants = true;  // a conversion loses no values
    return PrintModule(loaded.module, options);
  }
  if (to == "short") return PrintModule(loaded.module, PrintOptions::Short());
  ProtoWrapper wrapper = WrapperFor(state, loaded);
  if (to != "proto") {
    // Text forms have no place for what follows the message in a stream.
    wrapper.has_length = false;
    wrapper.tail.clear();
  }
  ASSIGN_OR_RETURN(std::string bytes, WriteProto(loaded.module, wrapper));
  if (to == "pbtxt") return ProtoToPbtxt(bytes, wrapper.kind);
  if (to == "json") return ProtoToJson(bytes, wrapper.kind);
  return bytes;
}

int Run(const State& state) {
  std::string to = state.to.empty() ? FormOf(state.output) : state.to;
  if (to.empty()) {
    std::fputs("hlokit convert: say which form is wanted: --to text, short, proto, pbtxt or json\n",
               stderr);
    return static_cast<int>(ExitCode::kUsage);
  }
  LoadOptions options;
  options.format = *InputFormatFromName(state.input_format);
  options.strict = state.strict;
  options.fill_missing_layouts = state.fill;
  std::vector<Diagnostic> warnings;
  Result<LoadedModule> loaded = LoadModule(state.input, options, &warnings);
  for (const Diagnostic& warning : warnings)
    std::fputs(FormatDiagnostic(warning, state.input).c_str(), stderr);
  if (!loaded) return Report(loaded.error(), state.input);
  Result<std::string> out = Convert(state, *loaded, to);
  if (out && state.output.ends_with(".gz")) out = Compress(*out);
  if (!out) return Report(out.error(), state.input);
  return Emit(*out, state.output);
}

}  // namespace

void RegisterConvert(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand("convert", "the same module in another form");
  command->footer(
      "Examples:\n"
      "  hlokit convert module.hlo.pb -o module.txt\n"
      "  hlokit convert module.txt -o module.hlo.pb.gz\n"
      "  hlokit convert --to pbtxt dumps:jit_step:after_optimizations\n"
      "Without --to the name of the output decides. Values of constants are written in full.");
  command
      ->add_option("IN", state->input, "file, folder, DIR:module[:stage], or - for standard input")
      ->required();
  command->add_option("-o,--output", state->output,
                      "file to write; - is standard output; .gz compresses");
  command->add_option("--to", state->to, "text, short, proto, pbtxt or json")
      ->check(CLI::IsMember({"text", "short", "proto", "pbtxt", "json"}));
  command
      ->add_option("--message", state->message,
                   "proto forms: module (HloModuleProto) or hlo (HloProto)")
      ->check(CLI::IsMember({"module", "hlo"}));
  command->add_option("--input-format", state->input_format, "auto, text, proto, pbtxt or log")
      ->check(CLI::IsMember({"auto", "text", "proto", "pbtxt", "log"}));
  command->add_flag("--strict", state->strict, "unknown opcodes and attributes are errors");
  command->add_flag("--no-fill{false},--fill{true}", state->fill,
                    "leave shapes without a written layout unset (default: they get {n-1,...,0})");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
