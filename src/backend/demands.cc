// How do the rules of a backend make requests?
#include "src/backend/demands.h"

#include <vector>

namespace hlokit::backend {

bool Demands::HasArrayOperand(uint32_t operand) const {
  return operand < module_.operand_count(instruction_) &&
         shapes_.IsArray(module_.shape(module_.operand(instruction_, operand)));
}

Status Demands::Operand(uint32_t operand, LayoutId layout) const {
  if (!HasArrayOperand(operand) || !layout.valid()) return {};
  return services_.SetArrayOperandLayout(layout, instruction_, operand, strength_);
}

Status Demands::RowMajorOperand(uint32_t operand) const {
  if (!HasArrayOperand(operand)) return {};
  uint32_t rank = shapes_.rank(module_.shape(module_.operand(instruction_, operand)));
  return Operand(operand, shapes_.DescendingLayout(rank));
}

Status Demands::AllOperandsRowMajor() const {
  for (uint32_t k = 0; k < module_.operand_count(instruction_); ++k) TRY(RowMajorOperand(k));
  return {};
}

Status Demands::Part(uint32_t index, LayoutId layout) const {
  if (!layout.valid()) return {};
  return services_.SetBufferLayout(layout, instruction_, index, strength_);
}

Status Demands::RowMajorOutput() const {
  ShapeId shape = module_.shape(instruction_);
  std::vector<LayoutId> layouts;
  for (ShapeId part : shapes_.Subshapes(shape)) {
    layouts.push_back(shapes_.IsArray(part) ? shapes_.DescendingLayout(shapes_.rank(part))
                                            : LayoutId());
  }
  return Output(shapes_.WithLeafLayouts(shape, layouts));
}

Status Demands::Output(LayoutId layout) const {
  ShapeId shape = module_.shape(instruction_);
  if (!layout.valid() || !shapes_.IsArray(shape)) return {};
  return Output(shapes_.WithLayout(shape, layout));
}

Status Demands::Output(ShapeId shape, bool allow_alias) const {
  return services_.SetInstructionLayout(shape, instruction_, strength_, allow_alias);
}

LayoutId PresentLayout(ShapePool& shapes, ShapeId array) {
  LayoutId present = shapes.layout(array);
  bool fits = present.valid() && shapes.LayoutProblem(array, present).empty();
  return fits ? present : shapes.DescendingLayout(shapes.rank(array));
}

LayoutId FromMajorToMinor(ShapePool& shapes, std::span<const int64_t> dimensions) {
  std::vector<int64_t> order(dimensions.rbegin(), dimensions.rend());
  return shapes.Layout(order);
}

LayoutId ColumnMajor(ShapePool& shapes, uint32_t rank) {
  std::vector<int64_t> order;
  for (uint32_t d = 0; d < rank; ++d) order.push_back(d);
  return shapes.Layout(order);
}

LayoutId Fortran(ShapePool& shapes, ShapeId array) {
  uint32_t rank = shapes.rank(array);
  if (rank < 2) return {};
  std::span<const int64_t> descending = shapes.minor_to_major(shapes.DescendingLayout(rank));
  std::vector<int64_t> order(descending.begin(), descending.end());
  std::swap(order[0], order[1]);
  LayoutId present = shapes.layout(array);
  if (!present.valid()) return shapes.Layout(order);
  LayoutExtras extras = shapes.extras(present);
  return shapes.Layout(order, extras);
}

namespace {

LayoutId WithDimensionAtEnd(ShapePool& shapes, ShapeId array, int64_t dimension, bool minor) {
  if (!shapes.IsArray(array)) return {};
  uint32_t rank = shapes.rank(array);
  if (dimension < 0 || dimension >= static_cast<int64_t>(rank)) return {};
  std::vector<int64_t> order;
  if (minor) order.push_back(dimension);
  for (int64_t d : shapes.minor_to_major(PresentLayout(shapes, array))) {
    if (d != dimension) order.push_back(d);
  }
  if (!minor) order.push_back(dimension);
  return shapes.Layout(order);
}

}  // namespace

LayoutId WithDimensionMajor(ShapePool& shapes, ShapeId array, int64_t dimension) {
  return WithDimensionAtEnd(shapes, array, dimension, /*minor=*/false);
}

LayoutId WithDimensionMinor(ShapePool& shapes, ShapeId array, int64_t dimension) {
  return WithDimensionAtEnd(shapes, array, dimension, /*minor=*/true);
}

ShapeId WithDimensionMajorEverywhere(ShapePool& shapes, ShapeId shape, int64_t dimension) {
  std::vector<LayoutId> layouts;
  for (ShapeId part : shapes.Subshapes(shape)) {
    layouts.push_back(WithDimensionMajor(shapes, part, dimension));
  }
  return shapes.WithLeafLayouts(shape, layouts);
}

}  // namespace hlokit::backend
