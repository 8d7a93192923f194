// hlokit copies: what is every copy of a module there for, and which pass made it?
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "fmt/format.h"
#include "hlokit/copy_insertion.h"
#include "hlokit/input.h"
#include "hlokit/pass.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"
#include "src/cli/copies_output.h"

namespace hlokit::cli {
namespace {

struct State {
  InputOptions input;
  std::string after;
  std::string copy;
  std::string only;
  bool insert = false;
  bool no_live_ranges = false;
  Format format = Format::kText;
  size_t most = 40;
};

/// What the stages of a compilation leave to show.
struct Stages {
  std::optional<Module> first, last;
  CopyHistory history;
  std::string last_name;
};

Status AddStage(Stages& stages, const std::string& name, const std::string& pass, Module module) {
  stages.history.AddStage(name, pass, module);
  stages.last_name = name;
  if (!stages.first) stages.first = module;
  stages.last = std::move(module);
  return {};
}

/// The folder in "DIR" or "DIR:module"; nothing for everything else.
std::optional<std::pair<std::string, std::string>> FolderAndModule(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return std::make_pair(path, std::string());
  size_t colon = path.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  if (!std::filesystem::is_directory(path.substr(0, colon), error)) return std::nullopt;
  return std::make_pair(path.substr(0, colon), path.substr(colon + 1));
}

Status ReadFolder(const State& state, const std::string& path, const std::string& module,
                  Stages& stages) {
  ASSIGN_OR_RETURN(DumpFolder folder, ScanDumpFolder(path));
  std::vector<Diagnostic> warnings;
  ASSIGN_OR_RETURN(const DumpFile* chosen, ChooseDumpFile(folder, module, "", &warnings));
  for (const Diagnostic& warning : warnings) {
    std::fputs(FormatDiagnostic(warning, path).c_str(), stderr);
  }
  for (const DumpModule& one : folder.modules) {
    if (one.files.empty() || chosen < one.files.data() ||
        chosen >= one.files.data() + one.files.size()) {
      continue;
    }
    std::string last_stage;
    for (const DumpFile& file : one.files) {
      if (!file.HoldsModule() || file.stage == last_stage) continue;  // the same as text and proto
      last_stage = file.stage;
      InputOptions input = state.input;
      input.path = (std::filesystem::path(folder.path) / file.path).string();
      ASSIGN_OR_RETURN(Module read, Load(input, /*quiet=*/true));
      std::string name =
          file.step >= 0 ? fmt::format("{:04} {}", file.step, file.stage) : file.stage;
      TRY(AddStage(stages, name, file.pass, std::move(read)));
    }
  }
  return {};
}

/// Runs copy insertion and says of each copy why it is there.
Result<std::vector<LifetimeCopy>> Insert(Module& module) {
  ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipeline("flatten-call-graph"));
  ASSIGN_OR_RETURN(bool changed, RunPipeline(module, pipeline));
  (void)changed;
  std::vector<LifetimeCopy> reasons;
  TRY(InsertCopies(module, {.reasons = &reasons}));
  return reasons;
}

void ApplyReasons(const Module& module, std::span<const LifetimeCopy> reasons, CopyReport& report) {
  for (ClassifiedCopy& copy : report.copies) {
    auto found = std::find_if(reasons.begin(), reasons.end(),
                              [&](const LifetimeCopy& one) { return one.copy == copy.inst; });
    if (found == reasons.end() || found->cause == LifetimeCause::kWasThere) continue;
    copy.copy_class = CopyClass::kLifetime;
    copy.confidence = copy.origin_confidence = Confidence::kCertain;
    copy.origin = fmt::format("copy insertion ({})", LifetimeCauseWord(found->cause));
    copy.evidence = {
        {std::string(LifetimeProblem(found->cause)), DescribeLifetimeCopy(module, *found)}};
    copy.upstream.clear();
    copy.downstream.clear();
    copy.has.clear();
    copy.wants.clear();
  }
}

int Show(const State& state, CopiesView view) {
  view.only = state.only;
  if (!state.only.empty()) {
    std::erase_if(view.report.copies, [&](const ClassifiedCopy& copy) {
      return CopyClassName(copy.copy_class) != state.only;
    });
  }
  if (!state.copy.empty()) {
    std::string_view wanted = state.copy;
    if (wanted.starts_with("%")) wanted.remove_prefix(1);
    std::erase_if(view.report.copies, [&](const ClassifiedCopy& copy) {
      return view.module->name(copy.inst) != wanted;
    });
    if (view.report.copies.empty()) {
      return Report(MakeError(ExitCode::kUsage, DiagId::kNoSuchCopy,
                              fmt::format("the module holds no copy '{}'", wanted),
                              "leave --copy away to see all of them")
                        .error(),
                    state.input.path);
    }
    if (state.format == Format::kText) {
      return Emit(
          fmt::format("%{}\n{}", wanted, CopyLines(*view.module, view.report.copies[0], true)));
    }
  }
  return state.format == Format::kJson ? EmitJson(CopiesJson(view)) : Emit(CopiesText(view));
}

int RunStages(const State& state, Stages& stages) {
  const bool source = LooksUnoptimised(*stages.first) && stages.history.stages().size() > 1;
  ClassifyOptions options{.before = source ? &*stages.first : nullptr,
                          .live_ranges = !state.no_live_ranges};
  CopiesView view{.module = &*stages.last,
                  .report = ClassifyCopies(*stages.last, options),
                  .history = &stages.history,
                  .stage = stages.last_name,
                  .most = state.most};
  stages.history.Refine(*stages.last, source, view.report);
  return Show(state, std::move(view));
}

int RunOne(const State& state) {
  Result<Module> module = Load(state.input);
  if (!module) return Report(module.error(), state.input.path);
  std::vector<LifetimeCopy> reasons;
  std::optional<Module> before;
  if (state.insert) {
    before = *module;
    Result<std::vector<LifetimeCopy>> inserted = Insert(*module);
    if (!inserted) return Report(inserted.error(), state.input.path);
    reasons = std::move(*inserted);
  }
  ClassifyOptions options{.before = before ? &*before : nullptr,
                          .live_ranges = !state.no_live_ranges};
  CopiesView view{
      .module = &*module, .report = ClassifyCopies(*module, options), .most = state.most};
  ApplyReasons(*module, reasons, view.report);
  return Show(state, std::move(view));
}

int Run(const State& state) {
  Stages stages;
  if (!state.after.empty()) {
    for (const std::string& path : {state.input.path, state.after}) {
      InputOptions input = state.input;
      input.path = path;
      Result<Module> module = Load(input);
      if (!module) return Report(module.error(), path);
      const std::string file = std::filesystem::path(path).filename().string();
      (void)AddStage(stages, path, file, std::move(*module));
    }
    return RunStages(state, stages);
  }
  auto folder = FolderAndModule(state.input.path);
  if (!folder) return RunOne(state);
  Status read = ReadFolder(state, folder->first, folder->second, stages);
  if (!read) return Report(read.error(), state.input.path);
  if (!stages.last) return RunOne(state);  // says what is wrong with the folder
  return RunStages(state, stages);
}

}  // namespace

void RegisterCopies(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command = app.add_subcommand(
      "copies",
      "what is every copy of a dump there for: layout, lifetime, memory space, the user?");
  command->footer(
      "Examples:\n"
      "  hlokit copies dump.txt                 every copy of a dump, also those in disguise\n"
      "  hlokit copies before.txt after.txt     what came and went in between\n"
      "  hlokit copies DIR                      which pass of a dump folder made or removed it\n"
      "  hlokit copies dump.txt --copy copy.3   one of them, with all steps\n"
      "  hlokit copies --insert module.txt      run copy insertion first: why each copy is needed");
  state->input.Register(*command);
  command->add_option("AFTER", state->after, "a later stage of the same module");
  command->add_option("--copy", state->copy, "only the copy of this name, with all steps");
  command
      ->add_option("--class", state->only,
                   "only copies of this class: layout, lifetime, memory-space, user, unknown")
      ->check(CLI::IsMember({"layout", "lifetime", "memory-space", "user", "unknown"}));
  command->add_flag(
      "--insert", state->insert,
      "run flatten-call-graph and copy-insertion first; the reasons are certain then");
  command->add_flag("--no-live-ranges", state->no_live_ranges,
                    "do not look for overlapping live ranges (faster on large modules)");
  RegisterFormat(*command, &state->format);
  command->add_option("--most", state->most, "rows shown in text");
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
