// Which layouts do the operands and the result of a dot need on a GPU? (section 4.5)
#include <algorithm>

#include "src/backend/demands.h"
#include "src/backend/dot_dims.h"
#include "src/backend/gpu_run.h"
#include "src/backend/matrix_groups.h"

namespace hlokit::backend {
namespace {

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

Status ConstrainSide(GpuRun& run, InstId dot, uint32_t k, const DotSide& side, bool narrow) {
  LayoutServices& services = run.services;
  const Module& module = services.module();
  ShapePool& shapes = module.mutable_shapes();
  InstId operand = module.operand(dot, k);
  ShapeId shape = module.shape(operand);
  if (narrow || (run.device.flags.pack_dot_operands && run.origins.IsPacked(operand))) {
    return Demands(services, dot, BackendRule::kGpuDotMinorContracting)
        .Operand(k, MinorContracting(shapes, shape, side));
  }
  if (!side.batch.empty() || side.contracting.size() > 1 || side.free.size() > 1) {
    return Demands(services, dot, BackendRule::kGpuDotMatrix)
        .Operand(k, Matrix(shapes, shape, side).layout);
  }
  if (!run.origins.IsFreeParameter(operand)) return {};
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
  for (const LayoutServices::Use& use : services.Uses(dot)) {
    ShapeId asked = services.OperandShape(use.user, use.operand);
    if (!asked.valid() || !ResultCollapses(module, shapes.layout(asked), dot, dims)) continue;
    wanted = shapes.layout(asked);
    break;
  }
  return Demands(services, dot, BackendRule::kGpuDotResult).Output(wanted);
}

}  // namespace

Status ConstrainDot(GpuRun& run, InstId dot) {
  const Module& module = run.services.module();
  std::optional<DotDims> dims = DimsOfDot(module, dot);
  if (!dims) return {};
  bool narrow = NarrowOnBothSides(module, run.device, dot);
  for (uint32_t k = 0; k < 2; ++k) TRY(ConstrainSide(run, dot, k, dims->side[k], narrow));
  return ConstrainResult(run.services, dot, *dims);
}

Status ConstrainTransposeOfDot(GpuRun& run, InstId transpose) {
  LayoutServices& services = run.services;
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
