// The command lines of the evaluator.
#ifndef HLOKIT_SRC_EVAL_COMMANDS_H_
#define HLOKIT_SRC_EVAL_COMMANDS_H_

#include "CLI/CLI.hpp"

namespace hlokit::cli {

/// hlokit run FILE
void RegisterRun(CLI::App& app, int& exit_code);
/// hlokit equal A B
void RegisterEqual(CLI::App& app, int& exit_code);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_EVAL_COMMANDS_H_
