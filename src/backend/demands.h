// How do the rules of a backend make requests? Small helpers, so that a rule reads as a sentence.
#ifndef HLOKIT_SRC_BACKEND_DEMANDS_H_
#define HLOKIT_SRC_BACKEND_DEMANDS_H_

#include <cstdint>
#include <span>

#include "hlokit/backend.h"
#include "hlokit/layout_rules.h"

namespace hlokit::backend {

/// The requests of one rule at one instruction. Operands that are not there or are no arrays, and
/// scalars, are passed over: a module that nobody verified must not end in an assertion.
class Demands {
 public:
  Demands(LayoutServices& services, InstId instruction, uint16_t rule)
      : services_(services),
        module_(services.module()),
        shapes_(module_.mutable_shapes()),
        instruction_(instruction) {
    strength_.rule = rule;
  }
  Demands(LayoutServices& services, InstId instruction, BackendRule rule)
      : Demands(services, instruction, static_cast<uint16_t>(rule)) {}

  /// Mandatory and depth first is the default; a wish is neither in the way of others.
  Demands& Strength(bool mandatory, bool dfs = true) {
    strength_.mandatory = mandatory;
    strength_.dfs = dfs;
    return *this;
  }

  Status Operand(uint32_t operand, LayoutId layout) const;
  Status RowMajorOperand(uint32_t operand) const;
  Status AllOperandsRowMajor() const;
  /// One part of the output, which the instruction must define.
  Status Part(uint32_t index, LayoutId layout) const;
  /// Every array part of the output row major; operands follow when the instruction keeps layouts.
  Status RowMajorOutput() const;
  /// An array output.
  Status Output(LayoutId layout) const;
  Status Output(ShapeId shape, bool allow_alias = false) const;
  bool HasArrayOperand(uint32_t operand) const;

 private:
  LayoutServices& services_;
  const Module& module_;
  ShapePool& shapes_;
  InstId instruction_;
  LayoutStrength strength_;
};

// ---- orders ----

/// The layout that the array has in the module; row major where it has none that fits (nobody may
/// have verified the module).
LayoutId PresentLayout(ShapePool& shapes, ShapeId array);
/// The layout written from slowest to fastest.
LayoutId FromMajorToMinor(ShapePool& shapes, std::span<const int64_t> dimensions);
/// {0,1,…,rank-1}
LayoutId ColumnMajor(ShapePool& shapes, uint32_t rank);
/// Row major with the two fastest dimensions exchanged; tiles and memory space of the layout that
/// the array has stay (the reference changes the order in place). Invalid below rank 2.
LayoutId Fortran(ShapePool& shapes, ShapeId array);
/// The present order of the array (row major when it has none) with one dimension moved to the slow
/// end; nothing else of its layout stays. Invalid when there is no such dimension.
LayoutId WithDimensionMajor(ShapePool& shapes, ShapeId array, int64_t dimension);
LayoutId WithDimensionMinor(ShapePool& shapes, ShapeId array, int64_t dimension);
/// The same for every array leaf of a tuple: the shape with those layouts.
ShapeId WithDimensionMajorEverywhere(ShapePool& shapes, ShapeId shape, int64_t dimension);

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_DEMANDS_H_
