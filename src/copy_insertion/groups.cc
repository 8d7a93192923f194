// Which values must live in the same memory?
//
// Union-find over values: entry aliases, the state of while loops, results of conditionals and
// in-place updates tie values together.
#include "src/copy_insertion/groups.h"

#include <algorithm>

#include "src/copy_insertion/in_place.h"

namespace hlokit::copies {

Groups::Groups(const Module& module, const Dataflow& flow) {
  parent_.resize(flow.value_count());
  for (ValueId i = 0; i < parent_.size(); ++i) parent_[i] = i;
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      UnionInstruction(module, flow, inst);
    }
  }
  UnionEntryAliases(module, flow);
  Number();
}

ValueId Groups::Find(ValueId value) {
  while (parent_[value] != value) {
    parent_[value] = parent_[parent_[value]];
    value = parent_[value];
  }
  return value;
}

/// The smaller number leads, which keeps the numbering of groups stable.
void Groups::Union(ValueId a, ValueId b) {
  a = Find(a);
  b = Find(b);
  parent_[std::max(a, b)] = std::min(a, b);
}

void Groups::UnionNodes(const Dataflow& flow, InstId a, InstId b) {
  uint32_t count = std::min(flow.place_count(a), flow.place_count(b));
  for (uint32_t node = 0; node < count; ++node) Union(flow.ValueAt(a, node), flow.ValueAt(b, node));
}

void Groups::UnionInstruction(const Module& module, const Dataflow& flow, InstId inst) {
  Opcode opcode = module.opcode(inst);
  if (opcode == Opcode::kWhile) {
    UnionNodes(flow, inst, module.operand(inst, 0));
    for (CompId callee : module.called_computations(inst)) {
      for (InstId parameter : module.computation(callee).parameters)
        UnionNodes(flow, inst, parameter);
    }
    UnionNodes(flow, inst, module.computation(module.called_computations(inst)[0]).root);
  } else if (opcode == Opcode::kConditional) {
    for (CompId branch : module.called_computations(inst)) {
      UnionNodes(flow, inst, module.computation(branch).root);
    }
  }
  for (const InPlacePair& pair : InPlacePairs(module, inst)) {
    Union(flow.ValueAt(module.operand(inst, pair.operand), pair.from), flow.ValueAt(inst, pair.to));
  }
}

void Groups::UnionEntryAliases(const Module& module, const Dataflow& flow) {
  const ShapePool& shapes = module.shapes();
  const ComputationData& entry = module.computation(module.entry());
  for (const InputOutputAlias& alias : module.config().input_output_alias) {
    uint64_t number = static_cast<uint64_t>(alias.parameter_number);
    if (number >= entry.parameters.size()) continue;
    InstId parameter = entry.parameters[number];
    std::optional<uint32_t> from =
        shapes.PreorderOf(module.shape(parameter), alias.parameter_index);
    std::optional<uint32_t> to = shapes.PreorderOf(module.shape(entry.root), alias.output_index);
    if (from && to) Union(flow.ValueAt(parameter, *from), flow.ValueAt(entry.root, *to));
  }
}

void Groups::Number() {
  group_.assign(parent_.size(), 0);
  begin_.assign(1, 0);
  for (ValueId i = 0; i < parent_.size(); ++i) {
    if (Find(i) == i) {
      group_[i] = static_cast<uint32_t>(begin_.size()) - 1;
      begin_.push_back(0);
    } else {
      group_[i] = group_[Find(i)];
    }
    ++begin_[group_[i] + 1];
  }
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  members_.resize(parent_.size());
  for (ValueId i = 0; i < parent_.size(); ++i) members_[next[group_[i]]++] = i;
}

}  // namespace hlokit::copies
