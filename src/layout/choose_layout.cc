// Which layout of an operand suits a layout of the output, and the other way round? (sections 6 to
// 8) These are the base rules: what a backend gets when it overrides nothing.
#include <algorithm>

#include "hlokit/layout_rules.h"
#include "src/layout/small_list.h"

namespace hlokit {
namespace {

using layout::SmallList;

/// Section 6.5: the reduced dimensions are the most minor ones of the operand.
LayoutId ReduceOperandLayout(const Module& module, LayoutId output_layout, InstId reduce) {
  ShapePool& shapes = module.mutable_shapes();
  uint32_t rank = shapes.rank(module.shape(module.operand(reduce, 0)));
  std::span<const int64_t> reduced = module.dimensions(reduce);
  std::vector<bool> is_reduced(rank);
  std::vector<int64_t> order;
  for (size_t i = reduced.size(); i-- > 0;) {
    if (reduced[i] < 0 || reduced[i] >= rank) return {};
    is_reduced[static_cast<size_t>(reduced[i])] = true;
    order.push_back(reduced[i]);
  }
  std::vector<int64_t> kept;
  for (uint32_t d = 0; d < rank; ++d) {
    if (!is_reduced[d]) kept.push_back(d);
  }
  for (int64_t d : shapes.minor_to_major(output_layout)) {
    if (d < 0 || d >= static_cast<int64_t>(kept.size())) return {};
    order.push_back(kept[static_cast<size_t>(d)]);
  }
  return shapes.Layout(order);
}

/// Section 6.1.
LayoutId TransposeLayout(const Module& module, LayoutId known, InstId transpose, bool to_operand) {
  ShapePool& shapes = module.mutable_shapes();
  std::span<const int64_t> permutation = module.dimensions(transpose);
  std::span<const int64_t> from = shapes.minor_to_major(known);
  size_t rank = from.size();
  if (permutation.size() != rank) return {};
  SmallList<int64_t> map(rank, 0);  // dimension of the known side -> dimension of the other side
  for (size_t j = 0; j < rank; ++j) {
    if (permutation[j] < 0 || permutation[j] >= static_cast<int64_t>(rank)) return {};
    if (to_operand) {
      map[j] = permutation[j];
    } else {
      map[static_cast<size_t>(permutation[j])] = static_cast<int64_t>(j);
    }
  }
  SmallList<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order.push_back(map[static_cast<size_t>(from[i])]);
  return shapes.Layout(order);
}

/// Section 6.2.
LayoutId ReshapeLayout(const Module& module, LayoutId known, ShapeId source, ShapeId target) {
  ShapePool& shapes = module.mutable_shapes();
  auto one_real_dimension = [&](ShapeId shape) {
    int count = 0;
    for (int64_t size : shapes.sizes(shape)) count += size != 1;
    return count == 1;
  };
  if (one_real_dimension(source) && one_real_dimension(target)) return {};
  std::vector<int64_t> aligned;
  if (!AlignLayout(shapes.sizes(source), shapes.minor_to_major(known), shapes.sizes(target),
                   &aligned)) {
    return {};
  }
  return shapes.Layout(aligned);
}

}  // namespace

std::shared_ptr<const LayoutRuleBook> LayoutRules::rule_book() const { return nullptr; }
Status LayoutRules::AddBackendConstraints(LayoutServices&, CompId) const { return {}; }
Result<bool> LayoutRules::PropagateBuffer(LayoutServices&, const BufferConstraintView&) const {
  return false;
}
Result<bool> LayoutRules::PropagateOperand(LayoutServices&, const OperandConstraintView&) const {
  return false;
}
Result<bool> LayoutRules::PropagateResult(LayoutServices&, CompId) const { return false; }

LayoutId LayoutRules::UnconstrainedLayout(const Module& module, InstId definer,
                                          uint32_t index) const {
  ShapePool& shapes = module.mutable_shapes();
  ShapeId shape = shapes.Subshape(module.shape(definer), index);
  return shapes.DescendingLayout(shapes.rank(shape));
}

LayoutId LayoutRules::ChooseOperandLayout(const Module& module, LayoutId output_layout,
                                          InstId instruction, uint32_t operand) const {
  const ShapePool& shapes = module.shapes();
  ShapeId output = module.shape(instruction);
  ShapeId input = module.shape(module.operand(instruction, operand));
  switch (module.opcode(instruction)) {
    case Opcode::kTranspose:
      return TransposeLayout(module, output_layout, instruction, /*to_operand=*/true);
    case Opcode::kReshape:
      return ReshapeLayout(module, output_layout, output, input);
    case Opcode::kReduce:
      if (operand == 0 && shapes.IsArray(output) &&
          PropagateReductionToOperand(module, instruction)) {
        return ReduceOperandLayout(module, output_layout, instruction);
      }
      return {};
    default:
      if (shapes.rank(output) == shapes.rank(input) && shapes.rank(input) != 0 &&
          !MayChangeLayout(module, instruction)) {
        return output_layout;
      }
      return {};
  }
}

LayoutId LayoutRules::ChooseOutputLayout(const Module& module, LayoutId operand_layout, InstId user,
                                         uint32_t operand) const {
  ShapePool& shapes = module.mutable_shapes();
  ShapeId output = module.shape(user);
  ShapeId input = module.shape(module.operand(user, operand));
  switch (module.opcode(user)) {
    case Opcode::kReduce: {
      if (!shapes.IsTuple(output)) return {};
      std::span<const int64_t> reduced = module.dimensions(user);
      std::vector<int64_t> kept;
      for (int64_t d = 0; d < shapes.rank(input); ++d) {
        if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) kept.push_back(d);
      }
      return KeepDimensions(shapes, operand_layout, kept);
    }
    case Opcode::kTranspose:
      return TransposeLayout(module, operand_layout, user, /*to_operand=*/false);
    case Opcode::kReshape:
      return ReshapeLayout(module, operand_layout, input, output);
    default:
      if (shapes.IsArray(output) && shapes.rank(output) == shapes.rank(input) &&
          shapes.rank(input) != 0 && !MayChangeLayout(module, user)) {
        return operand_layout;
      }
      return {};
  }
}

uint16_t LayoutRules::RuleOfChoice(const Module&, const Choice&) const { return 0; }

bool LayoutRules::MayChangeLayout(const Module& module, InstId instruction) const {
  switch (Info(module.opcode(instruction)).layout_rule) {
    case LayoutRule::kKeeps:
      return false;
    case LayoutRule::kChanges:
      return true;
    case LayoutRule::kDepends:
      return !module.IsCustomCall(instruction, "LayoutConstraint");
  }
  return true;
}

bool LayoutRules::OperandAlwaysPropagatesForward(const Module& module, InstId user) const {
  Opcode opcode = module.opcode(user);
  return opcode == Opcode::kReduce || opcode == Opcode::kTranspose ||
         !MayChangeLayout(module, user);
}

bool LayoutRules::OperandAlwaysPropagatesToSiblings(const Module& module, InstId user) const {
  return module.opcode(user) == Opcode::kReduce || !MayChangeLayout(module, user);
}

bool LayoutRules::OutputAlwaysPropagatesToOperands(const Module& module, InstId user) const {
  return !MayChangeLayout(module, user);
}

bool LayoutRules::PropagateReductionToOperand(const Module&, InstId) const {
  return options_.row_reduction;
}
bool LayoutRules::NegotiateLayout(const Module&, InstId, LayoutId, LayoutId, InstId, InstId) const {
  return false;
}
bool LayoutRules::NegotiateOperandLayout(const Module&, InstId, uint32_t, ShapeId, ShapeId) const {
  return false;
}
Status LayoutRules::Verify(const Module&, InstId) const { return {}; }
ShapeId LayoutRules::ShardedShape(Module&, InstId, ShapeId shape, int64_t) const { return shape; }
ShapeId LayoutRules::UnShardedShape(Module&, InstId, ShapeId shape, int64_t) const { return shape; }

}  // namespace hlokit
