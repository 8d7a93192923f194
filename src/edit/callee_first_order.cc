// Where does a new computation stand among the others?
#include "src/edit/callee_first_order.h"

#include <algorithm>

namespace hlokit {

CalleeFirstOrder::CalleeFirstOrder(const Module& module) : module_(module) {
  position_.assign(module.computation_count(), 0);
  callers_.resize(module.computation_count());
  callees_.resize(module.computation_count());
  marked_.assign(module.computation_count(), 0);
  for (CompId computation : module.computation_order()) {
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
  callees_.emplace_back();
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

template <typename Within>
std::vector<CompId> CalleeFirstOrder::Reached(CompId start,
                                              const std::vector<std::vector<CompId>>& next,
                                              bool callers, Within within) {
  std::vector<CompId> reached = {start};
  marked_[start.value] = 1;
  for (size_t i = 0; i < reached.size(); ++i) {
    for (CompId one : next[reached[i].value]) {
      uint64_t key = callers ? Key(one, reached[i]) : Key(reached[i], one);
      if (marked_[one.value] || calls_[key] == 0 || !within(one)) continue;
      marked_[one.value] = 1;
      reached.push_back(one);
    }
  }
  for (CompId one : reached) marked_[one.value] = 0;
  return reached;
}

void CalleeFirstOrder::AddCall(CompId caller, CompId callee) {
  if (calls_[Key(caller, callee)]++ == 0) {
    callers_[callee.value].push_back(caller);
    callees_[caller.value].push_back(callee);
  }
  uint32_t low = position_[caller.value], high = position_[callee.value];
  if (low >= high) return;
  std::vector<CompId> later = Reached(caller, callers_, true, [&](CompId one) {
    return position_[one.value] <= high;
  });
  if (std::find(later.begin(), later.end(), callee) != later.end()) return;  // a circle
  std::vector<uint8_t> moves(high - low + 1, 0);
  for (CompId one : later) moves[position_[one.value] - low] = 1;
  std::vector<CompId> stay, go;
  for (uint32_t at = low; at <= high; ++at) (moves[at - low] ? go : stay).push_back(order_[at]);
  stay.insert(stay.end(), go.begin(), go.end());
  for (uint32_t at = low; at <= high; ++at) {
    order_[at] = stay[at - low];
    position_[order_[at].value] = at;
  }
}

void CalleeFirstOrder::RemoveCall(CompId caller, CompId callee) {
  uint32_t& count = calls_[Key(caller, callee)];
  if (count > 0) --count;
}

void CalleeFirstOrder::Store(Module& module) const {
  std::vector<CompId>& order = module.mutable_computation_order();
  order.clear();
  for (CompId computation : order_) {
    if (!module.computation(computation).dead) order.push_back(computation);
  }
}

}  // namespace hlokit
