#ifndef HLOKIT_SRC_NEURON_COMMANDS_H_
#define HLOKIT_SRC_NEURON_COMMANDS_H_

#include <string>

#include "CLI/CLI.hpp"

namespace hlokit {

/// Puts the options of static-io-transpose on `command` itself: the main program of the binary of
/// that name.
void SetUpStaticIoTranspose(CLI::App& command, int& exit_code);

/// `hlokit static-io-transpose …`. When the subcommand ran, `exit_code` holds its ExitCode.
void RegisterStaticIoTranspose(CLI::App& app, int& exit_code);

/// `hlokit io-transposes simplify FILE …`. Returns the group, so that subcommands that need the IR
/// (check, suggest, apply) can be added to it.
CLI::App* RegisterIoTransposes(CLI::App& app, int& exit_code);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_COMMANDS_H_
