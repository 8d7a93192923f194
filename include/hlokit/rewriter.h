#ifndef HLOKIT_REWRITER_H_
#define HLOKIT_REWRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlokit/module.h"

namespace hlokit {

/// One edit that a pass made, for diffs and explanations.
struct Edit {
  enum class Kind : uint8_t {
    kAdded,     ///< `inst` is new
    kReplaced,  ///< the uses of `inst` read `by` now
    kRemoved,   ///< `inst` is gone
    kRelaid,    ///< the layout in the shape of `inst` is another one
    kChanged,   ///< an operand or an attribute of `inst` is another one
  };
  Kind kind;
  InstId inst;
  InstId by;
};

/// Who changed what: one list per pass that ran.
struct EditLog {
  struct Group {
    std::string pass;
    std::vector<Edit> edits;
  };
  std::vector<Group> groups;
};

/// The edits that passes make, with the rules that hold for all of them: an instruction that
/// replaces another one inherits what it lacks (metadata, frontend attributes, sharding, origin,
/// control edges), takes over the name when both have the same opcode, and the replaced one goes
/// together with operands that nobody else needs. Dead instructions stay in the lists until Finish.
class Rewriter {
 public:
  /// `group` receives the log, null when nobody asks.
  explicit Rewriter(Module& module, EditLog::Group* group = nullptr);
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;
  ~Rewriter() { Finish(); }

  Module& module() { return module_; }
  bool changed() const { return changed_; }

  /// A new instruction named after `name`, or after its opcode when that is empty.
  InstId Add(CompId computation, Opcode opcode, ShapeId shape, std::span<const InstId> operands,
             std::span<const Attr> attributes = {}, std::string_view name = {});
  InstId AddUnary(Opcode opcode, ShapeId shape, InstId operand,
                  std::span<const Attr> attributes = {});
  /// get-tuple-element.
  InstId AddElement(InstId tuple, uint32_t index, ShapeId shape);
  void CopyMetadata(InstId from, InstId to);

  /// What happens to the control edges of a replaced instruction.
  enum class ControlEdges : uint8_t {
    kMove,    ///< the replacement gets them; operands that become unused go with theirs
    kRefuse,  ///< an instruction that has some is not replaced
  };
  /// Replaces all uses of `old` (and the root) by `replacement`, then removes `old`. Returns false
  /// and does nothing when both carry a sharding and the two differ, or `edges` says so.
  bool Replace(InstId old, InstId replacement, ControlEdges edges = ControlEdges::kMove);
  /// Replaces the uses only (and the root). Fusions that now read a value twice read it once.
  void ReplaceUses(InstId old, InstId replacement);
  /// The same for some users, and not for the root.
  void ReplaceUsesBy(std::span<const InstId> users, InstId old, InstId replacement);
  void SetOperand(InstId inst, uint32_t index, InstId operand);
  void SetShape(InstId inst, ShapeId shape);
  void NoteAdded(InstId inst) { Log(Edit::Kind::kAdded, inst); }
  void NoteChanged(InstId inst) { Log(Edit::Kind::kChanged, inst); }

  /// No users, not the root, no control edges, no parameter. (Effects are the caller's question.)
  bool IsUnused(InstId inst) const;
  /// Removes one instruction whatever its control edges.
  void Remove(InstId inst);
  /// Removes an instruction without users, and then every operand that became unused; control edges
  /// protect an operand unless `ignore_control_edges`.
  void RemoveWithUnusedOperands(InstId inst, bool ignore_control_edges = false);

  /// RemoveWithUnusedOperands when the instruction is unused and has no effect.
  void RemoveIfUnused(InstId inst);

  std::span<const InstId> control_successors(InstId inst) const;
  bool HasControlEdges(InstId inst) const;
  /// Predecessors and successors of `from` become those of `to`; `from` has none afterwards.
  void MoveControlEdges(InstId from, InstId to);

  void AddControlEdge(InstId predecessor, InstId successor);
  void DropControlEdges(InstId inst);
  /// Removes a computation that nobody calls.
  void RemoveComputation(CompId computation);

  /// Takes dead instructions out of the lists. Called by the destructor.
  void Finish();

 private:
  void Log(Edit::Kind kind, InstId inst, InstId by = {});
  bool IsUnused(InstId inst, bool ignore_control_edges) const;
  void SetPredecessors(InstId inst, std::span<const InstId> predecessors);
  void Inherit(InstId old, InstId replacement);

  Module& module_;
  EditLog::Group* group_;
  bool changed_ = false;
  bool any_dead_ = false;
  std::unordered_map<uint32_t, std::vector<InstId>> successors_;
  std::vector<uint8_t> effects_;  // by computation, filled on first need
};

/// Does running the instruction do more than computing its value (send, infeed, rng, …)? Effects
/// inside called computations count (`effects` comes from ComputationsWithEffects), for async-done
/// those of its async-start, and tokens of a recv-done that an after-all collects.
bool HasEffect(const Module& module, InstId inst, std::span<const uint8_t> effects);
/// The same without looking into called computations.
bool HasOwnEffect(const Module& module, InstId inst);
/// By computation number: does it hold, directly or through calls, an instruction with an effect?
std::vector<uint8_t> ComputationsWithEffects(const Module& module);

}  // namespace hlokit

#endif  // HLOKIT_REWRITER_H_
