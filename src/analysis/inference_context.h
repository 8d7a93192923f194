// What do the shape rules share? Access to operands and attributes, and making result shapes.
#ifndef HLOKIT_SRC_ANALYSIS_INFERENCE_CONTEXT_H_
#define HLOKIT_SRC_ANALYSIS_INFERENCE_CONTEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "hlokit/shape_inference.h"

namespace hlokit::inference {

template <typename... Args>
std::unexpected<Error> Fail(fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(ExitCode::kVerifyFailed, DiagId::kShapeInference,
                   fmt::format(format, std::forward<Args>(args)...));
}

/// Sizes and dynamic flags of a shape that is being made.
struct Dims {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dynamic;
  void Add(int64_t size, bool is_dynamic = false) {
    sizes.push_back(size);
    dynamic.push_back(is_dynamic ? 1 : 0);
  }
};

struct Context {
  const Module& module;
  ShapePool& shapes;
  const InferenceInput& input;

  // ---- operands ----
  size_t operand_count() const { return input.operands.size(); }
  ShapeId operand(size_t i) const { return input.operands[i]; }
  ElementType type(size_t i) const { return shapes.type(input.operands[i]); }
  uint32_t rank(size_t i) const { return shapes.rank(input.operands[i]); }
  std::span<const int64_t> sizes(size_t i) const { return shapes.sizes(input.operands[i]); }
  bool IsScalar(ShapeId shape) const { return shapes.IsArray(shape) && shapes.rank(shape) == 0; }
  bool IsScalar(ShapeId shape, ElementType type) const {
    return IsScalar(shape) && shapes.type(shape) == type;
  }
  std::string Text(ShapeId shape) const { return shapes.Text(shape, false); }

  // ---- attributes ----
  const Attr* Find(AttrKind kind) const {
    for (const Attr& attr : input.attributes) {
      if (attr.kind == kind) return &attr;
    }
    return nullptr;
  }
  int64_t Int(AttrKind kind, int64_t absent = 0) const {
    const Attr* attr = Find(kind);
    return attr == nullptr ? absent : attr->integer();
  }
  std::span<const int64_t> Ints(AttrKind kind) const {
    const Attr* attr = Find(kind);
    return attr == nullptr ? std::span<const int64_t>() : module.ints(*attr);
  }
  std::string_view Words(AttrKind kind) const {
    const Attr* attr = Find(kind);
    return attr == nullptr ? std::string_view() : module.str(attr->text());
  }
  std::span<const uint32_t> Callees() const {
    const Attr* attr = Find(AttrKind::kCalledComputations);
    return attr == nullptr ? std::span<const uint32_t>() : module.refs(*attr);
  }

  // ---- results ----
  bool HasDeclared() const { return input.declared.valid(); }
  /// An array with row-major layout.
  ShapeId Array(ElementType type, std::span<const int64_t> sizes) const {
    return shapes.Array(type, sizes, shapes.DescendingLayout(static_cast<uint32_t>(sizes.size())));
  }
  ShapeId Array(ElementType type, const Dims& dims) const {
    return shapes.Array(type, dims.sizes,
                        shapes.DescendingLayout(static_cast<uint32_t>(dims.sizes.size())),
                        dims.dynamic);
  }
  Dims DimsOf(ShapeId shape) const {
    Dims dims;
    for (uint32_t d = 0; d < shapes.rank(shape); ++d) AddDim(shape, d, &dims);
    return dims;
  }
  void AddDim(ShapeId shape, uint32_t dimension, Dims* dims) const {
    dims->Add(shapes.sizes(shape)[dimension], shapes.IsDynamicDimension(shape, dimension));
  }
};

/// A rule of one opcode or of a family.
using Rule = Result<ShapeId> (*)(const Context&);

constexpr bool CompatibleSizes(int64_t a, int64_t b) {
  return a == b || a == kUnboundedSize || b == kUnboundedSize;
}
/// Equal ranks, and each pair of sizes equal or one of it unbounded.
bool SameSizes(std::span<const int64_t> a, std::span<const int64_t> b);
/// Equal, or both floating.
constexpr bool SameTypeButPrecision(ElementType a, ElementType b) {
  return a == b || (IsFloating(a) && IsFloating(b));
}
/// Same structure and sizes; float types may differ in precision. Layouts are ignored.
bool CompatibleButPrecision(const ShapePool& shapes, ShapeId a, ShapeId b);
/// The wider of two float types (more bits, then more exponent bits); else the first.
ElementType WiderType(ElementType a, ElementType b);
constexpr bool IsSignedKind(ElementType type) {
  return Info(type).kind == ElementKind::kSigned || IsFloating(type) || IsComplex(type);
}

/// Fails unless operand i is an array.
Status ExpectArray(const Context& c, size_t i);
Status ExpectArrays(const Context& c);
/// Fails unless every entry is a dimension number below `rank` and occurs once. `what` names the
/// list.
Status ExpectDimensions(std::span<const int64_t> dims, uint32_t rank, std::string_view what);
/// The list is strictly ascending.
bool IsAscending(std::span<const int64_t> dims);
bool Contains(std::span<const int64_t> values, int64_t value);

/// Root and parameters of the called computation `index`; fails when there is none or it has no
/// root.
struct Callee {
  CompId id;
  std::vector<ShapeId> parameters;
  ShapeId root;
};
Result<Callee> GetCallee(const Context& c, size_t index);
/// Fails unless the callee takes exactly the given shapes.
Status ExpectParameters(const Context& c, const Callee& callee, std::span<const ShapeId> wanted);

/// A computation of 2n scalars that gives n scalars (a tuple when n > 1), for n inputs of the given
/// types and n initial values. The answer is the element type of each result.
Result<std::vector<ElementType>> CheckReducer(const Context& c, const Callee& callee,
                                              std::span<const ShapeId> inputs,
                                              std::span<const ShapeId> init_values);
/// One shape alone, several as a tuple.
ShapeId OneOrTuple(const Context& c, std::span<const ShapeId> shapes);

/// Sizes of a windowed shape: `window` has kWindowFields numbers per dimension of `base`.
/// `allow_empty` accepts windows of size 0.
Result<Dims> WindowedDims(const Dims& base, std::span<const int64_t> window, bool allow_empty);

// ---- the rules, by file ----
// infer_elementwise.cc
Result<ShapeId> InferUnary(const Context& c);
Result<ShapeId> InferBinary(const Context& c);
Result<ShapeId> InferCompare(const Context& c);
Result<ShapeId> InferComplex(const Context& c);
Result<ShapeId> InferSelect(const Context& c);
Result<ShapeId> InferClamp(const Context& c);
Result<ShapeId> InferConvert(const Context& c);
Result<ShapeId> InferBitcastConvert(const Context& c);
Result<ShapeId> InferStochasticConvert(const Context& c);
Result<ShapeId> InferReducePrecision(const Context& c);
Result<ShapeId> InferMap(const Context& c);
// infer_movement.cc
Result<ShapeId> InferBroadcast(const Context& c);
Result<ShapeId> InferReshape(const Context& c);
Result<ShapeId> InferDynamicReshape(const Context& c);
Result<ShapeId> InferTranspose(const Context& c);
Result<ShapeId> InferReverse(const Context& c);
Result<ShapeId> InferSlice(const Context& c);
Result<ShapeId> InferDynamicSlice(const Context& c);
Result<ShapeId> InferDynamicUpdateSlice(const Context& c);
Result<ShapeId> InferConcatenate(const Context& c);
Result<ShapeId> InferPad(const Context& c);
Result<ShapeId> InferIota(const Context& c);
Result<ShapeId> InferGetDimensionSize(const Context& c);
Result<ShapeId> InferSetDimensionSize(const Context& c);
Result<ShapeId> InferSort(const Context& c);
Result<ShapeId> InferTopK(const Context& c);
// infer_indexing.cc
Result<ShapeId> InferGather(const Context& c);
Result<ShapeId> InferScatter(const Context& c);
// infer_contraction.cc
Result<ShapeId> InferDot(const Context& c);
Result<ShapeId> InferRaggedDot(const Context& c);
Result<ShapeId> InferScaledDot(const Context& c);
// infer_convolution.cc
Result<ShapeId> InferConvolution(const Context& c);
// infer_reduction.cc
Result<ShapeId> InferReduce(const Context& c);
Result<ShapeId> InferReduceWindow(const Context& c);
Result<ShapeId> InferSelectAndScatter(const Context& c);
Result<ShapeId> InferScan(const Context& c);
// infer_algebra.cc
Result<ShapeId> InferBatchNorm(const Context& c);
Result<ShapeId> InferFft(const Context& c);
Result<ShapeId> InferCholesky(const Context& c);
Result<ShapeId> InferTriangularSolve(const Context& c);
Result<ShapeId> InferRng(const Context& c);
Result<ShapeId> InferRngBitGenerator(const Context& c);
// infer_control.cc
Result<ShapeId> InferTuple(const Context& c);
Result<ShapeId> InferGetTupleElement(const Context& c);
Result<ShapeId> InferCall(const Context& c);
Result<ShapeId> InferWhile(const Context& c);
Result<ShapeId> InferConditional(const Context& c);
Result<ShapeId> InferFusion(const Context& c);
Result<ShapeId> InferAfterAll(const Context& c);
Result<ShapeId> InferAddDependency(const Context& c);
Result<ShapeId> InferCopyStart(const Context& c);
Result<ShapeId> InferCopyDone(const Context& c);
Result<ShapeId> InferAsyncStart(const Context& c);
Result<ShapeId> InferAsyncUpdate(const Context& c);
Result<ShapeId> InferAsyncDone(const Context& c);
Result<ShapeId> InferHostTransfer(const Context& c);
// infer_collective.cc
Result<ShapeId> InferAllGather(const Context& c);
Result<ShapeId> InferAllGatherStart(const Context& c);
Result<ShapeId> InferReduceScatter(const Context& c);
Result<ShapeId> InferSameAsOperands(const Context& c);
Result<ShapeId> InferAllToAll(const Context& c);
Result<ShapeId> InferRaggedAllToAll(const Context& c);
Result<ShapeId> InferCollectivePermute(const Context& c);
Result<ShapeId> InferCollectivePermuteStart(const Context& c);
Result<ShapeId> InferSecondOfPair(const Context& c);

}  // namespace hlokit::inference

#endif  // HLOKIT_SRC_ANALYSIS_INFERENCE_CONTEXT_H_
