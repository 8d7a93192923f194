// How do modules get in and out?
#include "tools/hlo_opt/load.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

constexpr std::string_view kSeparator = "// -----";
constexpr std::string_view kAnySeparator = "// ---";

std::unexpected<Error> Separators(std::string message, std::string help) {
  return MakeError(ExitCode::kUsage, DiagId::kBadSeparator, std::move(message), std::move(help));
}

/// Something on disk that is no plain file: a folder, or DIR:module:stage.
bool NamesDump(const std::string& input) {
  std::error_code error;
  return input != "-" && !std::filesystem::is_regular_file(input, error) &&
         (std::filesystem::is_directory(input, error) || input.find(':') != std::string::npos);
}

Result<std::vector<Piece>> One(Result<LoadedModule> loaded) {
  if (!loaded) return std::unexpected(std::move(loaded).error());
  std::vector<Piece> pieces;
  pieces.push_back({std::move(loaded->module), std::move(loaded->wrapper)});
  return pieces;
}

/// Modules in text; the diagnostics of a later piece name lines of the file.
Result<std::vector<Piece>> ReadPieces(std::vector<std::string> texts, const HloOptFlags& flags,
                                      std::vector<Diagnostic>* warnings) {
  ReadOptions options{.strict = flags.strict, .fill_missing_layouts = flags.fill_missing_layouts};
  std::vector<Piece> pieces;
  Error problems;
  uint32_t lines_before = 0;
  for (std::string& text : texts) {
    uint32_t lines = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
    auto in_file = [&](Diagnostic diagnostic) {
      if (diagnostic.location.line != 0) diagnostic.location.line += lines_before;
      return diagnostic;
    };
    std::vector<Diagnostic> own;
    Result<Module> module = ReadText(std::move(text), options, &own);
    for (Diagnostic& warning : own) warnings->push_back(in_file(std::move(warning)));
    if (module) {
      pieces.push_back({std::move(*module), {}});
    } else {
      problems.exit_code = module.error().exit_code;
      for (Diagnostic& diagnostic : module.error().diagnostics) {
        problems.diagnostics.push_back(in_file(std::move(diagnostic)));
      }
    }
    lines_before += lines;
  }
  if (!problems.diagnostics.empty()) return std::unexpected(std::move(problems));
  return pieces;
}

}  // namespace

Result<std::vector<std::string>> SplitModules(std::string text, bool split) {
  std::vector<std::string> pieces;
  if (!split) {
    if (text.find(kAnySeparator) != text.npos) {
      return Separators(
          "the input holds a separator \"// ---\", but --split-input-file is not given",
          "add --split-input-file to process several modules");
    }
    pieces.push_back(std::move(text));
    return pieces;
  }
  for (size_t begin = 0;;) {
    size_t end = std::min(text.find(kSeparator, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    if (pieces.back().find(kAnySeparator) != std::string::npos) {
      return Separators(
          fmt::format("module {} holds an unexpected separator \"// ---\"", pieces.size()),
          "separators are exactly \"// -----\"");
    }
    if (end == text.size()) return pieces;
    begin = end + kSeparator.size();
  }
}

Result<std::vector<Piece>> LoadPieces(const HloOptFlags& flags, std::vector<Diagnostic>* warnings) {
  LoadOptions options{.format = flags.input_type,
                      .strict = flags.strict,
                      .fill_missing_layouts = flags.fill_missing_layouts};
  if (NamesDump(flags.input)) return One(LoadModule(flags.input, options, warnings));
  ASSIGN_OR_RETURN(std::string contents, ReadFile(flags.input));
  if (IsGzip(contents)) {
    ASSIGN_OR_RETURN(contents, Decompress(contents));
  }
  if (options.format == InputFormat::kAuto) options.format = DetectFormat(contents);
  if (options.format == InputFormat::kAuto) options.format = InputFormat::kText;  // words the error
  if (options.format != InputFormat::kText) {
    return One(LoadContents(std::move(contents), flags.input, options, warnings));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> texts,
                   SplitModules(std::move(contents), flags.split_input_file));
  return ReadPieces(std::move(texts), flags, warnings);
}

Result<std::string> PrintPieces(const std::vector<Piece>& pieces, InputFormat format,
                                const HloOptFlags& flags) {
  if (format != InputFormat::kText) {
    if (pieces.size() != 1) {
      return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                       "a proto holds one module, and there are several",
                       "write text, or give the modules one by one");
    }
    ASSIGN_OR_RETURN(std::string bytes, WriteProto(pieces[0].module, pieces[0].wrapper));
    if (format == InputFormat::kProto) return bytes;
    return ProtoToPbtxt(bytes, pieces[0].wrapper.kind);
  }
  PrintOptions print;
  print.large_constants = flags.large_constants;
  std::string out;
  for (const Piece& piece : pieces) out += PrintModule(piece.module, print) + "\n";
  if (flags.output == "-") out += "\n";
  return out;
}

}  // namespace hlokit
