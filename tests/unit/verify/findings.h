// Runs the verifier on a text and gives the codes that it reported.
#ifndef HLOKIT_TESTS_UNIT_VERIFY_FINDINGS_H_
#define HLOKIT_TESTS_UNIT_VERIFY_FINDINGS_H_

#include <string>

#include "hlokit/reader.h"
#include "hlokit/verifier.h"

namespace hlokit {

/// "V002 V017": the codes of all findings in order; empty for a sound module.
inline std::string CodesOf(const Module& module, const VerifierOptions& options = {}) {
  std::string codes;
  for (const VerifierFinding& finding : FindProblems(module, options)) {
    if (!codes.empty()) codes += ' ';
    codes += DiagCode(finding.diagnostic.id);
  }
  return codes;
}

inline std::string Codes(const std::string& text, const VerifierOptions& options = {},
                         bool fill_missing_layouts = true) {
  Result<Module> module = ReadText(text, {.fill_missing_layouts = fill_missing_layouts});
  if (!module) return "cannot read: " + FormatError(module.error());
  return CodesOf(*module, options);
}

/// The text as the lines of an entry computation.
inline std::string Entry(const std::string& lines, const std::string& header = "HloModule m") {
  return header + "\nENTRY e {\n" + lines + "\n}\n";
}

inline VerifierOptions Sensitive() { return {.layout_sensitive = true}; }

}  // namespace hlokit

#endif  // HLOKIT_TESTS_UNIT_VERIFY_FINDINGS_H_
