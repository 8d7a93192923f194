// What is in a module, and what changed from one stage of a compilation to the next?
#ifndef HLOKIT_SRC_INPUT_MODULE_SUMMARY_H_
#define HLOKIT_SRC_INPUT_MODULE_SUMMARY_H_

#include <cstdint>
#include <string>
#include <unordered_map>

#include "hlokit/module.h"

namespace hlokit {

/// Enough about a module to compare it with another one.
struct ModuleSummary {
  int64_t computations = 0;
  int64_t instructions = 0;
  int64_t copies = 0;
  /// Per instruction name: hashes of the layout of its result, and of everything else that the line
  /// of the instruction says apart from metadata.
  struct Prints {
    uint64_t layout = 0;
    uint64_t rest = 0;
  };
  std::unordered_map<std::string, Prints> by_name;
};

ModuleSummary Summarise(const Module& module);

struct SummaryChange {
  int64_t added = 0;    ///< names that are new
  int64_t removed = 0;  ///< names that are gone
  int64_t layouts = 0;  ///< same name, other layout
  int64_t changed = 0;  ///< same name and layout, other operation, shape, operands or attributes
  int64_t copies = 0;   ///< difference of the numbers of copies
  bool any() const { return added + removed + layouts + changed != 0; }
};

SummaryChange Compare(const ModuleSummary& before, const ModuleSummary& after);

/// "+12 -3, 5 layouts, 2 changed, copies +4"; "unchanged" when nothing is.
std::string ChangeText(const SummaryChange& change);

}  // namespace hlokit

#endif  // HLOKIT_SRC_INPUT_MODULE_SUMMARY_H_
