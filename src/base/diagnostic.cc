#include "hlokit/diagnostic.h"

#include <array>

#include "fmt/format.h"
#include "hlokit/result.h"

namespace hlokit {
namespace {

struct Row {
  std::string_view code;
  std::string_view summary;
};

constexpr Row kRows[] = {
#define HLOKIT_DIAGNOSTIC(id, code, summary) {code, summary},
#include "hlokit/diagnostics.def"
};

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

/// The part of a long line around the caret, so that a 10 MB line does not flood the terminal.
struct Excerpt {
  std::string text;
  size_t caret;
};

Excerpt CutAround(std::string_view line, size_t column) {
  constexpr size_t kBefore = 60;
  constexpr size_t kWidth = 120;
  size_t caret = column == 0 ? 0 : column - 1;
  if (line.size() <= kWidth) return {std::string(line), caret};
  size_t begin = caret > kBefore ? caret - kBefore : 0;
  begin = std::min(begin, line.size());
  Excerpt excerpt{std::string(line.substr(begin, kWidth)), caret - begin};
  if (begin > 0) {
    excerpt.text = "…" + excerpt.text;
    excerpt.caret += 1;
  }
  if (begin + kWidth < line.size()) excerpt.text += "…";
  return excerpt;
}

}  // namespace

std::string_view DiagCode(DiagId id) { return kRows[static_cast<size_t>(id)].code; }
std::string_view DiagSummary(DiagId id) { return kRows[static_cast<size_t>(id)].summary; }

std::string FormatDiagnostic(const Diagnostic& diagnostic, std::string_view file_name) {
  std::string out;
  if (!diagnostic.file.empty()) file_name = diagnostic.file;
  if (!file_name.empty()) {
    out += file_name;
    out += ':';
  }
  if (diagnostic.location.line != 0) {
    out += fmt::format("{}:{}:", diagnostic.location.line, diagnostic.location.column);
  }
  if (!out.empty()) out += ' ';
  out += fmt::format("{}: {} [{}]\n", SeverityName(diagnostic.severity), diagnostic.message,
                     DiagCode(diagnostic.id));
  if (diagnostic.location.line != 0) {
    Excerpt excerpt = CutAround(diagnostic.source_line, diagnostic.location.column);
    for (char& c : excerpt.text) {
      unsigned char byte = static_cast<unsigned char>(c);
      if (byte < 32 || byte == 127) c = byte == '\t' ? ' ' : '?';
    }
    out += fmt::format("  {}\n  {}^\n", excerpt.text, std::string(excerpt.caret, ' '));
  }
  if (!diagnostic.help.empty()) out += fmt::format("  help: {}\n", diagnostic.help);
  return out;
}

std::unexpected<Error> MakeError(ExitCode exit_code, DiagId id, std::string message,
                                 std::string help) {
  Error error{.exit_code = exit_code, .diagnostics = {}};
  error.diagnostics.push_back({.id = id, .message = std::move(message), .help = std::move(help)});
  return std::unexpected(std::move(error));
}

std::string FormatError(const Error& error, std::string_view file_name) {
  std::string out;
  for (const Diagnostic& diagnostic : error.diagnostics) {
    out += FormatDiagnostic(diagnostic, file_name);
  }
  return out;
}

}  // namespace hlokit
