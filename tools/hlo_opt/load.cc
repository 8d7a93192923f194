// How do modules get in and out?
#include "tools/hlo_opt/load.h"

#include <algorithm>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/reader.h"
#ifdef HLOKIT_HAS_PROTO
#include "hlokit/proto.h"
#endif

namespace hlokit {
namespace {

constexpr std::string_view kSeparator = "// -----";
constexpr std::string_view kAnySeparator = "// ---";

ModuleFormat FormatOf(const HloOptFlags& flags) {
  if (flags.input_type != ModuleFormat::kAuto) return flags.input_type;
  const std::string& path = flags.input;
  if (path.ends_with(".pb")) return ModuleFormat::kProto;
  if (path.ends_with(".pbtxt") || path.ends_with(".textproto")) return ModuleFormat::kPbtxt;
  return ModuleFormat::kText;
}

std::unexpected<Error> Separators(std::string message, std::string help) {
  return MakeError(ExitCode::kUsage, DiagId::kBadSeparator, std::move(message), std::move(help));
}

#ifdef HLOKIT_HAS_PROTO

Result<Module> ReadAnyProto(std::string bytes, ModuleFormat format, const HloOptFlags& flags,
                            std::vector<Diagnostic>* warnings) {
  ProtoReadOptions options{.strict = flags.strict};
  if (format == ModuleFormat::kPbtxt) {
    options.kind = DetectPbtxt(bytes).value_or(ProtoKind::kHlo);
    options.offsets_in_messages = false;
    ASSIGN_OR_RETURN(bytes, PbtxtToProto(bytes, *options.kind));
  }
  return ReadProto(std::move(bytes), options, nullptr, warnings);
}

Result<std::string> WriteAnyProto(const Module& module, ModuleFormat format) {
  ASSIGN_OR_RETURN(std::string bytes, WriteProto(module));
  if (format == ModuleFormat::kProto) return bytes;
  return ProtoToPbtxt(bytes, ProtoKind::kHlo);
}

#else

std::unexpected<Error> NoProto() {
  return MakeError(ExitCode::kUnsupported, DiagId::kOtherPassFailure,
                   "this build reads and writes text only", "convert the module to text first");
}
Result<Module> ReadAnyProto(std::string, ModuleFormat, const HloOptFlags&, std::vector<Diagnostic>*) {
  return NoProto();
}
Result<std::string> WriteAnyProto(const Module&, ModuleFormat) { return NoProto(); }

#endif

}  // namespace

Result<std::vector<std::string>> SplitModules(std::string text, bool split) {
  std::vector<std::string> pieces;
  if (!split) {
    if (text.find(kAnySeparator) != text.npos) {
      return Separators("the input holds a separator \"// ---\", but --split-input-file is not given",
                        "add --split-input-file to process several modules");
    }
    pieces.push_back(std::move(text));
    return pieces;
  }
  for (size_t begin = 0;;) {
    size_t end = std::min(text.find(kSeparator, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    if (pieces.back().find(kAnySeparator) != std::string::npos) {
      return Separators(fmt::format("module {} holds an unexpected separator \"// ---\"", pieces.size()),
                        "separators are exactly \"// -----\"");
    }
    if (end == text.size()) return pieces;
    begin = end + kSeparator.size();
  }
}

Result<std::vector<Module>> LoadModules(const HloOptFlags& flags, std::vector<Diagnostic>* warnings) {
  ASSIGN_OR_RETURN(std::string text, ReadFile(flags.input));
  std::vector<Module> modules;
  ModuleFormat format = FormatOf(flags);
  if (format != ModuleFormat::kText) {
    ASSIGN_OR_RETURN(Module module, ReadAnyProto(std::move(text), format, flags, warnings));
    modules.push_back(std::move(module));
    return modules;
  }
  ASSIGN_OR_RETURN(std::vector<std::string> pieces,
                   SplitModules(std::move(text), flags.split_input_file));
  ReadOptions options{.strict = flags.strict, .fill_missing_layouts = flags.fill_missing_layouts};
  Error problems;
  uint32_t lines_before = 0;
  for (std::string& piece : pieces) {
    uint32_t lines = static_cast<uint32_t>(std::count(piece.begin(), piece.end(), '\n'));
    auto in_file = [&](Diagnostic diagnostic) {
      if (diagnostic.location.line != 0) diagnostic.location.line += lines_before;
      return diagnostic;
    };
    std::vector<Diagnostic> piece_warnings;
    Result<Module> module = ReadText(std::move(piece), options, &piece_warnings);
    for (Diagnostic& warning : piece_warnings) warnings->push_back(in_file(std::move(warning)));
    if (module) {
      modules.push_back(std::move(*module));
    } else {
      problems.exit_code = module.error().exit_code;
      for (Diagnostic& diagnostic : module.error().diagnostics) {
        problems.diagnostics.push_back(in_file(std::move(diagnostic)));
      }
    }
    lines_before += lines;
  }
  if (!problems.diagnostics.empty()) return std::unexpected(std::move(problems));
  return modules;
}

Result<std::string> PrintModules(const std::vector<Module>& modules, ModuleFormat format,
                                 const HloOptFlags& flags) {
  if (format != ModuleFormat::kText) {
    if (modules.size() != 1) {
      return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                       "a proto holds one module, and there are several",
                       "write text, or give the modules one by one");
    }
    return WriteAnyProto(modules[0], format);
  }
  PrintOptions print;
  print.large_constants = flags.large_constants;
  std::string out;
  for (const Module& module : modules) out += PrintModule(module, print) + "\n";
  if (flags.output == "-") out += "\n";
  return out;
}

}  // namespace hlokit
