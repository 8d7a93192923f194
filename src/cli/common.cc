// What do all commands of hlokit share? Opening the input, entry layout flags, output.
#include "src/cli/common.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/input.h"
#include "nlohmann/json.hpp"
#include "src/base/edit_distance.h"

namespace hlokit::cli {

void InputOptions::Register(CLI::App& app) {
  app.add_option("FILE", path,
                 "HLO text, proto, pbtxt (also .gz), a log, or a dump folder (DIR:module:stage); - "
                 "reads standard input")
      ->required();
  app.add_option("--input-format", format,
                 "auto, text, proto, pbtxt or log; auto looks at the contents")
      ->check(CLI::IsMember({"auto", "text", "proto", "pbtxt", "log"}));
  app.add_flag("--strict", strict, "unknown opcodes and attributes are errors");
  app.add_flag("--no-fill{false},--fill{true}", fill_missing_layouts,
               "leave shapes without a written layout unset (default: they get {n-1,...,0})");
}

void RegisterFormat(CLI::App& app, Format* format) {
  app.add_option("--format", *format, "text or json")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Format>{{"text", Format::kText}, {"json", Format::kJson}}));
}

Result<Module> Load(const InputOptions& options, bool quiet) {
  std::vector<Diagnostic> warnings;
  LoadOptions load{.format = InputFormatFromName(options.format).value_or(InputFormat::kAuto),
                   .strict = options.strict,
                   .fill_missing_layouts = options.fill_missing_layouts};
  Result<LoadedModule> loaded = LoadModule(options.path, load, &warnings);
  for (const Diagnostic& warning : quiet ? std::vector<Diagnostic>() : warnings) {
    std::fputs(FormatDiagnostic(warning, options.path).c_str(), stderr);
  }
  if (!loaded) return std::unexpected(std::move(loaded).error());
  return std::move(loaded->module);
}

int Report(const Error& error, const std::string& file) {
  std::fputs(FormatError(error, file).c_str(), stderr);
  return static_cast<int>(error.exit_code);
}

int Emit(std::string_view text, const std::string& path) {
  Status status = WriteFile(path, text);
  return status ? 0 : Report(status.error(), "");
}

int EmitJson(const nlohmann::ordered_json& document) {
  // File names may hold any bytes; JSON may not.
  return Emit(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
              "\n");
}

std::string HumanBytes(int64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return value >= 100 ? fmt::format("{:.0f} {}", value, kUnits[unit])
                      : fmt::format("{:.3g} {}", value, kUnits[unit]);
}

namespace {

/// Columns of a terminal that a text takes: its UTF-8 characters.
size_t Width(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace

std::string Table(const std::vector<std::vector<std::string>>& rows, std::string_view align) {
  std::vector<size_t> width(align.size());
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], Width(row[i]));
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string pad(width[i] - Width(row[i]), ' ');
      if (i != 0) line += "  ";
      line += align[i] == 'r' ? pad + row[i] : row[i] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string NearestWord(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  size_t best_distance = word.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    size_t distance = word.size() < 200 ? EditDistance(word, candidate) : best_distance;
    if (distance < best_distance || (distance == best_distance && best.empty())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

Result<InstId> FindInstruction(const Module& module, const std::string& name) {
  if (InstId id = module.FindInstruction(name); id.valid()) return id;
  std::string_view wanted = name;
  if (wanted.starts_with("%")) wanted.remove_prefix(1);
  std::string_view best;
  size_t best_distance = wanted.size() / 2 + 1;
  for (uint32_t i = 0; i < module.instruction_count() && wanted.size() < 200; ++i) {
    std::string_view candidate = module.name(InstId(i));
    size_t difference = candidate.size() > wanted.size() ? candidate.size() - wanted.size()
                                                         : wanted.size() - candidate.size();
    if (difference >= best_distance) continue;
    size_t distance = EditDistance(wanted, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                   fmt::format("the module has no instruction '{}'", wanted),
                   best.empty() ? "names are those of the file, with or without %"
                                : fmt::format("did you mean '{}'?", best));
}

}  // namespace hlokit::cli
