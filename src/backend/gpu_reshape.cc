// Which layout of the other side of a reshape moves no data and leaves dimensions of size 1 where
// they are? (section 4.9)
#include <algorithm>

#include "src/backend/demands.h"
#include "src/backend/rules.h"

namespace hlokit::backend {
namespace {

/// The sizes that are not 1, and which dimension each of them is.
struct RealDimensions {
  std::vector<int64_t> sizes, numbers;
  bool has_units = false;
};

RealDimensions WithoutUnits(std::span<const int64_t> sizes) {
  RealDimensions out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) {
      out.has_units = true;
      continue;
    }
    out.sizes.push_back(sizes[d]);
    out.numbers.push_back(static_cast<int64_t>(d));
  }
  return out;
}

/// The order of the real dimensions only, renumbered.
std::vector<int64_t> OrderWithoutUnits(std::span<const int64_t> order,
                                       std::span<const int64_t> sizes) {
  std::vector<int64_t> number(sizes.size(), -1);
  int64_t next = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != 1) number[d] = next++;
  }
  std::vector<int64_t> out;
  for (int64_t d : order) {
    if (number[static_cast<size_t>(d)] >= 0) out.push_back(number[static_cast<size_t>(d)]);
  }
  return out;
}

/// The aligned order with the unit dimensions put back: each follows the real dimension that it
/// follows in the template; those in front of all real ones stay in front.
std::vector<int64_t> WithUnits(std::span<const int64_t> aligned,
                               std::span<const int64_t> template_order,
                               std::span<const int64_t> sizes) {
  std::vector<int64_t> out;
  std::vector<std::vector<int64_t>> follow(sizes.size());
  std::vector<int64_t>* place = &out;
  for (int64_t d : template_order) {
    if (sizes[static_cast<size_t>(d)] == 1) {
      place->push_back(d);
    } else {
      place = &follow[static_cast<size_t>(d)];
    }
  }
  for (int64_t d : aligned) {
    out.push_back(d);
    const std::vector<int64_t>& units = follow[static_cast<size_t>(d)];
    out.insert(out.end(), units.begin(), units.end());
  }
  return out;
}

}  // namespace

LayoutId AlignGpuReshape(const Module& module, LayoutId known, ShapeId source, ShapeId target) {
  ShapePool& shapes = module.mutable_shapes();
  std::span<const int64_t> source_sizes = shapes.sizes(source);
  std::span<const int64_t> target_sizes = shapes.sizes(target);
  RealDimensions from = WithoutUnits(source_sizes);
  RealDimensions to = WithoutUnits(target_sizes);
  if (from.sizes.size() == 1 && to.sizes.size() == 1) return {};
  std::vector<int64_t> aligned;
  if (!AlignLayout(from.sizes, OrderWithoutUnits(shapes.minor_to_major(known), source_sizes),
                   to.sizes, &aligned)) {
    return {};
  }
  if (!from.has_units && !to.has_units) return shapes.Layout(aligned);
  for (int64_t& d : aligned) d = to.numbers[static_cast<size_t>(d)];
  std::span<const int64_t> present = shapes.minor_to_major(PresentLayout(shapes, target));
  return shapes.Layout(WithUnits(aligned, present, target_sizes));
}

}  // namespace hlokit::backend
