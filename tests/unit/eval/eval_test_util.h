// Runs a module that is written in a test; inputs come from constants unless given.
#ifndef HLOKIT_TESTS_UNIT_EVAL_EVAL_TEST_UTIL_H_
#define HLOKIT_TESTS_UNIT_EVAL_EVAL_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hlokit/eval.h"
#include "hlokit/reader.h"
#include "hlokit/verifier.h"

namespace hlokit {

inline Module Read(std::string text) {
  Result<Module> module = ReadText(std::move(text));
  EXPECT_TRUE(module) << FormatError(module.error());
  if (!module) return Module();
  Status sound = VerifyModule(*module);
  EXPECT_TRUE(sound) << FormatError(sound.error());
  return std::move(*module);
}

/// Golden text of device 0, or the message of the error.
inline std::string RunModule(const Module& module, EvalOptions options = {}) {
  const HostLeaves inputs = MakeInputs(module, InputRule::kGolden, 0);
  Result<std::vector<HostLeaves>> result = Evaluate(module, {&inputs, 1}, options);
  if (!result) return result.error().diagnostics[0].message;
  return GoldenText(module, module.shape(module.computation(module.entry()).root), (*result)[0]);
}

inline std::string RunText(std::string text, EvalOptions options = {}) {
  return RunModule(Read(std::move(text)), std::move(options));
}

/// The body of an entry computation, one instruction per line, as a module. `callees` come first.
inline std::string RunEntry(const std::string& body, const std::string& callees = "",
                            EvalOptions options = {}) {
  return RunText("HloModule m\n\n" + callees + "\nENTRY e {\n" + body + "}\n", std::move(options));
}

}  // namespace hlokit

#endif  // HLOKIT_TESTS_UNIT_EVAL_EVAL_TEST_UTIL_H_
