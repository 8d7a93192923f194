// The command lines that need both a module and the files of the Neuron tools.
#ifndef HLOKIT_SRC_NEURON_IR_COMMANDS_H_
#define HLOKIT_SRC_NEURON_IR_COMMANDS_H_

#include "CLI/CLI.hpp"

namespace hlokit {

/// `hlokit io-transposes check FILE… --hlo MODULE`, in the group that RegisterIoTransposes returns.
void RegisterIoTransposesCheck(CLI::App& group, int& exit_code);

/// `hlokit io-transposes suggest MODULE`, in the same group.
void RegisterIoTransposesSuggest(CLI::App& group, int& exit_code);

/// `hlokit io-transposes apply MODULE SPEC`, in the same group.
void RegisterIoTransposesApply(CLI::App& group, int& exit_code);

/// `hlokit neff inspect FILE`.
void RegisterNeff(CLI::App& app, int& exit_code);

/// Puts the options of hlo-neff-wrapper on `command` itself.
void SetUpNeffWrapper(CLI::App& command, int& exit_code);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_IR_COMMANDS_H_
