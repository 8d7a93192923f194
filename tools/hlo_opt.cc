// hlo-opt: runs passes over HLO modules.
// The order of this file is the order of events: flags, lists, pipeline, input, passes, output.
// Nothing is written before everything has worked.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/pass_observers.h"
#include "src/base/limits.h"
#include "tools/hlo_opt/flags.h"
#include "tools/hlo_opt/lists.h"
#include "tools/hlo_opt/load.h"
#include "tools/hlo_opt/prove.h"

namespace hlokit {
namespace {

/// XLA's tool ends with 1 for everything that is wrong before a pass runs.
constexpr int kBadInput = 1;

int Report(const Error& error, const std::string& file, int exit_code) {
  std::fputs(FormatError(error, file).c_str(), stderr);
  return exit_code;
}

/// Warnings; an error under --strict.
Status ShowWarnings(std::vector<Diagnostic>& warnings, const std::string& file, bool strict) {
  Error error{ExitCode::kUsage, {}};
  for (Diagnostic& warning : warnings) {
    if (strict) {
      warning.severity = Severity::kError;
      error.diagnostics.push_back(warning);
    } else {
      std::fputs(FormatDiagnostic(warning, file).c_str(), stderr);
    }
  }
  warnings.clear();
  if (!error.diagnostics.empty()) return std::unexpected(std::move(error));
  return {};
}

/// The steps of --passes, with what other flags say about the combiners.
Result<Pipeline> MakePipeline(const HloOptFlags& flags) {
  if (flags.passes.empty()) return Pipeline();
  ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipeline(flags.passes));
  for (PipelineStep& step : pipeline.steps) {
    for (const auto& [name, value] : flags.combiner_defaults) {
      bool takes = std::any_of(step.pass->info->options.begin(), step.pass->info->options.end(),
                               [&](const OptionSpec& option) { return option.name == name; });
      if (takes && step.pass->name.ends_with("-combiner") && !step.options.IsSet(name)) {
        TRY(step.options.Set(step.pass->name, name, value));
      }
    }
  }
  return pipeline;
}

/// Everything that watches a run, and what it has to say afterwards.
struct Observers {
  std::unique_ptr<DumpObserver> dump;
  PrintObserver print;
  TimingObserver timing;
  StatsObserver stats;
  ReproducerObserver reproducer;
  ProveObserver prove;
  std::vector<PassObserver*> list;

  Observers(const HloOptFlags& flags, std::string reproducer_path)
      : print(flags.print), reproducer(std::move(reproducer_path)), prove(flags.prove_seeds) {}
};

std::string ReproducerPath(const HloOptFlags& flags) {
  if (!flags.reproducer.empty()) return flags.reproducer;
  if (flags.dump.directory.empty() || flags.dump.directory == "-") return "";
  return (std::filesystem::path(flags.dump.directory) / "hlo_opt_reproducer.hlo").string();
}

Status RunAll(std::vector<Piece>& pieces, const Pipeline& pipeline, const HloOptFlags& flags) {
  std::string reproducer_path = ReproducerPath(flags);
  Observers observers(flags, reproducer_path);
  if (!flags.dump.directory.empty()) {
    ASSIGN_OR_RETURN(observers.dump, DumpObserver::Make(flags.dump));
    observers.list.push_back(observers.dump.get());
  }
  if (!flags.print.empty()) observers.list.push_back(&observers.print);
  if (flags.timing) observers.list.push_back(&observers.timing);
  if (flags.stats) observers.list.push_back(&observers.stats);
  if (flags.prove) observers.list.push_back(&observers.prove);
  if (!reproducer_path.empty()) observers.list.push_back(&observers.reproducer);
  std::vector<Diagnostic> warnings;
  RunOptions options{.filter = flags.filter,
                     .verify_each = flags.verify_each,
                     .keep_before = !reproducer_path.empty(),
                     .check_silent_change = flags.silent_change,
                     .check_noop_change = flags.noop_change,
                     .observers = observers.list,
                     .warnings = &warnings};
  Status status;
  for (size_t i = 0; i < pieces.size() && status; ++i) {
    Result<bool> changed = RunPipeline(pieces[i].module, pipeline, options);
    if (!changed) status = std::unexpected(std::move(changed).error());
  }
  for (const Diagnostic& warning : warnings)
    std::fputs(FormatDiagnostic(warning, flags.input).c_str(), stderr);
  if (flags.prove) std::fputs(observers.prove.Report().c_str(), stderr);
  if (flags.stats) std::fputs(observers.stats.Report().c_str(), stderr);
  if (flags.timing) std::fputs(observers.timing.Report().c_str(), stderr);
  if (observers.reproducer.written()) {
    std::fputs(
        fmt::format("hlo-opt: the module in front of the failing pass is in {}\n", reproducer_path)
            .c_str(),
        stderr);
  }
  std::fputs(observers.reproducer.problem().c_str(), stderr);
  return status;
}

/// The answers that need no input; nothing when there is work to do.
std::optional<int> AnswerQuestions(const HloOptFlags& flags) {
  if (flags.list_stages) {
    std::puts("hlo");
    return 0;
  }
  if (!flags.list_passes.empty()) {
    bool names = flags.list_passes == "names" || flags.list_passes == "true";
    std::fputs((names ? PassNamesLine() : PassTable()).c_str(), stdout);
    return 0;
  }
  if (flags.help_pass.empty()) return std::nullopt;
  Result<std::string> help = PassHelp(flags.help_pass);
  if (!help) return Report(help.error(), "", kBadInput);
  std::fputs(help->c_str(), stdout);
  return 0;
}

int Main(int argc, char** argv) {
  FlagsOutcome outcome = ParseFlags(argc, argv);
  if (outcome.exit) return *outcome.exit;
  HloOptFlags& flags = outcome.flags;
  if (Status status = ShowWarnings(flags.warnings, "hlo-opt", flags.strict); !status) {
    return Report(status.error(), "hlo-opt", kBadInput);
  }
  if (std::optional<int> answered = AnswerQuestions(flags)) return *answered;
  if (flags.stage != "hlo") {
    std::fputs(fmt::format("UNIMPLEMENTED: Stage {} not supported; --list-stages shows what is\n",
                           flags.stage)
                   .c_str(),
               stderr);
    return kBadInput;
  }
  Result<Pipeline> pipeline = MakePipeline(flags);
  if (!pipeline) return Report(pipeline.error(), "", kBadInput);
  std::vector<Diagnostic> warnings;
  Result<std::vector<Piece>> pieces = LoadPieces(flags, &warnings);
  (void)ShowWarnings(warnings, flags.input, false);
  if (!pieces) return Report(pieces.error(), flags.input, kBadInput);

  InputFormat format = flags.output_type;
  if (flags.emit_proto) {
    format = InputFormat::kPbtxt;
  } else if (Status status = RunAll(*pieces, *pipeline, flags); !status) {
    return Report(status.error(), flags.input, static_cast<int>(status.error().exit_code));
  }
  Result<std::string> text = PrintPieces(*pieces, format, flags);
  if (!text) return Report(text.error(), flags.input, static_cast<int>(text.error().exit_code));
  Status written = WriteFile(flags.output, *text);
  return written ? 0 : Report(written.error(), "", static_cast<int>(ExitCode::kIo));
}

}  // namespace
}  // namespace hlokit

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write with a message
  hlokit::StartWithDefaultLimits();
  return hlokit::Main(argc, argv);
}
