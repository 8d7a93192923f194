#ifndef HLOKIT_LAYOUT_RULES_H_
#define HLOKIT_LAYOUT_RULES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

class LayoutRuleBook;

/// How strong a request for a layout is (layout-assignment.md section 2.1). The default is what the
/// setters of section 12 use when a backend says nothing: mandatory, depth first, current priority.
struct LayoutStrength {
  bool mandatory = true;
  bool dfs = true;
  std::optional<int> priority;  ///< empty = the current priority
  /// Which rule of the backend asks, for the trace: a number of its LayoutRuleBook; 0 = none.
  uint16_t rule = 0;
};

/// What a hook may ask of the engine: the setters and questions of section 12, and nothing else.
/// Hooks must not change the module.
class LayoutServices {
 public:
  virtual ~LayoutServices() = default;
  virtual const Module& module() const = 0;
  /// 0 in the first round, one more in each following.
  virtual int current_priority() const = 0;
  virtual bool reverse_order() const = 0;
  /// The entry layout as the caller gave it; leaves without layout are free.
  virtual const ComputationLayout& entry_layout() const = 0;
  /// Where a value is an operand: users in user order, of each its operand numbers ascending.
  struct Use {
    InstId user;
    uint32_t operand;
  };
  virtual std::vector<Use> Uses(InstId value) const = 0;
  /// The instructions of a computation, operands before users (section 1.6).
  virtual std::span<const InstId> PostOrder(CompId computation) const = 0;

  /// Sets one buffer: the part of the output of `definer` with this pre-order number, which must be
  /// defined there (section 2.3).
  virtual Status SetBufferLayout(LayoutId layout, InstId definer, uint32_t index,
                                 LayoutStrength strength = {}) = 0;
  /// Sets an operand, array or tuple (section 2.4). Every array leaf of `shape` must have a layout.
  virtual Status SetOperandLayout(ShapeId shape, InstId instruction, uint32_t operand,
                                  LayoutStrength strength = {}) = 0;
  /// Sets an array operand.
  virtual Status SetArrayOperandLayout(LayoutId layout, InstId instruction, uint32_t operand,
                                       LayoutStrength strength = {}) = 0;
  /// Sets every array leaf of the output that has a layout in `shape`; operands follow when the
  /// instruction keeps layouts (section 2.6).
  virtual Status SetInstructionLayout(ShapeId shape, InstId instruction,
                                      LayoutStrength strength = {}, bool allow_alias = false) = 0;
  /// One layout for all outputs: arrays, sort, reduce, reduce-window.
  virtual Status SetInstructionLayout(LayoutId layout, InstId instruction,
                                      LayoutStrength strength = {}) = 0;

  /// The layout that the buffer behind this part of an output has by now; invalid = none yet.
  virtual LayoutId BufferLayout(InstId instruction, uint32_t index = 0) const = 0;
  /// The shape that an operand is constrained to by now; invalid = none yet.
  virtual ShapeId OperandShape(InstId instruction, uint32_t operand) const = 0;
  /// Some buffer of this array operand is also in the output of the instruction (section 1.4).
  virtual bool IsForwarded(InstId instruction, uint32_t operand) const = 0;
  /// The instruction defines the buffer at this part of its output itself.
  virtual bool DefinesBuffer(InstId instruction, uint32_t index) const = 0;
};

/// Where a popped constraint stands, for hooks that propagate in their own way.
struct BufferConstraintView {
  InstId definer;
  uint32_t index;
  LayoutId layout;
  bool mandatory, dfs;
  int priority;
};
struct OperandConstraintView {
  InstId instruction;
  uint32_t operand;
  ShapeId shape;
  bool mandatory, dfs;
  int priority;
};

/// Everything about layout assignment that a backend may decide (layout-assignment.md section 12).
/// This class itself is the base pass: a backend derives from it and overrides what it needs.
/// One object may serve many runs; hooks must not keep state between them.
class LayoutRules {
 public:
  struct Options {
    /// PropagateReductionLayoutToOperand says yes for every reduce (section 6.5).
    bool row_reduction = false;
  };
  LayoutRules() = default;
  explicit LayoutRules(Options options) : options_(options) {}
  virtual ~LayoutRules() = default;

  /// What the rule numbers in requests mean; null when the backend gives none.
  virtual std::shared_ptr<const LayoutRuleBook> rule_book() const;

  /// Once per computation and round, after the mandatory constraints and before those of custom
  /// calls (section 3.3 step 3).
  virtual Status AddBackendConstraints(LayoutServices& services, CompId computation) const;

  /// The three functions below are asked only when this says yes.
  virtual bool HasOwnPropagation() const { return false; }
  // Propagation of a popped constraint: true = done here, false = the base rules (5.2, 5.3, 5.4).
  virtual Result<bool> PropagateBuffer(LayoutServices& services, const BufferConstraintView&) const;
  virtual Result<bool> PropagateOperand(LayoutServices& services,
                                        const OperandConstraintView&) const;
  virtual Result<bool> PropagateResult(LayoutServices& services, CompId computation) const;

  /// The layout of a buffer that nobody asked anything of (section 9; constants are not asked).
  virtual LayoutId UnconstrainedLayout(const Module& module, InstId definer, uint32_t index) const;
  /// Section 6, output to operand: array shapes only; invalid = no opinion.
  virtual LayoutId ChooseOperandLayout(const Module& module, LayoutId output_layout,
                                       InstId instruction, uint32_t operand) const;
  /// Section 6, operand to output: arrays, or a tuple-shaped reduce; invalid = no opinion.
  virtual LayoutId ChooseOutputLayout(const Module& module, LayoutId operand_layout, InstId user,
                                      uint32_t operand) const;

  /// Which rule of the backend is behind a choice of the two functions above, for the trace: a
  /// number of the LayoutRuleBook; 0 = the base rules choose the same. Asked only when a trace is
  /// recorded.
  struct Choice {
    LayoutId known;  ///< the layout that the choice was made for
    LayoutId chosen;
    InstId instruction;
    uint32_t operand;
    bool of_operand;  ///< the operand's layout was chosen, else that of the output
  };
  virtual uint16_t RuleOfChoice(const Module& module, const Choice& choice) const;

  // Policies of one instruction, asked once per instruction and run.
  virtual bool MayChangeLayout(const Module& module, InstId instruction) const;  // section 7
  virtual bool OperandAlwaysPropagatesForward(const Module& module, InstId user) const;     // 8
  virtual bool OperandAlwaysPropagatesToSiblings(const Module& module, InstId user) const;  // 8
  virtual bool OutputAlwaysPropagatesToOperands(const Module& module, InstId user) const;   // 8

  /// Enables section 6.5 for this reduce.
  virtual bool PropagateReductionToOperand(const Module& module, InstId reduce) const;
  /// May a request that is neither mandatory nor of higher priority rewrite a buffer constraint?
  virtual bool NegotiateLayout(const Module& module, InstId definer, LayoutId wanted,
                               LayoutId existing, InstId new_user, InstId previous_user) const;
  /// May a request that is not mandatory rewrite an operand constraint?
  virtual bool NegotiateOperandLayout(const Module& module, InstId instruction, uint32_t operand,
                                      ShapeId wanted, ShapeId existing) const;
  /// After an instruction has its layouts and its operands their copies.
  virtual Status Verify(const Module& module, InstId instruction) const;
  /// The shape of a call's operand (or result, parameter -1) as the callee sees it, and back.
  virtual ShapeId ShardedShape(Module& module, InstId call, ShapeId shape, int64_t parameter) const;
  virtual ShapeId UnShardedShape(Module& module, InstId call, ShapeId shape,
                                 int64_t parameter) const;

 private:
  Options options_;
};

/// Section 6.3: the layout of the target sizes that makes a reshape from `source` (with this
/// minor_to_major) move no data; empty when there is none. `aligned` is resized to the target rank.
bool AlignLayout(std::span<const int64_t> source_sizes,
                 std::span<const int64_t> source_minor_to_major,
                 std::span<const int64_t> target_sizes, std::vector<int64_t>* aligned);
/// Section 8: a reshape between these sizes only inserts or deletes dimensions of size 1.
bool MerelyInsertsOrDeletesUnitDimensions(std::span<const int64_t> before,
                                          std::span<const int64_t> after);
/// The layout with only the dimensions in `kept`, renumbered in ascending order; the other fields
/// are kept ("deleting dimensions", section 1.1).
LayoutId KeepDimensions(ShapePool& shapes, LayoutId layout, std::span<const int64_t> kept);

}  // namespace hlokit

#endif  // HLOKIT_LAYOUT_RULES_H_
