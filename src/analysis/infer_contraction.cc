// Which shape does a dot, a ragged dot or a scaled dot have?
#include <algorithm>

#include "src/analysis/inference_context.h"

namespace hlokit::inference {
namespace {

struct DotDims {
  std::span<const int64_t> lhs_batch, lhs_contracting, rhs_batch, rhs_contracting;
};

DotDims GetDotDims(const Context& c) {
  return {c.Ints(AttrKind::kLhsBatchDims), c.Ints(AttrKind::kLhsContractingDims),
          c.Ints(AttrKind::kRhsBatchDims), c.Ints(AttrKind::kRhsContractingDims)};
}

Status ExpectPairs(const Context& c, std::span<const int64_t> lhs, std::span<const int64_t> rhs,
                   std::string_view what) {
  if (lhs.size() != rhs.size()) {
    return Fail("the operands have {} and {} {} dimensions", lhs.size(), rhs.size(), what);
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    if (!CompatibleSizes(c.sizes(0)[static_cast<size_t>(lhs[i])],
                         c.sizes(1)[static_cast<size_t>(rhs[i])])) {
      return Fail("{} dimension {} of {} does not fit dimension {} of {}", what, lhs[i],
                  c.Text(c.operand(0)), rhs[i], c.Text(c.operand(1)));
    }
  }
  return {};
}

Status ExpectSide(std::span<const int64_t> batch, std::span<const int64_t> contracting,
                  uint32_t rank, std::string_view side) {
  std::vector<int64_t> both(batch.begin(), batch.end());
  both.insert(both.end(), contracting.begin(), contracting.end());
  return ExpectDimensions(both, rank,
                          fmt::format("batch and contracting dimensions of the {}", side));
}

Status ExpectDotDims(const Context& c, const DotDims& d) {
  TRY(ExpectSide(d.lhs_batch, d.lhs_contracting, c.rank(0), "lhs"));
  TRY(ExpectSide(d.rhs_batch, d.rhs_contracting, c.rank(1), "rhs"));
  TRY(ExpectPairs(c, d.lhs_contracting, d.rhs_contracting, "contracting"));
  return ExpectPairs(c, d.lhs_batch, d.rhs_batch, "batch");
}

/// The declared type, else the wider one.
ElementType DotType(const Context& c) {
  if (c.HasDeclared() && c.shapes.IsArray(c.input.declared)) return c.shapes.type(c.input.declared);
  return WiderType(c.type(0), c.type(1));
}

/// Batch dimensions, then the free ones of both sides in ascending order. `rhs_skip` names more
/// dimensions of the rhs that do not appear.
void AppendDotDims(const Context& c, const DotDims& d, std::span<const int64_t> rhs_skip,
                   Dims* out) {
  for (size_t i = 0; i < d.lhs_batch.size(); ++i) {
    uint32_t dimension = static_cast<uint32_t>(d.lhs_batch[i]);
    c.AddDim(c.operand(0), dimension, out);
    if (out->sizes.back() == kUnboundedSize) {
      out->sizes.back() = c.sizes(1)[static_cast<size_t>(d.rhs_batch[i])];
    }
  }
  for (uint32_t i = 0; i < c.rank(0); ++i) {
    if (!Contains(d.lhs_batch, i) && !Contains(d.lhs_contracting, i))
      c.AddDim(c.operand(0), i, out);
  }
  for (uint32_t i = 0; i < c.rank(1); ++i) {
    if (!Contains(d.rhs_batch, i) && !Contains(d.rhs_contracting, i) && !Contains(rhs_skip, i)) {
      c.AddDim(c.operand(1), i, out);
    }
  }
}

}  // namespace

Result<ShapeId> InferDot(const Context& c) {
  TRY(ExpectArrays(c));
  DotDims dims = GetDotDims(c);
  TRY(ExpectDotDims(c, dims));
  Dims out;
  AppendDotDims(c, dims, {}, &out);
  return c.Array(DotType(c), out);
}

namespace {

/// The group sizes of a ragged dot: [g], or a prefix of lhs dimensions before g.
Status ExpectGroupSizes(const Context& c, const DotDims& dims, int64_t ragged, bool contracting,
                        bool batch) {
  if (!IsIntegral(c.type(2)) || c.rank(2) == 0) {
    return Fail("group sizes must be an array of integers, not {}", c.Text(c.operand(2)));
  }
  if (c.rank(2) == 1) return {};
  // Batch dimensions, then the dimensions of the class of the ragged one, up to the ragged one.
  std::vector<int64_t> prefix;
  auto add_until_ragged = [&](std::span<const int64_t> list) {
    for (int64_t d : list) {
      if (d == ragged) return;
      prefix.push_back(d);
    }
  };
  add_until_ragged(dims.lhs_batch);
  if (contracting) {
    add_until_ragged(dims.lhs_contracting);
  } else if (!batch) {
    for (uint32_t d = 0; d < ragged; ++d) {
      if (!Contains(dims.lhs_batch, d) && !Contains(dims.lhs_contracting, d)) prefix.push_back(d);
    }
  }
  if (prefix.size() + 1 != c.rank(2)) {
    return Fail("group sizes {} must have 1 or {} dimensions", c.Text(c.operand(2)),
                prefix.size() + 1);
  }
  for (size_t i = 0; i < prefix.size(); ++i) {
    if (!CompatibleSizes(c.sizes(2)[i], c.sizes(0)[static_cast<size_t>(prefix[i])])) {
      return Fail("dimension {} of the group sizes {} does not fit dimension {} of {}", i,
                  c.Text(c.operand(2)), prefix[i], c.Text(c.operand(0)));
    }
  }
  return {};
}

}  // namespace

Result<ShapeId> InferRaggedDot(const Context& c) {
  TRY(ExpectArrays(c));
  DotDims dims = GetDotDims(c);
  TRY(ExpectDotDims(c, dims));
  std::span<const int64_t> ragged_dims = c.Ints(AttrKind::kLhsRaggedDims);
  if (ragged_dims.size() != 1) {
    return Fail("ragged-dot needs exactly one ragged dimension, not {}", ragged_dims.size());
  }
  TRY(ExpectDimensions(ragged_dims, c.rank(0), "lhs_ragged_dims"));
  int64_t ragged = ragged_dims[0];
  bool contracting = Contains(dims.lhs_contracting, ragged);
  bool batch = Contains(dims.lhs_batch, ragged);
  TRY(ExpectGroupSizes(c, dims, ragged, contracting, batch));
  int64_t groups = c.sizes(2).back();
  std::span<const int64_t> group_dims = c.Ints(AttrKind::kRhsGroupDims);
  TRY(ExpectDimensions(group_dims, c.rank(1), "rhs_group_dims"));
  size_t wanted = contracting || batch ? 0 : 1;
  if (group_dims.size() != wanted) {
    return Fail("this ragged-dot needs {} rhs_group_dims, not {}", wanted, group_dims.size());
  }
  for (int64_t d : group_dims) {
    if (Contains(dims.rhs_batch, d) || Contains(dims.rhs_contracting, d)) {
      return Fail("rhs_group_dims names dimension {}, which is a batch or contracting one", d);
    }
    if (!CompatibleSizes(c.sizes(1)[static_cast<size_t>(d)], groups)) {
      return Fail("the group dimension of {} has another size than the {} group sizes",
                  c.Text(c.operand(1)), groups);
    }
  }
  Dims out;
  if (contracting) out.Add(groups);
  AppendDotDims(c, dims, group_dims, &out);
  return c.Array(DotType(c), out);
}

namespace {

/// A scale divides its operand dimension by dimension; bf16 with one element means "none".
Status ExpectScale(const Context& c, size_t operand, size_t scale,
                   std::span<const int64_t> contracting) {
  if (c.type(scale) == ElementType::kBf16 && c.shapes.ElementCount(c.operand(scale)) == 1)
    return {};
  if (c.rank(scale) != c.rank(operand)) {
    return Fail("scale {} has another number of dimensions than {}", c.Text(c.operand(scale)),
                c.Text(c.operand(operand)));
  }
  for (uint32_t d = 0; d < c.rank(operand); ++d) {
    int64_t size = c.sizes(operand)[d];
    int64_t part = c.sizes(scale)[d];
    if (size == kUnboundedSize || part == kUnboundedSize || size == part) continue;
    if (part <= 0 || size % part != 0) {
      return Fail("{} dimension {} of scale {} does not divide that of {}",
                  Contains(contracting, d) ? "contracting" : "free", d, c.Text(c.operand(scale)),
                  c.Text(c.operand(operand)));
    }
  }
  return {};
}

}  // namespace

Result<ShapeId> InferScaledDot(const Context& c) {
  TRY(ExpectArrays(c));
  DotDims dims = GetDotDims(c);
  TRY(ExpectDotDims(c, dims));
  if (dims.lhs_contracting.size() != 1) {
    return Fail("scaled-dot needs exactly one contracting dimension, not {}",
                dims.lhs_contracting.size());
  }
  if (c.rank(2) == 0 && c.rank(3) == 0) return Fail("both scales of scaled-dot are scalars");
  TRY(ExpectScale(c, 0, 2, dims.lhs_contracting));
  TRY(ExpectScale(c, 1, 3, dims.rhs_contracting));
  Dims out;
  AppendDotDims(c, dims, {}, &out);
  return c.Array(DotType(c), out);
}

}  // namespace hlokit::inference
