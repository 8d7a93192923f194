// Where does an element of a result lie in an operand?
#include "src/copies/index_map.h"

#include <algorithm>

namespace hlokit {

IndexMap IndexMap::Identity(int64_t elements) {
  IndexMap map;
  if (elements > 1) map.digits_.push_back({elements, 1});
  return map;
}

void IndexMap::Merge() {
  std::vector<Digit> merged;
  for (const Digit& digit : digits_) {
    if (digit.size == 1) continue;
    if (!merged.empty() && merged.back().step == digit.size * digit.step) {
      merged.back() = {merged.back().size * digit.size, digit.step};
    } else {
      merged.push_back(digit);
    }
  }
  digits_ = std::move(merged);
}

/// Every digit is split where a dimension of `from` begins, so that each part lies in one of them.
bool IndexMap::Step(std::vector<Digit> from, const std::vector<int64_t>& to) {
  std::vector<uint32_t> by_step;
  for (uint32_t k = 0; k < from.size(); ++k) {
    if (from[k].size > 1) by_step.push_back(k);
  }
  std::sort(by_step.begin(), by_step.end(),
            [&](uint32_t a, uint32_t b) { return from[a].step > from[b].step; });
  std::vector<Digit> out;
  for (const Digit& digit : digits_) {
    int64_t left = digit.size * digit.step;  // end of what is not placed yet
    for (uint32_t k : by_step) {
      int64_t low = from[k].step, high = from[k].step * from[k].size;
      if (left <= low || digit.step >= high) continue;
      int64_t end = std::min(left, high), begin = std::max(low, digit.step);
      if (end % begin != 0 || begin % low != 0) return false;
      out.push_back({end / begin, begin / low * to[k]});
      left = begin;
    }
    if (left != digit.step) return false;
  }
  int64_t before = 1, after = 1;
  for (const Digit& digit : digits_) before *= digit.size;
  for (const Digit& digit : out) after *= digit.size;
  if (before != after) return false;
  digits_ = std::move(out);
  Merge();
  return true;
}

std::vector<uint32_t> IndexMap::Permutation() const {
  std::vector<uint32_t> order(digits_.size()), rank(digits_.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return digits_[a].step > digits_[b].step; });
  for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  if (rank.empty()) rank.push_back(0);
  return rank;
}

std::vector<int64_t> StepsOf(const Module& module, ShapeId array) {
  const ShapePool& shapes = module.shapes();
  std::span<const int64_t> sizes = shapes.sizes(array);
  std::vector<int64_t> steps(sizes.size(), 1);
  LayoutId layout = shapes.layout(array);
  std::vector<int64_t> order;
  if (layout.valid() && shapes.minor_to_major(layout).size() == sizes.size()) {
    std::span<const int64_t> given = shapes.minor_to_major(layout);
    order.assign(given.begin(), given.end());
  } else {
    for (size_t i = sizes.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  int64_t step = 1;
  for (int64_t dimension : order) {
    if (dimension < 0 || static_cast<size_t>(dimension) >= sizes.size()) continue;
    steps[static_cast<size_t>(dimension)] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[static_cast<size_t>(dimension)], 1),
                               &step)) {
      step = 1;  // absurd sizes: the digits will not fit
    }
  }
  return steps;
}

namespace {

std::vector<Digit> DigitsOf(const Module& module, ShapeId array) {
  std::span<const int64_t> sizes = module.shapes().sizes(array);
  std::vector<int64_t> steps = StepsOf(module, array);
  std::vector<Digit> digits;
  for (size_t i = 0; i < sizes.size(); ++i) digits.push_back({sizes[i], steps[i]});
  return digits;
}

/// Row-major steps, whatever the layout.
std::vector<int64_t> LogicalSteps(const Module& module, ShapeId array) {
  return StepsOf(module, module.shapes().ClearLayouts(array));
}

}  // namespace

bool IsElementByElement(const Module& module, InstId inst) {
  switch (module.opcode(inst)) {
    case Opcode::kCopy:
    case Opcode::kBitcast:
    case Opcode::kTranspose:
    case Opcode::kReshape:
    case Opcode::kParameter:
    case Opcode::kTuple:
      return false;
    default:
      break;
  }
  if (module.operand_count(inst) == 0 || !module.called_computations(inst).empty()) return false;
  if (Info(module.opcode(inst)).layout_rule != LayoutRule::kKeeps) return false;
  const ShapePool& shapes = module.shapes();
  if (!shapes.IsArray(module.shape(inst))) return false;
  switch (module.opcode(inst)) {
    case Opcode::kAllReduce:
    case Opcode::kAllToAll:
    case Opcode::kCollectivePermute:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
    case Opcode::kReverse:
    case Opcode::kSort:
    case Opcode::kFft:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
    case Opcode::kScan:
    case Opcode::kScatter:
    case Opcode::kSetDimensionSize:
      return false;
    default:
      return true;
  }
}

bool StepThrough(const Module& module, InstId inst, uint32_t operand, IndexMap& map) {
  const ShapePool& shapes = module.shapes();
  ShapeId result = module.shape(inst), source = module.shape(module.operand(inst, operand));
  if (!shapes.IsArray(result) || !shapes.IsArray(source)) return false;
  if (shapes.ElementCount(result) != shapes.ElementCount(source)) return false;
  std::vector<int64_t> steps = StepsOf(module, source);
  switch (module.opcode(inst)) {
    case Opcode::kBitcast:
      return shapes.type(result) == shapes.type(source);
    case Opcode::kTranspose: {
      std::span<const int64_t> dims = module.dimensions(inst);
      std::vector<int64_t> to;
      for (int64_t dim : dims) {
        if (dim < 0 || static_cast<size_t>(dim) >= steps.size()) return false;
        to.push_back(steps[static_cast<size_t>(dim)]);
      }
      return to.size() == shapes.sizes(result).size() && map.Step(DigitsOf(module, result), to);
    }
    case Opcode::kReshape: {
      IndexMap trial = map;
      if (!trial.Step(DigitsOf(module, result), LogicalSteps(module, result))) return false;
      std::span<const int64_t> sizes = shapes.sizes(source);
      std::vector<int64_t> logical = LogicalSteps(module, source);
      std::vector<Digit> digits;
      for (size_t i = 0; i < sizes.size(); ++i) digits.push_back({sizes[i], logical[i]});
      if (!trial.Step(digits, steps)) return false;
      map = trial;
      return true;
    }
    default:
      if (module.opcode(inst) != Opcode::kCopy && !IsElementByElement(module, inst)) return false;
      if (!std::ranges::equal(shapes.sizes(result), shapes.sizes(source))) return false;
      return map.Step(DigitsOf(module, result), steps);
  }
}

}  // namespace hlokit
