// hlokit reduce: the smallest module that still shows a copy, an error, or what a command looks
// for.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "fmt/format.h"
#include "hlokit/copies.h"
#include "hlokit/explain.h"
#include "hlokit/file.h"
#include "hlokit/layout_assignment.h"
#include "hlokit/pass.h"
#include "hlokit/printer.h"
#include "hlokit/reduce.h"
#include "src/cli/common.h"

namespace hlokit::cli {
namespace {

using Keep = std::function<bool(Module&, const std::string&, unsigned)>;

struct State {
  InputOptions input;
  std::string keep, command, passes = "layout-assignment";
  bool keep_error = false, quiet = false;
  unsigned threads = 0;
  std::string output = "-";
};

PrintOptions FullText() {
  PrintOptions options;
  options.large_constants = true;
  return options;
}

// ---- a copy ----

/// What makes a copy the same copy in a smaller module.
struct CopyMark {
  std::string source, consumer, from, to;
  std::string demand;  // where the wish for the other layout starts
  uint32_t operand = 0;
  bool operator==(const CopyMark&) const = default;
};

/// The kind of demand, and the custom call or collective that makes it.
std::string DemandText(const Module& module, const Origin& origin) {
  std::string out(OriginName(origin.kind));
  if (origin.kind == OriginKind::kCustomCall || origin.kind == OriginKind::kCollective) {
    out += fmt::format(" {}", module.name(origin.instruction));
  }
  return out;
}

std::vector<std::pair<std::string, CopyMark>> InsertedCopies(Module& module) {
  std::vector<std::pair<std::string, CopyMark>> out;
  LayoutTrace trace;
  LayoutAssignmentOptions options;
  options.trace = &trace;
  Result<LayoutAssignmentReport> report = AssignLayouts(module, options);
  if (!report) return out;
  Explanation explanation = Explain(module, *report, trace, 0);
  for (const ExplainedCopy& explained : explanation.copies) {
    const AddedCopy& copy = report->copies[explained.added];
    const AddedArrayCopy& part = report->parts[explained.part];
    const bool at_result = copy.reason == CopyReason::kRoot || !copy.consumer.valid();
    CopyMark mark{.source = std::string(module.name(copy.source)),
                  .consumer = at_result ? "" : std::string(module.name(copy.consumer)),
                  .from = module.shapes().LayoutText(part.from),
                  .to = module.shapes().LayoutText(part.to),
                  .demand = DemandText(module, explanation.causes[explained.cause].winning),
                  .operand = at_result ? 0 : copy.operand};
    out.emplace_back(module.name(part.copy), std::move(mark));
  }
  return out;
}

/// A copy that stands in the module, in whatever form.
std::optional<std::string> StandingCopy(const Module& module, std::string_view name) {
  CopyReport report = ClassifyCopies(module, {.live_ranges = false});
  for (const ClassifiedCopy& copy : report.copies) {
    if (module.name(copy.inst) != name) continue;
    return fmt::format("{} {} {} {}", CopyFormName(copy.form), CopyClassName(copy.copy_class),
                       module.shapes().Text(copy.from), module.shapes().Text(copy.to));
  }
  return std::nullopt;
}

Result<Keep> KeepCopy(const Module& module, std::string name) {
  if (name.starts_with("%")) name.erase(0, 1);
  if (std::optional<std::string> standing = StandingCopy(module, name)) {
    return Keep([name, standing](Module& candidate, const std::string&, unsigned) {
      return StandingCopy(candidate, name) == standing;
    });
  }
  Module trial = module;
  for (const auto& [copy, mark] : InsertedCopies(trial)) {
    if (copy != name) continue;
    return Keep([mark = mark](Module& candidate, const std::string&, unsigned) {
      std::vector<std::pair<std::string, CopyMark>> copies = InsertedCopies(candidate);
      return std::any_of(copies.begin(), copies.end(),
                         [&](const auto& one) { return one.second == mark; });
    });
  }
  return std::unexpected(
      MakeError(ExitCode::kUsage, DiagId::kNoSuchCopy,
                fmt::format("neither the module nor layout assignment has a copy '{}'", name),
                "`hlokit copies FILE` and `hlokit explain FILE` list them")
          .error());
}

// ---- an error ----

std::optional<DiagId> ErrorOf(Module& module, const std::string& passes) {
  Result<Pipeline> pipeline = ParsePipeline(passes);
  if (!pipeline) return std::nullopt;
  Result<bool> run = RunPipeline(module, *pipeline);
  if (run) return std::nullopt;
  return run.error().diagnostics.front().id;
}

Result<Keep> KeepError(const Module& module, const std::string& passes) {
  ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipeline(passes));
  (void)pipeline;
  Module trial = module;
  std::optional<DiagId> error = ErrorOf(trial, passes);
  if (!error) {
    return MakeError(ExitCode::kCheckFailed, DiagId::kKeepNotShown,
                     fmt::format("{} does not fail on the module", passes),
                     "--passes names the passes to run");
  }
  return Keep([passes, error](Module& candidate, const std::string&, unsigned) {
    return ErrorOf(candidate, passes) == error;
  });
}

// ---- a command ----

/// A folder of this run for the files that the command reads; removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string path = (std::filesystem::temp_directory_path() / "hlokit-reduce-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<Keep> KeepCommand(const Module& module, const std::string& command,
                         std::shared_ptr<Scratch> scratch) {
  if (command.find("{}") == std::string::npos) {
    return MakeError(ExitCode::kUsage, DiagId::kKeepMalformed,
                     "the command of --keep-cmd has no {} for the file",
                     "for instance: --keep-cmd 'my-compiler {} 2>&1 | grep -q overflow'");
  }
  if (scratch->path().empty()) {
    return MakeError(ExitCode::kIo, DiagId::kCannotWrite, "no temporary folder can be made",
                     "set TMPDIR to a folder that can be written");
  }
  auto run = [command, scratch](const std::string& text, unsigned thread) {
    std::string file = fmt::format("{}/candidate{}.hlo", scratch->path(), thread);
    if (!WriteFile(file, text)) return -1;
    std::string line = command;
    for (size_t at = line.find("{}"); at != std::string::npos; at = line.find("{}", at)) {
      line.replace(at, 2, file);
      at += file.size();
    }
    // In brackets, so that the redirection holds for the whole line.
    int status = std::system(fmt::format("( {} ) >/dev/null 2>&1 </dev/null", line).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  // 126 and 127 are what a shell says of a program that it cannot start.
  int first = run(PrintModule(module, FullText()), 0);
  if (first == -1 || first == 126 || first == 127) {
    return MakeError(ExitCode::kUsage, DiagId::kKeepCommandFailed,
                     fmt::format("the command of --keep-cmd cannot be run: {}", command),
                     "try it by hand, with a file for {}");
  }
  return Keep(
      [run](Module&, const std::string& text, unsigned thread) { return run(text, thread) == 0; });
}

// ---- the run ----

Result<Keep> MakeKeep(const State& state, const Module& module) {
  int conditions = !state.keep.empty() + state.keep_error + !state.command.empty();
  if (conditions != 1) {
    return MakeError(ExitCode::kUsage, DiagId::kKeepMalformed,
                     "exactly one of --keep, --keep-error and --keep-cmd must be given",
                     "for instance: --keep copy:copy.3");
  }
  if (state.keep_error) return KeepError(module, state.passes);
  if (!state.command.empty())
    return KeepCommand(module, state.command, std::make_shared<Scratch>());
  if (!state.keep.starts_with("copy:") || state.keep.size() == 5) {
    return MakeError(ExitCode::kUsage, DiagId::kKeepMalformed,
                     fmt::format("'{}' is no condition", state.keep), "write copy:NAME");
  }
  return KeepCopy(module, state.keep.substr(5));
}

int Run(const State& state) {
  Result<Module> module = Load(state.input);
  if (!module) return Report(module.error(), state.input.path);
  Result<Keep> keep = MakeKeep(state, *module);
  if (!keep) return Report(keep.error(), state.input.path);
  const std::string text = PrintModule(*module, FullText());
  const bool terminal = isatty(STDERR_FILENO) != 0;
  ReduceOptions options{.keep = *keep, .threads = state.threads};
  if (!state.quiet) {
    options.progress = [terminal](const ReduceProgress& progress) {
      if (!terminal) return;
      std::fputs(
          fmt::format("\r{} instructions, {} tried   ", progress.instructions, progress.tried)
              .c_str(),
          stderr);
    };
  }
  Result<ReducedModule> reduced = ReduceModule(text, options);
  if (terminal && !state.quiet) std::fputc('\n', stderr);
  if (!reduced) return Report(reduced.error(), state.input.path);
  if (!state.quiet) {
    std::fputs(fmt::format("hlokit: {} instructions in {} computations are left\n",
                           reduced->progress.instructions, reduced->progress.computations)
                   .c_str(),
               stderr);
  }
  return Emit(reduced->text, state.output);
}

}  // namespace

void RegisterReduce(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand(
      "reduce",
      "the smallest module that still shows a copy, an error, or what a command looks for");
  command->footer(
      "Examples:\n"
      "  hlokit reduce module.txt --keep copy:copy.3 -o small.txt\n"
      "  hlokit reduce module.txt --keep-error                     layout assignment fails as it "
      "did\n"
      "  hlokit reduce module.txt --keep-cmd 'my-compiler {} 2>&1 | grep -q overflow'\n"
      "A candidate is kept when the command ends with 0. {} is the file of the candidate.");
  state->input.Register(*command);
  command->add_option("--keep", state->keep,
                      "copy:NAME, a copy of the module or one that layout assignment inserts");
  command->add_flag("--keep-error", state->keep_error, "the passes fail with the same code");
  command->add_option("--passes", state->passes, "the passes of --keep-error");
  command->add_option("--keep-cmd", state->command, "a command line that ends with 0");
  command->add_option("--threads", state->threads, "0: one per processor");
  command->add_flag("--quiet", state->quiet, "no progress, no summary");
  command->add_option("-o,--output", state->output, "where to write the module");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
