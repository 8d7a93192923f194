// Where does a new computation stand among the others?
#include "src/edit/callee_first_order.h"

#include <algorithm>

namespace hlokit {

CalleeFirstOrder::CalleeFirstOrder(const Module& module) : module_(module) {
  position_.assign(module.computation_count(), 0);
  callers_.resize(module.computation_count());
  marked_.assign(module.computation_count(), 0);
  for (CompId computation : module.walk_order()) {
    position_[computation.value] = static_cast<uint32_t>(order_.size());
    order_.push_back(computation);
  }
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      for (CompId callee : module.called_computations(inst)) AddCall(computation, callee);
    }
  }
}

void CalleeFirstOrder::Append(CompId computation) {
  position_.push_back(static_cast<uint32_t>(order_.size()));
  order_.push_back(computation);
  callers_.emplace_back();
  marked_.push_back(0);
}

void CalleeFirstOrder::AddNewComputations() {
  while (position_.size() < module_.computation_count()) {
    CompId computation{position_.size()};
    Append(computation);
    for (InstId inst : module_.computation(computation).instructions) {
      for (CompId callee : module_.called_computations(inst)) AddCall(computation, callee);
    }
  }
}

std::vector<CompId> CalleeFirstOrder::CallersUpTo(CompId caller, uint32_t position) {
  std::vector<CompId> reached = {caller};
  marked_[caller.value] = 1;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (CompId one : callers_[reached[i].value]) {
      if (marked_[one.value] || position_[one.value] > position) continue;
      if (calls_[Key(one, reached[i])] == 0) continue;
      marked_[one.value] = 1;
      reached.push_back(one);
    }
  }
  for (CompId one : reached) marked_[one.value] = 0;
  return reached;
}

void CalleeFirstOrder::AddCall(CompId caller, CompId callee) {
  if (calls_[Key(caller, callee)]++ == 0) callers_[callee.value].push_back(caller);
  uint32_t low = position_[caller.value], high = position_[callee.value];
  if (low >= high) return;
  std::vector<uint8_t> moves(high - low + 1, 0);
  for (CompId one : CallersUpTo(caller, high)) moves[position_[one.value] - low] = 1;
  if (moves.back()) return;  // a circle
  std::vector<CompId> behind;
  uint32_t next = low;
  for (uint32_t at = low; at <= high; ++at) {
    if (moves[at - low]) {
      behind.push_back(order_[at]);
    } else {
      order_[next++] = order_[at];
    }
  }
  std::copy(behind.begin(), behind.end(), order_.begin() + next);
  for (uint32_t at = low; at <= high; ++at) position_[order_[at].value] = at;
}

void CalleeFirstOrder::RemoveCall(CompId caller, CompId callee) {
  uint32_t& count = calls_[Key(caller, callee)];
  if (count > 0) --count;
}

void CalleeFirstOrder::Store(Module& module) const { module.set_walk_order(order_); }

}  // namespace hlokit
