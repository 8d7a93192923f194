// The command line of the verifier.
#ifndef HLOKIT_SRC_VERIFY_COMMAND_H_
#define HLOKIT_SRC_VERIFY_COMMAND_H_

#include "CLI/CLI.hpp"

namespace hlokit::cli {

/// hlokit verify FILE
void RegisterVerify(CLI::App& app, int& exit_code);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_VERIFY_COMMAND_H_
