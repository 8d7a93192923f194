// Is one value dead before another one is born?
#ifndef HLOKIT_SRC_COPY_INSERTION_ORDER_H_
#define HLOKIT_SRC_COPY_INSERTION_ORDER_H_

#include <span>
#include <vector>

#include "hlokit/copy_insertion.h"
#include "src/copy_insertion/calls.h"
#include "src/copy_insertion/dataflow.h"
#include "src/copy_insertion/reach.h"

namespace hlokit::copies {

/// Why two values cannot take turns in one buffer.
struct Conflict {
  OverlapKind kind = OverlapKind::kNone;
  ValueId first = kNone, second = kNone;
  InstId use;
};

/// A snapshot like what it is made from, but for edges that are added on the way; asks the module
/// only whether operands can be shared.
class Order {
 public:
  Order(const Module& module, const Calls& calls, const Dataflow& flow)
      : module_(module), calls_(calls), flow_(flow), reach_(module) {}

  /// While it is not null, a use or a definition that nothing orders before another one counts as
  /// ordered, and the edge that would see to it is put here.
  void Collect(std::vector<OrderEdge>* edges) {
    wanted_ = edges;
    if (needed_.empty()) FindNeeded();
  }
  /// All of them hold from now on, or none when they would close a circle.
  bool AddEdges(std::span<const OrderEdge> edges) { return reach_.AddEdges(edges); }

  enum class Constraint : uint8_t {
    kSame,
    kBefore,
    kBeforeEnd,        ///< it runs inside the other one
    kExclusiveBefore,  ///< another, earlier branch of one conditional
    kExclusiveAfter,
    kAfter,
    kUnordered,
  };
  Constraint Compare(InstId a, InstId b);
  bool ExecutesBefore(InstId a, InstId b);
  bool DefinedBefore(ValueId a, ValueId b);
  /// Is every one of these uses of `a` over before `b` is written? Fills `conflict` when not.
  bool UsesBefore(ValueId a, std::span<const Use> uses, ValueId b, Conflict* conflict);
  /// `parts` are further values that `a` stands for.
  bool LiveRangeBefore(ValueId a, std::span<const ValueId> parts, std::span<const Use> uses,
                       ValueId b, Conflict* conflict);

 private:
  /// The innermost computation that holds both, or their callers.
  struct Meeting {
    InstId above_a, above_b;  ///< in one computation; invalid when there is none
    CompId below_a, below_b;  ///< where the path came from
  };
  Meeting Meet(InstId a, InstId b) const;
  bool Want(InstId a, InstId b);
  void FindNeeded();
  bool UseBefore(const Use& use, ValueId b, bool* exclusive_seen);
  bool NestedIn(InstId inst, CompId computation) const {
    return calls_.IsNestedIn(module_, inst, computation);
  }
  bool LivesBehind(ValueId a, CompId inside) const;
  bool IsLoopParameter(ValueId value) const;
  Opcode CallerOpcode(CompId computation) const {
    InstId caller = calls_.caller(computation);
    return caller.valid() ? module_.opcode(caller) : Opcode::kUnknown;
  }

  const Module& module_;
  const Calls& calls_;
  const Dataflow& flow_;
  Reach reach_;
  std::vector<OrderEdge>* wanted_ = nullptr;
  std::vector<uint8_t> needed_;  // by instruction, once edges are collected
};

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_ORDER_H_
