// What do the shape rules share? Checks of operands, dimension lists, computations and windows.
#include "src/analysis/inference_context.h"

#include <algorithm>
#include <limits>

namespace hlokit::inference {

bool SameSizes(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::ranges::equal(a, b, CompatibleSizes);
}

bool CompatibleButPrecision(const ShapePool& shapes, ShapeId a, ShapeId b) {
  if (shapes.Compatible(a, b)) return true;
  if (shapes[a].subshape_count != shapes[b].subshape_count) return false;
  std::vector<ShapeId> left = shapes.Subshapes(a);
  std::vector<ShapeId> right = shapes.Subshapes(b);
  for (size_t i = 0; i < left.size(); ++i) {
    const ShapeData& x = shapes[left[i]];
    const ShapeData& y = shapes[right[i]];
    if (!SameTypeButPrecision(x.type, y.type) || x.count != y.count || x.is_buffer != y.is_buffer) {
      return false;
    }
    if (x.IsArray() && !std::ranges::equal(shapes.sizes(left[i]), shapes.sizes(right[i]))) {
      return false;
    }
  }
  return true;
}

namespace {

/// Exponent bits of a float type; decides between types of the same width.
int ExponentBits(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return 11;
    case ElementType::kF32:
    case ElementType::kBf16:
    case ElementType::kF8e8m0fnu:
      return 8;
    case ElementType::kF16:
    case ElementType::kF8e5m2:
    case ElementType::kF8e5m2fnuz:
      return 5;
    case ElementType::kF8e3m4:
    case ElementType::kF6e3m2fn:
      return 3;
    case ElementType::kF4e2m1fn:
    case ElementType::kF6e2m3fn:
      return 2;
    default:
      return 4;
  }
}

}  // namespace

ElementType WiderType(ElementType a, ElementType b) {
  if (a == b || !IsFloating(a) || !IsFloating(b)) return a;
  if (Info(a).bits != Info(b).bits) return Info(a).bits > Info(b).bits ? a : b;
  return ExponentBits(a) >= ExponentBits(b) ? a : b;
}

Status ExpectArray(const Context& c, size_t i) {
  const ShapeData& shape = c.shapes[c.operand(i)];
  if (shape.IsArray() && !shape.is_buffer) return {};
  return Fail("operand {} of {} must be an array, not {}", i, OpcodeText(c.input.opcode),
              c.Text(c.operand(i)));
}

Status ExpectArrays(const Context& c) {
  for (size_t i = 0; i < c.operand_count(); ++i) TRY(ExpectArray(c, i));
  return {};
}

Status ExpectDimensions(std::span<const int64_t> dims, uint32_t rank, std::string_view what) {
  std::vector<uint8_t> seen(rank, 0);
  for (int64_t d : dims) {
    if (d < 0 || d >= rank) return Fail("{} names dimension {}, but there are {}", what, d, rank);
    if (seen[static_cast<size_t>(d)]++ != 0) return Fail("{} names dimension {} twice", what, d);
  }
  return {};
}

bool IsAscending(std::span<const int64_t> dims) {
  return std::ranges::adjacent_find(dims, std::greater_equal<>()) == dims.end();
}

bool Contains(std::span<const int64_t> values, int64_t value) {
  return std::ranges::find(values, value) != values.end();
}

Result<Callee> GetCallee(const Context& c, size_t index) {
  std::span<const uint32_t> callees = c.Callees();
  if (index >= callees.size() || callees[index] >= c.module.computation_count()) {
    return Fail("{} needs a computation to call", OpcodeText(c.input.opcode));
  }
  Callee callee{.id = CompId(callees[index]), .parameters = {}, .root = {}};
  const ComputationData& data = c.module.computation(callee.id);
  if (!data.root.valid()) {
    return Fail("the computation {} is not known at this place", c.module.name(callee.id));
  }
  callee.root = c.module.shape(data.root);
  callee.parameters.reserve(data.parameters.size());
  for (InstId parameter : data.parameters) callee.parameters.push_back(c.module.shape(parameter));
  return callee;
}

Status ExpectParameters(const Context& c, const Callee& callee, std::span<const ShapeId> wanted) {
  if (callee.parameters.size() != wanted.size()) {
    return Fail("{} passes {} operands to {}, which has {} parameters", OpcodeText(c.input.opcode),
                wanted.size(), c.module.name(callee.id), callee.parameters.size());
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!c.shapes.Compatible(wanted[i], callee.parameters[i])) {
      return Fail("operand {} is {}, but parameter {} of {} is {}", i, c.Text(wanted[i]), i,
                  c.module.name(callee.id), c.Text(callee.parameters[i]));
    }
  }
  return {};
}

Result<std::vector<ElementType>> CheckReducer(const Context& c, const Callee& callee,
                                              std::span<const ShapeId> inputs,
                                              std::span<const ShapeId> init_values) {
  size_t n = inputs.size();
  std::string_view name = c.module.name(callee.id);
  if (callee.parameters.size() != 2 * n) {
    return Fail("the computation {} must have {} parameters, it has {}", name, 2 * n,
                callee.parameters.size());
  }
  if (n == 1 ? !c.shapes.IsArray(callee.root)
             : !c.shapes.IsTuple(callee.root) || c.shapes.element_count(callee.root) != n) {
    return Fail("the computation {} must give {}, not {}", name,
                n == 1 ? "a scalar" : fmt::format("a tuple of {} scalars", n), c.Text(callee.root));
  }
  std::vector<ElementType> types;
  for (size_t i = 0; i < n; ++i) {
    ShapeId result = n == 1 ? callee.root : c.shapes.element(callee.root, static_cast<uint32_t>(i));
    if (!c.IsScalar(result)) {
      return Fail("the computation {} must give scalars, not {}", name, c.Text(result));
    }
    ElementType type = c.shapes.type(result);
    ShapeId accumulator = callee.parameters[i];
    ShapeId value = callee.parameters[n + i];
    if (!c.IsScalar(accumulator, type)) {
      return Fail("parameter {} of {} is {}, but the result is {}", i, name, c.Text(accumulator),
                  c.Text(result));
    }
    if (!c.shapes.IsArray(init_values[i]) || c.shapes.rank(init_values[i]) != 0 ||
        !SameTypeButPrecision(c.shapes.type(init_values[i]), type)) {
      return Fail("initial value {} is {}, but {} gives {}", i, c.Text(init_values[i]), name,
                  c.Text(result));
    }
    if (!c.IsScalar(value) ||
        !SameTypeButPrecision(c.shapes.type(value), c.shapes.type(inputs[i]))) {
      return Fail("parameter {} of {} is {}, but the values come from {}", n + i, name,
                  c.Text(value), c.Text(inputs[i]));
    }
    types.push_back(type);
  }
  return types;
}

ShapeId OneOrTuple(const Context& c, std::span<const ShapeId> shapes) {
  return shapes.size() == 1 ? shapes[0] : c.shapes.Tuple(shapes);
}

namespace {

__extension__ using Wide = __int128;

Wide Dilated(int64_t size, int64_t dilation) {
  return size == 0 ? Wide(0) : Wide(size - 1) * dilation + 1;
}

}  // namespace

Result<Dims> WindowedDims(const Dims& base, std::span<const int64_t> window, bool allow_empty) {
  size_t rank = base.sizes.size();
  if (window.size() != rank * kWindowFields) {
    return Fail("the window has {} dimensions, but {} are needed", window.size() / kWindowFields,
                rank);
  }
  Dims dims;
  for (size_t d = 0; d < rank; ++d) {
    std::span<const int64_t> w = window.subspan(d * kWindowFields, kWindowFields);
    if (w[kWindowSize] < (allow_empty ? 0 : 1)) {
      return Fail("the window has size {} in dimension {}", w[kWindowSize], d);
    }
    if (w[kWindowStride] < 1 || w[kWindowBaseDilation] < 1 || w[kWindowWindowDilation] < 1) {
      return Fail("stride and dilations of the window must be positive in dimension {}", d);
    }
    if (base.sizes[d] == kUnboundedSize) {
      dims.Add(kUnboundedSize, true);
      continue;
    }
    Wide padded =
        Wide(w[kWindowPadLow]) + Dilated(base.sizes[d], w[kWindowBaseDilation]) + w[kWindowPadHigh];
    Wide span = Dilated(w[kWindowSize], w[kWindowWindowDilation]);
    Wide size = padded < span ? Wide(0) : (padded - span) / w[kWindowStride] + 1;
    if (size > std::numeric_limits<int64_t>::max()) {
      return Fail("the window makes dimension {} too large", d);
    }
    dims.Add(static_cast<int64_t>(size), base.dynamic[d] != 0);
  }
  return dims;
}

}  // namespace hlokit::inference
