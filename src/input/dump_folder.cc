// Which modules does a dump folder hold, and which of its files is meant?
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <tuple>

#include "hlokit/input.h"

namespace hlokit {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 4;
constexpr size_t kMaxFiles = 1'000'000;

/// Other names under which a work folder holds modules (graph.hlo, snapshots, …).
bool LooksLikeModuleFile(std::string_view name) {
  for (std::string_view extension :
       {".hlo", ".hlo.pb", ".hlo.pb.gz", ".hlo.gz", ".hlo.txt", ".hlo.txt.gz", ".pbtxt",
        ".hlo_snapshot.pb", ".hlo_unoptimized_snapshot.pb"}) {
    if (name.ends_with(extension) && name.size() > extension.size()) return true;
  }
  return false;
}

int Position(const DumpFile& file) {
  switch (file.kind) {
    case StageKind::kBefore:
      return 0;
    case StageKind::kStep:
      return 1;
    case StageKind::kAfter:
      // These two are written on the way, by the steps around them.
      return file.stage == "after_spmd_partitioner"     ? 2
             : file.stage == "before_config_assignment" ? 3
                                                        : 4;
    default:
      return 5;
  }
}

bool Earlier(const DumpFile& a, const DumpFile& b) {
  return std::make_tuple(Position(a), a.step, std::string_view(a.stage), std::string_view(a.path)) <
         std::make_tuple(Position(b), b.step, std::string_view(b.stage), std::string_view(b.path));
}

using GroupKey = std::tuple<std::string, std::string, int64_t, std::string>;

/// A sibling's stem is "NAME" or "NAME.something"; the modules found so far tell where NAME ends.
void NameSiblings(std::vector<std::pair<std::string, DumpName>>* names) {
  std::map<std::tuple<std::string, std::string, int64_t>, std::vector<std::string>> known;
  for (const auto& [folder, name] : *names) {
    if (name.file.HoldsModule()) known[{folder, name.timestamp, name.id}].push_back(name.name);
  }
  for (auto& [folder, name] : *names) {
    if (name.file.HoldsModule() || !name.name.empty()) continue;
    auto it = known.find({folder, name.timestamp, name.id});
    if (it == known.end()) {
      name.name = name.file.stage;
      name.file.stage.clear();
      continue;
    }
    std::string_view best;
    for (const std::string& candidate : it->second) {
      if (name.file.stage.starts_with(candidate) && candidate.size() >= best.size())
        best = candidate;
    }
    if (best.empty()) best = it->second.front();
    std::string rest =
        name.file.stage.starts_with(best) ? name.file.stage.substr(best.size()) : name.file.stage;
    if (rest.starts_with(".")) rest.erase(0, 1);
    name.name = std::string(best);
    name.file.stage = rest;
  }
}

}  // namespace

DumpFolder GroupDumpFiles(const std::vector<std::pair<std::string, uint64_t>>& files) {
  std::vector<std::pair<std::string, DumpName>> names;
  std::vector<std::pair<std::string, uint64_t>> plain;
  for (const auto& [path, bytes] : files) {
    size_t slash = path.rfind('/');
    std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
    std::string_view file_name =
        std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
    std::optional<DumpName> name = ParseDumpName(file_name);
    if (!name.has_value()) {
      if (LooksLikeModuleFile(file_name)) plain.emplace_back(path, bytes);
      continue;
    }
    name->file.path = path;
    name->file.bytes = bytes;
    names.emplace_back(folder, std::move(*name));
  }
  NameSiblings(&names);
  std::map<GroupKey, DumpModule> groups;
  for (auto& [folder, name] : names) {
    DumpModule& module = groups[{folder, name.timestamp, name.id, name.name}];
    module.subfolder = folder;
    module.timestamp = name.timestamp;
    module.id = name.id;
    module.name = name.name;
    module.bytes += name.file.bytes;
    module.files.push_back(std::move(name.file));
  }
  for (const auto& [path, bytes] : plain) {
    size_t slash = path.rfind('/');
    std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
    std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    std::string extension = name.substr(name.find('.'));
    extension.erase(0, 1);
    name.resize(name.find('.'));
    DumpModule& module = groups[{folder, "", -1, name}];
    module.subfolder = folder;
    module.name = name;
    module.bytes += bytes;
    DumpFile& file = module.files.emplace_back();
    file.path = path;
    file.stage = "file";
    file.kind = StageKind::kBefore;
    file.extension = extension;
    file.bytes = bytes;
  }
  DumpFolder out;
  for (auto& [key, module] : groups) {
    std::sort(module.files.begin(), module.files.end(), Earlier);
    out.modules.push_back(std::move(module));
  }
  std::stable_sort(out.modules.begin(), out.modules.end(),
                   [](const DumpModule& a, const DumpModule& b) {
                     return std::tie(a.subfolder, a.timestamp, a.id, a.name) <
                            std::tie(b.subfolder, b.timestamp, b.id, b.name);
                   });
  return out;
}

Result<DumpFolder> ScanDumpFolder(const std::string& path) {
  std::vector<std::pair<std::string, uint64_t>> files;
  std::error_code error;
  fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
  if (error) {
    return MakeError(ExitCode::kIo, DiagId::kCannotOpen,
                     fmt::format("{}: {}", path, error.message()));
  }
  for (; it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) break;
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    if (files.size() == kMaxFiles) {
      return MakeError(ExitCode::kUsage, DiagId::kNoModuleInInput,
                       fmt::format("{} holds more than {} files", path, kMaxFiles),
                       "name a folder further down");
    }
    uint64_t size = it->file_size(ignored);
    files.emplace_back(it->path().lexically_relative(path).string(), ignored ? 0 : size);
  }
  std::sort(files.begin(), files.end());
  DumpFolder out = GroupDumpFiles(files);
  out.path = path;
  return out;
}

namespace {

std::string Title(const DumpModule& module) {
  std::string out = module.subfolder.empty() ? "" : module.subfolder + "/";
  if (module.id >= 0) out += fmt::format("{:04}", module.id);
  if (module.id >= 0 && !module.name.empty()) out += ".";
  return out + module.name;
}

std::string List(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < 12; ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > 12) out += fmt::format(", … ({} more)", names.size() - 12);
  return out;
}

bool Matches(const DumpModule& module, std::string_view wanted) {
  if (module.name == wanted || Title(module) == wanted) return true;
  if (module.id >= 0) {
    int64_t number = -1;
    std::string_view digits = wanted.starts_with("module_") ? wanted.substr(7) : wanted;
    std::from_chars_result result =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (result.ec == std::errc() && result.ptr == digits.data() + digits.size())
      return number == module.id;
    if (wanted == fmt::format("module_{:04}.{}", module.id, module.name)) return true;
  }
  return false;
}

/// The same stage is often there as text and as proto: text carries the whole header, so it comes
/// first.
int Preference(const DumpFile& file) {
  if (file.extension == "txt" || file.extension == "hlo") return 0;
  if (file.extension == "txt.gz" || file.extension == "hlo.gz") return 1;
  return file.extension.ends_with(".gz") ? 3 : 2;
}

const DumpFile* Best(const std::vector<const DumpFile*>& files) {
  return *std::min_element(files.begin(), files.end(), [](const DumpFile* a, const DumpFile* b) {
    return Preference(*a) < Preference(*b);
  });
}

const DumpFile* FindStage(const DumpModule& module, std::string_view stage) {
  std::string_view extension;
  for (const DumpFile& file : module.files) {
    std::string with_dot = "." + file.extension;
    if (!file.extension.empty() && stage.ends_with(with_dot) &&
        with_dot.size() > extension.size()) {
      extension = stage.substr(stage.size() - with_dot.size());
    }
  }
  std::string_view plain = stage.substr(0, stage.size() - extension.size());
  int64_t number = -1;
  std::from_chars_result digits =
      std::from_chars(plain.data(), plain.data() + plain.size(), number);
  if (digits.ec != std::errc() || digits.ptr != plain.data() + plain.size()) number = -1;
  // From the strictest reading to the loosest; the first one that fits some file decides.
  using Rule = bool (*)(const DumpFile&, std::string_view, int64_t);
  static constexpr Rule kRules[] = {
      [](const DumpFile& f, std::string_view s, int64_t) { return f.stage == s; },
      [](const DumpFile& f, std::string_view, int64_t n) { return n >= 0 && f.step == n; },
      [](const DumpFile& f, std::string_view s, int64_t) { return f.pass == s && !f.pass.empty(); },
      [](const DumpFile& f, std::string_view s, int64_t) {
        return s.starts_with("before_") && f.next_pass == s.substr(7) && !f.next_pass.empty();
      },
      [](const DumpFile& f, std::string_view s, int64_t) { return f.stage.ends_with(s); },
      [](const DumpFile& f, std::string_view s, int64_t) {
        return f.stage.find(s) != std::string::npos;
      },
  };
  for (Rule rule : kRules) {
    std::vector<const DumpFile*> found;
    for (const DumpFile& file : module.files) {
      bool fits = file.HoldsModule() && rule(file, plain, number) &&
                  (extension.empty() || file.extension == extension.substr(1));
      // Of several steps that fit, the last one; of one step, all its files.
      if (!fits) continue;
      if (!found.empty() && found.back()->step != file.step) found.clear();
      found.push_back(&file);
    }
    if (!found.empty()) return Best(found);
  }
  return nullptr;
}

}  // namespace

Result<const DumpFile*> ChooseDumpFile(const DumpFolder& folder, std::string_view module_name,
                                       std::string_view stage, std::vector<Diagnostic>* warnings) {
  std::vector<const DumpModule*> candidates;
  std::vector<std::string> titles;
  for (const DumpModule& module : folder.modules) {
    bool any = std::any_of(module.files.begin(), module.files.end(),
                           [](const DumpFile& f) { return f.HoldsModule(); });
    if (!any) continue;
    titles.push_back(Title(module));
    if (module_name.empty() || Matches(module, module_name)) candidates.push_back(&module);
  }
  if (titles.empty()) {
    return MakeError(ExitCode::kUsage, DiagId::kNoModuleInInput,
                     fmt::format("{} holds no HLO module", folder.path),
                     "dump files are named module_0001.name.before_optimizations.txt and the like");
  }
  if (candidates.empty()) {
    return MakeError(ExitCode::kUsage, DiagId::kNoSuchStage,
                     fmt::format("{} has no module '{}'", folder.path, module_name),
                     "modules: " + List(titles));
  }
  const DumpModule* module = *std::max_element(
      candidates.begin(), candidates.end(),
      [](const DumpModule* a, const DumpModule* b) { return a->bytes < b->bytes; });
  if (candidates.size() > 1 && warnings != nullptr) {
    std::vector<std::string> others;
    for (const DumpModule* candidate : candidates) others.push_back(Title(*candidate));
    warnings->push_back({.id = DiagId::kSeveralModules,
                         .severity = Severity::kWarning,
                         .message = fmt::format("{} fit; the largest one is taken: {}",
                                                candidates.size(), Title(*module)),
                         .help = fmt::format("choose with {}:MODULE[:STAGE]; modules: {}",
                                             folder.path, List(others))});
  }
  const DumpFile* file = nullptr;
  if (!stage.empty()) {
    file = FindStage(*module, stage);
  } else {
    std::vector<const DumpFile*> first;
    for (const DumpFile& f : module->files) {
      if (!f.HoldsModule()) continue;
      if (!first.empty() && (first[0]->stage != f.stage || first[0]->step != f.step)) break;
      first.push_back(&f);
    }
    file = Best(first);
  }
  if (file != nullptr) return file;
  std::vector<std::string> stages;
  for (const DumpFile& f : module->files) {
    if (f.HoldsModule())
      stages.push_back(f.step >= 0 ? fmt::format("{:04}.{}", f.step, f.stage) : f.stage);
  }
  return MakeError(ExitCode::kUsage, DiagId::kNoSuchStage,
                   fmt::format("the module '{}' has no stage '{}'", Title(*module), stage),
                   "stages: " + List(stages));
}

}  // namespace hlokit
