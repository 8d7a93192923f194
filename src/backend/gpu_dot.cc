// Which layouts do the operands and the result of a dot need on a GPU? (section 4.5)
#include <algorithm>
#include <unordered_set>

#include "src/backend/demands.h"
#include "src/backend/dot_dims.h"
#include "src/backend/matrix_groups.h"
#include "src/backend/rules.h"

namespace hlokit::backend {
namespace {

bool IsPackedType(ElementType type) {
  return Info(type).kind != ElementKind::kOther && type != ElementType::kPred &&
         Info(type).bits < 8;
}

/// An elementwise operation with two operands (the groups of layout-assignment.md section 7).
bool IsElementwiseBinary(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kAtan2:
    case Opcode::kCompare:
    case Opcode::kComplex:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMulhi:
    case Opcode::kMultiply:
    case Opcode::kOr:
    case Opcode::kPower:
    case Opcode::kRemainder:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kStochasticConvert:
    case Opcode::kSubtract:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

bool IsElementwiseUnary(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtanh:
    case Opcode::kBitcastConvert:
    case Opcode::kCbrt:
    case Opcode::kCeil:
    case Opcode::kClz:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kCos:
    case Opcode::kCosh:
    case Opcode::kErf:
    case Opcode::kExp:
    case Opcode::kExpm1:
    case Opcode::kFloor:
    case Opcode::kImag:
    case Opcode::kIsFinite:
    case Opcode::kLog:
    case Opcode::kLog1p:
    case Opcode::kLogistic:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kPopulationCount:
    case Opcode::kReal:
    case Opcode::kReducePrecision:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kRsqrt:
    case Opcode::kSign:
    case Opcode::kSin:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
      return true;
    default:
      return false;
  }
}

/// The value comes from elements narrower than 8 bits, through operations with one operand and
/// elementwise ones with two.
bool IsPacked(const Module& module, InstId value) {
  std::vector<InstId> open = {value};
  std::unordered_set<uint32_t> visited;
  while (!open.empty()) {
    InstId at = open.back();
    open.pop_back();
    while (visited.insert(at.value).second) {
      if (IsPackedType(module.shapes().type(module.shape(at)))) return true;
      if (module.operand_count(at) != 1) {
        if (module.operand_count(at) == 2 && IsElementwiseBinary(module.opcode(at))) {
          open.push_back(module.operand(at, 1));
          open.push_back(module.operand(at, 0));
        }
        break;
      }
      at = module.operand(at, 0);
    }
  }
  return false;
}

/// The value is an entry parameter whose layout the caller left open, seen through operations that
/// only move it around.
bool ComesFromFreeParameter(const LayoutServices& services, InstId value) {
  const Module& module = services.module();
  const ShapePool& shapes = module.shapes();
  if (module.computation_of(value) != module.entry()) return false;
  std::vector<InstId> open = {value};
  std::unordered_set<uint32_t> visited;
  while (!open.empty()) {
    InstId at = open.back();
    open.pop_back();
    if (!visited.insert(at.value).second) continue;
    Opcode opcode = module.opcode(at);
    if (opcode == Opcode::kParameter) {
      size_t number = static_cast<size_t>(module.parameter_number(at));
      const ComputationLayout& entry = services.entry_layout();
      if (number >= entry.parameters.size()) continue;
      std::vector<ShapeId> parts = shapes.Subshapes(entry.parameters[number]);
      bool any_set = std::any_of(parts.begin(), parts.end(), [&](ShapeId part) {
        return shapes.IsArray(part) && shapes.layout(part).valid();
      });
      if (!any_set) return true;
    } else if (opcode == Opcode::kConcatenate) {
      for (InstId operand : module.operands(at)) open.push_back(operand);
    } else if ((IsElementwiseUnary(opcode) || opcode == Opcode::kTranspose ||
                opcode == Opcode::kReshape) &&
               module.operand_count(at) == 1) {
      open.push_back(module.operand(at, 0));
    }
  }
  return false;
}

/// The rule of section 4.5 that asks for the contracted dimensions to be fastest on both sides.
bool NarrowOnBothSides(const Module& module, const Device& device, InstId dot) {
  const ShapePool& shapes = module.shapes();
  ElementType left = shapes.type(module.shape(module.operand(dot, 0)));
  ElementType right = shapes.type(module.shape(module.operand(dot, 1)));
  ElementType result = shapes.type(module.shape(dot));
  if (left == ElementType::kS8 && right == ElementType::kS8 && result == ElementType::kS32) {
    return true;
  }
  auto is_gemm_float8 = [](ElementType type) {
    return type == ElementType::kF8e4m3fn || type == ElementType::kF8e5m2fnuz;
  };
  bool blackwell = device.vendor == Vendor::kCuda && device.compute_capability.major == 10;
  return is_gemm_float8(left) && is_gemm_float8(right) && !blackwell;
}

std::vector<int64_t> Joined(std::span<const int64_t> a, std::span<const int64_t> b,
                            std::span<const int64_t> c) {
  std::vector<int64_t> out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

bool LayoutCollapses(const ShapePool& shapes, LayoutId layout, const MatrixGroups& groups) {
  return layout.valid() && CollapsesToMatrices(shapes.minor_to_major(layout), groups);
}

/// The layout with the contracted dimensions fastest: the present one if it will do.
LayoutId MinorContracting(ShapePool& shapes, ShapeId operand, const DotSide& side) {
  LayoutId present = shapes.layout(operand);
  if (LayoutCollapses(shapes, present, {side.batch, side.free, side.contracting})) {
    std::span<const int64_t> fastest =
        shapes.minor_to_major(present).first(side.contracting.size());
    bool contracting = std::all_of(fastest.begin(), fastest.end(), [&](int64_t d) {
      return std::find(side.contracting.begin(), side.contracting.end(), d) !=
             side.contracting.end();
    });
    if (contracting) return present;
  }
  return FromMajorToMinor(shapes, Joined(side.batch, side.free, side.contracting));
}

struct MatrixLayout {
  LayoutId layout;
  bool arranged = false;  ///< neither the present layout nor row major would do
};

/// A layout that collapses to matrices: the present one, row major, or one made for it.
MatrixLayout Matrix(ShapePool& shapes, ShapeId operand, const DotSide& side) {
  MatrixGroups groups{side.batch, side.contracting, side.free};
  LayoutId present = shapes.layout(operand);
  if (LayoutCollapses(shapes, present, groups)) return {present};
  LayoutId row_major = shapes.DescendingLayout(shapes.rank(operand));
  if (LayoutCollapses(shapes, row_major, groups)) return {row_major};
  return {FromMajorToMinor(shapes, Joined(side.batch, side.contracting, side.free)), true};
}

Status ConstrainSide(LayoutServices& services, const Device& device, InstId dot, uint32_t k,
                     const DotSide& side, bool narrow) {
  const Module& module = services.module();
  ShapePool& shapes = module.mutable_shapes();
  InstId operand = module.operand(dot, k);
  ShapeId shape = module.shape(operand);
  if (narrow || (device.flags.pack_dot_operands && IsPacked(module, operand))) {
    return Demands(services, dot, BackendRule::kGpuDotMinorContracting)
        .Operand(k, MinorContracting(shapes, shape, side));
  }
  if (!side.batch.empty() || side.contracting.size() > 1 || side.free.size() > 1) {
    return Demands(services, dot, BackendRule::kGpuDotMatrix)
        .Operand(k, Matrix(shapes, shape, side).layout);
  }
  if (!ComesFromFreeParameter(services, operand)) return {};
  MatrixLayout wish = Matrix(shapes, shape, side);
  return Demands(services, dot, BackendRule::kGpuDotFreeParameter)
      .Strength(/*mandatory=*/false, /*dfs=*/!wish.arranged)
      .Operand(k, wish.layout);
}

/// The dimensions of the result: batch, then rows, then columns.
bool ResultCollapses(const Module& module, LayoutId layout, InstId dot, const DotDims& dims) {
  uint32_t rank = module.shapes().rank(module.shape(dot));
  if (!layout.valid() || module.shapes()[layout].rank != rank) return false;
  std::vector<int64_t> numbers;
  for (uint32_t d = 0; d < rank; ++d) numbers.push_back(d);
  size_t batch = std::max(dims.side[0].batch.size(), dims.side[1].batch.size());
  size_t rows = dims.side[0].free.size();
  size_t columns = dims.side[1].free.size();
  if (batch + rows + columns != rank) return false;
  std::span<const int64_t> all = numbers;
  return LayoutCollapses(
      module.shapes(), layout,
      {all.first(batch), all.subspan(batch, rows), all.subspan(batch + rows, columns)});
}

Status ConstrainResult(LayoutServices& services, InstId dot, const DotDims& dims) {
  const Module& module = services.module();
  ShapePool& shapes = module.mutable_shapes();
  if (dims.side[0].batch.empty() && dims.side[0].free.size() <= 1 &&
      dims.side[1].free.size() <= 1) {
    return {};
  }
  LayoutId wanted = shapes.DescendingLayout(shapes.rank(module.shape(dot)));
  bool found = false;
  for (InstId user : module.users(dot)) {
    for (uint32_t k = 0; k < module.operand_count(user) && !found; ++k) {
      if (module.operand(user, k) != dot) continue;
      ShapeId asked = services.OperandShape(user, k);
      if (!asked.valid() || !ResultCollapses(module, shapes.layout(asked), dot, dims)) continue;
      wanted = shapes.layout(asked);
      found = true;
    }
    if (found) break;
  }
  return Demands(services, dot, BackendRule::kGpuDotResult).Output(wanted);
}

}  // namespace

Status ConstrainDot(LayoutServices& services, const Device& device, InstId dot) {
  const Module& module = services.module();
  std::optional<DotDims> dims = DimsOfDot(module, dot);
  if (!dims) return {};
  bool narrow = NarrowOnBothSides(module, device, dot);
  for (uint32_t k = 0; k < 2; ++k) {
    TRY(ConstrainSide(services, device, dot, k, dims->side[k], narrow));
  }
  return ConstrainResult(services, dot, *dims);
}

Status ConstrainTransposeOfDot(LayoutServices& services, InstId transpose) {
  const Module& module = services.module();
  if (module.operand_count(transpose) == 0) return {};
  InstId dot = module.operand(transpose, 0);
  if (module.opcode(dot) != Opcode::kDot || module.users(dot).size() != 1) return {};
  std::optional<DotDims> dims = DimsOfDot(module, dot);
  std::span<const int64_t> order = module.dimensions(transpose);
  if (!dims || order.size() != module.shapes().rank(module.shape(dot))) return {};
  LayoutId layout = FromMajorToMinor(module.mutable_shapes(), order);
  if (!ResultCollapses(module, layout, dot, *dims)) return {};
  return Demands(services, transpose, BackendRule::kGpuTransposeOfDot).Operand(0, layout);
}

}  // namespace hlokit::backend
