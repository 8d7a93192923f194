// Helpers of the pass tests: read, run, look.
#ifndef HLOKIT_TESTS_UNIT_PASSES_PASS_TEST_UTIL_H_
#define HLOKIT_TESTS_UNIT_PASSES_PASS_TEST_UTIL_H_

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "hlokit/pass.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"

namespace hlokit {

inline Module MustRead(std::string_view text) {
  Result<Module> module = ReadText(std::string(text));
  if (!module) {
    ADD_FAILURE() << FormatError(module.error());
    return Module();
  }
  return std::move(*module);
}

/// The error text of a pipeline, empty when it runs.
struct RunOutcome {
  bool changed = false;
  std::string error;
  ExitCode exit_code = ExitCode::kOk;
  std::vector<Diagnostic> warnings;

  bool Warned(DiagId id) const {
    for (const Diagnostic& warning : warnings) {
      if (warning.id == id) return true;
    }
    return false;
  }
};

inline RunOutcome RunPasses(Module& module, std::string_view passes, RunOptions options = {}) {
  RunOutcome outcome;
  options.warnings = &outcome.warnings;
  Result<Pipeline> pipeline = ParsePipeline(passes);
  if (!pipeline) {
    outcome.error = FormatError(pipeline.error());
    outcome.exit_code = pipeline.error().exit_code;
    return outcome;
  }
  Result<bool> changed = RunPipeline(module, *pipeline, options);
  if (changed) {
    outcome.changed = *changed;
  } else {
    outcome.error = FormatError(changed.error());
    outcome.exit_code = changed.error().exit_code;
  }
  return outcome;
}

/// The line of an instruction, as printed.
inline std::string Line(const Module& module, std::string_view name) {
  InstId id = module.FindInstruction(name);
  return id.valid() ? PrintInstruction(module, id)
                    : std::string("no instruction ") + std::string(name);
}

/// The line of the root of the entry.
inline std::string RootLine(const Module& module) {
  return PrintInstruction(module, module.computation(module.entry()).root);
}

inline int CountOpcode(const Module& module, Opcode opcode) {
  int count = 0;
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions)
      count += module.opcode(inst) == opcode;
  }
  return count;
}

}  // namespace hlokit

#endif  // HLOKIT_TESTS_UNIT_PASSES_PASS_TEST_UTIL_H_
