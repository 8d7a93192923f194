// Does anything depend on itself? Both searches keep their own stack; the usual order needs none.
#include <utility>

#include "src/verify/checker.h"

namespace hlokit {
namespace {

enum State : uint8_t { kNew, kOpen, kDone };

}  // namespace

/// Every instruction comes after what it needs; marks them done as long as that holds.
bool Checker::IsInOrder(CompId comp, std::vector<uint8_t>* state) const {
  for (InstId id : module_.computation(comp).instructions) {
    if (module_.IsDead(id)) continue;
    for (InstId operand : module_.operands(id)) {
      if ((*state)[operand.value] != kDone) return false;
    }
    for (InstId before : module_.control_predecessors(id)) {
      if ((*state)[before.value] != kDone) return false;
    }
    (*state)[id.value] = kDone;
  }
  return true;
}

void Checker::FindCycle(CompId comp, std::vector<uint8_t>* state) {
  std::vector<std::pair<InstId, size_t>> stack;
  for (InstId start : module_.computation(comp).instructions) {
    if (module_.IsDead(start) || (*state)[start.value] != kNew) continue;
    stack.emplace_back(start, 0);
    (*state)[start.value] = kOpen;
    while (!stack.empty()) {
      InstId id = stack.back().first;
      std::span<const InstId> operands = module_.operands(id);
      std::span<const InstId> control = module_.control_predecessors(id);
      size_t next = stack.back().second++;
      if (next >= operands.size() + control.size()) {
        (*state)[id.value] = kDone;
        stack.pop_back();
        continue;
      }
      InstId needed = next < operands.size() ? operands[next] : control[next - operands.size()];
      if ((*state)[needed.value] == kOpen) {
        Report(id, DiagId::kCycle, "the instruction needs %{}, which needs it in turn",
               Name(needed));
        return;
      }
      if ((*state)[needed.value] == kNew) {
        (*state)[needed.value] = kOpen;
        stack.emplace_back(needed, 0);
      }
    }
  }
}

void Checker::CheckNoCycles() {
  std::vector<uint8_t> state(module_.instruction_count(), kNew);
  for (CompId comp : module_.computation_order()) {
    if (!module_.computation(comp).dead && !IsInOrder(comp, &state)) FindCycle(comp, &state);
  }
}

void Checker::CheckNoRecursion() {
  // Callees of each computation, once per call.
  std::vector<std::vector<CompId>> callees(module_.computation_count());
  bool in_order = true;
  std::vector<uint8_t> state(module_.computation_count(), kNew);
  for (CompId comp : module_.computation_order()) {
    if (module_.computation(comp).dead) continue;
    for (InstId id : module_.computation(comp).instructions) {
      if (module_.IsDead(id)) continue;
      for (CompId callee : module_.called_computations(id)) {
        callees[comp.value].push_back(callee);
        in_order &= state[callee.value] == kDone;
      }
    }
    state[comp.value] = kDone;
  }
  if (in_order) return;
  state.assign(module_.computation_count(), kNew);
  std::vector<std::pair<CompId, size_t>> stack;
  for (CompId start : module_.computation_order()) {
    if (module_.computation(start).dead || state[start.value] != kNew) continue;
    stack.emplace_back(start, 0);
    state[start.value] = kOpen;
    while (!stack.empty()) {
      CompId comp = stack.back().first;
      size_t next = stack.back().second++;
      if (next >= callees[comp.value].size()) {
        state[comp.value] = kDone;
        stack.pop_back();
        continue;
      }
      CompId callee = callees[comp.value][next];
      if (state[callee.value] == kOpen) {
        ReportComputation(comp, DiagId::kRecursion,
                          "the computation calls %{}, which calls it in turn", Name(callee));
        return;
      }
      if (state[callee.value] == kNew) {
        state[callee.value] = kOpen;
        stack.emplace_back(callee, 0);
      }
    }
  }
}

}  // namespace hlokit
