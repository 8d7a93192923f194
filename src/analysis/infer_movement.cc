// Which shape does an instruction have that only moves elements?
#include <algorithm>
#include <limits>

#include "src/analysis/inference_context.h"

namespace hlokit::inference {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kMaxSize = std::numeric_limits<int64_t>::max();

/// The element of a list that must have exactly one.
Result<int64_t> OneDimension(const Context& c, uint32_t rank) {
  std::span<const int64_t> dims = c.Ints(AttrKind::kDimensions);
  if (dims.size() != 1) {
    return Fail("{} needs exactly one dimension, not {}", OpcodeText(c.input.opcode), dims.size());
  }
  if (dims[0] < 0 || dims[0] >= rank) {
    return Fail("dimension {} of {} is out of range for {}", dims[0], OpcodeText(c.input.opcode),
                c.Text(c.operand(0)));
  }
  return dims[0];
}

/// Checks the start indices from operand `first` on: one scalar per dimension, or one vector.
Status ExpectStartIndices(const Context& c, size_t first, uint32_t rank) {
  size_t count = c.operand_count() - first;
  if (count == 1 && c.rank(first) == 1) {
    if (!IsIntegral(c.type(first))) {
      return Fail("start indices must be integers, not {}", Info(c.type(first)).text);
    }
    if (!CompatibleSizes(c.sizes(first)[0], rank)) {
      return Fail("{} start indices are given for {} dimensions", c.sizes(first)[0], rank);
    }
    return {};
  }
  if (count != rank) return Fail("{} start indices are given for {} dimensions", count, rank);
  for (size_t i = first; i < c.operand_count(); ++i) {
    if (!c.IsScalar(c.operand(i)) || !IsIntegral(c.type(i))) {
      return Fail("start index {} must be an integer scalar, not {}", i - first,
                  c.Text(c.operand(i)));
    }
    if (c.type(i) != c.type(first)) {
      return Fail("the start indices have different types: {} and {}", Info(c.type(first)).text,
                  Info(c.type(i)).text);
    }
  }
  return {};
}

/// The number of elements with unbounded and dynamic dimensions at their bound; nothing when a
/// dimension is unbounded.
bool SameElementCount(const Context& c, ShapeId a, ShapeId b) {
  for (ShapeId shape : {a, b}) {
    if (Contains(c.shapes.sizes(shape), kUnboundedSize)) return true;
  }
  return c.shapes.ElementCount(a) == c.shapes.ElementCount(b);
}

}  // namespace

Result<ShapeId> InferBroadcast(const Context& c) {
  TRY(ExpectArray(c, 0));
  std::span<const int64_t> dims = c.Ints(AttrKind::kDimensions);
  if (!c.HasDeclared()) {
    // Without a result type the list names sizes to put in front (hlo-text.md section 9).
    Dims out;
    for (int64_t size : dims) {
      if (size < 0) return Fail("a broadcast size is negative: {}", size);
      out.Add(size);
    }
    for (uint32_t d = 0; d < c.rank(0); ++d) c.AddDim(c.operand(0), d, &out);
    return c.Array(c.type(0), out);
  }
  if (!c.shapes.IsArray(c.input.declared)) return Fail("broadcast gives an array");
  if (dims.size() != c.rank(0)) {
    return Fail("broadcast maps {} dimensions, but the operand {} has {}", dims.size(),
                c.Text(c.operand(0)), c.rank(0));
  }
  uint32_t rank = c.shapes.rank(c.input.declared);
  TRY(ExpectDimensions(dims, rank, "the dimensions list"));
  std::span<const int64_t> wanted = c.shapes.sizes(c.input.declared);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!CompatibleSizes(c.sizes(0)[d], wanted[static_cast<size_t>(dims[d])])) {
      return Fail("dimension {} of {} goes to dimension {} of {}, which has another size", d,
                  c.Text(c.operand(0)), dims[d], c.Text(c.input.declared));
    }
  }
  return c.shapes.WithType(c.input.declared, c.type(0));
}

Result<ShapeId> InferReshape(const Context& c) {
  TRY(ExpectArray(c, 0));
  if (!c.shapes.IsArray(c.input.declared)) return Fail("reshape gives an array");
  if (!SameElementCount(c, c.operand(0), c.input.declared)) {
    return Fail("reshape changes the number of elements: {} to {}", c.Text(c.operand(0)),
                c.Text(c.input.declared));
  }
  return c.shapes.WithType(c.input.declared, c.type(0));
}

Result<ShapeId> InferDynamicReshape(const Context& c) {
  if (c.operand_count() == 0) return Fail("dynamic-reshape needs an operand");
  TRY(ExpectArray(c, 0));
  if (!c.shapes.IsArray(c.input.declared)) return Fail("dynamic-reshape gives an array");
  if (c.operand_count() != c.shapes.rank(c.input.declared) + 1) {
    return Fail("dynamic-reshape has {} sizes for {} dimensions", c.operand_count() - 1,
                c.shapes.rank(c.input.declared));
  }
  for (size_t i = 1; i < c.operand_count(); ++i) {
    if (!c.IsScalar(c.operand(i), ElementType::kS32)) {
      return Fail("size {} of dynamic-reshape must be s32[], not {}", i - 1, c.Text(c.operand(i)));
    }
  }
  return InferReshape(c);
}

Result<ShapeId> InferTranspose(const Context& c) {
  TRY(ExpectArray(c, 0));
  std::span<const int64_t> dims = c.Ints(AttrKind::kDimensions);
  if (dims.size() != c.rank(0)) {
    return Fail("transpose lists {} dimensions, but the operand {} has {}", dims.size(),
                c.Text(c.operand(0)), c.rank(0));
  }
  TRY(ExpectDimensions(dims, c.rank(0), "the dimensions list"));
  Dims out;
  for (int64_t d : dims) c.AddDim(c.operand(0), static_cast<uint32_t>(d), &out);
  return c.Array(c.type(0), out);
}

Result<ShapeId> InferReverse(const Context& c) {
  TRY(ExpectArray(c, 0));
  TRY(ExpectDimensions(c.Ints(AttrKind::kDimensions), c.rank(0), "the dimensions list"));
  return c.operand(0);
}

Result<ShapeId> InferSlice(const Context& c) {
  TRY(ExpectArray(c, 0));
  std::span<const int64_t> ranges = c.Ints(AttrKind::kSlice);
  if (ranges.size() != 3 * c.rank(0)) {
    return Fail("slice has {} ranges, but the operand {} has {} dimensions", ranges.size() / 3,
                c.Text(c.operand(0)), c.rank(0));
  }
  Dims out;
  for (uint32_t d = 0; d < c.rank(0); ++d) {
    int64_t start = ranges[3 * d];
    int64_t limit = ranges[3 * d + 1];
    int64_t stride = ranges[3 * d + 2];
    int64_t size = c.sizes(0)[d];
    if (start < 0 || limit < start || (size != kUnboundedSize && limit > size)) {
      return Fail("slice [{}:{}] does not fit dimension {} of {}", start, limit, d,
                  c.Text(c.operand(0)));
    }
    if (stride < 1) return Fail("slice has stride {} in dimension {}", stride, d);
    int64_t length = limit - start;
    bool whole = start == 0 && limit == size && stride == 1;
    out.Add(length / stride + (length % stride != 0 ? 1 : 0),
            whole && c.shapes.IsDynamicDimension(c.operand(0), d));
  }
  return c.Array(c.type(0), out);
}

Result<ShapeId> InferDynamicSlice(const Context& c) {
  if (c.operand_count() == 0) return Fail("dynamic-slice needs an operand");
  TRY(ExpectArrays(c));
  std::span<const int64_t> sizes = c.Ints(AttrKind::kDynamicSliceSizes);
  if (sizes.size() != c.rank(0)) {
    return Fail("dynamic-slice has {} sizes, but the operand {} has {} dimensions", sizes.size(),
                c.Text(c.operand(0)), c.rank(0));
  }
  TRY(ExpectStartIndices(c, 1, c.rank(0)));
  Dims out;
  for (uint32_t d = 0; d < c.rank(0); ++d) {
    int64_t size = c.sizes(0)[d];
    if (sizes[d] < 0 || (size != kUnboundedSize && sizes[d] > size)) {
      return Fail("a slice of size {} does not fit dimension {} of {}", sizes[d], d,
                  c.Text(c.operand(0)));
    }
    out.Add(sizes[d], sizes[d] == size && c.shapes.IsDynamicDimension(c.operand(0), d));
  }
  return c.Array(c.type(0), out);
}

Result<ShapeId> InferDynamicUpdateSlice(const Context& c) {
  if (c.operand_count() < 2) return Fail("dynamic-update-slice needs an operand and an update");
  // The operand may be a buffer; the update and the indices are arrays.
  if (!c.shapes.IsArray(c.operand(0))) return Fail("operand 0 of dynamic-update-slice is no array");
  for (size_t i = 1; i < c.operand_count(); ++i) TRY(ExpectArray(c, i));
  if (c.rank(0) != c.rank(1) || !SameTypeButPrecision(c.type(0), c.type(1))) {
    return Fail("the update {} must have the type and the number of dimensions of the operand {}",
                c.Text(c.operand(1)), c.Text(c.operand(0)));
  }
  TRY(ExpectStartIndices(c, 2, c.rank(0)));
  for (uint32_t d = 0; d < c.rank(0); ++d) {
    int64_t size = c.sizes(0)[d];
    if (size != kUnboundedSize && c.sizes(1)[d] > size) {
      return Fail("the update {} does not fit dimension {} of {}", c.Text(c.operand(1)), d,
                  c.Text(c.operand(0)));
    }
  }
  return c.operand(0);
}

Result<ShapeId> InferConcatenate(const Context& c) {
  if (c.operand_count() == 0) return Fail("concatenate needs at least one operand");
  TRY(ExpectArrays(c));
  ASSIGN_OR_RETURN(int64_t dimension, OneDimension(c, c.rank(0)));
  Dims out = c.DimsOf(c.operand(0));
  ElementType type = c.type(0);
  for (size_t i = 1; i < c.operand_count(); ++i) {
    if (c.rank(i) != c.rank(0) || !SameTypeButPrecision(c.type(i), type)) {
      return Fail("concatenate joins {} and {}, which differ in type or number of dimensions",
                  c.Text(c.operand(0)), c.Text(c.operand(i)));
    }
    type = WiderType(type, c.type(i));
    for (uint32_t d = 0; d < c.rank(0); ++d) {
      int64_t size = c.sizes(i)[d];
      bool dynamic = c.shapes.IsDynamicDimension(c.operand(i), d);
      if (d == dimension) {
        if (out.sizes[d] == kUnboundedSize || size == kUnboundedSize) {
          out.sizes[d] = kUnboundedSize;
        } else if (__builtin_add_overflow(out.sizes[d], size, &out.sizes[d])) {
          return Fail("concatenate makes dimension {} too large", d);
        }
      } else if (!CompatibleSizes(out.sizes[d], size)) {
        return Fail("concatenate joins {} and {}, which differ in dimension {}",
                    c.Text(c.operand(0)), c.Text(c.operand(i)), d);
      } else if (out.sizes[d] == kUnboundedSize) {
        out.sizes[d] = size;
      }
      if (dynamic) out.dynamic[d] = 1;
    }
  }
  return c.Array(type, out);
}

Result<ShapeId> InferPad(const Context& c) {
  TRY(ExpectArrays(c));
  if (!c.IsScalar(c.operand(1)) || !SameTypeButPrecision(c.type(0), c.type(1))) {
    return Fail("the padding value must be a scalar of the type of the operand: {} and {}",
                c.Text(c.operand(1)), c.Text(c.operand(0)));
  }
  std::span<const int64_t> padding = c.Ints(AttrKind::kPadding);
  if (padding.size() != 3 * c.rank(0)) {
    return Fail("pad configures {} dimensions, but the operand {} has {}", padding.size() / 3,
                c.Text(c.operand(0)), c.rank(0));
  }
  Dims out;
  for (uint32_t d = 0; d < c.rank(0); ++d) {
    int64_t interior = padding[3 * d + 2];
    if (interior < 0) return Fail("the interior padding of dimension {} is negative", d);
    int64_t size = c.sizes(0)[d];
    bool dynamic = c.shapes.IsDynamicDimension(c.operand(0), d);
    if (size == kUnboundedSize) {
      out.Add(size, true);
      continue;
    }
    Wide padded = Wide(padding[3 * d]) + padding[3 * d + 1] + size +
                  Wide(std::max<int64_t>(size - 1, 0)) * interior;
    if (padded < 0) return Fail("padding leaves a negative size of dimension {}", d);
    if (padded > kMaxSize) return Fail("padding makes dimension {} too large", d);
    out.Add(static_cast<int64_t>(padded), dynamic);
  }
  return c.Array(WiderType(c.type(0), c.type(1)), out);
}

Result<ShapeId> InferIota(const Context& c) {
  if (!c.shapes.IsArray(c.input.declared)) return Fail("iota gives an array");
  uint32_t rank = c.shapes.rank(c.input.declared);
  int64_t dimension = c.Int(AttrKind::kIotaDimension);
  if (rank == 0) return Fail("iota gives no scalars");
  if (dimension < 0 || dimension >= rank) {
    return Fail("iota_dimension {} is out of range for {}", dimension, c.Text(c.input.declared));
  }
  ElementType type = c.shapes.type(c.input.declared);
  if (!IsIntegral(type) && !IsFloating(type) && !IsComplex(type)) {
    return Fail("iota gives integral, floating or complex values, not {}", Info(type).text);
  }
  return c.input.declared;
}

Result<ShapeId> InferGetDimensionSize(const Context& c) {
  TRY(ExpectArray(c, 0));
  ASSIGN_OR_RETURN(int64_t dimension, OneDimension(c, c.rank(0)));
  if (c.sizes(0)[static_cast<size_t>(dimension)] > std::numeric_limits<int32_t>::max()) {
    return Fail("the size of dimension {} does not fit s32", dimension);
  }
  return c.Array(ElementType::kS32, std::span<const int64_t>());
}

Result<ShapeId> InferSetDimensionSize(const Context& c) {
  TRY(ExpectArrays(c));
  ASSIGN_OR_RETURN(int64_t dimension, OneDimension(c, c.rank(0)));
  if (!c.IsScalar(c.operand(1), ElementType::kS32)) {
    return Fail("the size must be s32[], not {}", c.Text(c.operand(1)));
  }
  if (c.sizes(0)[static_cast<size_t>(dimension)] > std::numeric_limits<int32_t>::max()) {
    return Fail("the size of dimension {} does not fit s32", dimension);
  }
  Dims dims = c.DimsOf(c.operand(0));
  dims.dynamic[static_cast<size_t>(dimension)] = 1;
  return c.shapes.Array(c.type(0), dims.sizes, c.shapes.layout(c.operand(0)), dims.dynamic);
}

Result<ShapeId> InferSort(const Context& c) {
  size_t n = c.operand_count();
  if (n == 0) return Fail("sort needs at least one operand");
  TRY(ExpectArrays(c));
  for (size_t i = 1; i < n; ++i) {
    if (!SameSizes(c.sizes(0), c.sizes(i))) {
      return Fail("the operands of sort differ in sizes: {} and {}", c.Text(c.operand(0)),
                  c.Text(c.operand(i)));
    }
  }
  TRY(OneDimension(c, c.rank(0)));
  ASSIGN_OR_RETURN(Callee callee, GetCallee(c, 0));
  if (callee.parameters.size() != 2 * n) {
    return Fail("the comparator of sort must have {} parameters, it has {}", 2 * n,
                callee.parameters.size());
  }
  for (size_t i = 0; i < 2 * n; ++i) {
    if (!c.IsScalar(callee.parameters[i]) ||
        !SameTypeButPrecision(c.shapes.type(callee.parameters[i]), c.type(i / 2))) {
      return Fail("parameter {} of the comparator is {}, but the operand {}", i,
                  c.Text(callee.parameters[i]), c.Text(c.operand(i / 2)));
    }
  }
  if (!c.IsScalar(callee.root, ElementType::kPred)) {
    return Fail("the comparator must give pred[], not {}", c.Text(callee.root));
  }
  return OneOrTuple(c, c.input.operands);
}

Result<ShapeId> InferTopK(const Context& c) {
  TRY(ExpectArray(c, 0));
  if (c.rank(0) == 0) return Fail("topk takes no scalars");
  int64_t k = c.Int(AttrKind::kK);
  Dims dims = c.DimsOf(c.operand(0));
  if (k < 0 || (dims.sizes.back() != kUnboundedSize && k > dims.sizes.back())) {
    return Fail("k is {}, but the last dimension of {} is smaller", k, c.Text(c.operand(0)));
  }
  dims.sizes.back() = k;
  dims.dynamic.back() = 0;
  ShapeId results[] = {c.Array(c.type(0), dims), c.Array(ElementType::kS32, dims)};
  return c.shapes.Tuple(results);
}

}  // namespace hlokit::inference
