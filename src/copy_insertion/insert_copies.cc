// The three steps of copy insertion, one after the other.
#include "hlokit/copy_insertion.h"
#include "src/copy_insertion/steps.h"

namespace hlokit {

Status InsertCopies(Module& module, const CopyInsertionOptions& options) {
  copies::Steps steps{module, options.log, options.reasons};
  TRY(copies::AddCopies(steps));
  TRY(copies::RemoveCopies(steps));
  return copies::AddSpecialCopies(steps);
}

}  // namespace hlokit
