// Which rule applies to which opcode, and what do all rules share?
#include "src/passes/normalization/normalizer.h"

#include <algorithm>

#include "fmt/format.h"
#include "src/passes/shared/literals.h"

namespace hlokit {

Normalizer::Rule Normalizer::RuleFor(Opcode opcode) {
  switch (opcode) {
    case Opcode::kConstant:
      return &Normalizer::Constant;
    case Opcode::kSlice:
      return &Normalizer::Slice;
    case Opcode::kDynamicSlice:
      return &Normalizer::DynamicSlice;
    case Opcode::kDynamicUpdateSlice:
      return &Normalizer::DynamicUpdateSlice;
    case Opcode::kPad:
      return &Normalizer::Pad;
    case Opcode::kReverse:
      return &Normalizer::Reverse;
    case Opcode::kConcatenate:
      return &Normalizer::Concatenate;
    case Opcode::kReduceWindow:
      return &Normalizer::ReduceWindow;
    case Opcode::kIota:
      return &Normalizer::Iota;
    case Opcode::kBroadcast:
      return &Normalizer::Broadcast;
    case Opcode::kReshape:
      return &Normalizer::Reshape;
    case Opcode::kBitcastConvert:
      return &Normalizer::BitcastConvert;
    case Opcode::kTranspose:
      return &Normalizer::Transpose;
    case Opcode::kCopy:
      return &Normalizer::Copy;
    case Opcode::kScatter:
      return &Normalizer::Scatter;
    case Opcode::kConvolution:
      return &Normalizer::Convolution;
    default:
      break;
  }
  switch (Info(opcode).elements) {
    case Elements::kFunction:
    case Elements::kUnary:
    case Elements::kConversion:
      return &Normalizer::Unary;
    case Elements::kBinary:
    case Elements::kMixed:
      return &Normalizer::Elementwise;
    case Elements::kTernary:
      return &Normalizer::Ternary;
    case Elements::kNo:
      return &Normalizer::Default;
  }
  return &Normalizer::Default;
}

Status Normalizer::Visit(InstId inst) {
  bool all_normal = IsNormal(inst);
  for (InstId operand : module_.operands(inst)) all_normal = all_normal && IsNormal(operand);
  if (all_normal) return {};
  TRY(CheckAttributes(inst));
  return (this->*RuleFor(module_.opcode(inst)))(inst);
}

// ---- helpers ----

namespace {

bool InRange(std::span<const int64_t> dimensions, uint32_t rank) {
  return std::all_of(dimensions.begin(), dimensions.end(),
                     [rank](int64_t d) { return d >= 0 && d < static_cast<int64_t>(rank); });
}

bool IsPermutation(std::span<const int64_t> dimensions, uint32_t rank) {
  if (dimensions.size() != rank || !InRange(dimensions, rank)) return false;
  std::vector<bool> seen(rank);
  for (int64_t d : dimensions) seen[static_cast<size_t>(d)] = true;
  return std::count(seen.begin(), seen.end(), true) == static_cast<std::ptrdiff_t>(rank);
}

/// Dimension numbers of a scatter, each against the shape that it counts.
bool ScatterFits(const Module& module, InstId inst) {
  const ShapePool& shapes = module.shapes();
  uint32_t operands = module.operand_count(inst);
  if (operands < 3 || operands % 2 == 0) return false;
  uint32_t count = operands / 2;
  if (shapes.IsTuple(module.shape(inst)) && shapes.element_count(module.shape(inst)) != count) {
    return false;
  }
  for (InstId operand : module.operands(inst)) {
    if (!shapes.IsArray(module.shape(operand))) return false;
  }
  auto rank = [&](uint32_t i) { return shapes.rank(module.shape(module.operand(inst, i))); };
  for (AttrKind kind : {AttrKind::kInsertedWindowDims, AttrKind::kInputBatchingDims,
                        AttrKind::kScatterDimsToOperandDims}) {
    if (!InRange(module.IntsAttr(inst, kind), rank(0))) return false;
  }
  return InRange(module.IntsAttr(inst, AttrKind::kUpdateWindowDims), rank(count + 1)) &&
         InRange(module.IntsAttr(inst, AttrKind::kScatterIndicesBatchingDims), rank(count)) &&
         module.IntAttr(inst, AttrKind::kIndexVectorDim) >= 0;
}

}  // namespace

Status Normalizer::CheckAttributes(InstId inst) const {
  std::span<const int64_t> dimensions = module_.dimensions(inst);
  uint32_t rank = shapes_.rank(module_.shape(inst));
  bool has_operand = module_.operand_count(inst) != 0;
  uint32_t from = has_operand ? shapes_.rank(module_.shape(module_.operand(inst, 0))) : 0;
  bool fits = true;
  switch (module_.opcode(inst)) {
    case Opcode::kReverse:
      fits = InRange(dimensions, rank);
      break;
    case Opcode::kConcatenate:
      fits = dimensions.size() == 1 && InRange(dimensions, rank);
      break;
    case Opcode::kBroadcast:
      fits = dimensions.size() == from && InRange(dimensions, rank);
      break;
    case Opcode::kTranspose:
      fits = from == rank && IsPermutation(dimensions, rank);
      break;
    case Opcode::kCopy:
      fits = from == rank;
      break;
    case Opcode::kIota: {
      int64_t dimension = module_.IntAttr(inst, AttrKind::kIotaDimension);
      fits = InRange({&dimension, 1}, rank);
      break;
    }
    case Opcode::kSlice:
      fits = module_.IntsAttr(inst, AttrKind::kSlice).size() == 3 * rank;
      break;
    case Opcode::kPad:
      fits = module_.IntsAttr(inst, AttrKind::kPadding).size() == 3 * rank;
      break;
    case Opcode::kScatter:
      fits = ScatterFits(module_, inst);
      break;
    default:
      break;
  }
  if (fits) return {};
  return CannotHandle(inst, "its attributes do not fit its shapes (the pass verifier says more)");
}

bool Normalizer::IsNormal(InstId inst) const {
  ShapeId shape = module_.shape(inst);
  return shapes_.IsArray(shape) && IsDescending(shapes_, shapes_.layout(shape));
}

ShapeId Normalizer::N(ShapeId array) {
  LayoutId layout = shapes_.layout(array);
  if (IsDescending(shapes_, layout)) return array;
  return PermuteDimensions(shapes_, array, PhysicalOrder(shapes_, layout));
}

Result<InstId> Normalizer::Input(InstId user, uint32_t operand) {
  InstId input = module_.operand(user, operand);
  if (IsNormal(input)) return input;
  if (module_.opcode(input) == Opcode::kBitcast && IsNormal(module_.operand(input, 0))) {
    return module_.operand(input, 0);
  }
  return CannotHandle(
      user, fmt::format("operand {} is neither descending nor a bitcast of a descending value",
                        module_.name(input)));
}

Status Normalizer::RequireSameLayout(InstId inst, uint32_t operand) const {
  ShapeId input = module_.shape(module_.operand(inst, operand));
  if (shapes_.SameOrder(shapes_.layout(input), shapes_.layout(module_.shape(inst)))) return {};
  return CannotHandle(
      inst, fmt::format("operand {} has another layout than the result: {} and {}", operand,
                        shapes_.Text(input), shapes_.Text(module_.shape(inst))));
}

std::unexpected<Error> Normalizer::CannotHandle(InstId inst, std::string_view why) const {
  return MakeError(ExitCode::kUnsupported, DiagId::kNotNormalizable,
                   fmt::format("layout-normalization cannot handle {} {}: {}",
                               OpcodeText(module_.opcode(inst)), module_.name(inst), why),
                   "run layout-assignment (and a reshape decomposer) first");
}

std::vector<Attr> Normalizer::Attributes(InstId inst, Keep keep) const {
  std::vector<Attr> out;
  std::span<const AttrKind> common = CommonAttributes();
  for (const Attr& attr : module_.attributes(inst)) {
    bool is_common = std::find(common.begin(), common.end(), attr.kind) != common.end();
    // Metadata is copied by Make; edges and origin go to what replaces the old operation.
    bool elsewhere = attr.kind == AttrKind::kMetadata || attr.kind == AttrKind::kOrigin ||
                     attr.kind == AttrKind::kControlPredecessors;
    if (!is_common || (keep == Keep::kAll && !elsewhere)) out.push_back(attr);
  }
  return out;
}

std::vector<Attr> Normalizer::Attributes(InstId inst, Keep keep, Attr replaced) const {
  std::vector<Attr> out = Attributes(inst, keep);
  std::erase_if(out, [&](const Attr& attr) { return attr.kind == replaced.kind; });
  out.push_back(replaced);
  return out;
}

std::vector<Attr> Normalizer::Dimensions(InstId inst, Keep keep,
                                         std::span<const int64_t> dimensions) {
  return Attributes(inst, keep, module_.IntsAttribute(AttrKind::kDimensions, dimensions));
}

InstId Normalizer::Make(InstId old, Opcode opcode, ShapeId shape, std::span<const InstId> operands,
                        std::span<const Attr> attributes, std::string_view name) {
  std::vector<Attr> own(attributes.begin(), attributes.end());
  for (Attr& attr : own) {
    if (attr.kind == AttrKind::kCalledComputations) {
      attr = module_.RefsAttribute(attr.kind, module_.refs(attr));
    }
  }
  InstId inst = rewriter_.Add(module_.computation_of(old), opcode, shape, operands, own, name);
  rewriter_.CopyMetadata(old, inst);
  return inst;
}

InstId Normalizer::AddBitcast(InstId operand, ShapeId shape) {
  return rewriter_.AddUnary(Opcode::kBitcast, shape, operand);
}

void Normalizer::ReplaceBy(InstId old, InstId value) {
  if (module_.shape(value) != module_.shape(old)) {
    value = AddBitcast(value, module_.shape(old));
    rewriter_.CopyMetadata(old, value);
  }
  rewriter_.Replace(old, value);
}

Status Normalizer::Rewrite(InstId old, Opcode opcode, std::span<const InstId> operands,
                           std::span<const Attr> attributes) {
  ReplaceBy(old, Make(old, opcode, N(old), operands, attributes));
  return {};
}

std::vector<int64_t> Normalizer::PermuteGroups(std::span<const int64_t> values, size_t width,
                                               std::span<const int64_t> order) const {
  std::vector<int64_t> out;
  for (int64_t d : order) {
    size_t begin = static_cast<size_t>(d) * width;
    if (begin + width > values.size()) break;
    out.insert(out.end(), values.begin() + begin, values.begin() + begin + width);
  }
  return out;
}

// ---- the two rules that touch no operand ----

Status Normalizer::Default(InstId inst) {
  ShapeId shape = module_.shape(inst);
  if (module_.users(inst).empty() || !shapes_.IsArray(shape) || IsNormal(inst)) return {};
  std::span<const InstId> all = module_.users(inst);
  const std::vector<InstId> users(all.begin(), all.end());
  InstId back = AddBitcast(AddBitcast(inst, N(shape)), shape);
  rewriter_.ReplaceUsesBy(users, inst, back);
  return {};
}

Status Normalizer::Constant(InstId inst) {
  ShapeId shape = module_.shape(inst);
  if (!shapes_.IsArray(shape) || shapes_.ElementCount(shape) == 0) return {};
  ASSIGN_OR_RETURN(LiteralId literal, PermuteLiteral(module_, module_.literal_of(inst), P(inst)));
  std::span<const InstId> all = module_.users(inst);
  const std::vector<InstId> users(all.begin(), all.end());
  rewriter_.SetShape(inst, N(shape));
  module_.SetAttr(inst, module_.IdAttribute(AttrKind::kConstantLiteral, literal.value));
  InstId back = AddBitcast(inst, shape);
  rewriter_.ReplaceUsesBy(users, inst, back);
  ComputationData& computation = module_.computation(module_.computation_of(inst));
  if (computation.root == inst) computation.root = back;
  return {};
}

}  // namespace hlokit
