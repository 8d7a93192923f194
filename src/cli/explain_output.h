#ifndef HLOKIT_SRC_CLI_EXPLAIN_OUTPUT_H_
#define HLOKIT_SRC_CLI_EXPLAIN_OUTPUT_H_

#include <optional>
#include <span>
#include <string>

#include "hlokit/explain.h"
#include "nlohmann/json_fwd.hpp"
#include "src/cli/common.h"

namespace hlokit::cli {

/// A module after a recorded layout assignment, with the explanation of its copies.
struct ExplainedRun {
  Module module;
  LayoutTrace trace;
  LayoutAssignmentReport report;
  Explanation explanation;
  Device device;                       ///< whose rules applied
  uint32_t original_instructions = 0;  ///< instructions with a lower number were in the input
};
Result<ExplainedRun> RunExplained(const InputOptions& input, const AssignOptions& assign,
                                  bool quiet);

/// What is left when the change of a cause is made.
struct WhatIf {
  uint64_t copies = 0;
  int64_t logical_bytes = 0;
};

std::string SummaryText(const ExplainedRun& run, size_t most);
nlohmann::ordered_json SummaryJson(const ExplainedRun& run);
/// The chain of the first of `copies`, and the list of the others.
std::string DetailText(const ExplainedRun& run, std::span<const uint32_t> copies,
                       const std::optional<WhatIf>& what_if, bool all);
nlohmann::ordered_json DetailJson(const ExplainedRun& run, std::span<const uint32_t> copies,
                                  const std::optional<WhatIf>& what_if, bool all);

/// The hops of a chain, one or two lines each, numbered; `indent` in front of each line.
std::string ChainText(const ExplainedRun& run, CauseHop hop, bool all, std::string_view indent);
/// What moves between memory spaces: never mixed up with layout copies.
std::string MemorySpacesText(const ExplainedRun& run);
nlohmann::ordered_json MemorySpacesJson(const ExplainedRun& run);
nlohmann::ordered_json ChainJson(const ExplainedRun& run, CauseHop hop, bool all);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_CLI_EXPLAIN_OUTPUT_H_
