// Which flags does hlo-opt take, and what do they mean?
#ifndef HLOKIT_TOOLS_HLO_OPT_FLAGS_H_
#define HLOKIT_TOOLS_HLO_OPT_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "hlokit/input.h"
#include "hlokit/pass.h"
#include "hlokit/pass_observers.h"

namespace hlokit {

struct HloOptFlags {
  std::string input;
  std::string output = "-";
  InputFormat input_type = InputFormat::kAuto;
  InputFormat output_type = InputFormat::kText;
  bool emit_proto = false;
  bool split_input_file = false;
  bool strict = false;
  bool fill_missing_layouts = true;
  bool large_constants = false;

  std::string passes;
  std::string stage = "hlo";
  PassFilter filter;
  std::vector<std::pair<std::string, std::string>> combiner_defaults;  ///< option name, value

  bool list_stages = false;
  std::string list_passes;  ///< "text" or "names"; empty = no
  std::string help_pass;

  bool verify_each = false;
  bool prove = false;
  int64_t prove_seeds = 4;
  bool silent_change = false, noop_change = false;
  bool timing = false, stats = false;
  PrintObserver::Options print;
  DumpOptions dump;
  std::string reproducer;

  std::vector<Diagnostic> warnings;  ///< about the flags themselves
};

/// What parsing a command line leads to.
struct FlagsOutcome {
  HloOptFlags flags;
  std::optional<int> exit;  ///< set when the program is done (--help, or an error already shown)
};
/// Reads a debug options file, XLA_FLAGS and the command line, weakest first.
FlagsOutcome ParseFlags(int argc, char** argv);

}  // namespace hlokit

#endif  // HLOKIT_TOOLS_HLO_OPT_FLAGS_H_
