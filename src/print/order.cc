// In which order are computations and instructions printed (hlo-text.md sections 11.3 and 11.4)?
// Every walk here has an explicit stack and visits each instruction and each edge once.
#include "src/print/order.h"

#include <algorithm>

#include "hlokit/printer.h"

namespace hlokit {
namespace {

/// Who calls whom: the called computations of all instructions of a computation, in stored order.
/// One instruction's calls are one group, since groups are pushed from last to first.
struct CallGraph {
  struct Group {
    uint32_t begin, end;  // in callees
  };
  std::vector<CompId> callees;
  std::vector<Group> groups;
  std::vector<uint32_t> first_group;  // by computation, one more at the end
  std::vector<bool> called;           // by computation

  explicit CallGraph(const Module& module) : called(module.computation_count(), false) {
    const uint32_t count = module.computation_count();
    first_group.reserve(count + 1);
    for (uint32_t c = 0; c < count; ++c) {
      first_group.push_back(static_cast<uint32_t>(groups.size()));
      if (module.computation(CompId(c)).dead) continue;
      for (InstId id : module.computation(CompId(c)).instructions) {
        if (module.IsDead(id)) continue;
        const std::span<const CompId> calls = module.called_computations(id);
        if (calls.empty()) continue;
        const uint32_t begin = static_cast<uint32_t>(callees.size());
        callees.insert(callees.end(), calls.begin(), calls.end());
        groups.push_back({begin, static_cast<uint32_t>(callees.size())});
        for (CompId callee : calls) called[callee.value] = true;
      }
    }
    first_group.push_back(static_cast<uint32_t>(groups.size()));
  }
};

class ComputationWalk {
 public:
  ComputationWalk(const Module& module, const CallGraph& graph)
      : graph_(graph), pushed_(module.computation_count(), false) {
    order_.reserve(module.computation_order().size());
  }
  bool pushed(CompId id) const { return pushed_[id.value]; }

  /// Emits everything that is reachable from `root`, then `root`. What an earlier walk emitted
  /// needs no second visit: all that it reaches was emitted too.
  void From(CompId root) {
    pushed_[root.value] = true;
    stack_.push_back({root, graph_.first_group[root.value]});
    while (!stack_.empty()) {
      Open& top = stack_.back();
      if (top.next_group == graph_.first_group[top.computation.value + 1]) {
        order_.push_back(top.computation);
        stack_.pop_back();
        continue;
      }
      const CallGraph::Group group = graph_.groups[top.next_group++];
      for (uint32_t i = group.end; i-- > group.begin;) {
        const CompId callee = graph_.callees[i];
        if (pushed_[callee.value]) continue;
        pushed_[callee.value] = true;
        stack_.push_back({callee, graph_.first_group[callee.value]});
      }
    }
  }
  std::vector<CompId> TakeOrder() { return std::move(order_); }

 private:
  struct Open {
    CompId computation;
    uint32_t next_group;
  };
  const CallGraph& graph_;
  std::vector<bool> pushed_;
  std::vector<Open> stack_;
  std::vector<CompId> order_;
};

}  // namespace

std::vector<CompId> ComputationPostOrder(const Module& module) {
  const CallGraph graph(module);
  ComputationWalk walk(module, graph);
  for (CompId id : module.computation_order()) {
    if (!module.computation(id).dead && !graph.called[id.value]) walk.From(id);
  }
  // Computations that only call each other in a circle: invalid, but printable.
  for (CompId id : module.computation_order()) {
    if (!module.computation(id).dead && !walk.pushed(id)) walk.From(id);
  }
  return walk.TakeOrder();
}

std::vector<CompId> ComputationTopologicalOrder(const Module& module) {
  const CallGraph graph(module);
  std::vector<bool> entered(module.computation_count(), false);
  std::vector<CompId> order;
  struct Open {
    CompId computation;
    uint32_t next, end;  // in callees: groups of a computation are adjacent
  };
  std::vector<Open> stack;
  const auto enter = [&](CompId id) {
    entered[id.value] = true;
    const uint32_t first = graph.first_group[id.value];
    const uint32_t last = graph.first_group[id.value + 1];
    if (first == last) return stack.push_back({id, 0, 0});
    stack.push_back({id, graph.groups[first].begin, graph.groups[last - 1].end});
  };
  for (CompId root : module.computation_order()) {
    if (module.computation(root).dead || entered[root.value]) continue;
    enter(root);
    while (!stack.empty()) {
      Open& top = stack.back();
      if (top.next == top.end) {
        order.push_back(top.computation);
        stack.pop_back();
        continue;
      }
      const CompId callee = graph.callees[top.next++];
      if (!entered[callee.value]) enter(callee);
    }
  }
  return order;
}

std::vector<bool> FusionBodies(const Module& module) {
  std::vector<bool> bodies(module.computation_count(), false);
  for (CompId computation : module.computation_order()) {
    for (InstId id : module.computation(computation).instructions) {
      if (module.opcode(id) != Opcode::kFusion || module.IsDead(id)) continue;
      for (CompId body : module.called_computations(id)) bodies[body.value] = true;
    }
  }
  return bodies;
}

const std::vector<InstId>& InstructionOrder::Stored(CompId computation) {
  order_.clear();
  for (InstId id : module_.computation(computation).instructions) {
    if (!module_.IsDead(id)) order_.push_back(id);
  }
  return order_;
}

const std::vector<InstId>& InstructionOrder::PostOrder(CompId computation) {
  order_.clear();
  const std::vector<InstId>& stored = module_.computation(computation).instructions;
  if (stored.empty()) return order_;
  const auto [smallest, largest] = std::minmax_element(stored.begin(), stored.end());
  base_ = smallest->value;
  const size_t range = largest->value - base_ + 1;
  if (marks_.size() < range) marks_.resize(range);
  for (InstId id : stored) set_mark(id, kNew);
  for (InstId id : stored) {
    if (module_.IsDead(id)) continue;
    for (InstId operand : module_.operands(id)) set_mark(operand, kUsed);
  }
  order_.reserve(stored.size());
  for (InstId id : stored) {
    if (mark(id) == kNew && !module_.IsDead(id)) Walk(id);
  }
  // Instructions that only use each other in a circle: invalid, but printable.
  for (InstId id : stored) {
    if (mark(id) == kUsed && !module_.IsDead(id)) Walk(id);
  }
  return order_;
}

void InstructionOrder::Walk(InstId root) {
  stack_.push_back(root);
  while (!stack_.empty()) {
    const InstId id = stack_.back();
    if (mark(id) >= kOpen) {
      stack_.pop_back();
      if (mark(id) == kOpen) {
        set_mark(id, kDone);
        order_.push_back(id);
      }
      continue;
    }
    set_mark(id, kOpen);
    const std::span<const InstId> operands = module_.operands(id);
    for (size_t i = operands.size(); i-- > 0;) {
      if (mark(operands[i]) < kOpen) stack_.push_back(operands[i]);
    }
    for (InstId predecessor : module_.control_predecessors(id)) {
      if (mark(predecessor) < kOpen) stack_.push_back(predecessor);
    }
  }
}

std::vector<InstId> InstructionPostOrder(const Module& module, CompId computation) {
  return InstructionOrder(module).PostOrder(computation);
}

}  // namespace hlokit
