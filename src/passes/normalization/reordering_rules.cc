// What happens to operations whose dimensions are renumbered one by one?
#include <algorithm>

#include "fmt/format.h"
#include "src/passes/normalization/normalizer.h"

namespace hlokit {
namespace {

/// Do tiles and packing put the elements of two arrays of one order in the same places?
bool SamePlaces(const ShapePool& shapes, ShapeId a, ShapeId b) {
  const LayoutExtras& x = shapes.extras(shapes.layout(a));
  const LayoutExtras& y = shapes.extras(shapes.layout(b));
  return x.tiles == y.tiles && x.element_size_in_bits == y.element_size_in_bits &&
         x.tail_padding_alignment == y.tail_padding_alignment;
}

}  // namespace

Status Normalizer::Elementwise(InstId inst) {
  std::vector<InstId> operands;
  for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
    TRY(RequireSameLayout(inst, i));
    ASSIGN_OR_RETURN(InstId input, Input(inst, i));
    operands.push_back(input);
  }
  return Rewrite(inst, module_.opcode(inst), operands, Attributes(inst, Keep::kMeaning));
}

ShapeId Normalizer::ShapeAfter(InstId input, InstId inst) {
  ElementType type = shapes_.type(module_.shape(inst));
  ShapeId shape = shapes_.WithType(module_.shape(input), type);
  if (type != shapes_.type(module_.shape(input))) {
    LayoutExtras extras = shapes_.extras(shapes_.layout(shape));
    extras.element_size_in_bits = Info(type).bits < 8 ? Info(type).bits : 0;
    shape = shapes_.WithLayout(shape, shapes_.WithExtras(shapes_.layout(shape), extras));
  }
  if (SamePlaces(shapes_, shape, N(inst))) return shape;
  // The bitcast back would read elements where they are not.
  if (!options_.reference_quirks) return N(inst);
  options_.context->Warn(
      DiagId::kReferenceQuirk,
      fmt::format("{} {} gets other tiles or packing than its users read, as XLA writes it",
                  Info(module_.opcode(inst)).text, module_.name(inst)),
      "layout-normalization{reference-quirks=false} keeps it right");
  return shape;
}

Status Normalizer::Unary(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  ReplaceBy(inst, Make(inst, module_.opcode(inst), ShapeAfter(input, inst), {&input, 1},
                       Attributes(inst, Keep::kMeaning)));
  return {};
}

Status Normalizer::Ternary(InstId inst) {
  std::vector<InstId> operands;
  for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
    // Scalars may stand beside arrays; they have no order.
    if (shapes_.rank(module_.shape(module_.operand(inst, i))) != 0) TRY(RequireSameLayout(inst, i));
    ASSIGN_OR_RETURN(InstId input, Input(inst, i));
    operands.push_back(input);
  }
  return Rewrite(inst, module_.opcode(inst), operands, Attributes(inst, Keep::kAll));
}

Status Normalizer::Slice(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<int64_t> ranges = PermuteGroups(module_.IntsAttr(inst, AttrKind::kSlice), 3, P(inst));
  // The new shape follows from the operand and is static.
  ShapeId normal = N(inst), from = module_.shape(input);
  ShapeId shape = shapes_.Array(shapes_.type(from), shapes_.sizes(normal), shapes_.layout(from));
  Attr attr = module_.IntsAttribute(AttrKind::kSlice, ranges);
  ReplaceBy(inst,
            Make(inst, Opcode::kSlice, shape, {&input, 1}, Attributes(inst, Keep::kMeaning, attr)));
  return {};
}

Status Normalizer::DynamicSlice(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  Permutation order = P(inst);
  if (module_.operand_count(inst) != 1 + order.size())
    return Default(inst);  // one vector of starts
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<InstId> operands = {input};
  for (int64_t d : order) operands.push_back(module_.operand(inst, 1 + static_cast<uint32_t>(d)));
  std::vector<int64_t> sizes =
      PermuteGroups(module_.IntsAttr(inst, AttrKind::kDynamicSliceSizes), 1, order);
  return Rewrite(
      inst, Opcode::kDynamicSlice, operands,
      Attributes(inst, Keep::kMeaning, module_.IntsAttribute(AttrKind::kDynamicSliceSizes, sizes)));
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
  return Rewrite(inst, Opcode::kDynamicUpdateSlice, operands, Attributes(inst, Keep::kMeaning));
}

Status Normalizer::Pad(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  ASSIGN_OR_RETURN(InstId value, Input(inst, 1));
  std::vector<int64_t> padding =
      PermuteGroups(module_.IntsAttr(inst, AttrKind::kPadding), 3, P(inst));
  InstId operands[] = {input, value};
  return Rewrite(inst, Opcode::kPad, operands,
                 Attributes(inst, Keep::kAll, module_.IntsAttribute(AttrKind::kPadding, padding)));
}

Status Normalizer::Reverse(InstId inst) {
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<int64_t> dimensions = Compose(Q(inst), module_.dimensions(inst));
  std::sort(dimensions.begin(), dimensions.end());
  return RewriteUnary(inst, Opcode::kReverse, input, Dimensions(inst, Keep::kAll, dimensions));
}

Status Normalizer::Concatenate(InstId inst) {
  std::vector<InstId> operands;
  for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
    TRY(RequireSameLayout(inst, i));
    ASSIGN_OR_RETURN(InstId input, Input(inst, i));
    operands.push_back(input);
  }
  return Rewrite(inst, Opcode::kConcatenate, operands,
                 Dimensions(inst, Keep::kAll, Compose(Q(inst), module_.dimensions(inst))));
}

Status Normalizer::ReduceWindow(InstId inst) {
  if (!shapes_.IsArray(module_.shape(inst))) return {};
  TRY(RequireSameLayout(inst, 0));
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  std::vector<int64_t> window =
      PermuteGroups(module_.IntsAttr(inst, AttrKind::kWindow), kWindowFields, P(inst));
  InstId operands[] = {input, module_.operand(inst, 1)};
  return Rewrite(inst, Opcode::kReduceWindow, operands,
                 Attributes(inst, Keep::kAll, module_.IntsAttribute(AttrKind::kWindow, window)));
}

Status Normalizer::Iota(InstId inst) {
  int64_t dimension = Q(inst)[static_cast<size_t>(module_.IntAttr(inst, AttrKind::kIotaDimension))];
  return Rewrite(inst, Opcode::kIota, {},
                 Attributes(inst, Keep::kAll, Attr::Integer(AttrKind::kIotaDimension, dimension)));
}

Status Normalizer::Broadcast(InstId inst) {
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  Permutation from = Compose(module_.dimensions(inst), P(module_.operand(inst, 0)));
  return RewriteUnary(inst, Opcode::kBroadcast, input,
                      Dimensions(inst, Keep::kMeaning, Compose(Q(inst), from)));
}

Status Normalizer::Transpose(InstId inst) {
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  Permutation dimensions =
      Compose(Q(module_.operand(inst, 0)), Compose(module_.dimensions(inst), P(inst)));
  if (IsIdentity(dimensions) && SamePlaces(shapes_, N(inst), module_.shape(input))) {
    ReplaceBy(inst, input);
    return {};
  }
  return RewriteUnary(inst, Opcode::kTranspose, input,
                      Dimensions(inst, Keep::kMeaning, dimensions));
}

Status Normalizer::Copy(InstId inst) {
  if (!shapes_.IsArray(module_.shape(inst))) return {};
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  Permutation dimensions = Compose(Q(module_.operand(inst, 0)), P(inst));
  std::vector<Attr> attrs = {module_.IntsAttribute(AttrKind::kDimensions, dimensions)};
  if (const Attr* frontend = module_.FindAttr(inst, AttrKind::kFrontendAttributes)) {
    attrs.push_back(*frontend);
  }
  return RewriteUnary(inst, Opcode::kTranspose, input, attrs);
}

}  // namespace hlokit
