#ifndef HLOKIT_COPY_INSERTION_H_
#define HLOKIT_COPY_INSERTION_H_

#include <string>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"
#include "hlokit/rewriter.h"

namespace hlokit {

/// Where copy insertion puts a copy.
enum class CopyCause : uint8_t {
  kLoopInit,         ///< initial value of loop state that the body changes
  kLoopParameter,    ///< loop state as the body gets it
  kLoopResult,       ///< loop state as the body leaves it
  kBranchResult,     ///< result of a branch of a conditional
  kInPlaceOperand,   ///< operand that `subject` updates in place
  kAliasedInput,     ///< entry parameter whose buffer the result takes over
  kAliasedOutput,    ///< the part of the result that takes over the buffer of a parameter
  kPipelinedStart,   ///< operand of a send, recv or copy-start that a loop carries along
  kPipelinedDone,    ///< what the end of such a transfer yields
  kReadOnlyValue,    ///< a constant or parameter in a buffer that others write
  kCannotShareUse,   ///< an operand whose reader writes into the same buffer
  kAmbiguousResult,  ///< part of a result that may be one of several buffers
  kRepeatedResult,   ///< part of the entry result that is there already at another place
  kReadOnlyResult,   ///< a constant or parameter in the entry result
};

/// Why one copy is there.
struct CopyReason {
  InstId copy;
  CopyCause cause;
  /// What the copy is made for: the while, the conditional, the updating instruction, the constant
  /// or parameter, the root.
  InstId subject;
  uint32_t node = 0;  ///< which part of its shape, as a pre-order number
  /// Why the copy could not be removed again: the value of `first` (a copy's operand and what
  /// shares its buffer) is still needed when the one of `second` is written, by `use` when that is
  /// known. Invalid for the copies of the last step.
  InstId first, second, use;
};

struct CopyInsertionOptions {
  EditLog::Group* log = nullptr;              ///< null: nobody asks who changed what
  std::vector<CopyReason>* reasons = nullptr; ///< null: nobody asks why; else one per copy that is left
};

/// XLA's copy insertion: afterwards every buffer can hold the values that must share it one after
/// the other, and the result of the entry owns its memory. The call graph must be flat. Copies
/// that are not needed go, whoever made them; copies that change a layout stay. Fails with
/// kUnsupported when the module is too large.
Status InsertCopies(Module& module, const CopyInsertionOptions& options = {});

}  // namespace hlokit

#endif  // HLOKIT_COPY_INSERTION_H_
