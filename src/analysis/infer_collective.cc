// Which shape does a collective have? What depends on the number of devices is left to the
// verifier.
#include <algorithm>

#include "src/analysis/inference_context.h"

namespace hlokit::inference {
namespace {

__extension__ using Wide = __int128;

int64_t CeilOfRatio(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// The first entry of `dimensions`, which the collectives over one dimension use.
Result<uint32_t> CollectiveDimension(const Context& c) {
  std::span<const int64_t> dims = c.Ints(AttrKind::kDimensions);
  if (dims.empty()) return Fail("{} needs a dimension", OpcodeText(c.input.opcode));
  for (size_t i = 0; i < c.operand_count(); ++i) {
    if (dims[0] < 0 || dims[0] >= c.rank(i)) {
      return Fail("dimension {} of {} is out of range for {}", dims[0], OpcodeText(c.input.opcode),
                  c.Text(c.operand(i)));
    }
  }
  return static_cast<uint32_t>(dims[0]);
}

Status ExpectSomeArrays(const Context& c) {
  if (c.operand_count() == 0)
    return Fail("{} needs at least one operand", OpcodeText(c.input.opcode));
  return ExpectArrays(c);
}

/// The first array of a result that may be a tuple of arrays; fails when there is none.
Result<ShapeId> FirstArray(const Context& c, ShapeId shape) {
  if (c.shapes.IsTuple(shape) && c.shapes.element_count(shape) > 0)
    shape = c.shapes.element(shape, 0);
  if (!c.shapes.IsArray(shape)) {
    return Fail("{} gives arrays, not {}", OpcodeText(c.input.opcode), c.Text(shape));
  }
  return shape;
}

ShapeId WithSize(const Context& c, ShapeId shape, uint32_t dimension, int64_t size) {
  Dims dims = c.DimsOf(shape);
  dims.sizes[dimension] = size;
  return c.Array(c.shapes.type(shape), dims);
}

/// The gathered shapes; how many shards there are follows from the declared result.
Result<std::vector<ShapeId>> Gathered(const Context& c, ShapeId declared) {
  TRY(ExpectSomeArrays(c));
  ASSIGN_OR_RETURN(uint32_t dimension, CollectiveDimension(c));
  ASSIGN_OR_RETURN(ShapeId first, FirstArray(c, declared));
  if (c.shapes.rank(first) != c.rank(0)) {
    return Fail("{} cannot change the number of dimensions: {} to {}", OpcodeText(c.input.opcode),
                c.Text(c.operand(0)), c.Text(first));
  }
  int64_t in = c.sizes(0)[dimension];
  int64_t out = c.shapes.sizes(first)[dimension];
  int64_t shards = in > 0 && out > 0 ? CeilOfRatio(out, in) : 1;
  std::vector<ShapeId> results;
  for (size_t i = 0; i < c.operand_count(); ++i) {
    Wide size = c.sizes(i)[dimension] == kUnboundedSize ? Wide(kUnboundedSize)
                                                        : Wide(c.sizes(i)[dimension]) * shards;
    if (size > std::numeric_limits<int64_t>::max()) return Fail("the gathered size is too large");
    results.push_back(WithSize(c, c.operand(i), dimension, static_cast<int64_t>(size)));
  }
  return results;
}

}  // namespace

Result<ShapeId> InferAllGather(const Context& c) {
  ASSIGN_OR_RETURN(std::vector<ShapeId> results, Gathered(c, c.input.declared));
  return OneOrTuple(c, results);
}

Result<ShapeId> InferAllGatherStart(const Context& c) {
  ShapeId declared = c.input.declared;
  if (!c.shapes.IsTuple(declared) || c.shapes.element_count(declared) < 2) {
    return Fail("all-gather-start gives (inputs, outputs), not {}", c.Text(declared));
  }
  ASSIGN_OR_RETURN(std::vector<ShapeId> results, Gathered(c, c.shapes.element(declared, 1)));
  ShapeId pair[] = {OneOrTuple(c, c.input.operands), OneOrTuple(c, results)};
  return c.shapes.Tuple(pair);
}

Result<ShapeId> InferReduceScatter(const Context& c) {
  TRY(ExpectSomeArrays(c));
  ASSIGN_OR_RETURN(uint32_t dimension, CollectiveDimension(c));
  ASSIGN_OR_RETURN(ShapeId first, FirstArray(c, c.input.declared));
  if (c.shapes.rank(first) != c.rank(0)) {
    return Fail("reduce-scatter cannot change the number of dimensions: {} to {}",
                c.Text(c.operand(0)), c.Text(first));
  }
  int64_t in = c.sizes(0)[dimension];
  int64_t out = c.shapes.sizes(first)[dimension];
  int64_t shards = in > 0 && out > 0 ? CeilOfRatio(in, out) : 1;
  std::vector<ShapeId> results;
  for (size_t i = 0; i < c.operand_count(); ++i) {
    int64_t size = c.sizes(i)[dimension];
    if (size == kUnboundedSize) {
      results.push_back(c.operand(i));
      continue;
    }
    if (size % shards != 0) {
      return Fail("dimension {} of {} cannot be cut into {} shards", dimension,
                  c.Text(c.operand(i)), shards);
    }
    results.push_back(WithSize(c, c.operand(i), dimension, size / shards));
  }
  return OneOrTuple(c, results);
}

Result<ShapeId> InferSameAsOperands(const Context& c) {
  TRY(ExpectSomeArrays(c));
  return OneOrTuple(c, c.input.operands);
}

Result<ShapeId> InferAllToAll(const Context& c) {
  TRY(ExpectSomeArrays(c));
  if (c.Find(AttrKind::kDimensions) != nullptr) {
    if (c.operand_count() != 1) {
      return Fail("all-to-all along a dimension takes one operand, not {}", c.operand_count());
    }
    TRY(CollectiveDimension(c));
    return c.operand(0);
  }
  for (size_t i = 1; i < c.operand_count(); ++i) {
    if (!c.shapes.Compatible(c.operand(0), c.operand(i))) {
      return Fail("the operands of all-to-all differ: {} and {}", c.Text(c.operand(0)),
                  c.Text(c.operand(i)));
    }
  }
  return c.shapes.Tuple(c.input.operands);
}

Result<ShapeId> InferRaggedAllToAll(const Context& c) {
  TRY(ExpectArrays(c));
  if (c.rank(2) != 1 && c.rank(2) != 2) {
    return Fail("offsets and sizes of ragged-all-to-all have one or two dimensions, not {}",
                c.Text(c.operand(2)));
  }
  for (size_t i = 2; i < 6; ++i) {
    if (!c.shapes.Compatible(c.operand(2), c.operand(i)) || !IsIntegral(c.type(i))) {
      return Fail("offsets and sizes of ragged-all-to-all must be integers of one shape: {} and {}",
                  c.Text(c.operand(2)), c.Text(c.operand(i)));
    }
  }
  return c.operand(1);
}

namespace {

bool IsInPlace(const Context& c) { return c.Find(AttrKind::kCollectiveSliceSizes) != nullptr; }

Status ExpectInPlaceOperands(const Context& c) {
  if (c.operand_count() != 4) {
    return Fail("{} with slice_sizes takes 4 operands, not {}", OpcodeText(c.input.opcode),
                c.operand_count());
  }
  return {};
}

}  // namespace

Result<ShapeId> InferCollectivePermute(const Context& c) {
  if (IsInPlace(c)) {
    TRY(ExpectInPlaceOperands(c));
    return c.operand(1);
  }
  return InferSameAsOperands(c);
}

Result<ShapeId> InferCollectivePermuteStart(const Context& c) {
  ShapeId declared = c.input.declared;
  if (!c.shapes.IsTuple(declared) || c.shapes.element_count(declared) < 2) {
    return Fail("collective-permute-start gives (inputs, outputs, …), not {}", c.Text(declared));
  }
  std::vector<ShapeId> results;
  if (IsInPlace(c)) {
    TRY(ExpectInPlaceOperands(c));
    results = {c.operand(0), c.operand(1)};
  } else {
    ASSIGN_OR_RETURN(ShapeId both, InferSameAsOperands(c));
    results = {both, both};
  }
  // What follows are contexts of the back-end.
  for (uint32_t i = 2; i < c.shapes.element_count(declared); ++i) {
    results.push_back(c.shapes.element(declared, i));
  }
  return c.shapes.Tuple(results);
}

Result<ShapeId> InferSecondOfPair(const Context& c) {
  if (!c.shapes.IsTuple(c.operand(0)) || c.shapes.element_count(c.operand(0)) < 2) {
    return Fail("operand 0 of {} must be (inputs, outputs, …), not {}", OpcodeText(c.input.opcode),
                c.Text(c.operand(0)));
  }
  return c.shapes.element(c.operand(0), 1);
}

}  // namespace hlokit::inference
