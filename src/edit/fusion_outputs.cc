// Which outputs and operands does a fusion not need?
#include "src/edit/fusion_outputs.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace hlokit {
namespace {

/// The body of a fusion, when no other instruction could share it and its root builds the result
/// tuple.
CompId NarrowableBody(const Module& module, InstId fusion) {
  if (module.opcode(fusion) != Opcode::kFusion || module.IsDead(fusion)) return {};
  if (module.called_computations(fusion).size() != 1 || module.IsRoot(fusion) ||
      !module.control_predecessors(fusion).empty() ||
      module.IntAttr(fusion, AttrKind::kFusionKind) == static_cast<int64_t>(FusionKind::kCustom)) {
    return {};  // whoever made a custom fusion counts on its outputs
  }
  if (module.HasAttr(fusion, AttrKind::kOutputToOperandAliasing) ||
      module.HasAttr(fusion, AttrKind::kSharding)) {
    return {};
  }
  CompId body = module.to_apply(fusion);
  InstId root = module.computation(body).root;
  if (module.opcode(root) != Opcode::kTuple || !module.users(root).empty()) return {};
  ShapeId shape = module.shape(fusion);
  if (!module.shapes().IsTuple(shape) ||
      module.shapes().element_count(shape) != module.operand_count(root)) {
    return {};  // only in text that nobody verified
  }
  return body;
}

/// Which elements are read? Empty when somebody reads the tuple as a whole.
std::vector<uint8_t> ReadElements(const Module& module, InstId fusion) {
  uint32_t count = module.shapes().element_count(module.shape(fusion));
  std::vector<uint8_t> read(count, 0);
  for (InstId user : module.users(fusion)) {
    uint64_t index = static_cast<uint64_t>(module.tuple_index(user));
    if (module.opcode(user) != Opcode::kGetTupleElement || index >= count) return {};
    read[index] = 1;
  }
  return read;
}

/// By computation: how many instructions call it?
std::vector<uint32_t> CallerCounts(const Module& module) {
  std::vector<uint32_t> counts(module.computation_count(), 0);
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      for (CompId callee : module.called_computations(inst)) ++counts[callee.value];
    }
  }
  return counts;
}

void NarrowTo(Rewriter& rewriter, InstId fusion, CompId body, std::span<const uint8_t> read) {
  Module& module = rewriter.module();
  InstId root = module.computation(body).root;
  std::vector<InstId> elements;
  std::vector<int64_t> new_index(read.size(), 0);
  for (uint32_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    new_index[i] = static_cast<int64_t>(elements.size());
    elements.push_back(module.operand(root, i));
  }
  std::span<const InstId> all = module.users(fusion);
  const std::vector<InstId> users(all.begin(), all.end());
  if (elements.size() == 1) {
    // The layout of the fusion, not that of its body: layout assignment leaves bodies open or in
    // another order.
    size_t only = static_cast<size_t>(std::find(read.begin(), read.end(), 1) - read.begin());
    ShapeId shape = module.shapes().element(module.shape(fusion), static_cast<uint32_t>(only));
    module.computation(body).root = elements[0];
    rewriter.RemoveWithUnusedOperands(root);
    rewriter.SetShape(fusion, shape);
    for (InstId user : users) rewriter.Replace(user, fusion);
    return;
  }
  std::vector<ShapeId> shapes, outer;
  for (uint32_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    shapes.push_back(module.shape(module.operand(root, i)));
    outer.push_back(module.shapes().element(module.shape(fusion), i));
  }
  // XLA makes a new tuple that takes over the name of the old one: its own name is given out too.
  (void)module.UniqueInstructionName(OpcodeText(Opcode::kTuple));
  module.SetOperands(root, elements);
  rewriter.SetShape(root, module.shapes().Tuple(shapes));
  rewriter.SetShape(fusion, module.shapes().Tuple(outer));
  for (InstId user : users) {
    int64_t index = new_index[static_cast<size_t>(module.tuple_index(user))];
    module.SetAttr(user, Attr::Integer(AttrKind::kIndex, index));
    rewriter.NoteChanged(user);
  }
}

/// Keeps the parameters that `keep` marks, and the operands of the fusion with them. A parameter
/// that moves up is renamed after its new number. The others must be unread.
void KeepOperands(Rewriter& rewriter, InstId fusion, std::span<const uint8_t> keep) {
  Module& module = rewriter.module();
  CompId body = module.to_apply(fusion);
  const std::vector<InstId> parameters = module.computation(body).parameters;
  std::vector<InstId> kept, operands, dropped;
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    if (!keep[i]) {
      dropped.push_back(module.operand(fusion, i));
      rewriter.Remove(parameters[i]);
      continue;
    }
    if (kept.size() != i) {
      int64_t number = static_cast<int64_t>(kept.size());
      module.SetAttr(parameters[i], Attr::Integer(AttrKind::kParameterNumber, number));
      module.set_name(parameters[i],
                      module.UniqueInstructionName("param_" + std::to_string(number)));
      rewriter.NoteChanged(parameters[i]);
    }
    kept.push_back(parameters[i]);
    operands.push_back(module.operand(fusion, i));
  }
  module.computation(body).parameters = kept;
  module.SetOperands(fusion, operands);
  rewriter.NoteChanged(fusion);
  for (InstId operand : dropped) rewriter.RemoveIfUnused(operand);
}

}  // namespace

std::vector<InstId> RemoveUnusedFusionOutputs(Rewriter& rewriter, CompId computation) {
  Module& module = rewriter.module();
  std::vector<InstId> narrowed;
  std::vector<uint32_t> callers;
  const std::vector<InstId> instructions = module.computation(computation).instructions;
  for (InstId inst : instructions) {
    CompId body = NarrowableBody(module, inst);
    if (!body.valid()) continue;
    std::vector<uint8_t> read = ReadElements(module, inst);
    size_t count = static_cast<size_t>(std::count(read.begin(), read.end(), 1));
    if (count == 0 || count == read.size()) continue;
    if (callers.empty()) callers = CallerCounts(module);
    if (callers[body.value] != 1) continue;
    NarrowTo(rewriter, inst, body, read);
    narrowed.push_back(inst);
  }
  return narrowed;
}

void RemoveUnusedFusionOperands(Rewriter& rewriter, InstId fusion) {
  Module& module = rewriter.module();
  CompId body = module.to_apply(fusion);
  std::span<const InstId> parameters = module.computation(body).parameters;
  if (parameters.size() != module.operand_count(fusion)) return;
  std::vector<uint8_t> keep;
  for (InstId parameter : parameters) {
    keep.push_back(!module.users(parameter).empty() || module.IsRoot(parameter));
  }
  if (std::count(keep.begin(), keep.end(), 0) != 0) KeepOperands(rewriter, fusion, keep);
}

void MergeEqualFusionOperands(Rewriter& rewriter, InstId fusion) {
  Module& module = rewriter.module();
  if (module.called_computations(fusion).size() != 1 ||
      module.HasAttr(fusion, AttrKind::kOutputToOperandAliasing)) {
    return;
  }
  std::unordered_map<uint32_t, uint32_t> first;  // operand -> its first position
  std::vector<uint32_t> same_as(module.operand_count(fusion));
  bool any = false;
  for (uint32_t i = 0; i < same_as.size(); ++i) {
    same_as[i] = first.try_emplace(module.operand(fusion, i).value, i).first->second;
    any |= same_as[i] != i;
  }
  CompId body = module.to_apply(fusion);
  if (!any || module.computation(body).parameters.size() != same_as.size() ||
      CallerCounts(module)[body.value] != 1) {
    return;
  }
  const std::vector<InstId> parameters = module.computation(body).parameters;
  std::vector<uint8_t> keep(same_as.size(), 1);
  for (uint32_t i = 0; i < same_as.size(); ++i) {
    if (same_as[i] == i) continue;
    keep[i] = 0;
    rewriter.ReplaceUses(parameters[i], parameters[same_as[i]]);
  }
  KeepOperands(rewriter, fusion, keep);
}

}  // namespace hlokit
