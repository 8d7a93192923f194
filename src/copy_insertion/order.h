// Is one value dead before another one is born?
#ifndef HLOKIT_SRC_COPY_INSERTION_ORDER_H_
#define HLOKIT_SRC_COPY_INSERTION_ORDER_H_

#include <span>

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

/// A snapshot like what it is made from; asks the module only whether operands can be shared.
class Order {
 public:
  Order(const Module& module, const Calls& calls, const Dataflow& flow)
      : module_(module), calls_(calls), flow_(flow), reach_(module) {}

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
};

}  // namespace hlokit::copies

#endif  // HLOKIT_SRC_COPY_INSERTION_ORDER_H_
