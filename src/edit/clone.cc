// How is an instruction or a whole computation copied?
#include "hlokit/clone.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace hlokit {
namespace {

bool ClonesItsComputations(Opcode opcode) {
  return opcode == Opcode::kFusion || opcode == Opcode::kCustomCall ||
         opcode == Opcode::kAsyncStart;
}

/// The copy of one computation while it is being made.
struct Frame {
  CompId original;
  std::vector<InstId> order;                     // creation order, which names follow
  size_t next = 0;                               // position in `order`
  std::unordered_map<uint32_t, InstId> map;      // original instruction -> clone
  std::vector<std::pair<InstId, InstId>> pairs;  // the same in order
  CompId clone;
};

/// Instructions are held back until the computation is complete: names are given out when a
/// computation joins the module, inner computations first, the computation before its instructions.
void Materialise(Module& module, Frame* frame, const std::unordered_map<uint32_t, CompId>& clones,
                 std::string_view suffix) {
  std::string wanted(module.name(frame->original));
  wanted += '.';
  wanted += suffix;
  frame->clone = module.AddComputation(module.UniqueComputationName(wanted));
  {
    const ComputationData& from = module.computation(frame->original);
    StrRef thread = from.execution_thread;
    size_t parameters = from.parameters.size();
    module.computation(frame->clone).execution_thread = thread;
    module.computation(frame->clone).parameters.resize(parameters);
  }
  // Creation order need not be an order of dependence after edits, so operands come in a second
  // sweep.
  for (InstId original : frame->order) {
    InstId clone = CloneInstruction(module, original, frame->clone, {}, module.shape(original));
    frame->map.emplace(original.value, clone);
    frame->pairs.emplace_back(original, clone);
    if (ClonesItsComputations(module.opcode(original))) {
      for (uint32_t i = 0; i < module.called_computations(clone).size(); ++i) {
        module.SetCalledComputation(clone, i,
                                    clones.at(module.called_computations(clone)[i].value));
      }
    }
    if (module.opcode(original) == Opcode::kParameter) {
      module.computation(frame->clone)
          .parameters[static_cast<size_t>(module.parameter_number(original))] = clone;
    }
  }
  std::vector<InstId> operands;
  for (auto [original, clone] : frame->pairs) {
    if (module.operand_count(original) == 0) continue;
    operands.clear();
    for (InstId operand : module.operands(original))
      operands.push_back(frame->map.at(operand.value));
    module.SetOperands(clone, operands);
  }
  module.computation(frame->clone).root =
      frame->map.at(module.computation(frame->original).root.value);
  for (auto [original, clone] : frame->pairs) {
    std::span<const InstId> before = module.control_predecessors(original);
    if (before.empty()) continue;
    std::vector<uint32_t> mapped;
    for (InstId predecessor : before) mapped.push_back(frame->map.at(predecessor.value).value);
    module.SetAttr(clone, module.RefsAttribute(AttrKind::kControlPredecessors, mapped));
  }
}

}  // namespace

InstId CloneInstruction(Module& module, InstId original, CompId target,
                        std::span<const InstId> operands, ShapeId shape, std::string_view name) {
  std::string wanted(name.empty() ? module.name(original) : name);
  InstId clone =
      module.AddInstruction(target, module.opcode(original), shape, operands,
                            module.UniqueInstructionName(wanted), module.source_offset(original));
  std::span<const Attr> all = module.attributes(original);
  std::vector<Attr> attrs(all.begin(), all.end());
  std::erase_if(attrs, [](const Attr& a) { return a.kind == AttrKind::kControlPredecessors; });
  for (Attr& attr : attrs) {
    if (attr.kind == AttrKind::kCalledComputations) {
      attr = module.RefsAttribute(attr.kind, module.refs(attr));
    }
  }
  module.SetAttributes(clone, attrs);
  return clone;
}

ComputationClone CloneComputationWithMap(Module& module, CompId original, std::string_view suffix) {
  std::unordered_map<uint32_t, CompId> done;  // original computation -> clone, or itself while open
  std::vector<Frame> stack;
  auto enter = [&](CompId computation) {
    done.emplace(computation.value, computation);
    stack.emplace_back();
    stack.back().original = computation;
    stack.back().order = module.computation(computation).instructions;
  };
  enter(original);
  while (true) {
    Frame& top = stack.back();
    CompId missing;
    for (; top.next < top.order.size() && !missing.valid(); ++top.next) {
      InstId instruction = top.order[top.next];
      if (!ClonesItsComputations(module.opcode(instruction))) continue;
      for (CompId callee : module.called_computations(instruction)) {
        if (!done.contains(callee.value)) missing = callee;
        if (missing.valid()) break;
      }
      if (missing.valid()) break;  // come back to this instruction
    }
    if (missing.valid()) {
      enter(missing);
      continue;
    }
    Materialise(module, &top, done, suffix);
    if (stack.size() == 1) return {top.clone, std::move(top.pairs)};
    done[top.original.value] = top.clone;
    stack.pop_back();
  }
}

}  // namespace hlokit
