// hlokit ls: which modules does a dump folder hold, in which stages, and what changed in between?
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/input.h"
#include "nlohmann/json.hpp"
#include "src/cli/common.h"
#include "src/input/commands.h"
#include "src/input/module_summary.h"

namespace hlokit::cli {
namespace {

struct State {
  std::string path;
  Format format = Format::kText;
  bool names_only = false;
  bool all = false;
};

/// What is known about one file once it was read.
struct Row {
  const DumpFile* file = nullptr;
  bool read = false;
  std::string problem;
  ModuleSummary summary;  // without names once the next row is there
  bool has_change = false;
  SummaryChange change;
};

/// Progress on a terminal, once half a second has gone by.
class Progress {
 public:
  explicit Progress(size_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (printed_) std::fputs("\r\x1b[K", stderr);
  }
  void Step() {
    ++done_;
    bool late = std::chrono::steady_clock::now() - start_ > std::chrono::milliseconds(500);
    if (!shown_ || !late) return;
    printed_ = true;
    std::fputs(fmt::format("\r{} of {} files", done_, total_).c_str(), stderr);
  }

 private:
  size_t total_;
  size_t done_ = 0;
  bool shown_;
  bool printed_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string Label(const DumpFile& file) {
  std::string out = file.step >= 0 ? fmt::format("{:04}  ", file.step) : "";
  if (!file.pipeline.empty()) out += file.pipeline + ": ";
  return out + file.stage;
}

class Listing {
 public:
  Listing(const State& state, DumpFolder folder, std::vector<LogBlock> blocks)
      : state_(state), folder_(std::move(folder)), blocks_(std::move(blocks)) {}

  void Read();
  std::string Text() const;
  nlohmann::ordered_json Json() const;

 private:
  Result<Module> Load(const DumpFile& file) const;

  const State& state_;
  DumpFolder folder_;
  std::vector<LogBlock> blocks_;
  std::vector<std::vector<Row>> rows_;  // per module
};

Result<Module> Listing::Load(const DumpFile& file) const {
  if (blocks_.empty()) {
    std::string path = (std::filesystem::path(folder_.path) / file.path).string();
    ASSIGN_OR_RETURN(LoadedModule loaded, LoadModule(path));
    return std::move(loaded.module);
  }
  for (const LogBlock& block : blocks_) {
    if (block.name != file.path) continue;
    LoadOptions options;
    options.format = InputFormat::kText;
    ASSIGN_OR_RETURN(LoadedModule loaded, LoadContents(block.contents, block.name, options));
    return std::move(loaded.module);
  }
  return MakeError(ExitCode::kInternal, DiagId::kInternalError, "a block of the log is gone");
}

void Listing::Read() {
  size_t total = 0;
  for (const DumpModule& module : folder_.modules) total += module.files.size();
  Progress progress(total);
  for (const DumpModule& module : folder_.modules) {
    std::vector<Row>& rows = rows_.emplace_back();
    Row* previous = nullptr;
    rows.reserve(module.files.size());
    for (const DumpFile& file : module.files) {
      progress.Step();
      Row& row = rows.emplace_back();
      row.file = &file;
      if (!file.HoldsModule() || state_.names_only) continue;
      Result<Module> loaded = Load(file);
      if (!loaded) {
        row.problem =
            loaded.error().diagnostics.empty() ? "" : loaded.error().diagnostics[0].message;
        continue;
      }
      row.read = true;
      row.summary = Summarise(*loaded);
      // The text and the proto of one stage say the same; only the first of them is compared.
      bool same_stage = previous != nullptr && previous->file->stage == file.stage &&
                        previous->file->step == file.step;
      if (previous != nullptr && !same_stage) {
        row.has_change = true;
        row.change = Compare(previous->summary, row.summary);
        previous->summary.by_name.clear();
      }
      if (!same_stage) previous = &row;
      if (same_stage) row.summary.by_name.clear();
    }
    if (previous != nullptr) previous->summary.by_name.clear();
  }
}

std::string Listing::Text() const {
  std::string out;
  for (size_t i = 0; i < folder_.modules.size(); ++i) {
    const DumpModule& module = folder_.modules[i];
    if (i != 0) out += "\n";
    std::string title = module.id >= 0 ? fmt::format("module {} ", module.id) : "module ";
    out += title + (module.name.empty() ? "(no name)" : module.name);
    if (!module.subfolder.empty()) out += "  in " + module.subfolder;
    if (!module.timestamp.empty()) out += "  at " + module.timestamp;
    out += "\n";
    std::vector<std::vector<std::string>> table;
    table.push_back({"  stage", "size", "instructions", "copies", "change"});
    size_t others = 0;
    for (const Row& row : rows_[i]) {
      if (!row.file->HoldsModule()) {
        ++others;
        if (!state_.all) continue;
      }
      std::string size = HumanBytes(static_cast<int64_t>(row.file->bytes));
      std::string label = "  " + Label(*row.file);
      if (row.file->extension != "txt") label += " (" + row.file->extension + ")";
      std::string change = !row.problem.empty() ? "cannot be read: " + row.problem.substr(0, 80)
                           : row.has_change     ? ChangeText(row.change)
                                                : "";
      table.push_back({label, size, row.read ? std::to_string(row.summary.instructions) : "",
                       row.read ? std::to_string(row.summary.copies) : "", change});
    }
    out += Table(table, "lrrrl");
    if (others != 0 && !state_.all)
      out += fmt::format("  and {} other file{} (--all)\n", others, others == 1 ? "" : "s");
  }
  return out;
}

nlohmann::ordered_json Listing::Json() const {
  nlohmann::ordered_json modules = nlohmann::ordered_json::array();
  for (size_t i = 0; i < folder_.modules.size(); ++i) {
    const DumpModule& module = folder_.modules[i];
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    for (const Row& row : rows_[i]) {
      const DumpFile& file = *row.file;
      nlohmann::ordered_json entry = {{"file", file.path},
                                      {"stage", file.stage},
                                      {"holds_module", file.HoldsModule()},
                                      {"size_bytes", file.bytes}};
      if (file.step >= 0) {
        entry["step"] = file.step;
        entry["pass"] = file.pass;
      }
      if (!file.pipeline.empty()) entry["pipeline"] = file.pipeline;
      if (!file.next_pass.empty()) entry["next_pass"] = file.next_pass;
      if (!row.problem.empty()) entry["problem"] = row.problem;
      if (row.read) {
        entry["computations"] = row.summary.computations;
        entry["instructions"] = row.summary.instructions;
        entry["copies"] = row.summary.copies;
      }
      if (row.has_change) {
        entry["change"] = {{"added", row.change.added},
                           {"removed", row.change.removed},
                           {"layouts", row.change.layouts},
                           {"changed", row.change.changed},
                           {"copies", row.change.copies}};
      }
      files.push_back(std::move(entry));
    }
    nlohmann::ordered_json entry = {
        {"name", module.name}, {"subfolder", module.subfolder}, {"files", std::move(files)}};
    if (module.id >= 0) entry["id"] = module.id;
    if (!module.timestamp.empty()) entry["timestamp"] = module.timestamp;
    modules.push_back(std::move(entry));
  }
  return {{"schema", "hlokit.ls/1"}, {"path", folder_.path}, {"modules", std::move(modules)}};
}

Result<Listing> Open(const State& state) {
  std::error_code ignored;
  if (state.path != "-" && std::filesystem::is_directory(state.path, ignored)) {
    ASSIGN_OR_RETURN(DumpFolder folder, ScanDumpFolder(state.path));
    return Listing(state, std::move(folder), {});
  }
  ASSIGN_OR_RETURN(std::string contents, ReadFile(state.path));
  if (IsGzip(contents)) {
    ASSIGN_OR_RETURN(contents, Decompress(contents));
  }
  std::vector<LogBlock> blocks;
  if (DetectFormat(contents) == InputFormat::kLog) blocks = ExtractLogBlocks(contents);
  if (blocks.empty()) {
    return MakeError(ExitCode::kUsage, DiagId::kNoModuleInInput,
                     fmt::format("{} is neither a folder nor a log with modules in it", state.path),
                     "hlokit stats FILE describes a single module");
  }
  std::vector<std::pair<std::string, uint64_t>> files;
  for (size_t i = 0; i < blocks.size(); ++i) {
    size_t slash = blocks[i].name.rfind('/');
    if (slash != std::string::npos) blocks[i].name.erase(0, slash + 1);
    if (blocks[i].name.empty()) blocks[i].name = fmt::format("module{}.hlo", i + 1);
    if (!ParseDumpName(blocks[i].name).has_value() && !blocks[i].name.ends_with(".hlo"))
      blocks[i].name += ".hlo";
    files.emplace_back(blocks[i].name, blocks[i].contents.size());
  }
  DumpFolder folder = GroupDumpFiles(files);
  folder.path = state.path;
  return Listing(state, std::move(folder), std::move(blocks));
}

int Run(const State& state) {
  Result<Listing> listing = Open(state);
  if (!listing) return Report(listing.error(), state.path);
  listing->Read();
  if (state.format == Format::kJson) return EmitJson(listing->Json());
  std::string text = listing->Text();
  if (text.empty()) {
    return Report(
        MakeError(ExitCode::kUsage, DiagId::kNoModuleInInput,
                  fmt::format("{} holds no HLO module", state.path),
                  "dump files are named module_0001.name.before_optimizations.txt and the like")
            .error(),
        state.path);
  }
  return Emit(text);
}

}  // namespace

void RegisterLs(CLI::App& app, int& exit_code) {
  std::shared_ptr<State> state = std::make_shared<State>();
  CLI::App* command =
      app.add_subcommand("ls", "the modules of a dump folder or log, stage by stage");
  command->footer(
      "Examples:\n"
      "  hlokit ls dumps\n"
      "  hlokit ls --names-only dumps\n"
      "  hlokit ls --format json training.log\n"
      "The change is that from the row above: instructions that are new and gone (by name), values "
      "with\n"
      "another layout, instructions that are otherwise different, copies.");
  command
      ->add_option("DIR", state->path,
                   "dump folder, or a log with modules in it; - reads standard input")
      ->required();
  command->add_flag("--names-only", state->names_only, "do not read the files, list them only");
  command->add_flag("--all", state->all, "also files that hold no module");
  RegisterFormat(*command, &state->format);
  command->callback([state, &exit_code] { exit_code = Run(*state); });
}

}  // namespace hlokit::cli
