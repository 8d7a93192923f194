// What does layout assignment keep while it runs? Flat arrays, keyed by ids; nothing here is keyed
// by a pointer. The files around this one hold the functions, one question per file; the order of
// the phases is in layout_assignment.cc.
//
// Two numberings besides InstId:
//   buffer number   = one place of an output that holds a value of its own (points_to.cc). Inside a
//                     computation they ascend in the order in which defaults are handed out.
//   operand position = number of one operand slot, ascending over all instructions.
#ifndef HLOKIT_SRC_LAYOUT_ENGINE_H_
#define HLOKIT_SRC_LAYOUT_ENGINE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hlokit/large_array.h"
#include "hlokit/layout_assignment.h"
#include "hlokit/layout_rules.h"
#include "hlokit/layout_trace.h"
#include "hlokit/module.h"
#include "hlokit/result.h"
#include "src/layout/ring.h"

namespace hlokit::layout {

inline constexpr uint32_t kNone = 0xffffffffu;
/// The rank of what is no array.
inline constexpr uint32_t kNotAnArray = kNone;

enum InstFlag : uint16_t {
  kIsTuple = 1,
  kLowRank = 2,      ///< every array leaf of the output has rank <= 1
  kKeepsLayout = 4,  ///< may not change layout (section 7)
  kForward = 8,      ///< operand always propagates forward (section 8)
  kSiblings = 16,    ///< operands always propagate to siblings
  kToOperands = 32,  ///< output always propagates to operands
  kDepthFirst = 64,  ///< propagates depth first
  kConstrainedCollective = 128,
  kConstrainedCustomCall = 256,
  kHasOutputAliases = 512,  ///< fusion, call or custom call with output_to_operand_aliasing
  kHasControlPredecessors = 1024,
  kHasControlSuccessors = 2048,
  kWide = 4096,  ///< many operands: sweeps over its siblings are remembered
};

/// What the inner loops ask about an instruction, on one cache line.
struct InstInfo {
  uint32_t rank = kNotAnArray;  ///< of an array output
  uint32_t points_to = 0;       ///< where its points-to entries begin, one per subshape
  uint32_t first_operand = 0;   ///< position of operand 0
  uint16_t flags = 0;
  Opcode opcode = Opcode::kUnknown;
  bool Has(InstFlag flag) const { return (flags & flag) != 0; }
  bool IsArray() const { return rank != kNotAnArray; }
};

struct Buffer {
  InstId definer;
  uint32_t index = 0;           ///< pre-order number in the output of the definer
  ShapeId shape;                ///< that subshape, as it was before the pass
  uint32_t rank = kNotAnArray;  ///< kNotAnArray: tuple, token, opaque
};

enum ConstraintFlag : uint8_t {
  kExists = 1,
  kMandatory = 2,
  kDfs = 4,
  kFree = 8,      ///< buffers: still in the unconstrained set
  kIsShape = 16,  ///< operands: payload is a ShapeId, not the LayoutId of an array
};

struct BufferConstraint {
  LayoutId layout;
  InstId user;  ///< on whose behalf it was last set; may be invalid
  int16_t priority = 0;
  uint8_t flags = 0;
  uint8_t rewrites = 0;  ///< saturates
};

enum OperandFlag : uint8_t {
  kForwarded = 1,  ///< its buffer is also in the output of the user
  kDemotable = 2,  ///< requests that are not mandatory lose priority (section 2.4)
};

struct OperandConstraint {
  uint32_t payload = kNone;  ///< LayoutId, or ShapeId with kIsShape
  int16_t priority = 0;
  uint8_t flags = 0;
  uint8_t operand_flags = 0;  ///< OperandFlag bits; they outlive a round
};

/// The computation constraint of section 2.2 and what else is known of a computation.
struct ComputationState {
  uint32_t first_buffer = 0, end_buffer = 0;
  uint32_t first_ordered = 0, end_ordered = 0;   // its post-order, in post_orders_
  bool loop_body = false;                        ///< its only caller is a while
  std::vector<InstId> constrained_custom_calls;  // in post-order
  std::vector<InstId> channel_all_reduces;       // in post-order

  bool created = false;
  bool result_set = false, parameters_set = false;
  int priority = 0;
  ComputationLayout layout;
  bool mismatched = false;  ///< in the list of mismatching branches
  ShapeId wanted_result;    ///< its result there

  // Events that set the shapes above; only with a trace.
  EventId result_event = kNoEvent, wanted_result_event = kNoEvent;
  std::vector<EventId> parameter_events;
};

/// A part of an output that is a part of an operand, as pre-order numbers.
struct PassedOnPart {
  uint32_t to, operand, from, count;
};

/// A request as it is set: flags and an absolute priority.
struct Strength {
  bool mandatory;
  bool dfs;
  int priority;
};

/// Why a request is made, for the trace.
struct Why {
  TraceRule rule;
  InstId at;
  uint32_t parent_leaf = 0;  ///< the leaf of the cause that this comes from
  uint16_t backend_rule = 0;
};

/// One pair of output_to_operand_aliasing with its indices as pre-order numbers.
struct AliasPair {
  InstId instruction;
  uint32_t pair = 0;
  uint32_t output = 0;   ///< pre-order number; kNone when the output has no such place
  uint32_t operand = 0;  ///< operand number
  uint32_t operand_index = 0;
};

#define HLOKIT_LAYOUT_CHECK(expression) \
  do {                                  \
    if (!(expression)) return false;    \
  } while (false)

/// One run of the pass. Functions that can fail return false and leave the reason in error_.
class Engine final : public LayoutServices {
 public:
  Engine(Module& module, const LayoutAssignmentOptions& options);
  Result<LayoutAssignmentReport> Run();  // layout_assignment.cc

  // ---- LayoutServices: services.cc ----
  const Module& module() const override { return module_; }
  int current_priority() const override { return cur_; }
  bool reverse_order() const override { return options_.reverse_order; }
  const ComputationLayout& entry_layout() const override { return given_entry_; }
  std::vector<Use> Uses(InstId value) const override;
  std::span<const InstId> PostOrder(CompId computation) const override {
    return StoredPostOrder(computation);
  }
  Status SetBufferLayout(LayoutId, InstId, uint32_t, LayoutStrength) override;
  Status SetOperandLayout(ShapeId, InstId, uint32_t, LayoutStrength) override;
  Status SetArrayOperandLayout(LayoutId, InstId, uint32_t, LayoutStrength) override;
  Status SetInstructionLayout(ShapeId, InstId, LayoutStrength, bool) override;
  Status SetInstructionLayout(LayoutId, InstId, LayoutStrength) override;
  LayoutId BufferLayout(InstId instruction, uint32_t index) const override;
  ShapeId OperandShape(InstId instruction, uint32_t operand) const override;
  bool IsForwarded(InstId instruction, uint32_t operand) const override;
  bool DefinesBuffer(InstId instruction, uint32_t index) const override;
  Status Outcome(bool ok);

 private:
  // ---- preparatory_copies.cc, conditional_clones.cc ----
  bool AddPreparatoryCopies();
  bool SeparateConditionalBranches();
  // ---- instruction_info.cc ----
  bool CollectInstructions();
  void DescribeInstruction(InstId inst);
  bool CollectOperands(InstId inst, CompId computation);
  uint32_t PolicyFlags(InstId inst);
  void CollectUses();
  void CollectAliasPairs();
  bool OrderComputations();
  void CollectBackEdges();
  // ---- points_to.cc ----
  bool ComputePointsTo();
  bool PointsToOf(InstId inst);
  uint32_t NewBuffer(InstId definer, uint32_t index, ShapeId shape);
  bool ReserveEntries(InstId inst, uint32_t count);
  void MapEntries(InstId inst, uint32_t to, uint32_t from, uint32_t count);
  bool ShareEntries(InstId inst, InstId operand, uint32_t offset);
  // ---- forwarding.cc ----
  bool FailMisfit(InstId inst);
  bool FindPassedOnWhole(InstId inst, std::optional<uint32_t>* offset);
  bool FindPassedOnParts(InstId inst);
  bool FindAliasedParts(InstId inst);
  bool PassOn(InstId inst, ShapeId tuple, uint32_t tuple_at, uint32_t to, uint32_t operand,
              uint32_t from);
  // ---- points_to.cc again ----
  void ComputeForwarding(CompId computation);
  void ComputeBufferAliases();
  void CollectInPostOrder();
  bool IsChannelAllReduce(InstId inst) const {
    return info(inst).opcode == Opcode::kAllReduce && module_.HasAttr(inst, AttrKind::kChannelId);
  }
  // ---- entry_layout.cc ----
  bool CheckEntryLayout();
  bool SettleInputOutputAliases(bool* changed);
  bool WriteEntryLayoutBack();
  ShapeId RestoreMemorySpaces(ShapeId shape, ShapeId before);
  // ---- rounds.cc ----
  void StartRound();
  bool RunComputation(CompId computation);
  // ---- mandatory_constraints.cc ----
  bool AddMandatoryConstraints(CompId computation);
  bool ConstrainInstruction(CompId computation, InstId inst);
  bool ConstrainParameter(CompId computation, InstId inst);
  bool PushToUsers(InstId inst, ShapeId shape);
  bool ConstrainCollective(InstId inst);
  bool ConstrainChannel(InstId inst);
  bool ConstrainCustomCalls(CompId computation);
  bool AnnounceResult(CompId computation);
  bool RecordChannels(CompId computation);
  // ---- control_flow.cc ----
  bool ConstrainCall(InstId inst);
  bool ConstrainWhile(InstId inst);
  bool ConstrainConditional(InstId inst);
  bool CheckCompatible(ShapeId a, ShapeId b, InstId where);
  bool IdenticalShapes(ShapeId a, ShapeId b);
  // ---- computation_layouts.cc ----
  ComputationState& ConstraintOf(CompId computation);
  bool ResultAvailable(CompId computation) const;
  bool Adopt(InstId result, std::span<const InstId> operands, CompId computation, int priority);
  bool AdoptShape(InstId inst, CompId computation, uint32_t parameter);
  bool UpdateComputationLayouts(CompId computation);
  void SetComputationShape(CompId computation, uint32_t parameter, ShapeId shape, TraceRule rule,
                           InstId at, EventId parent);
  void SetComputationLeaves(CompId computation, uint32_t parameter, ShapeId shape, TraceRule rule,
                            InstId at, EventId parent, std::span<const EventId> leaf_parents);
  ShapeId ComputationShape(const ComputationState& state, uint32_t parameter) const {
    return parameter == kResultIndex ? state.layout.result : state.layout.parameters[parameter];
  }
  EventId ComputationEvent(const ComputationState& state, uint32_t parameter) const {
    if (parameter == kResultIndex) return state.result_event;
    return parameter < state.parameter_events.size() ? state.parameter_events[parameter] : kNoEvent;
  }
  // ---- constraints.cc ----
  bool SetBuffer(uint32_t buffer, LayoutId layout, Strength strength, InstId user, Why why);
  TraceOutcome UpdateBuffer(uint32_t buffer, LayoutId layout, Strength strength, InstId user);
  bool SetOperand(uint32_t position, InstId user, LayoutId layout, Strength strength, Why why);
  bool SetOperandShape(InstId user, uint32_t operand, ShapeId shape, Strength strength, Why why);
  Strength Demoted(uint32_t position, InstId user, Strength strength) const;
  TraceOutcome UpdateOperand(uint32_t position, InstId user, uint32_t payload, bool is_shape,
                             Strength strength);
  bool SetInstruction(ShapeId shape, InstId inst, Strength strength, bool allow_alias, Why why);
  bool CheckLayout(LayoutId layout, ShapeId array, InstId where);
  /// True for a plain permutation of the rank; everything else needs CheckLayout.
  bool FitsPlainly(LayoutId layout, uint32_t rank) {
    if (layout.value < plain_rank_.size() && plain_rank_[layout.value] == rank) return true;
    return FitsPlainlySlow(layout, rank);
  }
  bool FitsPlainlySlow(LayoutId layout, uint32_t rank);
  bool CheckSameStructure(ShapeId a, ShapeId b, InstId where);
  ShapeId OperandConstraintShape(uint32_t position, InstId user) const;
  // ---- worklist.cc ----
  void Announce(uint32_t key, bool dfs, int priority);
  void Drain();
  bool Propagate();
  bool PropagateResult(CompId computation);
  bool SetDefinitions(InstId value, ShapeId shape, Strength strength, InstId user, Why why);
  // ---- propagate_buffer.cc ----
  bool PropagateBuffer(uint32_t buffer);
  bool BufferToOperands(const Buffer& buffer, LayoutId layout, int priority);
  bool BufferToUses(uint32_t number, LayoutId layout, int priority);
  bool BufferToBackEdge(const Buffer& buffer, LayoutId layout);
  LayoutId BitcastConvertOperandLayout(InstId inst, uint32_t operand_rank);
  // ---- propagate_operand.cc ----
  bool PropagateOperand(uint32_t position);
  bool OperandToAliasedOutput(InstId user, uint32_t operand, uint32_t position, int priority);
  bool OperandToSiblings(InstId user, InstId op, LayoutId layout, int priority);
  static uint64_t SweepKey(InstId user, uint32_t rank) {
    return (uint64_t{user.value} << 32) | rank;
  }
  bool KnowsAllOperands(InstId inst, uint32_t rank, LayoutId layout) const;
  void NoteOperandSweep(InstId inst, InstId left_out, uint32_t rank, LayoutId layout);
  void ForgetSweep(InstId inst, uint32_t rank);
  void NoteOperandOfWide(InstId user, uint32_t rank, LayoutId layout);
  bool FailNoRank(InstId user, uint32_t index);
  bool OperandToOutputs(InstId user, uint32_t operand, LayoutId layout, int priority);
  bool ConcatenateHasLarger(InstId user, InstId op);
  // ---- unconstrained.cc ----
  bool GiveDefaults(CompId computation);
  // ---- infer.cc ----
  LayoutId InferLayout(InstId inst, uint32_t index);  // invalid: error_ says why
  LayoutId TryInferLayout(InstId inst, uint32_t index) const;
  // ---- assign.cc, copies.cc, fusion_bodies.cc ----
  bool AssignComputation(CompId computation);
  bool AssignInstruction(InstId inst);
  bool CopyOperandIfNeeded(InstId inst, uint32_t operand);
  void ReplaceOperand(InstId inst, uint32_t operand, InstId copy);
  bool CopyIntoBranch(InstId conditional, uint32_t operand, ShapeId wanted);
  bool AssignRoot(CompId computation);
  InstId CopyWithLayout(InstId value, ShapeId wanted);  // invalid: error_ says why
  InstId AddArrayCopy(InstId value, ShapeId wanted, uint32_t leaf);
  void TakeAttributes(InstId from, InstId to, int64_t element);
  bool AssignFusionBody(InstId fusion);
  void NoteChangedBitcast(InstId bitcast, ShapeId operand_before, ShapeId before);
  bool TakeLayouts(InstId inst, ShapeId layouts);
  void StartCopy(CopyReason reason, InstId source, InstId consumer, uint32_t operand,
                 ShapeId old_shape, ShapeId new_shape);
  void FinishCopy(InstId top);
  // ---- orders.cc ----
  bool BufferOrder(CompId computation, std::vector<InstId>* out);
  bool PostOrder(CompId computation, std::vector<InstId>* out);
  bool StoreOrder(CompId computation, std::span<const InstId> buffer_order);
  std::span<const InstId> StoredPostOrder(CompId computation) const {
    const ComputationState& state = computations_[computation.value];
    return std::span(post_orders_)
        .subspan(state.first_ordered, state.end_ordered - state.first_ordered);
  }
  bool Visit(std::span<const InstId> roots, CompId computation, bool control_first,
             std::vector<InstId>* out);
  // ---- trace_recording.cc ----
  EventId RecordRequest(TraceEventKind kind, uint32_t number, InstId target, uint32_t payload,
                        uint32_t previous, bool is_shape, Strength strength, TraceOutcome outcome,
                        bool announced, Why why);
  void RecordPop(TraceTarget kind, uint32_t number, uint32_t payload, bool is_shape, uint8_t flags,
                 int priority, EventId parent);
  EventId RecordComputationShape(CompId computation, uint32_t parameter, ShapeId shape,
                                 TraceRule rule, InstId at, EventId parent,
                                 std::span<const EventId> leaf_parents);
  void RecordMarker(TraceEventKind kind, CompId computation);
  void HandOverTables();
  // ---- errors.cc ----
  bool Fail(DiagId id, std::string message, std::string help = "",
            ExitCode code = ExitCode::kUnsupported);
  bool Fail(Error error);
  std::string Quote(InstId inst) const;
  std::string Quote(CompId computation) const;
  std::string Place(InstId inst, uint32_t index) const;

  // ---- small questions ----
  const InstInfo& info(InstId inst) const { return infos_[inst.value]; }
  uint32_t OperandCount(InstId inst) const {
    return infos_[inst.value + 1].first_operand - infos_[inst.value].first_operand;
  }
  InstId Operand(InstId inst, uint32_t k) const {
    return operands_[infos_[inst.value].first_operand + k];
  }
  uint32_t SubshapeCount(InstId inst) const { return shapes_[module_.shape(inst)].subshape_count; }
  /// The buffer behind a place of an output.
  uint32_t BufferAt(InstId inst, uint32_t index = 0) const {
    return points_to_[infos_[inst.value].points_to + index];
  }
  const std::vector<uint32_t>* MoreBuffersAt(InstId inst, uint32_t index) const;
  bool AnyLayoutSet(ShapeId shape) const;  // "partly set", section 1.3
  bool AnyLayoutSet(const ComputationLayout& layout) const;
  bool IsEntry(CompId computation) const { return computation == module_.entry(); }
  Strength Mandatory() const { return {true, true, cur_}; }
  bool tracing() const { return trace_ != nullptr; }
  EventId BufferEvent(uint32_t buffer) const {
    return tracing() ? buffer_events_[buffer] : kNoEvent;
  }
  EventId OperandEvent(uint32_t position) const {
    return tracing() ? operand_events_[position] : kNoEvent;
  }

  Module& module_;
  ShapePool& shapes_;
  const LayoutAssignmentOptions& options_;
  LayoutRules base_rules_;
  const LayoutRules& rules_;
  LayoutTrace* const trace_;
  LayoutAssignmentReport report_;
  std::optional<Error> error_;
  mutable std::vector<InstId> quoted_;  // instructions that messages named

  // Instructions, by InstId; one more entry than there are instructions.
  LargeArray<InstInfo> infos_;
  // Operand slots, by operand position.
  LargeArray<InstId> operands_;
  LargeArray<InstId> operand_users_;
  LargeArray<OperandConstraint> operand_constraints_;
  // Uses: for each instruction its operand positions, users in user order, by uses_begin_[InstId].
  LargeArray<uint32_t> uses_begin_;
  LargeArray<uint32_t> uses_;
  // Buffers, by buffer number.
  LargeArray<Buffer> buffers_;
  LargeArray<BufferConstraint> buffer_constraints_;
  std::vector<PassedOnPart> parts_;     // scratch of PointsToOf
  LargeArray<InstId> forwarding_mark_;  // scratch of ComputeForwarding
  // For loop bodies, by InstId: the first operand number at which the root tuple uses it, or kNone.
  LargeArray<uint32_t> root_slot_;
  // The array-shaped outputs that may be a buffer, by buffer number.
  LargeArray<uint32_t> alias_begin_;
  LargeArray<InstId> aliases_;
  // Points-to entries; a forwarding instruction shares the entries of its operand.
  LargeArray<uint32_t> points_to_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> more_buffers_;  // entry -> further buffers
  // output_to_operand_aliasing of all instructions: by (instruction, output, pair), and the first
  // pair of each operand by (instruction, operand).
  std::vector<AliasPair> pairs_by_output_;
  std::vector<AliasPair> pairs_by_operand_;

  // Computations, by CompId.
  std::vector<ComputationState> computations_;
  std::vector<CompId> visiting_;
  std::map<int64_t, std::pair<LayoutId, EventId>> channels_;

  // Rounds.
  ComputationLayout given_entry_;   // as it was given
  ComputationLayout entry_object_;  // "the caller's entry layout object"
  int cur_ = 0;
  CompId current_;        // the computation that is being worked on
  bool settled_ = false;  // no computation layout changed in this round

  // Worklist: keys = kind and number, see worklist.cc.
  std::vector<uint32_t> announced_;
  Ring worklist_;

  // Sweeps over the siblings of wide instructions, see propagate_operand.cc.
  struct Sweep {
    LayoutId order;
    InstId first;               ///< the value that the first sweep left out
    bool all_operands = false;  ///< all operands of the rank have this order
    bool outputs = false;       ///< all outputs of the rank got it, at this priority:
    int priority = 0;
  };
  std::unordered_map<uint64_t, Sweep> sweeps_;
  std::unordered_map<uint32_t, int64_t> concatenate_largest_;

  // By LayoutId: the rank of a plain permutation, kNone for what needs a closer look, 0xfffffffe
  // for not looked at yet.
  std::vector<uint32_t> plain_rank_;

  // Copies.
  uint32_t original_instructions_ = 0;
  CauseHop copy_winning_;                             // the demand that the copy being made serves
  InstId copy_definer_;                               // the value whose demands lose
  std::unordered_map<uint32_t, uint32_t> wide_uses_;  // uses left, while a wide one gets copies

  // Trace only: the event that gave each constraint its layout.
  EventId cause_ = kNoEvent;
  LargeArray<EventId> buffer_events_, operand_events_;

  std::array<std::optional<uint32_t>, kOpcodeCount + 1> policies_;  // of the base rules, by opcode

  std::vector<uint8_t> low_rank_;  // by ShapeId, see DescribeInstruction

  // Scratch space.
  std::vector<ShapeId> subshapes_;
  LargeArray<InstId> post_orders_;
  std::vector<InstId> order_, roots_;
  struct VisitFrame {
    InstId inst;
    uint32_t next;
  };
  std::vector<VisitFrame> visit_stack_;
  LargeArray<uint8_t> visit_state_;
};

/// False when instructions of this opcode never call a computation.
bool MayCall(Opcode opcode);

/// Keys of the worklist: the kind in the top two bits.
inline constexpr uint32_t kKeyNumberBits = 30;
inline constexpr uint32_t kKeyNumberMask = (1u << kKeyNumberBits) - 1;
constexpr uint32_t BufferKey(uint32_t buffer) { return buffer; }
constexpr uint32_t OperandKey(uint32_t position) { return position | (1u << kKeyNumberBits); }
constexpr uint32_t ComputationKey(CompId id) { return id.value | (2u << kKeyNumberBits); }

}  // namespace hlokit::layout

#endif  // HLOKIT_SRC_LAYOUT_ENGINE_H_
