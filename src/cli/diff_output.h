// How are the differences of two modules shown?
#ifndef HLOKIT_SRC_CLI_DIFF_OUTPUT_H_
#define HLOKIT_SRC_CLI_DIFF_OUTPUT_H_

#include <string>

#include "hlokit/diff.h"
#include "nlohmann/json.hpp"

namespace hlokit::cli {

/// A summary line, then one table per section, at most `most` rows each.
std::string DiffText(const Module& before, const Module& after, const ModuleDiff& diff,
                     size_t most);
/// The document hlokit.diff/1, complete.
nlohmann::ordered_json DiffJson(const Module& before, const Module& after, const ModuleDiff& diff);

/// An attribute as users know it: its name in HLO text where it has one.
std::string DiffAttributeName(AttrKind kind);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_CLI_DIFF_OUTPUT_H_
