#ifndef HLOKIT_LAYOUT_TRACE_H_
#define HLOKIT_LAYOUT_TRACE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlokit/id.h"
#include "hlokit/large_array.h"
#include "hlokit/module.h"

namespace hlokit {

/// Why a layout was asked for: the rows of layout_trace_rules.def.
enum class TraceRule : uint8_t {
#define HLOKIT_TRACE_RULE(id, name, section, reason) id,
#include "hlokit/layout_trace_rules.def"
};

struct TraceRuleInfo {
  std::string_view name;     ///< stable word, for instance "entry-pin"
  std::string_view section;  ///< of the layout assignment specification, for instance "4.1"
  std::string_view reason;   ///< completes "this layout was asked for because …"
};
const TraceRuleInfo& Info(TraceRule rule);

/// A rule of a backend, as reports show it.
struct BackendRuleText {
  std::string id;        ///< stable word, "gpu.conv.nhwc"
  std::string sentence;  ///< "cuDNN on sm_80 reads f16 convolutions as NHWC"
  std::string link;      ///< where the rule is documented
};
/// What the rule numbers of a backend mean. A trace keeps the book of its run, so that reports can
/// ask after the rules themselves are gone.
class LayoutRuleBook {
 public:
  virtual ~LayoutRuleBook() = default;
  /// `at` is the instruction that the rule was applied at, in the module before or after the run.
  virtual BackendRuleText Describe(const Module& module, uint16_t rule, InstId at) const = 0;
};

/// What became of a request: the rows of layout_trace_outcomes.def.
enum class TraceOutcome : uint8_t {
#define HLOKIT_TRACE_OUTCOME(id, name, section, text) id,
#include "hlokit/layout_trace_outcomes.def"
};

struct TraceOutcomeInfo {
  std::string_view name;  ///< the word of section 15, for instance "tuple-shaped"
  std::string_view section;
  std::string_view text;  ///< "set: …", "refused: …"
};
const TraceOutcomeInfo& Info(TraceOutcome outcome);

/// The constraint now holds what was asked for (the outcome is new, rewritten or strengthened).
constexpr bool TookEffect(TraceOutcome outcome) { return outcome <= TraceOutcome::kStrengthened; }
/// The request gave the constraint its layout (new or rewritten).
constexpr bool SetTheLayout(TraceOutcome outcome) { return outcome <= TraceOutcome::kRewritten; }

enum class TraceEventKind : uint8_t {
  /// A round starts (`round`); target is the round number.
  kRound,
  /// One computation starts in this round.
  kComputation,
  /// A request on the buffer (target instruction, target_index = pre-order number in its shape);
  /// payload = LayoutId.
  kSetBuffer,
  /// A request on an operand (target instruction, target_index = operand number); payload =
  /// LayoutId,
  /// or ShapeId when `payload_is_shape` (tuple operands).
  kSetOperand,
  /// The parameter number target_index (kResultIndex = the result) of the computation constraint
  /// got
  /// the ShapeId `payload`. Followed at once by one kComputationLeaf event per array leaf.
  kComputationShape,
  /// Leaf target_index (pre-order) of the event kComputationShape in front of it; payload =
  /// LayoutId
  /// or none when unset. Has the parent that explains this leaf.
  kComputationLeaf,
  /// The computation constraint was announced, so that its result propagates to the root.
  kAnnounceResult,
  /// A constraint was popped from the worklist; `target_kind` says which kind it is, flags and
  /// priority are those of the moment, parent = the event that gave it its present layout.
  kPop,
};

/// What a constraint is about.
enum class TraceTarget : uint8_t { kBuffer, kOperand, kComputation };

/// Position of an event in the trace.
using EventId = uint32_t;
inline constexpr EventId kNoEvent = 0xffffffffu;
/// target_index of a computation's result.
inline constexpr uint32_t kResultIndex = 0xffffffffu;

/// One action of the pass, unpacked. (A trace stores 16 bytes per event and unpacks on demand.)
struct TraceEvent {
  EventId parent = kNoEvent;  ///< event that gave the propagated constraint its present contents
  uint32_t parent_leaf = 0;   ///< the leaf (pre-order) of the parent's shape that this came from
  uint32_t target = 0;        ///< InstId value; CompId value for computation events
  uint32_t target_index = 0;  ///< pre-order number, operand number, parameter number
  uint32_t payload = 0xffffffffu;   ///< LayoutId or ShapeId that was asked for, see the kinds
  uint32_t previous = 0xffffffffu;  ///< payload that the constraint had before; none = it was new
  InstId at;                        ///< the instruction that the rule was applied at
  CompId computation;               ///< the computation that is being worked on
  uint16_t round = 0;
  uint16_t backend_rule = 0;  ///< number in the rule book of the backend; 0 = not a backend's rule
  TraceEventKind kind = TraceEventKind::kRound;
  TraceRule rule = TraceRule::kNone;
  TraceOutcome outcome = TraceOutcome::kNew;
  /// As asked for in requests (after demotion, section 2.4); as it is in pops.
  bool mandatory : 1 = false;
  bool dfs : 1 = false;
  bool announced : 1 = false;         ///< the constraint went to the announcement list
  bool payload_is_shape : 1 = false;  ///< payload and previous are ShapeIds, not LayoutIds
  TraceTarget target_kind : 2 = TraceTarget::kBuffer;
  int16_t priority = 0;

  bool IsRequest() const {
    return kind == TraceEventKind::kSetBuffer || kind == TraceEventKind::kSetOperand;
  }
  InstId instruction() const { return InstId(target); }
  LayoutId layout() const { return LayoutId(payload); }
  ShapeId shape() const { return ShapeId(payload); }
};

/// One hop of a cause chain: an event, and the leaf of its shape that the chain is about.
struct CauseHop {
  EventId event = kNoEvent;
  uint32_t leaf = 0;
};

/// Where the values of a module come from and which demands were the last ones; what a trace and a
/// report look at to tell. Filled at the end of a run with a trace.
struct LayoutTables {
  struct Place {
    InstId definer;
    uint32_t index = 0;
  };
  // By InstId, for the instructions that were there before copies were inserted.
  LargeArray<uint32_t> points_to_begin, operand_begin;
  LargeArray<uint32_t> points_to;    // per place of an output: the number of the buffer behind it
  LargeArray<Place> buffers;         // by buffer number
  LargeArray<InstId> operand_users;  // by operand position
  LargeArray<EventId> buffer_events, operand_events;  // the event that gave the layout, last round
};

/// The record of one run of layout assignment. Give it to AssignLayouts in its options; without it
/// nothing is recorded and nothing is paid. Can be moved, not copied.
class LayoutTrace {
 public:
  LayoutTrace();
  ~LayoutTrace();
  LayoutTrace(LayoutTrace&&) noexcept;
  LayoutTrace& operator=(LayoutTrace&&) noexcept;

  uint32_t size() const { return size_; }
  TraceEvent operator[](EventId id) const;
  size_t MemoryBytes() const;
  void Clear();

  /// The number of kComputationLeaf events behind a kComputationShape event.
  uint32_t LeafCount(EventId shape_event) const;
  /// A hop onto a whole computation shape becomes a hop onto its leaf; other hops stay.
  CauseHop Resolve(CauseHop hop) const;
  /// The hop that explains `hop`: why that leaf of that constraint has its layout. Event kNoEvent
  /// when the demand starts here. A parent of kind kComputationShape is replaced by its leaf.
  CauseHop Cause(CauseHop hop) const;
  /// From the hop itself to where the demand starts. Parents always come earlier, so it ends.
  std::vector<CauseHop> CauseChain(CauseHop hop) const;
  /// The layout that a hop is about; invalid when it has none.
  LayoutId LayoutAt(const Module& module, CauseHop hop) const;
  const LayoutTables* tables() const { return tables_.get(); }
  /// Null when the backend has none.
  const LayoutRuleBook* rule_book() const { return rule_book_.get(); }

  // ---- recording: for the engine ----
  /// An event as it is stored. `target` is a buffer number, an operand position, a CompId or a
  /// round; `bits` are packed by PackBits.
  struct Record {
    uint32_t target, payload;
    EventId parent;
    uint32_t bits;
  };
  /// What does not fit into a record; few events have it.
  struct Detail {
    EventId event;
    InstId at;
    uint32_t parent_leaf, previous;
    uint16_t backend_rule = 0;
  };
  /// Which instruction the rule was applied at.
  enum class At : uint8_t { kTarget, kParentsTarget, kDetail, kNone };
  static constexpr uint32_t PackBits(TraceEventKind kind, TraceTarget target_kind,
                                     TraceOutcome outcome, TraceRule rule, bool mandatory, bool dfs,
                                     bool announced, bool is_shape, At at, int priority) {
    // A pop needs the kind of its target, everything else its outcome: they share four bits.
    uint32_t shared = kind == TraceEventKind::kPop ? static_cast<uint32_t>(target_kind)
                                                   : static_cast<uint32_t>(outcome);
    return static_cast<uint32_t>(kind) | shared << kOutcomeShift |
           static_cast<uint32_t>(rule) << kRuleShift | uint32_t{mandatory} << kFlagShift |
           uint32_t{dfs} << (kFlagShift + 1) | uint32_t{announced} << (kFlagShift + 2) |
           uint32_t{is_shape} << (kFlagShift + 3) | static_cast<uint32_t>(at) << kAtShift |
           static_cast<uint32_t>(priority) << kPriorityShift;
  }
  // Three bits of kind, then:
  static constexpr int kOutcomeShift = 3;           // four bits
  static constexpr int kRuleShift = 7;              // six
  static constexpr int kFlagShift = 13;             // four
  static constexpr int kAtShift = 17;               // two
  static constexpr uint32_t kHasDetail = 1u << 19;  ///< set in `bits` when there is a Detail
  static constexpr int kPriorityShift = 20;         // twelve, signed
  static constexpr int kMinPriority = -2048, kMaxPriority = 2047;

  EventId Append(const Record& record) {
    if (next_ == end_) NewBlock();
    *next_++ = record;
    return size_++;
  }
  void AddDetail(const Detail& detail) { details_.push_back(detail); }
  /// What follows belongs to this round and computation.
  void StartPart(int round, CompId computation) { parts_.push_back({size_, round, computation}); }
  void SetTables(std::shared_ptr<const LayoutTables> tables) { tables_ = std::move(tables); }
  void SetRuleBook(std::shared_ptr<const LayoutRuleBook> book) { rule_book_ = std::move(book); }

 private:
  static constexpr int kBlockBits = 17;  // records per block: 2 MiB, a huge page
  static constexpr uint32_t kBlockMask = (1u << kBlockBits) - 1;
  struct Part {
    EventId first;
    int round;
    CompId computation;
  };
  void NewBlock();
  const Record& record(EventId id) const { return blocks_[id >> kBlockBits][id & kBlockMask]; }
  const Detail* FindDetail(EventId id) const;
  InstId TargetInstruction(const Record& record) const;

  std::vector<Record*> blocks_;
  Record* next_ = nullptr;
  Record* end_ = nullptr;
  uint32_t size_ = 0;
  std::vector<Detail> details_;  // ascending
  std::vector<Part> parts_;      // ascending
  std::shared_ptr<const LayoutTables> tables_;
  std::shared_ptr<const LayoutRuleBook> rule_book_;
};

/// One entry of the worklist, as section 15 writes it.
struct WorklistEntry {
  TraceTarget target_kind = TraceTarget::kBuffer;
  uint32_t target = 0;        ///< InstId value, or CompId value of a computation constraint
  uint32_t target_index = 0;  ///< pre-order number or operand number
  bool strengthened = false;  ///< announced again only because its flags were strengthened (the *)
  bool operator==(const WorklistEntry&) const = default;
};

/// What a constraint holds at some moment of a replay.
struct ReplayedConstraint {
  uint32_t payload = 0xffffffffu;
  bool mandatory = false;
  bool dfs = false;
  int16_t priority = 0;
  EventId layout_event = kNoEvent;  ///< the event that gave it its layout
};

/// Plays the events of a trace again, one by one, and keeps the worklist as it was in the pass: the
/// events themselves hold no queue. After Step() consumed a kPop event, the popped entry is out of
/// the worklist; the requests that follow collect; the announced constraints join the worklist when
/// the next pop (or the end of the computation) is reached, which is when section 5.1 drains them.
class WorklistReplay {
 public:
  explicit WorklistReplay(const LayoutTrace& trace);
  ~WorklistReplay();
  WorklistReplay(WorklistReplay&&) noexcept;
  /// Consumes the next event. False at the end.
  bool Step();
  /// The event that Step() consumed last.
  EventId current() const { return next_ - 1; }
  /// The worklist, front first, with everything announced so far drained into it: right after the
  /// last request that follows a pop this is the last column of the table of section 15.
  std::vector<WorklistEntry> Worklist() const;
  /// What the constraint of an entry holds now.
  ReplayedConstraint Contents(const WorklistEntry& entry) const;

 private:
  struct State;
  const LayoutTrace* trace_;
  EventId next_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace hlokit

#endif  // HLOKIT_LAYOUT_TRACE_H_
