// What do the command lines of this folder accept, and what do they print?

#include "src/neuron/commands.h"

#include <cstdio>
#include <map>
#include <memory>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/io_transposes.h"
#include "src/neuron/static_io_transpose.h"
#include "src/tensor/commands.h"

namespace hlokit {
namespace {

constexpr const char* kStaticHelp =
    "Transpose weights once, on the host, instead of in each step on the device.\n"
    "\n"
    "Examples:\n"
    "  static-io-transpose work              apply work/io_transposes.json to work/inp-000.p\n"
    "  static-io-transpose work --verify     write work/transposed_inputs/value_<name>.npy as "
    "well\n"
    "  static-io-transpose work --invert     undo it\n"
    "\n"
    "Changes all files at once or none. A second run changes nothing.\n";

constexpr const char* kSimplifyHelp =
    "Fold dimensions of IO transposes that move together.\n"
    "\n"
    "Examples:\n"
    "  hlokit io-transposes simplify io_transposes.json --shape w=6144,256 -o simplified.json\n"
    "  hlokit io-transposes simplify io_transposes.json            (shapes unknown: nothing is "
    "lost)\n"
    "\n"
    "The original shape of an input says which dimensions may be folded. Without it, every "
    "dimension of\n"
    "its reshape counts as an original one, and nothing is folded.\n";

int Finish(const Status& status, const std::string& file) {
  if (status) return static_cast<int>(ExitCode::kOk);
  fmt::print(stderr, "{}", FormatError(status.error(), file));
  return static_cast<int>(status.error().exit_code);
}

/// The file that a diagnostic with a place talks about.
std::string FileOf(const StaticIoTransposeOptions& options) {
  return (options.folder == "." ? "" : options.folder + "/") + "io_transposes.json";
}

int RunStatic(const StaticIoTransposeOptions& options) {
  const Result<StaticIoTransposeReport> report = RunStaticIoTranspose(options);
  if (!report) {
    for (const Diagnostic& diagnostic : report.error().diagnostics) {
      fmt::print(
          stderr, "{}",
          FormatDiagnostic(diagnostic, diagnostic.location.line != 0 ? FileOf(options)
                                                                     : "static-io-transpose:"));
    }
    return static_cast<int>(report.error().exit_code);
  }
  for (const Diagnostic& warning : report->warnings)
    fmt::print(stderr, "{}", FormatDiagnostic(warning, FileOf(options)));
  fmt::print(stderr, "static-io-transpose: {}\n", report->summary);
  return static_cast<int>(ExitCode::kOk);
}

struct SimplifyArguments {
  std::string file;
  std::string output = "-";
  std::vector<std::string> shapes;
};

Status RunSimplify(const SimplifyArguments& arguments) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& text : arguments.shapes) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                       fmt::format("--shape '{}' has no '='", text),
                       "write it like --shape w=6144,256");
    }
    ASSIGN_OR_RETURN(shapes[text.substr(0, equals)],
                     ParseIntegerList(text.substr(equals + 1), "--shape"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(arguments.file, size_t{256} << 20));
  ASSIGN_OR_RETURN(IoTransposes specs, ParseIoTransposes(text));
  for (const Diagnostic& warning : specs.warnings)
    fmt::print(stderr, "{}", FormatDiagnostic(warning, arguments.file));
  for (IoTranspose& entry : specs.entries) {
    const auto shape = shapes.find(entry.input_name);
    const std::vector<int64_t> reshape = entry.reshape;
    ASSIGN_OR_RETURN(entry,
                     SimplifyIoTranspose(entry, shape == shapes.end() ? reshape : shape->second));
    if (entry.reshape.size() > kComfortableIoDimensions) {
      fmt::print(
          stderr, "{}",
          FormatDiagnostic(
              {.id = DiagId::kManyIoDimensions,
               .severity = Severity::kWarning,
               .message = fmt::format(
                   "the transpose of '{}' needs {} dimensions; consumers are made for up to {}",
                   entry.input_name, entry.reshape.size(), kComfortableIoDimensions),
               .location = entry.location},
              arguments.file));
    }
  }
  return WriteFile(arguments.output, WriteIoTransposes(specs.entries));
}

}  // namespace

void SetUpStaticIoTranspose(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<StaticIoTransposeOptions>();
  command.description(kStaticHelp);
  command.add_option("folder", options->folder, "the work folder; default: the current one");
  CLI::Option* verify =
      command.add_flag("--verify", options->verify,
                       "verify pipeline: also write the transposed arrays as .npy files");
  command.add_flag("--invert", options->invert, "undo the recorded run")->excludes(verify);
  command.add_flag("--force", options->force, "replace files that stand where a link has to go");
  command.add_flag_callback(
      "--no-sync", [options] { options->sync = false; },
      "do not wait for the disk; safe against crashes, not against loss of power");
  command.callback([options, &exit_code] { exit_code = RunStatic(*options); });
}

void RegisterStaticIoTranspose(CLI::App& app, int& exit_code) {
  SetUpStaticIoTranspose(*app.add_subcommand("static-io-transpose", kStaticHelp), exit_code);
}

CLI::App* RegisterIoTransposes(CLI::App& app, int& exit_code) {
  CLI::App* group = app.add_subcommand("io-transposes", "Work with io_transposes.json.");
  group->require_subcommand(1);
  CLI::App* simplify = group->add_subcommand("simplify", kSimplifyHelp);
  auto arguments = std::make_shared<SimplifyArguments>();
  simplify->add_option("file", arguments->file, "io_transposes.json; - is standard input")
      ->required();
  simplify->add_option("--shape", arguments->shapes,
                       "original shape of an input, as name=6144,256; may be given again");
  simplify->add_option("-o,--output", arguments->output,
                       "the file to write; default: standard output");
  simplify->callback(
      [arguments, &exit_code] { exit_code = Finish(RunSimplify(*arguments), arguments->file); });
  return group;
}

}  // namespace hlokit
