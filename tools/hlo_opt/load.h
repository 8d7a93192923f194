// How do modules get in and out?
#ifndef HLOKIT_TOOLS_HLO_OPT_LOAD_H_
#define HLOKIT_TOOLS_HLO_OPT_LOAD_H_

#include <string>
#include <vector>

#include "tools/hlo_opt/flags.h"

namespace hlokit {

/// Reads the input file; with --split-input-file one module per piece. All pieces are read before
/// anything runs; problems of all of them are reported, with their lines in the file.
Result<std::vector<Module>> LoadModules(const HloOptFlags& flags, std::vector<Diagnostic>* warnings);

/// Cuts the text at every "// -----" (hlo-opt-cli.md section 1.2). Fails with kUsage (P019).
Result<std::vector<std::string>> SplitModules(std::string text, bool split);

/// All modules in the wanted format: text, each followed by a line break, or one proto.
Result<std::string> PrintModules(const std::vector<Module>& modules, ModuleFormat format,
                                 const HloOptFlags& flags);

}  // namespace hlokit

#endif  // HLOKIT_TOOLS_HLO_OPT_LOAD_H_
