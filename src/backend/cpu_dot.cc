// Which kernel does a dot get on a CPU, and which of its operands is read column by column?
// (sections 2.3 and 2.4)
//
// Section 2.3 tells the tiled kernel and the Eigen library apart, by options and by sizes. Both
// want row-major arrays, so nothing here depends on that choice.
#include <algorithm>

#include "src/backend/dot_dims.h"
#include "src/backend/rules.h"

namespace hlokit::backend {
namespace {

bool HasDimension(std::span<const int64_t> sizes, auto predicate) {
  return std::any_of(sizes.begin(), sizes.end(), predicate);
}

bool IsLibraryType(ElementType type) {
  switch (type) {
    case ElementType::kF16:
    case ElementType::kF32:
    case ElementType::kF64:
    case ElementType::kC64:
    case ElementType::kC128:
    case ElementType::kS32:
      return true;
    default:
      return false;
  }
}

/// The operand of the dot that is a row vector times a matrix, both read best column by column.
std::optional<uint32_t> ColumnMajorOperandOfDot(const Module& module, InstId dot) {
  const ShapePool& shapes = module.shapes();
  constexpr int64_t kWorthwhileBytes = 32;
  if (shapes.rank(module.shape(dot)) > 1 || module.operand_count(dot) < 2) return std::nullopt;
  ShapeId left = module.shape(module.operand(dot, 0));
  std::span<const int64_t> contracting = module.IntsAttr(dot, AttrKind::kRhsContractingDims);
  if (!shapes.IsArray(left) || shapes.rank(left) != 1 || contracting.empty() ||
      contracting[0] != 0) {
    return std::nullopt;
  }
  // The element type of the result counts, whatever the operands hold.
  int64_t element_bytes = (Info(shapes.type(module.shape(dot))).bits + 7) / 8;
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shapes.ElementCount(left), element_bytes, &bytes)) return 1;
  if (bytes < kWorthwhileBytes) return std::nullopt;
  return 1;
}

}  // namespace

bool DotNeedsRowMajor(const Module& module, InstId dot) {
  const ShapePool& shapes = module.shapes();
  std::optional<DotDims> dims = DimsOfDot(module, dot);
  if (!dims) return false;
  if (!dims->side[0].batch.empty()) return true;
  ShapeId shapes_of[] = {module.shape(module.operand(dot, 0)), module.shape(module.operand(dot, 1)),
                         module.shape(dot)};
  ShapeId result = shapes_of[2];
  ElementType type = shapes.type(result);
  if (IsFloating(type) || IsIntegral(type)) {
    // A matrix times a vector, or so small that plain loops do.
    auto is_unit = [](int64_t size) { return size == 1; };
    auto is_tiny = [](int64_t size) { return size <= 3; };
    uint32_t rank = shapes.rank(result);
    if (rank <= 1 || (rank == 2 && HasDimension(shapes.sizes(result), is_unit))) return false;
    auto is_small = [&](ShapeId operand) {
      return shapes.rank(operand) <= 1 || HasDimension(shapes.sizes(operand), is_tiny);
    };
    if (is_small(shapes_of[0]) && is_small(shapes_of[1])) return false;
  }
  for (ShapeId shape : shapes_of) {
    if (shapes.rank(shape) != 2) return false;
  }
  return shapes.ElementCount(shapes_of[0]) != 0 && shapes.ElementCount(shapes_of[1]) != 0 &&
         IsLibraryType(type);
}

std::optional<uint32_t> ProfitableColumnMajorOperand(const Module& module, InstId instruction) {
  Opcode opcode = module.opcode(instruction);
  if (opcode == Opcode::kDot) return ColumnMajorOperandOfDot(module, instruction);
  if (opcode != Opcode::kFusion || module.called_computations(instruction).empty() ||
      module.IntAttr(instruction, AttrKind::kFusionKind) !=
          static_cast<int64_t>(FusionKind::kOutput)) {
    return std::nullopt;
  }
  // A fused product whose result is added to something.
  InstId root = module.computation(module.to_apply(instruction)).root;
  if (module.opcode(root) != Opcode::kAdd) return std::nullopt;
  for (InstId dot : module.operands(root)) {
    if (module.opcode(dot) != Opcode::kDot) continue;
    std::optional<uint32_t> operand = ColumnMajorOperandOfDot(module, dot);
    if (!operand) continue;
    InstId parameter = module.operand(dot, *operand);
    if (module.opcode(parameter) == Opcode::kParameter && module.users(parameter).size() == 1) {
      return static_cast<uint32_t>(module.parameter_number(parameter));
    }
  }
  return std::nullopt;
}

}  // namespace hlokit::backend
