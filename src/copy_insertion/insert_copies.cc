// The three steps of copy insertion, one after the other.
#include "hlokit/copy_insertion.h"
#include "src/copy_insertion/steps.h"

namespace hlokit {

Status InsertCopies(Module& module, const CopyInsertionOptions& options) {
  TRY(copies::CheckStructure(module));
  copies::Steps steps{module, options.log, options.reasons, options.region_analysis_limit,
                      options.disjoint_attribute};
  const uint32_t scheduled = module.instruction_count();
  TRY(copies::AddCopies(steps));
  if (module.config().is_scheduled) copies::CompleteSchedule(module, scheduled);
  TRY(copies::RemoveCopies(steps));
  TRY(copies::AddSpecialCopies(steps));
  if (module.config().is_scheduled) copies::CompleteSchedule(module, scheduled);
  if (options.reasons != nullptr) {
    std::erase_if(*options.reasons,
                  [&](const LifetimeCopy& copy) { return module.IsDead(copy.copy); });
  }
  return {};
}

Result<std::vector<LifetimeCopy>> FindNeededCopies(const Module& module) {
  TRY(copies::CheckStructure(module));
  Module trial = module;
  std::vector<LifetimeCopy> reasons;
  TRY(copies::RemoveCopies({trial, nullptr, &reasons}));
  return reasons;
}

}  // namespace hlokit
