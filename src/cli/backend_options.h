#ifndef HLOKIT_SRC_CLI_BACKEND_OPTIONS_H_
#define HLOKIT_SRC_CLI_BACKEND_OPTIONS_H_

#include "CLI/CLI.hpp"
#include "hlokit/backend.h"

namespace hlokit::cli {

/// Whose rules apply: options of every command that assigns layouts.
struct BackendOptions {
  BackendChoice choice;

  void Register(CLI::App& app);
  /// The device that was named; what its file warns about goes to standard error unless `quiet`.
  Result<Device> Choose(bool quiet) const;
};

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_CLI_BACKEND_OPTIONS_H_
