// Which dimensions of the operands of a dot play which role?
#include "src/backend/dot_dims.h"

namespace hlokit::backend {
namespace {

/// Adds listed dimensions; false for one that does not exist or is listed twice.
bool Take(std::span<const int64_t> listed, std::vector<bool>* taken, std::vector<int64_t>* out) {
  for (int64_t d : listed) {
    if (d < 0 || d >= static_cast<int64_t>(taken->size()) || (*taken)[static_cast<size_t>(d)]) {
      return false;
    }
    (*taken)[static_cast<size_t>(d)] = true;
    out->push_back(d);
  }
  return true;
}

}  // namespace

std::optional<DotDims> DimsOfDot(const Module& module, InstId dot) {
  constexpr AttrKind kBatch[] = {AttrKind::kLhsBatchDims, AttrKind::kRhsBatchDims};
  constexpr AttrKind kContracting[] = {AttrKind::kLhsContractingDims,
                                       AttrKind::kRhsContractingDims};
  if (module.operand_count(dot) < 2) return std::nullopt;
  DotDims dims;
  for (uint32_t k = 0; k < 2; ++k) {
    ShapeId shape = module.shape(module.operand(dot, k));
    if (!module.shapes().IsArray(shape)) return std::nullopt;
    std::vector<bool> taken(module.shapes().rank(shape));
    DotSide& side = dims.side[k];
    if (!Take(module.IntsAttr(dot, kBatch[k]), &taken, &side.batch) ||
        !Take(module.IntsAttr(dot, kContracting[k]), &taken, &side.contracting)) {
      return std::nullopt;
    }
    for (size_t d = 0; d < taken.size(); ++d) {
      if (!taken[d]) side.free.push_back(static_cast<int64_t>(d));
    }
  }
  return dims;
}

}  // namespace hlokit::backend
