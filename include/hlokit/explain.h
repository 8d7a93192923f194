#ifndef HLOKIT_EXPLAIN_H_
#define HLOKIT_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hlokit/layout_assignment.h"
#include "hlokit/layout_trace.h"
#include "hlokit/module.h"

namespace hlokit {

/// Where a demand for a layout starts.
enum class OriginKind : uint8_t {
  kEntryParameter,  ///< the entry layout of a parameter
  kEntryResult,     ///< the entry layout of the result
  kCustomCall,
  kCollective,
  kInfeed,
  kOutfeed,
  kSendRecv,
  kChannel,
  kWhile,
  kConditional,
  kCall,
  kAlias,
  kComputation,  ///< the layouts that a computation settled on in the round before
  kDefault,      ///< nobody asked
  kBackend,
  kOther,
};
std::string_view OriginName(OriginKind kind);

/// The first hop of a cause chain, in words.
struct Origin {
  OriginKind kind = OriginKind::kOther;
  CauseHop hop;
  InstId instruction;       ///< the custom call, the parameter, …; invalid for results
  CompId computation;       ///< of the computation constraint, where there is one
  int64_t parameter = -1;   ///< parameter number of kEntryParameter
  std::string description;  ///< "the entry layout of parameter 1 (%w)"
  std::string rule;         ///< kBackend: id of the backend's rule, "gpu.conv.nhwc"; may be empty
  std::string link;         ///< where that rule is documented
};

/// What a copy changes. A copy between memory spaces costs another thing than one that reorders.
enum class CopyChange : uint8_t {
  kLayout,       ///< the order of the elements
  kMemorySpace,  ///< the memory that they live in
  kBoth,
};
std::string_view CopyChangeName(CopyChange copy_class);
/// "device", "host", "on-chip", "memory space 7".
std::string MemorySpaceName(int64_t space);

/// One array copy that layout assignment inserts, with its price.
struct ExplainedCopy {
  uint32_t part = 0;          ///< index in LayoutAssignmentReport::parts
  uint32_t added = 0;         ///< index in LayoutAssignmentReport::copies
  uint32_t cause = 0;         ///< index in Explanation::causes
  int64_t logical_bytes = 0;  ///< of the value; the copy reads and writes it once
  int64_t padded_bytes = 0;   ///< with tiles rounded up, of the copied value
};

/// All copies whose two demands start at the same two places and that change the same thing.
struct Cause {
  std::string id;  ///< "C1", in the order of bytes moved
  CopyChange copy_class = CopyChange::kLayout;
  std::vector<uint32_t> copies;  ///< indices in Explanation::copies
  Origin winning, losing;
  int64_t logical_bytes = 0, padded_bytes = 0;  ///< summed, times the loop multiplier
  int64_t multiplier = 1;  ///< largest number of executions of one copy per run
  bool multiplier_known = true;
  std::string way_out;  ///< the change that removes the copies, in words; empty when none is known
  std::vector<std::string> flags;  ///< the same as flags of hlokit, for the what-if check
};

/// An instruction of the input that moves data between memory spaces: a copy, a copy-start, or one
/// of the custom calls MoveToHost and MoveToDevice.
struct SpaceTransfer {
  InstId instruction;
  uint32_t leaf = 0;  ///< pre-order number in the moved value
  int64_t from = 0, to = 0;
  int64_t bytes = 0;  ///< logical, of one execution
  int64_t multiplier = 1;
  bool multiplier_known = true;
  bool reorders = false;  ///< it changes the order of the elements too
};
/// A part of an entry parameter (or of the result, parameter -1) that lives outside of memory space
/// 0.
struct SpacePin {
  int64_t parameter = -1;
  uint32_t leaf = 0;
  int64_t space = 0;
};
/// What a module says about memory spaces, before layouts are assigned.
struct MemorySpaces {
  std::vector<SpacePin> entry;
  std::vector<SpaceTransfer> transfers;
};
MemorySpaces FindMemorySpaces(const Module& module);

/// Why a module gets the copies it gets.
struct Explanation {
  std::vector<ExplainedCopy> copies;            ///< in the order of insertion
  std::vector<Cause> causes;                    ///< most bytes first
  uint64_t copies_in_input = 0;                 ///< copy instructions that the input already holds
  uint64_t preparatory_copies = 0;              ///< inserted whatever the layouts are
  int64_t logical_bytes = 0, padded_bytes = 0;  ///< per run, loop multipliers included
  int64_t parameter_bytes = 0;
  MemorySpaces memory_spaces;  ///< of the input; filled by the caller
};

/// How often one computation runs per run of the module.
struct Executions {
  int64_t count = 1;
  bool known = true;  ///< false inside a loop whose number of trips is not known (counted once)
};
/// By CompId. Trips of loops come from known_trip_count in the backend config, or from a counter
/// that starts at a constant, is compared with one, and grows by one.
std::vector<Executions> CountExecutions(const Module& module);

/// Groups and prices the copies of a run with a trace. `copies_in_input` counts those before it.
Explanation Explain(const Module& module, const LayoutAssignmentReport& report,
                    const LayoutTrace& trace, uint64_t copies_in_input);

/// First hops of many chains of one trace. Chains share their beginnings, so what one walk has
/// found ends the next one early: all walks together are linear in the number of hops seen.
class RootFinder {
 public:
  explicit RootFinder(const LayoutTrace& trace) : trace_(trace) {}
  /// The hop at which the chain of `hop` starts; `hop` must have an event.
  CauseHop Root(CauseHop hop);

 private:
  const LayoutTrace& trace_;
  std::unordered_map<uint64_t, CauseHop> roots_;  // by event and leaf
};

/// The first hop of a chain in words; `root` is what RootFinder gives.
Origin DescribeOrigin(const Module& module, const LayoutTrace& trace, CauseHop root);
/// Where a chain starts.
Origin FindOrigin(const Module& module, const LayoutTrace& trace, CauseHop hop);

/// What the rule book of the backend says about a request; nothing when it was not the backend's.
std::optional<BackendRuleText> BackendText(const Module& module, const LayoutTrace& trace,
                                           const TraceEvent& event);

/// One hop in words, for reports.
struct HopText {
  EventId event = kNoEvent;
  std::string constraint;    ///< "buffer of %x", "operand 1 of %y", "result of %main"
  std::string kind;          ///< buffer, operand, computation
  std::string layout;        ///< "{1,0}", "unset"
  std::string rule;          ///< stable word, "same-layout-operand"
  std::string section;       ///< of layout-assignment.md
  std::string reason;        ///< plain words; of the backend's rule, where there is one
  std::string backend_rule;  ///< id of the backend's rule, "gpu.conv.nhwc"; may be empty
  std::string link;          ///< where that rule is documented
  std::string instruction;   ///< name of the instruction the rule was applied at; may be empty
  std::string opcode;
  std::string source;  ///< "model.py:12", from the metadata; may be empty
  std::string op_name;
  bool mandatory = false, dfs = false;
  int priority = 0, round = 0;
  std::string outcome;
};
HopText DescribeHop(const Module& module, const LayoutTrace& trace, CauseHop hop);
/// From where the demand starts to the hop itself.
std::vector<HopText> DescribeChain(const Module& module, const LayoutTrace& trace, CauseHop hop);
/// Every request of the last round on the constraint of an event, in order, with its outcome.
std::vector<EventId> RequestsOn(const LayoutTrace& trace, EventId event);

/// "model.py:12" from the metadata of an instruction (stack frames included); empty without.
std::string SourceOf(const Module& module, InstId id);
std::string OpNameOf(const Module& module, InstId id);

}  // namespace hlokit

#endif  // HLOKIT_EXPLAIN_H_
