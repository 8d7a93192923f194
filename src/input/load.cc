// How does a command open what its user named: a file, a folder, a log, standard input?
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "hlokit/file.h"
#include "hlokit/input.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

namespace fs = std::filesystem;

struct Spec {
  std::string path;
  std::string module;
  std::string stage;
};

/// A path may hold colons itself: the longest front part that exists is the path.
Spec SplitSpec(const std::string& spec) {
  std::error_code ignored;
  if (spec == "-" || fs::exists(spec, ignored)) return {spec, "", ""};
  for (size_t colon = spec.rfind(':'); colon != std::string::npos && colon != 0;
       colon = spec.rfind(':', colon - 1)) {
    std::string path = spec.substr(0, colon);
    if (path != "-" && !fs::exists(path, ignored)) continue;
    std::string rest = spec.substr(colon + 1);
    size_t second = rest.find(':');
    if (second == std::string::npos) return {path, rest, ""};
    return {path, rest.substr(0, second), rest.substr(second + 1)};
  }
  return {spec, "", ""};
}

std::string_view OtherFormat(std::string_view contents) {
  if (contents.starts_with("\x28\xb5\x2f\xfd")) return "zstd data";
  if (contents.starts_with("\x83\xaf\x70\xd1")) return "a riegeli file";
  if (contents.starts_with("PK\x03\x04")) return "a zip file";
  if (contents.starts_with("\x7f"
                           "ELF"))
    return "a program or object file";
  if (contents.starts_with("ML\xefR")) return "MLIR bytecode";
  if (contents.starts_with("\x93NUMPY")) return "a NumPy array";
  if (contents.starts_with("module ") || contents.starts_with("module{") ||
      contents.find("\nmodule @") != std::string_view::npos) {
    return "MLIR text";
  }
  return "";
}

std::unexpected<Error> Unknown(std::string_view contents, const std::string& name) {
  std::string_view other = OtherFormat(contents);
  std::string what = contents.empty() ? "the input is empty"
                     : other.empty()
                         ? "the input is neither HLO text nor a proto that holds a module"
                         : fmt::format("the input is {}", other);
  std::unexpected<Error> error = MakeError(
      ExitCode::kCannotParse, DiagId::kUnknownFormat, std::move(what),
      "HLO text, .hlo.pb, .pbtxt, snapshots, their .gz forms, logs and dump folders are read; "
      "--input-format says which one it is");
  error.error().diagnostics[0].file = name;
  return error;
}

Result<Module> ReadPbtxt(std::string contents, const LoadOptions& options, ProtoWrapper* wrapper,
                         std::vector<Diagnostic>* warnings) {
  ProtoKind kind = DetectPbtxt(contents).value_or(ProtoKind::kHlo);
  ASSIGN_OR_RETURN(std::string bytes, PbtxtToProto(contents, kind));
  contents = {};
  ProtoReadOptions read{.kind = kind, .strict = options.strict, .offsets_in_messages = false};
  return ReadProto(std::move(bytes), read, wrapper, warnings);
}

/// The blocks of a log are files of a folder that is not on disk.
Result<LoadedModule> LoadLog(std::string contents, const std::string& name, const Spec& spec,
                             const LoadOptions& options, std::vector<Diagnostic>* warnings) {
  std::vector<LogBlock> blocks = ExtractLogBlocks(contents);
  contents = {};
  std::vector<std::pair<std::string, uint64_t>> files;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].name.empty()) blocks[i].name = fmt::format("module{}.hlo", i + 1);
    // Titles may be paths; the last part follows the rules for file names.
    size_t slash = blocks[i].name.rfind('/');
    if (slash != std::string::npos) blocks[i].name.erase(0, slash + 1);
    bool known = ParseDumpName(blocks[i].name).has_value() || blocks[i].name.ends_with(".hlo");
    if (!known) blocks[i].name += ".hlo";
    files.emplace_back(blocks[i].name, blocks[i].contents.size());
  }
  if (blocks.empty()) {
    return MakeError(
        ExitCode::kCannotParse, DiagId::kNoModuleInInput,
        fmt::format("{}: the log holds no HLO module", name),
        "modules stand between '*** Begin … ***' and '*** End … ***', or start with 'HloModule'");
  }
  DumpFolder folder = GroupDumpFiles(files);
  folder.path = name;
  ASSIGN_OR_RETURN(const DumpFile* file, ChooseDumpFile(folder, spec.module, spec.stage, warnings));
  // The last block of a name wins, as a later file would have replaced an earlier one.
  auto block = std::find_if(blocks.rbegin(), blocks.rend(),
                            [&](const LogBlock& b) { return b.name == file->path; });
  LoadOptions inner = options;
  inner.format = InputFormat::kText;
  ASSIGN_OR_RETURN(LoadedModule loaded, LoadContents(std::move(block->contents),
                                                     name + ":" + block->name, inner, warnings));
  loaded.format = InputFormat::kLog;
  return loaded;
}

/// Standard input can be read once, but commands that run the pass twice ask for their input twice.
Result<std::string> StandardInput(size_t max_bytes) {
  static std::optional<std::string> kept;
  if (!kept) {
    ASSIGN_OR_RETURN(kept, ReadFile("-", max_bytes));
  }
  return *kept;
}

Result<LoadedModule> Load(std::string contents, const std::string& name, const Spec& spec,
                          const LoadOptions& options, std::vector<Diagnostic>* warnings) {
  LoadedModule out;
  out.name = name;
  if (IsGzip(contents)) {
    ASSIGN_OR_RETURN(contents, Decompress(contents, options.max_bytes));
    out.compressed = true;
  }
  out.format = options.format == InputFormat::kAuto ? DetectFormat(contents) : options.format;
  bool chosen = !spec.module.empty() && out.format != InputFormat::kLog;
  if (chosen) {
    return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                     fmt::format("{} is a single module: it has no ':{}'", name, spec.module),
                     ":MODULE[:STAGE] belongs behind dump folders and logs");
  }
  switch (out.format) {
    case InputFormat::kText: {
      ReadOptions read{.strict = options.strict,
                       .fill_missing_layouts = options.fill_missing_layouts};
      std::vector<Diagnostic> more;
      Result<Module> module = ReadText(std::move(contents), read, &more);
      if (warnings != nullptr) warnings->insert(warnings->end(), more.begin(), more.end());
      if (!module) return std::unexpected(std::move(module).error());
      out.module = std::move(*module);
      return out;
    }
    case InputFormat::kProto: {
      ASSIGN_OR_RETURN(out.module, ReadProto(std::move(contents), {.strict = options.strict},
                                             &out.wrapper, warnings));
      return out;
    }
    case InputFormat::kPbtxt: {
      ASSIGN_OR_RETURN(out.module, ReadPbtxt(std::move(contents), options, &out.wrapper, warnings));
      return out;
    }
    case InputFormat::kLog:
      return LoadLog(std::move(contents), name, spec, options, warnings);
    default:
      return Unknown(contents, name);
  }
}

}  // namespace

Result<LoadedModule> LoadContents(std::string contents, const std::string& name,
                                  const LoadOptions& options, std::vector<Diagnostic>* warnings) {
  return Load(std::move(contents), name, {}, options, warnings);
}

Result<LoadedModule> LoadModule(const std::string& spec_text, const LoadOptions& options,
                                std::vector<Diagnostic>* warnings) {
  Spec spec = SplitSpec(spec_text);
  std::error_code ignored;
  if (spec.path == "-") {
    ASSIGN_OR_RETURN(std::string contents, StandardInput(options.max_bytes));
    return Load(std::move(contents), spec.path, spec, options, warnings);
  }
  if (!fs::is_directory(spec.path, ignored)) {
    ASSIGN_OR_RETURN(std::string contents, ReadFile(spec.path, options.max_bytes));
    return Load(std::move(contents), spec.path, spec, options, warnings);
  }
  ASSIGN_OR_RETURN(DumpFolder folder, ScanDumpFolder(spec.path));
  ASSIGN_OR_RETURN(const DumpFile* file, ChooseDumpFile(folder, spec.module, spec.stage, warnings));
  std::string path = (fs::path(spec.path) / file->path).string();
  ASSIGN_OR_RETURN(std::string contents, ReadFile(path, options.max_bytes));
  return Load(std::move(contents), path, {}, options, warnings);
}

}  // namespace hlokit
