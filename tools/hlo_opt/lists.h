// What does hlo-opt say about the passes that it has?
#ifndef HLOKIT_TOOLS_HLO_OPT_LISTS_H_
#define HLOKIT_TOOLS_HLO_OPT_LISTS_H_

#include <string>
#include <string_view>

#include "hlokit/result.h"

namespace hlokit {

/// Names joined by commas, usable as --passes.
std::string PassNamesLine();
/// Name, one line and options of every pass and pipeline; then the names that only the Neuron tool
/// has.
std::string PassTable();
/// Everything about one pass. Fails with kUsage (P001) or kUnsupported (P002).
Result<std::string> PassHelp(std::string_view name);

}  // namespace hlokit

#endif  // HLOKIT_TOOLS_HLO_OPT_LISTS_H_
