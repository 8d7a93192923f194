// How do constraints become layouts? (sections 10.1, 10.3 and 10.5)
#include <algorithm>

#include "fmt/format.h"
#include "src/layout/engine.h"

namespace hlokit::layout {

bool Engine::AssignComputation(CompId computation) {
  current_ = computation;
  for (InstId inst : StoredPostOrder(computation)) HLOKIT_LAYOUT_CHECK(AssignInstruction(inst));
  return AssignRoot(computation);
}

bool Engine::AssignInstruction(InstId inst) {
  ShapeId shape = module_.shape(inst);
  const InstInfo& own = info(inst);
  if (own.IsArray()) {
    LayoutId layout = InferLayout(inst, 0);
    if (!layout.valid()) return false;
    module_.set_shape(inst, shapes_.WithLayout(shape, layout));
  } else if (own.Has(kIsTuple)) {
    subshapes_.clear();
    shapes_.AppendSubshapes(shape, &subshapes_);
    std::vector<LayoutId> layouts(subshapes_.size());
    for (uint32_t i = 0; i < layouts.size(); ++i) {
      if (!shapes_.IsArray(subshapes_[i])) continue;
      layouts[i] = InferLayout(inst, i);
      if (!layouts[i].valid()) return false;
    }
    module_.set_shape(inst, shapes_.WithLeafLayouts(shape, layouts));
  }
  uint32_t count = OperandCount(inst);
  wide_uses_.clear();
  for (uint32_t k = 0; k < count; ++k) {
    const OperandConstraint& c = operand_constraints_[own.first_operand + k];
    if ((c.flags & kExists) == 0) continue;
    if ((c.flags & kIsShape) == 0) {
      LayoutId present = shapes_.layout(module_.shape(module_.operand(inst, k)));
      if (present.valid() && shapes_.SameOrder(present, LayoutId(c.payload))) continue;
    }
    HLOKIT_LAYOUT_CHECK(CopyOperandIfNeeded(inst, k));
  }
  if (own.opcode == Opcode::kFusion) HLOKIT_LAYOUT_CHECK(AssignFusionBody(inst));
  if (options_.rules == nullptr) return true;
  if (Status status = rules_.Verify(module_, inst); !status) return Fail(std::move(status).error());
  return true;
}

bool Engine::CopyOperandIfNeeded(InstId inst, uint32_t operand) {
  ShapeId wanted = OperandConstraintShape(info(inst).first_operand + operand, inst);
  InstId value = module_.operand(inst, operand);
  ShapeId present = module_.shape(value);
  if (!shapes_[wanted].fully_set || !shapes_[present].fully_set) {
    return Fail(DiagId::kLayoutMissing,
                fmt::format("operand {} of {} is {} and must be {}: a layout is missing", operand,
                            Quote(inst), shapes_.Text(present), shapes_.Text(wanted)),
                "", ExitCode::kVerifyFailed);
  }
  if (shapes_.SameShapeAndOrder(wanted, present, /*strict=*/true)) return true;
  if (!options_.reverse_order && info(inst).opcode == Opcode::kConditional && operand > 0 &&
      module_.users(value).size() == 1) {
    return CopyIntoBranch(inst, operand, wanted);
  }
  StartCopy(CopyReason::kOperand, value, inst, operand, present, wanted);
  copy_winning_ = {OperandEvent(info(inst).first_operand + operand), 0};
  copy_definer_ = operands_[info(inst).first_operand + operand];
  InstId copy = CopyWithLayout(value, wanted);
  if (!copy.valid()) return false;
  ReplaceOperand(inst, operand, copy);
  FinishCopy(copy);
  return true;
}

/// An instruction with many operands must not look through all of them for each copy.
void Engine::ReplaceOperand(InstId inst, uint32_t operand, InstId copy) {
  if (!info(inst).Has(kWide)) return module_.SetOperand(inst, operand, copy);
  if (wide_uses_.empty()) {
    for (InstId used : module_.operands(inst)) ++wide_uses_[used.value];
  }
  uint32_t left = --wide_uses_[module_.operand(inst, operand).value];
  module_.SetOperandToNew(inst, operand, copy, left != 0);
}

/// The branch takes the operand as it is, and copies it inside, where it may not be needed at once.
bool Engine::CopyIntoBranch(InstId conditional, uint32_t operand, ShapeId wanted) {
  InstId value = module_.operand(conditional, operand);
  CompId branch = module_.called_computations(conditional)[operand - 1];
  InstId parameter = module_.computation(branch).parameters[0];
  ShapeId present = module_.shape(value);
  module_.set_shape(parameter, present);
  std::span<const InstId> current = module_.users(parameter);
  std::vector<InstId> users(current.begin(), current.end());
  StartCopy(CopyReason::kBranch, parameter, conditional, operand, present, wanted);
  copy_winning_ = {OperandEvent(info(conditional).first_operand + operand), 0};
  copy_definer_ = operands_[info(conditional).first_operand + operand];
  InstId copy = CopyWithLayout(parameter, wanted);
  if (!copy.valid()) return false;
  for (InstId user : users) {
    for (uint32_t k = 0; k < module_.operand_count(user); ++k) {
      if (module_.operand(user, k) == parameter) module_.SetOperand(user, k, copy);
    }
  }
  if (module_.computation(branch).root == parameter) module_.computation(branch).root = copy;
  FinishCopy(copy);
  // The computation layout of the branch is what its instructions have now.
  ComputationState& state = computations_[branch.value];
  state.layout.parameters = {present};
  state.layout.result = module_.shape(module_.computation(branch).root);
  state.priority = cur_ + 1;
  return true;
}

bool Engine::AssignRoot(CompId computation) {
  const ComputationState& state = computations_[computation.value];
  if (!ResultAvailable(computation) || !shapes_[state.layout.result].fully_set) return true;
  ShapeId result = shapes_.WithoutMemorySpaces(state.layout.result);
  InstId root = module_.computation(computation).root;
  ShapeId present = module_.shape(root);
  if (!shapes_.SameShapeAndOrder(result, present, /*strict=*/false)) {
    StartCopy(CopyReason::kRoot, root, root, 0, present, result);
    copy_winning_ = {state.result_event, 0};
    copy_definer_ = root;
    InstId copy = CopyWithLayout(root, result);
    if (!copy.valid()) return false;
    module_.computation(computation).root = copy;
    FinishCopy(copy);
    return true;
  }
  // Equal orders: the root takes over what else the result layout says.
  if (present == result) return true;
  std::vector<ShapeId> have = shapes_.Subshapes(present);
  std::vector<ShapeId> want = shapes_.Subshapes(result);
  std::vector<LayoutId> layouts(have.size());
  for (size_t i = 0; i < have.size(); ++i) {
    layouts[i] = shapes_.layout(have[i]);
    if (!shapes_.IsArray(have[i]) || layouts[i] == shapes_.layout(want[i])) continue;
    LayoutExtras extras = shapes_.extras(layouts[i]);
    const LayoutExtras wanted = shapes_.extras(shapes_.layout(want[i]));
    if (!wanted.tiles.empty()) extras.tiles = wanted.tiles;
    extras.element_size_in_bits = wanted.element_size_in_bits;
    extras.tail_padding_alignment = wanted.tail_padding_alignment;
    layouts[i] = shapes_.WithExtras(layouts[i], extras);
  }
  module_.set_shape(root, shapes_.WithLeafLayouts(present, layouts));
  return true;
}

}  // namespace hlokit::layout
