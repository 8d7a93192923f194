#ifndef HLOKIT_SRC_CLI_COPIES_OUTPUT_H_
#define HLOKIT_SRC_CLI_COPIES_OUTPUT_H_

#include <string>

#include "hlokit/copies.h"
#include "nlohmann/json_fwd.hpp"
#include "src/cli/common.h"

namespace hlokit::cli {

/// What `hlokit copies` shows.
struct CopiesView {
  const Module* module = nullptr;
  CopyReport report;
  const CopyHistory* history = nullptr;  ///< null: one stage only
  std::string stage;                     ///< name of the stage that is shown; may be empty
  std::string only;                      ///< the class that was asked for; may be empty
  size_t most = 40;
};

std::string CopiesText(const CopiesView& view);
nlohmann::ordered_json CopiesJson(const CopiesView& view);
/// The lines about one copy: class, evidence, who disagrees. `chains` also lists every step.
std::string CopyLines(const Module& module, const ClassifiedCopy& copy, bool chains);

/// `hlokit explain` for a module that was optimised already: the layout copies as they are. An id
/// may be a row (C1) or a name.
int ExplainDump(const Module& module, const std::string& path, const std::string& id, Format format,
                size_t most);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_CLI_COPIES_OUTPUT_H_
