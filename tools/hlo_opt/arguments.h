// In which spellings may flags of hlo-opt be written?
#ifndef HLOKIT_TOOLS_HLO_OPT_ARGUMENTS_H_
#define HLOKIT_TOOLS_HLO_OPT_ARGUMENTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlokit/result.h"

namespace hlokit {

/// One or two dashes, dashes or underscores: "-list_passes" becomes "--list-passes". Names that
/// start with xla_ keep their underscores. "-o", "-h" and what is no flag stay as they are; "-o=x"
/// becomes "--o=x".
std::string NormalizeArgument(std::string_view argument);

/// The words of XLA_FLAGS: split at white space, quotes group.
std::vector<std::string> SplitFlagText(std::string_view text);

/// The lines "xla_name: value" of a debug options file as "--xla_name=value".
Result<std::vector<std::string>> ReadDebugOptions(const std::string& path);

}  // namespace hlokit

#endif  // HLOKIT_TOOLS_HLO_OPT_ARGUMENTS_H_
