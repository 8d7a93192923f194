// What happens to operations whose dimensions are renumbered one by one?
#include <algorithm>

#include "fmt/format.h"
#include "src/passes/normalization/normalizer.h"

namespace hlokit {

Status Normalizer::Elementwise(InstId inst) {
  // Scalars may stand beside arrays (select, clamp); they have no order.
  std::vector<InstId> operands;
  for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
    if (shapes_.rank(module_.shape(module_.operand(inst, i))) != 0) TRY(RequireSameLayout(inst, i));
    ASSIGN_OR_RETURN(InstId input, Input(inst, i));
    operands.push_back(input);
  }
  return Rewrite(inst, module_.opcode(inst), operands, OwnAttributes(inst));
}

Status Normalizer::Slice(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<int64_t> ranges =
      PermuteGroups(module_.IntsAttr(inst, AttrKind::kSlice), 3, P(inst));
  return RewriteUnary(inst, Opcode::kSlice, input,
                      OwnAttributes(inst, module_.IntsAttribute(AttrKind::kSlice, ranges)));
}

Status Normalizer::DynamicSlice(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  Permutation order = P(inst);
  if (module_.operand_count(inst) != 1 + order.size()) return Default(inst);  // one vector of starts
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<InstId> operands = {input};
  for (int64_t d : order) operands.push_back(module_.operand(inst, 1 + static_cast<uint32_t>(d)));
  std::vector<int64_t> sizes =
      PermuteGroups(module_.IntsAttr(inst, AttrKind::kDynamicSliceSizes), 1, order);
  return Rewrite(
      inst, Opcode::kDynamicSlice, operands,
      OwnAttributes(inst, module_.IntsAttribute(AttrKind::kDynamicSliceSizes, sizes)));
}

Status Normalizer::DynamicUpdateSlice(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  TRY(RequireSameLayout(inst, 1));
  Permutation order = P(inst);
  if (module_.operand_count(inst) != 2 + order.size()) return Default(inst);
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  ASSIGN_OR_RETURN(InstId update, Input(inst, 1));
  std::vector<InstId> operands = {input, update};
  for (int64_t d : order) operands.push_back(module_.operand(inst, 2 + static_cast<uint32_t>(d)));
  return Rewrite(inst, Opcode::kDynamicUpdateSlice, operands, OwnAttributes(inst));
}

Status Normalizer::Pad(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  ASSIGN_OR_RETURN(InstId value, Input(inst, 1));
  std::vector<int64_t> padding =
      PermuteGroups(module_.IntsAttr(inst, AttrKind::kPadding), 3, P(inst));
  InstId operands[] = {input, value};
  return Rewrite(inst, Opcode::kPad, operands,
                 OwnAttributes(inst, module_.IntsAttribute(AttrKind::kPadding, padding)));
}

Status Normalizer::Reverse(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<int64_t> dimensions = Compose(Q(inst), module_.dimensions(inst));
  std::sort(dimensions.begin(), dimensions.end());
  return RewriteUnary(inst, Opcode::kReverse, input, Dimensions(inst, dimensions));
}

Status Normalizer::Concatenate(InstId inst) {
  std::vector<InstId> operands;
  for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
    TRY(RequireSameLayout(inst, i));
    ASSIGN_OR_RETURN(InstId input, Input(inst, i));
    operands.push_back(input);
  }
  return Rewrite(inst, Opcode::kConcatenate, operands,
                 Dimensions(inst, Compose(Q(inst), module_.dimensions(inst))));
}

Status Normalizer::ReduceWindow(InstId inst) {
  if (!shapes_.IsArray(module_.shape(inst))) return {};
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<int64_t> window =
      PermuteGroups(module_.IntsAttr(inst, AttrKind::kWindow), kWindowFields, P(inst));
  InstId operands[] = {input, module_.operand(inst, 1)};
  return Rewrite(inst, Opcode::kReduceWindow, operands,
                 OwnAttributes(inst, module_.IntsAttribute(AttrKind::kWindow, window)));
}

Status Normalizer::Iota(InstId inst) {
  int64_t dimension = Q(inst)[static_cast<size_t>(module_.IntAttr(inst, AttrKind::kIotaDimension))];
  return Rewrite(inst, Opcode::kIota, {},
                 OwnAttributes(inst, Attr::Integer(AttrKind::kIotaDimension, dimension)));
}

Status Normalizer::Broadcast(InstId inst) {
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  Permutation from = Compose(module_.dimensions(inst), P(module_.operand(inst, 0)));
  return RewriteUnary(inst, Opcode::kBroadcast, input, Dimensions(inst, Compose(Q(inst), from)));
}

Status Normalizer::Transpose(InstId inst) {
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  Permutation dimensions = Compose(Q(module_.operand(inst, 0)),
                                   Compose(module_.dimensions(inst), P(inst)));
  if (IsIdentity(dimensions)) {
    rewriter_.Replace(inst, AddBitcast(input, module_.shape(inst), inst));
    return {};
  }
  return RewriteUnary(inst, Opcode::kTranspose, input, Dimensions(inst, dimensions));
}

Status Normalizer::Copy(InstId inst) {
  if (!shapes_.IsArray(module_.shape(inst))) return {};
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  Permutation dimensions = Compose(Q(module_.operand(inst, 0)), P(inst));
  Attr attr = module_.IntsAttribute(AttrKind::kDimensions, dimensions);
  return RewriteUnary(inst, Opcode::kTranspose, input, {&attr, 1});
}

}  // namespace hlokit
