// The three steps of copy insertion, in the order in which they run.
#ifndef HLOKIT_SRC_COPY_INSERTION_STEPS_H_
#define HLOKIT_SRC_COPY_INSERTION_STEPS_H_

#include <vector>

#include "hlokit/copy_insertion.h"
#include "hlokit/rewriter.h"
#include "src/copy_insertion/calls.h"
#include "src/copy_insertion/dataflow.h"
#include "src/copy_insertion/order.h"

namespace hlokit::copies {

/// What the steps share.
struct Steps {
  Module& module;
  EditLog::Group* log = nullptr;
  std::vector<LifetimeCopy>* reasons = nullptr;  ///< null: nobody asks
  int64_t region_limit = 0;                      ///< as in CopyInsertionOptions
  std::string_view disjoint_attribute = {};      ///< as in CopyInsertionOptions

  void Note(InstId copy, LifetimeCause cause, InstId subject, uint32_t node = 0) const {
    if (reasons != nullptr)
      reasons->push_back({.copy = copy, .cause = cause, .subject = subject, .node = node});
  }
};

/// What the steps rely on; fails with kVerifyFailed (P007).
Status CheckStructure(const Module& module);
/// Step 1: copies wherever an update in place could meet a value that is still needed.
Status AddCopies(const Steps& steps);
/// Step 2: removes every copy of the module whose source and result can share a buffer.
Status RemoveCopies(const Steps& steps);
/// Step 3: copies for constants and parameters in shared buffers, and for the result.
Status AddSpecialCopies(const Steps& steps);
/// Instructions from number `first_new` on find their place in the schedule.
void CompleteSchedule(Module& module, uint32_t first_new);

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_STEPS_H_
