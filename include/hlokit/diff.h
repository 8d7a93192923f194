#ifndef HLOKIT_DIFF_H_
#define HLOKIT_DIFF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

struct DiffOptions {
  /// Metadata and stack frames count too.
  bool metadata = false;
};

/// One array in the output of an instruction that is laid out differently.
struct LayoutChange {
  InstId before, after;
  uint32_t leaf = 0;  ///< pre-order number in the shape
};

/// One array of the entry layout in the header.
struct EntryLayoutChange {
  std::optional<uint32_t> parameter;  ///< nothing = the result
  uint32_t leaf = 0;
  std::string before, after;  ///< layouts as text; "unset" when free
};

/// A `copy` that only one of the modules has.
struct CopyChange {
  InstId copy;
  InstId consumer;       ///< its first user; invalid when it has none
  uint32_t operand = 0;  ///< operand number at the consumer
  int64_t bytes = 0;     ///< of the result, unpadded
};

/// An instruction of both modules with more than another name or layout.
struct InstructionChange {
  InstId before, after;
  bool opcode = false;
  bool shape = false;  ///< apart from layouts
  bool root = false;   ///< a computation has another root; the two instructions are the roots
  bool operand_count = false;
  std::vector<uint32_t> operands;    ///< numbers of the operands that are other values
  std::vector<AttrKind> attributes;  ///< in printing order
};

struct ComputationChange {
  CompId computation;
  /// In the other module: the computation of the same contents, layouts and copies apart, that has
  /// a partner already. The two are compared as well. Invalid when there is none.
  CompId variant_of;
};

/// What two modules do not have in common. Ids of what was removed or vanished are those of the
/// first module, ids of what was added or appeared those of the second. Lists follow the order of
/// computations and instructions.
struct ModuleDiff {
  std::vector<EntryLayoutChange> entry_layouts;
  std::vector<LayoutChange> layouts;
  std::vector<CopyChange> appeared, vanished;
  /// tuple and get-tuple-element instructions that take values apart and put them together again
  /// around copies.
  std::vector<InstId> plumbing_added, plumbing_removed;
  std::vector<InstructionChange> changed;
  std::vector<InstId> added, removed;
  std::vector<ComputationChange> computations_added, computations_removed;
  std::vector<std::string> header;  ///< names of what differs in the header, or in a schedule

  uint64_t matched_instructions = 0;
  uint64_t matched_computations = 0;
  int64_t appeared_bytes = 0, vanished_bytes = 0;

  /// Nothing differs but layouts and copies (with what stands around them).
  bool StructureIsEqual() const {
    return changed.empty() && added.empty() && removed.empty() && computations_added.empty() &&
           computations_removed.empty() && header.empty();
  }
  bool IsEmpty() const {
    return StructureIsEqual() && entry_layouts.empty() && layouts.empty() && appeared.empty() &&
           vanished.empty() && plumbing_added.empty() && plumbing_removed.empty();
  }
};

/// Compares two modules. Names do not count: instructions are paired by contents, and where
/// contents differ by name (when names mean the same in both modules), by neighbours and by
/// metadata op_name. Copies, and tuples that only repeat another tuple, are looked through, so that
/// a copy in front of an operand is one difference and not two. Metadata and (of unscheduled
/// modules) the order of instructions do not count. Expected time is linear in the size of both
/// modules.
ModuleDiff DiffModules(const Module& before, const Module& after, const DiffOptions& options = {});

}  // namespace hlokit

#endif  // HLOKIT_DIFF_H_
