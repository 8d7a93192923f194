// Which instructions does an extract hold? Those that are at most `height` operands away, and what
// cannot be told apart from them: the other half of an asynchronous operation, values without
// operands.
#include "src/extract/selection.h"

#include <deque>

namespace hlokit {
namespace {

/// Values that need nothing from outside: keeping them is cheaper than a parameter and says more.
bool IsLeaf(Opcode opcode) {
  return opcode == Opcode::kConstant || opcode == Opcode::kIota || opcode == Opcode::kPartitionId ||
         opcode == Opcode::kReplicaId;
}

/// Is the instruction the end (or a middle part) of what its operand starts?
bool Finishes(const Module& module, InstId id) {
  switch (module.opcode(id)) {
    case Opcode::kAllGatherDone:
    case Opcode::kAllReduceDone:
    case Opcode::kAsyncDone:
    case Opcode::kAsyncUpdate:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCopyDone:
    case Opcode::kRecvDone:
    case Opcode::kSendDone:
      return module.operand_count(id) == 1;
    default:
      return false;
  }
}

bool Starts(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduceStart:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCopyStart:
    case Opcode::kRecv:
    case Opcode::kSend:
      return true;
    default:
      return false;
  }
}

/// The user that ends an operation; invalid when there is none. A send or recv that is handed to
/// the next iteration of a loop goes into a tuple.
InstId Finisher(const Module& module, InstId start) {
  for (InstId user : module.users(start)) {
    if (!module.IsCustomCall(user, "control_dep")) return user;
  }
  return {};
}

class Selector {
 public:
  Selector(const Module& module, uint32_t height) : module_(module), height_(height) {
    selection_.roles.resize(module.instruction_count(), Role::kOutside);
  }

  Selection Run(InstId wanted) {
    selection_.computation = module_.computation_of(wanted);
    selection_.root = wanted;
    WalkUp(wanted);
    FinishOperations();
    FollowRoot();
    MarkStandIns();
    return std::move(selection_);
  }

 private:
  Role& role(InstId id) { return selection_.roles[id.value]; }

  void Keep(InstId id) {
    if (role(id) == Role::kKept) return;
    role(id) = Role::kKept;
    kept_.push_back(id);
  }

  /// Breadth first, so that each instruction is met at its smallest distance. The start of what a
  /// kept instruction ends is at the same distance, hence the two-ended queue.
  void WalkUp(InstId wanted) {
    struct Entry {
      InstId id;
      uint32_t distance;
    };
    std::deque<Entry> queue = {{wanted, 0}};
    while (!queue.empty()) {
      Entry next = queue.front();
      queue.pop_front();
      if (role(next.id) == Role::kKept) continue;
      Keep(next.id);
      bool finishes = Finishes(module_, next.id);
      for (InstId operand : module_.operands(next.id)) {
        if (role(operand) == Role::kKept) continue;
        if (finishes) {
          queue.push_front({operand, next.distance});
        } else if (next.distance < height_) {
          queue.push_back({operand, next.distance + 1});
        }
      }
    }
  }

  /// A start whose end does not lie on the way to the wanted instruction brings it along. What else
  /// that end needs comes from outside.
  void FinishOperations() {
    for (size_t i = 0; i < kept_.size(); ++i) {  // grows
      if (!Starts(module_.opcode(kept_[i]))) continue;
      if (InstId end = Finisher(module_, kept_[i]); end.valid()) Keep(end);
    }
  }

  /// A start has one user only, so as a result its end stands for it.
  void FollowRoot() {
    while (Starts(module_.opcode(selection_.root))) {
      InstId end = Finisher(module_, selection_.root);
      if (!end.valid()) {
        selection_.unfinished = true;
        return;
      }
      selection_.root = end;
    }
  }

  void MarkStandIns() {
    for (size_t i = 0; i < kept_.size(); ++i) {  // grows
      for (InstId operand : module_.operands(kept_[i])) {
        if (role(operand) != Role::kOutside) continue;
        if (IsLeaf(module_.opcode(operand))) {
          Keep(operand);
        } else {
          role(operand) = Role::kStandIn;
        }
      }
    }
  }

  const Module& module_;
  uint32_t height_;
  Selection selection_;
  std::vector<InstId> kept_;
};

}  // namespace

Selection Select(const Module& module, InstId wanted, const ExtractOptions& options) {
  return Selector(module, options.height).Run(wanted);
}

}  // namespace hlokit
