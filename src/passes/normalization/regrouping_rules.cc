// What happens to operations that relate several operands or change the number of dimensions?
#include <algorithm>

#include "fmt/format.h"
#include "src/passes/normalization/normalizer.h"

namespace hlokit {
namespace {

/// Elements between neighbours of each logical dimension.
std::vector<int64_t> PhysicalStrides(const ShapePool& shapes, ShapeId array) {
  std::vector<int64_t> strides(shapes.rank(array), 1);
  int64_t stride = 1;
  for (int64_t d : shapes.minor_to_major(shapes.layout(array))) {
    strides[static_cast<size_t>(d)] = stride;
    stride *= shapes.sizes(array)[static_cast<size_t>(d)];
  }
  return strides;
}

/// Do all unit indices of `a` lie at the same place in both shapes?
bool UnitsAgree(const ShapePool& shapes, ShapeId a, ShapeId b) {
  std::vector<int64_t> from = PhysicalStrides(shapes, a), to = PhysicalStrides(shapes, b);
  std::span<const int64_t> a_sizes = shapes.sizes(a), b_sizes = shapes.sizes(b);
  int64_t linear = 1;
  for (size_t i = a_sizes.size(); i-- > 0; linear *= a_sizes[i]) {
    if (a_sizes[i] == 1) continue;
    int64_t rest = linear, place = 0;
    for (size_t j = b_sizes.size(); j-- > 0;) {
      place += rest % b_sizes[j] * to[j];
      rest /= b_sizes[j];
    }
    if (place != from[i]) return false;
  }
  return true;
}

/// layout-normalization.md section 3.1.
bool ReshapeMovesNothing(const ShapePool& shapes, ShapeId a, ShapeId b) {
  int64_t count = shapes.ElementCount(a);
  if (shapes.type(a) != shapes.type(b) || count != shapes.ElementCount(b)) return false;
  return count == 0 || (UnitsAgree(shapes, a, b) && UnitsAgree(shapes, b, a));
}

/// Is the layout of `array` this order, dimensions of size 1 left out?
bool SameOrderOfLargeDimensions(const ShapePool& shapes, ShapeId array,
                                std::span<const int64_t> order) {
  const auto large = [&](std::span<const int64_t> list) {
    std::vector<int64_t> out;
    for (int64_t d : list) {
      if (shapes.sizes(array)[static_cast<size_t>(d)] != 1) out.push_back(d);
    }
    return out;
  };
  return large(shapes.minor_to_major(shapes.layout(array))) == large(order);
}

}  // namespace

Status Normalizer::Reshape(InstId inst) {
  if (!ReshapeMovesNothing(shapes_, module_.shape(module_.operand(inst, 0)), module_.shape(inst))) {
    return CannotHandle(inst, "it moves elements, so it is no bitcast");
  }
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  // The new reshape is an affair of the value that it reads, and so is its metadata.
  InstId reshape = rewriter_.AddUnary(Opcode::kReshape, N(inst), input);
  rewriter_.CopyMetadata(input, reshape);
  ReplaceBy(inst, reshape);
  return {};
}

Status Normalizer::BitcastConvert(InstId inst) {
  ShapeId from = module_.shape(module_.operand(inst, 0)), to = module_.shape(inst);
  if (shapes_.rank(from) == shapes_.rank(to)) return Unary(inst);
  ShapeId larger = shapes_.rank(from) > shapes_.rank(to) ? from : to;
  std::span<const int64_t> minor_to_major = shapes_.minor_to_major(shapes_.layout(larger));
  if (minor_to_major.empty() || minor_to_major[0] != shapes_.rank(larger) - 1) return Default(inst);
  // The other dimensions must lie in the same order, or elements would move.
  ShapeId smaller = larger == from ? to : from;
  if (!SameOrderOfLargeDimensions(shapes_, smaller, minor_to_major.subspan(1))) {
    if (!options_.reference_quirks) return Default(inst);
    options_.context->Warn(
        DiagId::kReferenceQuirk,
        fmt::format("bitcast-convert {} moves elements afterwards, as XLA writes it",
                    module_.name(inst)),
        "layout-normalization{reference-quirks=false} keeps it right");
  }
  ASSIGN_OR_RETURN(InstId input, Input(inst, 0));
  return RewriteUnary(inst, Opcode::kBitcastConvert, input, Attributes(inst, Keep::kMeaning));
}

Status Normalizer::Convolution(InstId inst) {
  ASSIGN_OR_RETURN(InstId lhs, Input(inst, 0));
  ASSIGN_OR_RETURN(InstId rhs, Input(inst, 1));
  std::string labels(module_.TextAttr(inst, AttrKind::kDimLabels));
  size_t bar = labels.find('_'), arrow = labels.find("->");
  if (bar == labels.npos || arrow == labels.npos) return CannotHandle(inst, "it has no dim_labels");
  // A label at position d belongs to dimension d; trailing '?' are not written.
  auto reorder = [&](std::string text, InstId shaped) {
    text.resize(shapes_.rank(module_.shape(shaped)), '?');
    std::string out;
    for (int64_t d : P(shaped)) out += text[static_cast<size_t>(d)];
    while (!out.empty() && out.back() == '?') out.pop_back();
    return out;
  };
  std::string text = reorder(labels.substr(0, bar), module_.operand(inst, 0)) + "_" +
                     reorder(labels.substr(bar + 1, arrow - bar - 1), module_.operand(inst, 1)) +
                     "->" + reorder(labels.substr(arrow + 2), inst);
  InstId operands[] = {lhs, rhs};
  Attr attr = module_.TextAttribute(AttrKind::kDimLabels, text);
  // It counts as a clone, so it is named after the old one.
  ReplaceBy(inst, Make(inst, Opcode::kConvolution, N(inst), operands,
                       Attributes(inst, Keep::kAll, attr), module_.name(inst)));
  return {};
}

Status Normalizer::Scatter(InstId inst) {
  const uint32_t count = (module_.operand_count(inst) - 1) / 2;
  InstId indices = module_.operand(inst, count);
  InstId first_input = module_.operand(inst, 0), first_update = module_.operand(inst, count + 1);
  auto layout = [&](InstId shaped) { return shapes_.layout(module_.shape(shaped)); };
  for (uint32_t i = 1; i < count; ++i) {
    if (!shapes_.SameOrder(layout(module_.operand(inst, i)), layout(first_input)) ||
        !shapes_.SameOrder(layout(module_.operand(inst, count + 1 + i)), layout(first_update))) {
      return CannotHandle(inst, "its operands or its updates differ in layout");
    }
  }
  std::span<const int64_t> windows = module_.IntsAttr(inst, AttrKind::kUpdateWindowDims);
  const std::vector<int64_t> window_dims(windows.begin(), windows.end());
  if (shapes_.rank(module_.shape(first_update)) > window_dims.size() + 1) {
    return CannotHandle(inst, "its updates have more than one scatter dimension");
  }
  std::vector<InstId> operands;
  for (uint32_t i = 0; i < module_.operand_count(inst); ++i) {
    ASSIGN_OR_RETURN(InstId input, Input(inst, i));
    operands.push_back(input);
  }
  Permutation q_input = Q(first_input), q_update = Q(first_update), q_indices = Q(indices);
  auto remap = [&](AttrKind kind, const Permutation& q) {
    return module_.IntsAttribute(kind, Compose(q, module_.IntsAttr(inst, kind)));
  };
  // Window dimensions of the operand are those that are neither inserted nor batching, in order;
  // the j-th of them belongs to the j-th of update_window_dims.
  std::vector<bool> is_window(q_input.size(), true);
  for (AttrKind kind : {AttrKind::kInsertedWindowDims, AttrKind::kInputBatchingDims}) {
    for (int64_t d : module_.IntsAttr(inst, kind)) is_window[static_cast<size_t>(d)] = false;
  }
  std::vector<int64_t> update_of(q_input.size(), -1);
  for (size_t d = 0, j = 0; d < is_window.size(); ++d) {
    if (is_window[d] && j < window_dims.size()) update_of[d] = window_dims[j++];
  }
  std::vector<int64_t> new_window_dims;
  for (int64_t d : P(first_input)) {
    int64_t update = update_of[static_cast<size_t>(d)];
    if (update >= 0) new_window_dims.push_back(q_update[static_cast<size_t>(update)]);
  }
  std::vector<Attr> attrs = Attributes(
      inst, Keep::kAll, module_.IntsAttribute(AttrKind::kUpdateWindowDims, new_window_dims));
  for (Attr& attr : attrs) {
    switch (attr.kind) {
      case AttrKind::kInsertedWindowDims: {
        std::vector<int64_t> inserted = Compose(q_input, module_.ints(attr));
        std::sort(inserted.begin(), inserted.end());
        attr = module_.IntsAttribute(attr.kind, inserted);
        break;
      }
      case AttrKind::kInputBatchingDims:
      case AttrKind::kScatterDimsToOperandDims:
        attr = remap(attr.kind, q_input);
        break;
      case AttrKind::kScatterIndicesBatchingDims:
        attr = remap(attr.kind, q_indices);
        break;
      case AttrKind::kIndexVectorDim:
        attr = Attr::Integer(attr.kind, RemapIndexVectorDim(inst, attr.integer(), q_indices));
        break;
      default:
        break;
    }
  }
  if (!shapes_.IsTuple(module_.shape(inst)))
    return Rewrite(inst, Opcode::kScatter, operands, attrs);
  return ScatterTuple(inst, operands, attrs);
}

/// An index vector dimension behind the last one means scalars, and means them in any order of
/// dimensions. The reference writes 0 there, which no longer fits the shapes.
int64_t Normalizer::RemapIndexVectorDim(InstId scatter, int64_t dimension,
                                        std::span<const int64_t> q) const {
  if (dimension < static_cast<int64_t>(q.size())) return q[static_cast<size_t>(dimension)];
  if (!options_.reference_quirks) return dimension;
  options_.context->Warn(
      DiagId::kReferenceQuirk,
      fmt::format("scatter {} gets index_vector_dim=0 as XLA writes it, which is wrong",
                  module_.name(scatter)),
      "layout-normalization{reference-quirks=false} keeps it right");
  return 0;
}

/// A tuple result is put together again from its elements.
Status Normalizer::ScatterTuple(InstId inst, std::span<const InstId> operands,
                                std::span<const Attr> attributes) {
  ShapeId old_shape = module_.shape(inst);
  std::vector<ShapeId> elements;
  for (uint32_t i = 0; i < shapes_.element_count(old_shape); ++i) {
    elements.push_back(N(shapes_.element(old_shape, i)));
  }
  ShapeId shape = shapes_.Tuple(elements);
  InstId scatter = Make(inst, Opcode::kScatter, shape, operands, attributes);
  if (shape == old_shape) {
    rewriter_.Replace(inst, scatter);
    return {};
  }
  std::vector<InstId> parts;
  for (uint32_t i = 0; i < elements.size(); ++i) {
    InstId part = rewriter_.AddElement(scatter, i, elements[i]);
    ShapeId want = shapes_.element(old_shape, i);
    parts.push_back(elements[i] == want ? part : AddBitcast(part, want));
  }
  InstId tuple = rewriter_.Add(module_.computation_of(inst), Opcode::kTuple, old_shape, parts);
  rewriter_.Replace(inst, tuple);
  return {};
}

}  // namespace hlokit
