#ifndef HLOKIT_LAYOUT_ASSIGNMENT_H_
#define HLOKIT_LAYOUT_ASSIGNMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hlokit/layout_rules.h"
#include "hlokit/layout_trace.h"
#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

struct LayoutAssignmentOptions {
  /// Callers before callees (layout-assignment.md section 3.2).
  bool reverse_order = false;
  /// A channel table is supplied, empty at the start (section 4.6).
  bool channel_table = true;
  /// The rules of a backend; null = the base rules.
  const LayoutRules* rules = nullptr;
  /// Row reductions of the base rules (section 6.5); not looked at when `rules` is given.
  bool row_reduction = false;
  /// Recorder of every step; null = nothing is recorded.
  LayoutTrace* trace = nullptr;
  /// What the caller wants of the entry; default = config().entry_computation_layout. Leaves
  /// without a layout are free.
  std::optional<ComputationLayout> entry_layout;
};

/// Why a copy stands in the module.
enum class CopyReason : uint8_t {
  kOperand,      ///< an operand constraint differs from the value (section 10.3)
  kRoot,         ///< the root differs from the result layout (section 10.5)
  kBranch,       ///< the same as kOperand, moved into the branch of a conditional (section 10.3)
  kPreparatory,  ///< in front of a send or an aliasing custom call, before layouts (section 3.1)
};
std::string_view CopyReasonName(CopyReason reason);

/// One array `copy` instruction that the pass added.
struct AddedArrayCopy {
  InstId copy;
  uint32_t leaf = 0;  ///< pre-order number of this array in the shape of the source value
  LayoutId from, to;  ///< unset for preparatory copies
  /// The demand that lost (why the source has `from`) and the one that won (why the consumer gets
  /// `to`), as hops of the trace; kNoEvent when no trace was recorded.
  CauseHop losing, winning;
};

/// One layout disagreement that was settled by copying: a copy, or a tuple that was taken apart.
struct AddedCopy {
  CopyReason reason = CopyReason::kOperand;
  InstId top;            ///< the `copy`, or the `tuple` that puts copied elements together again
  CompId computation;    ///< where the copy stands
  InstId source;         ///< the value that is copied; for kBranch the parameter of the branch
  InstId consumer;       ///< who needs the other layout; the root itself for kRoot; for kBranch the
                         ///< conditional
  uint32_t operand = 0;  ///< operand number at the consumer; 0 for kRoot
  ShapeId old_shape, new_shape;
  uint32_t first_part = 0, part_count = 0;  ///< its array copies in LayoutAssignmentReport::parts
};

struct BranchClone {
  InstId conditional;
  CompId original, clone;
};

struct LayoutAssignmentReport {
  std::vector<AddedCopy> copies;  ///< in the order in which they were made
  std::vector<AddedArrayCopy> parts;
  std::vector<BranchClone> clones;
  /// Bitcasts in fusions whose operand or result lies in another order now, as XLA writes it: they
  /// read other elements than before (section 10.8).
  std::vector<InstId> changed_bitcasts;
  uint32_t rounds = 0;
  uint64_t pops = 0;
  uint64_t requests = 0;  ///< requests on buffers and operands
  std::span<const AddedArrayCopy> PartsOf(const AddedCopy& copy) const {
    return std::span(parts).subspan(copy.first_part, copy.part_count);
  }

  /// Where the value at this part of an output is defined, and the demand that decided its layout.
  struct FinalBuffer {
    InstId definer;
    uint32_t index = 0;        ///< pre-order number in the output of `definer`
    EventId event = kNoEvent;  ///< kNoEvent: not an array, or no trace was recorded
  };
  /// Follows tuples and get-tuple-elements as the pass does. Needs a run with a trace; knows only
  /// instructions that were there before copies were inserted (the definer is invalid otherwise).
  FinalBuffer FinalDemand(InstId instruction, uint32_t index = 0) const;
  /// The demand that decided an operand constraint of the last round; kNoEvent when there is none.
  EventId FinalOperandDemand(InstId instruction, uint32_t operand) const;

  /// What the two functions above look at; null without a trace.
  std::shared_ptr<const LayoutTables> tables;
};

/// What there is to warn about; for the user.
std::vector<Diagnostic> Warnings(const Module& module, const LayoutAssignmentReport& report);

/// Gives every instruction its layouts and inserts copies where demands disagree, exactly as XLA's
/// pass does (layout-assignment.md). Writes the entry layout back to
/// config().entry_computation_layout (section 10.6).
///
/// Fails with a diagnostic L… and kUnsupported for a bitcast in the input and for what the
/// reference cannot do either, kCannotParse for an entry layout that does not fit the module,
/// kVerifyFailed when instructions contradict each other. On an error the module may be partly
/// edited: drop it.
Result<LayoutAssignmentReport> AssignLayouts(Module& module,
                                             const LayoutAssignmentOptions& options);

}  // namespace hlokit

#endif  // HLOKIT_LAYOUT_ASSIGNMENT_H_
