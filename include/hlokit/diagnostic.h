#ifndef HLOKIT_DIAGNOSTIC_H_
#define HLOKIT_DIAGNOSTIC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/exit_code.h"

namespace hlokit {

/// One row per kind of diagnostic in diagnostics.def; the code (for instance "R012") is stable.
enum class DiagId : uint16_t {
#define HLOKIT_DIAGNOSTIC(id, code, summary) id,
#include "hlokit/diagnostics.def"
};

/// The stable code of a diagnostic, for instance "R012".
std::string_view DiagCode(DiagId id);
/// One plain sentence about the kind, used by the docs and by `--explain-code`.
std::string_view DiagSummary(DiagId id);

enum class Severity : uint8_t { kNote, kWarning, kError };

/// A place in an input: 1-based line and column, columns in bytes. Line 0 means "no place".
struct SourceLocation {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// One message for the user. `message` says what is wrong, `help` what to do next.
struct Diagnostic {
  DiagId id;
  Severity severity = Severity::kError;
  std::string message;
  SourceLocation location;
  std::string source_line;  ///< the text of that line, for the caret; empty when there is no place
  std::string help;         ///< what to do next; empty when nothing is known
  std::string file;         ///< where the place is; empty = the file that is being reported on
};

/// Renders one diagnostic:
///   file:3:7: error: message [R012]
///      source line
///         ^
///     help: …
std::string FormatDiagnostic(const Diagnostic& diagnostic, std::string_view file_name);

}  // namespace hlokit

#endif  // HLOKIT_DIAGNOSTIC_H_
