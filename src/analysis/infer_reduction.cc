// Which shape does an instruction have that folds many elements into one?
#include <algorithm>

#include "src/analysis/inference_context.h"

namespace hlokit::inference {
namespace {

/// n inputs of equal sizes, then n initial values.
Result<size_t> SplitInputs(const Context& c) {
  if (c.operand_count() == 0 || c.operand_count() % 2 != 0) {
    return Fail("{} needs inputs and as many initial values, not {} operands",
                OpcodeText(c.input.opcode), c.operand_count());
  }
  TRY(ExpectArrays(c));
  size_t n = c.operand_count() / 2;
  for (size_t i = 1; i < n; ++i) {
    if (!SameSizes(c.sizes(0), c.sizes(i))) {
      return Fail("the inputs of {} differ in sizes: {} and {}", OpcodeText(c.input.opcode),
                  c.Text(c.operand(0)), c.Text(c.operand(i)));
    }
  }
  return n;
}

}  // namespace

Result<ShapeId> InferReduce(const Context& c) {
  ASSIGN_OR_RETURN(size_t n, SplitInputs(c));
  std::span<const int64_t> dims = c.Ints(AttrKind::kDimensions);
  TRY(ExpectDimensions(dims, c.rank(0), "the dimensions list"));
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  ASSIGN_OR_RETURN(std::vector<ElementType> types,
                   CheckReducer(c, callee, c.input.operands.first(n), c.input.operands.subspan(n)));
  std::vector<uint8_t> reduced(c.rank(0), 0);
  for (int64_t d : dims) reduced[static_cast<size_t>(d)] = 1;
  Dims out;
  for (uint32_t d = 0; d < c.rank(0); ++d) {
    if (reduced[d] == 0) c.AddDim(c.operand(0), d, &out);
  }
  std::vector<ShapeId> results;
  for (ElementType type : types) results.push_back(c.Array(type, out));
  return OneOrTuple(c, results);
}

Result<ShapeId> InferReduceWindow(const Context& c) {
  ASSIGN_OR_RETURN(size_t n, SplitInputs(c));
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  ASSIGN_OR_RETURN(std::vector<ElementType> types,
                   CheckReducer(c, callee, c.input.operands.first(n), c.input.operands.subspan(n)));
  ASSIGN_OR_RETURN(Dims out,
                   WindowedDims(c.DimsOf(c.operand(0)), c.Ints(AttrKind::kWindow), false));
  std::vector<ShapeId> results;
  for (ElementType type : types) results.push_back(c.Array(type, out));
  return OneOrTuple(c, results);
}

Result<ShapeId> InferSelectAndScatter(const Context& c) {
  TRY(ExpectArrays(c));
  ASSIGN_OR_RETURN(Callee select, GetCallee(c, 0));
  if (select.parameters.size() != 2) {
    return Fail("the select computation must have 2 parameters, it has {}",
                select.parameters.size());
  }
  if (!c.IsScalar(select.root, ElementType::kPred)) {
    return Fail("the select computation must give pred[], not {}", c.Text(select.root));
  }
  for (ShapeId parameter : select.parameters) {
    if (!c.IsScalar(parameter) || !SameTypeButPrecision(c.shapes.type(parameter), c.type(0))) {
      return Fail("the select computation takes {}, but the operand is {}", c.Text(parameter),
                  c.Text(c.operand(0)));
    }
  }
  ASSIGN_OR_RETURN(Dims windowed,
                   WindowedDims(c.DimsOf(c.operand(0)), c.Ints(AttrKind::kWindow), false));
  if (!SameSizes(windowed.sizes, c.sizes(1)) || !SameTypeButPrecision(c.type(0), c.type(1))) {
    return Fail("the source must be {}, not {}", c.Text(c.Array(c.type(0), windowed)),
                c.Text(c.operand(1)));
  }
  ASSIGN_OR_RETURN(Callee scatter, GetCallee(c, 1));
  TRY(CheckReducer(c, scatter, c.input.operands.subspan(1, 1), c.input.operands.subspan(2, 1)));
  return c.operand(0);
}

namespace {

/// The shape without the scan dimension.
ShapeId ScanElement(const Context& c, ShapeId shape, uint32_t dimension) {
  Dims dims;
  for (uint32_t d = 0; d < c.shapes.rank(shape); ++d) {
    if (d != dimension) c.AddDim(shape, d, &dims);
  }
  return c.Array(c.shapes.type(shape), dims);
}

}  // namespace

Result<ShapeId> InferScan(const Context& c) {
  TRY(ExpectArrays(c));
  std::span<const int64_t> dims = c.Ints(AttrKind::kDimensions);
  if (dims.size() != 1) return Fail("scan needs exactly one dimension, not {}", dims.size());
  int64_t carries = c.Int(AttrKind::kNumCarries);
  if (carries < 0 || carries > static_cast<int64_t>(c.operand_count())) {
    return Fail("scan has {} carries, but {} operands", carries, c.operand_count());
  }
  size_t inputs = c.operand_count() - static_cast<size_t>(carries);
  uint32_t dimension = static_cast<uint32_t>(dims[0]);
  std::vector<ShapeId> wanted;
  int64_t length = kUnboundedSize;
  bool dynamic = false;
  for (size_t i = 0; i < inputs; ++i) {
    if (dims[0] < 0 || dims[0] >= c.rank(i)) {
      return Fail("scan dimension {} is out of range for {}", dims[0], c.Text(c.operand(i)));
    }
    if (!CompatibleSizes(length, c.sizes(i)[dimension])) {
      return Fail("the inputs of scan differ in dimension {}: {} and {}", dimension, length,
                  c.sizes(i)[dimension]);
    }
    length = c.sizes(i)[dimension];
    dynamic = c.shapes.IsDynamicDimension(c.operand(i), dimension);
    wanted.push_back(ScanElement(c, c.operand(i), dimension));
  }
  for (size_t i = inputs; i < c.operand_count(); ++i) wanted.push_back(c.operand(i));
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  TRY(ExpectParameters(c, callee, wanted));
  // Results of the body: one element per output, then the carries.
  std::vector<ShapeId> results = {callee.root};
  if (c.shapes.IsTuple(callee.root)) {
    results.clear();
    for (uint32_t i = 0; i < c.shapes.element_count(callee.root); ++i) {
      results.push_back(c.shapes.element(callee.root, i));
    }
  }
  if (carries > static_cast<int64_t>(results.size())) {
    return Fail("scan has {} carries, but its computation gives {} results", carries,
                results.size());
  }
  size_t outputs = results.size() - static_cast<size_t>(carries);
  if (outputs > 0 && inputs == 0) return Fail("scan needs an input when it has outputs");
  for (size_t i = 0; i < outputs; ++i) {
    if (!c.shapes.IsArray(results[i]) || dims[0] < 0 || dims[0] > c.shapes.rank(results[i])) {
      return Fail("output {} of the computation of scan is {}, which has no place for dimension {}",
                  i, c.Text(results[i]), dims[0]);
    }
    Dims out = c.DimsOf(results[i]);
    out.sizes.insert(out.sizes.begin() + dimension, length);
    out.dynamic.insert(out.dynamic.begin() + dimension, dynamic ? 1 : 0);
    results[i] = c.Array(c.shapes.type(results[i]), out);
  }
  for (size_t i = outputs; i < results.size(); ++i) {
    ShapeId carry = c.operand(inputs + i - outputs);
    if (!c.shapes.Compatible(results[i], carry)) {
      return Fail("carry {} of scan starts as {} and becomes {}", i - outputs, c.Text(carry),
                  c.Text(results[i]));
    }
  }
  return c.shapes.IsTuple(callee.root) ? c.shapes.Tuple(results) : results[0];
}

}  // namespace hlokit::inference
