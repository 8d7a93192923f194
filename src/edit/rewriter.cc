// Which rules hold whenever a pass replaces or removes an instruction?
#include "hlokit/rewriter.h"

#include <algorithm>

#include "src/edit/fusion_outputs.h"

namespace hlokit {

Rewriter::Rewriter(Module& module, EditLog::Group* group) : module_(module), group_(group) {
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      for (InstId before : module.control_predecessors(inst)) {
        successors_[before.value].push_back(inst);
      }
    }
  }
}

void Rewriter::Log(Edit::Kind kind, InstId inst, InstId by) {
  changed_ = true;
  if (group_ != nullptr) group_->edits.push_back({kind, inst, by});
}

// ---- adding ----

InstId Rewriter::Add(CompId computation, Opcode opcode, ShapeId shape,
                     std::span<const InstId> operands, std::span<const Attr> attributes,
                     std::string_view name) {
  if (name.empty()) name = OpcodeText(opcode);
  InstId inst = module_.AddInstruction(computation, opcode, shape, operands,
                                       module_.UniqueInstructionName(std::string(name)));
  if (!attributes.empty()) module_.SetAttributes(inst, attributes);
  Log(Edit::Kind::kAdded, inst);
  return inst;
}

InstId Rewriter::AddUnary(Opcode opcode, ShapeId shape, InstId operand,
                          std::span<const Attr> attributes) {
  return Add(module_.computation_of(operand), opcode, shape, {&operand, 1}, attributes);
}

InstId Rewriter::AddElement(InstId tuple, uint32_t index, ShapeId shape) {
  Attr attr = Attr::Integer(AttrKind::kIndex, index);
  return AddUnary(Opcode::kGetTupleElement, shape, tuple, {&attr, 1});
}

void Rewriter::CopyMetadata(InstId from, InstId to) {
  if (const Attr* metadata = module_.FindAttr(from, AttrKind::kMetadata)) {
    module_.SetAttr(to, Attr(*metadata));
  }
}

// ---- replacing ----

void Rewriter::Inherit(InstId old, InstId replacement) {
  for (AttrKind kind : {AttrKind::kMetadata, AttrKind::kSharding, AttrKind::kFrontendAttributes,
                        AttrKind::kOrigin}) {
    const Attr* attr = module_.FindAttr(old, kind);
    if (attr != nullptr && !module_.HasAttr(replacement, kind)) {
      module_.SetAttr(replacement, Attr(*attr));
    }
  }
  if (module_.opcode(old) == module_.opcode(replacement) &&
      module_.opcode(old) != Opcode::kUnknown) {
    module_.set_name(replacement, module_.name_ref(old));
  }
}

bool Rewriter::Replace(InstId old, InstId replacement, ControlEdges edges) {
  const Attr* before = module_.FindAttr(old, AttrKind::kSharding);
  const Attr* after = module_.FindAttr(replacement, AttrKind::kSharding);
  if (before != nullptr && after != nullptr &&
      module_.str(before->text()) != module_.str(after->text())) {
    return false;
  }
  bool has_edges = HasControlEdges(old);
  if (has_edges && edges == ControlEdges::kRefuse) return false;
  if (has_edges) MoveControlEdges(old, replacement);
  Inherit(old, replacement);
  ReplaceUses(old, replacement);
  RemoveWithUnusedOperands(old, edges == ControlEdges::kMove);
  return true;
}

void Rewriter::ReplaceUses(InstId old, InstId replacement) {
  std::span<const InstId> all = module_.users(old);
  std::vector<InstId> users(all.begin(), all.end());
  std::erase(users, replacement);
  ReplaceUsesBy(users, old, replacement);
  ComputationData& owner = module_.computation(module_.computation_of(old));
  if (owner.root == old) owner.root = replacement;
}

void Rewriter::ReplaceUsesBy(std::span<const InstId> users, InstId old, InstId replacement) {
  for (InstId user : users) {
    module_.ReplaceOperand(user, old, replacement);
    if (module_.opcode(user) == Opcode::kFusion) MergeEqualFusionOperands(*this, user);
  }
  Log(Edit::Kind::kReplaced, old, replacement);
}

void Rewriter::SetOperand(InstId inst, uint32_t index, InstId operand) {
  module_.SetOperand(inst, index, operand);
  Log(Edit::Kind::kChanged, inst);
}

void Rewriter::SetShape(InstId inst, ShapeId shape) {
  if (module_.shape(inst) == shape) return;
  module_.set_shape(inst, shape);
  Log(Edit::Kind::kRelaid, inst);
}

// ---- removing ----

bool Rewriter::IsUnused(InstId inst) const { return IsUnused(inst, false); }

bool Rewriter::IsUnused(InstId inst, bool ignore_control_edges) const {
  return !module_.IsDead(inst) && module_.users(inst).empty() && !module_.IsRoot(inst) &&
         module_.opcode(inst) != Opcode::kParameter &&
         (ignore_control_edges || !HasControlEdges(inst));
}

void Rewriter::Remove(InstId inst) {
  DropControlEdges(inst);
  module_.MarkDead(inst);
  any_dead_ = true;
  Log(Edit::Kind::kRemoved, inst);
}

void Rewriter::RemoveWithUnusedOperands(InstId inst, bool ignore_control_edges) {
  if (effects_.empty()) effects_ = ComputationsWithEffects(module_);
  effects_.resize(module_.computation_count(), 0);
  std::vector<InstId> work = {inst};
  while (!work.empty()) {
    InstId at = work.back();
    work.pop_back();
    if (module_.IsDead(at)) continue;
    std::span<const InstId> all = module_.operands(at);
    std::vector<InstId> operands(all.begin(), all.end());
    Remove(at);
    for (InstId operand : operands) {
      if (IsUnused(operand, ignore_control_edges) && !HasEffect(module_, operand, effects_))
        work.push_back(operand);
    }
  }
}

void Rewriter::RemoveIfUnused(InstId inst) {
  if (effects_.empty()) effects_ = ComputationsWithEffects(module_);
  effects_.resize(module_.computation_count(), 0);
  if (IsUnused(inst) && !HasEffect(module_, inst, effects_)) RemoveWithUnusedOperands(inst);
}

void Rewriter::RemoveComputation(CompId computation) {
  const std::vector<InstId> instructions = module_.computation(computation).instructions;
  for (InstId inst : instructions) Remove(inst);
  module_.computation(computation).dead = true;
  any_dead_ = true;
  changed_ = true;
}

void Rewriter::Finish() {
  if (any_dead_) module_.RemoveDead();
  any_dead_ = false;
}

// ---- control edges ----

std::span<const InstId> Rewriter::control_successors(InstId inst) const {
  auto found = successors_.find(inst.value);
  if (found == successors_.end()) return {};
  return found->second;
}

bool Rewriter::HasControlEdges(InstId inst) const {
  return !control_successors(inst).empty() || !module_.control_predecessors(inst).empty();
}

void Rewriter::SetPredecessors(InstId inst, std::span<const InstId> predecessors) {
  if (predecessors.empty()) {
    module_.RemoveAttr(inst, AttrKind::kControlPredecessors);
    return;
  }
  std::vector<uint32_t> values;
  for (InstId id : predecessors) values.push_back(id.value);
  module_.SetAttr(inst, module_.RefsAttribute(AttrKind::kControlPredecessors, values));
}

void Rewriter::DropControlEdges(InstId inst) {
  for (InstId before : module_.control_predecessors(inst)) {
    std::erase(successors_[before.value], inst);
  }
  if (module_.HasAttr(inst, AttrKind::kControlPredecessors)) {
    module_.RemoveAttr(inst, AttrKind::kControlPredecessors);
  }
  auto found = successors_.find(inst.value);
  if (found == successors_.end()) return;
  std::vector<InstId> after = std::move(found->second);
  successors_.erase(inst.value);
  for (InstId successor : after) {
    std::span<const InstId> all = module_.control_predecessors(successor);
    std::vector<InstId> rest(all.begin(), all.end());
    std::erase(rest, inst);
    SetPredecessors(successor, rest);
  }
}

void Rewriter::MoveControlEdges(InstId from, InstId to) {
  std::span<const InstId> all = module_.control_predecessors(from);
  std::vector<InstId> before(all.begin(), all.end());
  std::span<const InstId> next = control_successors(from);
  std::vector<InstId> after(next.begin(), next.end());
  DropControlEdges(from);
  for (InstId predecessor : before) AddControlEdge(predecessor, to);
  for (InstId successor : after) AddControlEdge(to, successor);
}

void Rewriter::AddControlEdge(InstId predecessor, InstId successor) {
  if (predecessor == successor) return;
  std::span<const InstId> present = module_.control_predecessors(successor);
  if (std::find(present.begin(), present.end(), predecessor) != present.end()) return;
  std::vector<InstId> list(present.begin(), present.end());
  list.push_back(predecessor);
  SetPredecessors(successor, list);
  successors_[predecessor.value].push_back(successor);
}

// ---- effects ----

namespace {

/// Is one operand of this after-all the token of a recv-done?
bool CollectsEffect(const Module& module, InstId after_all) {
  for (InstId token : module.operands(after_all)) {
    while (module.opcode(token) == Opcode::kGetTupleElement) token = module.operand(token, 0);
    if (module.opcode(token) == Opcode::kRecvDone) return true;
  }
  return false;
}

}  // namespace

bool HasOwnEffect(const Module& module, InstId inst) {
  switch (module.opcode(inst)) {
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kAllGatherStart:
    case Opcode::kAllGatherDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kUnknown:
      return true;
    case Opcode::kAllReduce:
    case Opcode::kAllToAll:
    case Opcode::kReduceScatter:
    case Opcode::kAllGather:
      return module.IntAttr(inst, AttrKind::kConstrainLayout) != 0;
    case Opcode::kCustomCall:
      return module.IntAttr(inst, AttrKind::kCustomCallHasSideEffect) != 0;
    default:
      return false;
  }
}

bool HasEffect(const Module& module, InstId inst, std::span<const uint8_t> effects) {
  if (HasOwnEffect(module, inst)) return true;
  if (module.opcode(inst) == Opcode::kAfterAll) return CollectsEffect(module, inst);
  while (module.opcode(inst) == Opcode::kAsyncDone || module.opcode(inst) == Opcode::kAsyncUpdate) {
    if (module.operand_count(inst) == 0) return true;
    inst = module.operand(inst, 0);
  }
  for (CompId callee : module.called_computations(inst)) {
    if (effects[callee.value]) return true;
  }
  return false;
}

std::vector<uint8_t> ComputationsWithEffects(const Module& module) {
  std::vector<uint8_t> effects(module.computation_count(), 0);
  std::vector<std::vector<CompId>> callers(module.computation_count());
  std::vector<CompId> work;
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      for (CompId callee : module.called_computations(inst))
        callers[callee.value].push_back(computation);
      if (!effects[computation.value] && HasOwnEffect(module, inst)) {
        effects[computation.value] = 1;
        work.push_back(computation);
      }
    }
  }
  while (!work.empty()) {
    CompId at = work.back();
    work.pop_back();
    for (CompId caller : callers[at.value]) {
      if (effects[caller.value]) continue;
      effects[caller.value] = 1;
      work.push_back(caller);
    }
  }
  return effects;
}

}  // namespace hlokit
