#ifndef HLOKIT_COPY_INSERTION_H_
#define HLOKIT_COPY_INSERTION_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"
#include "hlokit/rewriter.h"

namespace hlokit {

/// Where copy insertion puts a copy; one row per place in lifetime_causes.def.
enum class LifetimeCause : uint8_t {
#define HLOKIT_LIFETIME_CAUSE(id, word, problem, text) id,
#include "hlokit/lifetime_causes.def"
};
/// "loop-init": the stable word for JSON.
std::string_view LifetimeCauseWord(LifetimeCause cause);
/// "live-range", "read-only" or "result": which of the three problems the copy solves.
std::string_view LifetimeProblem(LifetimeCause cause);

/// Why two values cannot take turns in one buffer.
enum class OverlapKind : uint8_t {
  kNone,        ///< no overlap was looked for: a copy of the last step
  kOpenOrder,   ///< nothing says that `first` is written before `second`
  kLivesOn,     ///< `first` is part of a result that is needed after `second` is written
  kUsedLater,   ///< `use` reads `first` and may run after `second` is written
  kBothInside,  ///< both values stand in the middle of the values of their buffers
  kLayout,      ///< the copy changes the shape or the layout
};

/// Why one copy is there.
struct LifetimeCopy {
  InstId copy;
  LifetimeCause cause;
  /// What the copy is made for: the while, the conditional, the updating instruction, the constant
  /// or parameter, the root.
  InstId subject;
  uint32_t node = 0;  ///< which part of its shape, as a pre-order number
  /// Why step 2 could not remove the copy again; instructions that define the values.
  OverlapKind overlap = OverlapKind::kNone;
  InstId first, second, use;
};
/// "still needed: %use reads %first, and may run after %second is written"
std::string DescribeLifetimeCopy(const Module& module, const LifetimeCopy& copy);

struct CopyInsertionOptions {
  EditLog::Group* log = nullptr;  ///< null: nobody asks who changed what
  /// Null: nobody asks why. Else one entry per copy that is left, in the order of creation; copies
  /// that the input held have the cause kWasThere.
  std::vector<LifetimeCopy>* reasons = nullptr;
  /// Copies that stay because lists of values overlap get a second look, value by value, which may
  /// add control edges. 0: never. -1: always. Else until the products of the numbers of reads and
  /// writes that are compared reach this sum.
  int64_t region_analysis_limit = 0;
  /// An instruction that carries this frontend attribute writes other parts of its operand than it
  /// reads: what it updates in place is not copied when nobody else reads it. Empty: there is none.
  std::string_view disjoint_attribute = {};
};

/// XLA's copy insertion: afterwards every buffer can hold the values that must share it one after
/// the other, and the result of the entry owns its memory. The call graph must be flat. Copies
/// that are not needed go, whoever made them; copies that change a layout stay. Fails with
/// kUnsupported when the module is too large.
Status InsertCopies(Module& module, const CopyInsertionOptions& options = {});

/// Only the removal of copies, which needs the same: says for each copy of the module why it has to
/// stay. Copies that could go are not in the answer.
Result<std::vector<LifetimeCopy>> FindNeededCopies(const Module& module);

}  // namespace hlokit

#endif  // HLOKIT_COPY_INSERTION_H_
