// The command lines of this part: other forms of a module, and what a folder holds.
#ifndef HLOKIT_SRC_INPUT_COMMANDS_H_
#define HLOKIT_SRC_INPUT_COMMANDS_H_

#include "CLI/CLI.hpp"

namespace hlokit::cli {

/// hlokit convert IN -o OUT --to text|short|proto|pbtxt|json
void RegisterConvert(CLI::App& app, int& exit_code);
/// hlokit ls DIR
void RegisterLs(CLI::App& app, int& exit_code);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_INPUT_COMMANDS_H_
