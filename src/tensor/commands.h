#ifndef HLOKIT_SRC_TENSOR_COMMANDS_H_
#define HLOKIT_SRC_TENSOR_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "hlokit/result.h"

namespace hlokit {

/// Adds `permute IN.npy --reshape … --transpose … -o OUT.npy` to a program. When the subcommand
/// ran, `exit_code` holds its ExitCode.
void RegisterPermute(CLI::App& app, int& exit_code);

/// Reads "3,2048,2,128", also with spaces or in brackets. Fails with kUsage (U001).
Result<std::vector<int64_t>> ParseIntegerList(const std::string& text, const std::string& option);

}  // namespace hlokit

#endif  // HLOKIT_SRC_TENSOR_COMMANDS_H_
