// What does an instruction look like once its text is read: checks, defaults, called computations,
// result shape. hlo-text.md sections 6.3, 6.5, 8 and 9.
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/shape_inference.h"
#include "src/read/parser.h"

namespace hlokit::read {

bool Parser::CheckAndFill(CompId computation, Pending* p) {
  if (p->poisoned) return true;
  if (p->opcode == Opcode::kUnknown) return NormaliseCalls(p);
  return CheckArity(*p) && CheckAsync(p) && WrapAsync(computation, p) && NormaliseCalls(p) &&
         NormaliseAttributes(p) && NormaliseShape(p);
}

bool Parser::CheckArity(const Pending& p) {
  // Required attributes: the alphabetically first missing one is reported.
  Opcode opcode = p.async_form == 1 ? p.wrapped : p.opcode;
  std::string_view missing;
  if (p.async_form < 2)
    for (const AttrSpec& spec : OpcodeAttributes(opcode)) {
      bool required = spec.required;
      if (opcode == Opcode::kBroadcast && spec.kind == AttrKind::kDimensions) {
        required =
            p.operands.size() == 1 && module_.shapes().rank(module_.shape(p.operands[0])) != 0;
      }
      bool there = std::any_of(p.attrs.begin(), p.attrs.end(),
                               [&](const Attr& attr) { return attr.kind == spec.kind; });
      std::string_view name = Info(spec.kind).text;
      if (required && !there && (missing.empty() || name < missing)) missing = name;
    }
  if (!missing.empty()) {
    return Fail(DiagId::kMissingAttribute, p.after_arguments,
                fmt::format("'{}' needs the attribute {}=", p.opcode_text, missing));
  }
  size_t n = p.operands.size();
  auto wrong = [&](std::string_view rule) {
    return FailHere(DiagId::kWrongOperandCount,
                    fmt::format("'{}' {}, but there are {} operand(s)", p.opcode_text, rule, n));
  };
  const ShapePool& shapes = module_.shapes();
  auto rank = [&](size_t i) { return shapes.rank(module_.shape(p.operands[i])); };
  switch (p.opcode) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      if (n == 0 || n % 2 != 0) return wrong("takes inputs and as many initial values");
      break;
    case Opcode::kScatter:
      if (n % 2 != 1 || n < 3) return wrong("takes inputs, indices and as many updates");
      break;
    case Opcode::kSort:
    case Opcode::kMap:
    case Opcode::kConcatenate:
    case Opcode::kDynamicReshape:
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kConditional:
      if (n == 0) return wrong("takes at least one operand");
      break;
    case Opcode::kDynamicSlice:
      if (n != 1 + rank(0) && !(n == 2 && rank(1) == 1))
        return wrong("takes the data and one index per dimension");
      break;
    case Opcode::kDynamicUpdateSlice:
      if (n < 2 || (n != 2 + rank(0) && !(n == 3 && rank(2) == 1))) {
        return wrong("takes the data, the update and one index per dimension");
      }
      break;
    case Opcode::kAsyncUpdate:
      if (n != 1) return wrong("takes one operand");
      break;
    case Opcode::kRaggedAllToAll:
      if (n != 6) return wrong("takes six operands");
      break;
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
      if (std::any_of(p.attrs.begin(), p.attrs.end(),
                      [](const Attr& a) { return a.kind == AttrKind::kCollectiveSliceSizes; }) &&
          n != 4) {
        return wrong("with slice_sizes takes four operands");
      }
      break;
    default:
      break;
  }
  return true;
}

// ---- called computations ----

bool Parser::NormaliseCalls(Pending* p) {
  bool any = p->opcode == Opcode::kConditional;
  for (const Attr& attr : p->attrs) {
    AttrType type = Info(attr.kind).type;
    any = any || type == AttrType::kComputation || type == AttrType::kComputationList;
  }
  if (!any) return true;
  auto of = [&](AttrKind kind) { return FindPending(p, kind)->low; };
  std::vector<uint32_t> called;
  switch (p->opcode) {
    case Opcode::kWhile:
      called = {of(AttrKind::kBody), of(AttrKind::kCondition)};
      break;
    case Opcode::kSelectAndScatter:
      called = {of(AttrKind::kSelectComputation), of(AttrKind::kScatterComputation)};
      break;
    case Opcode::kConditional: {
      ShapeId selector = module_.shape(p->operands[0]);
      const ShapePool& shapes = module_.shapes();
      ElementType type = shapes.type(selector);
      bool scalar = shapes.IsArray(selector) && shapes.rank(selector) == 0;
      const Attr* branches = FindPending(p, AttrKind::kBranchComputations);
      const Attr* yes = FindPending(p, AttrKind::kTrueComputation);
      const Attr* no = FindPending(p, AttrKind::kFalseComputation);
      if (!scalar || (type != ElementType::kPred && type != ElementType::kS32)) {
        return Fail(DiagId::kOperandShapeMismatch, p->after_arguments,
                    fmt::format("the selector must be pred[] or s32[], it is {}",
                                shapes.Text(selector, false)));
      }
      if (type == ElementType::kPred) {
        if (branches != nullptr) {
          return Fail(DiagId::kUnknownAttributeRead, p->attributes_offset,
                      "a pred selector takes true_computation= and false_computation=, not "
                      "branch_computations=");
        }
        if (yes == nullptr || no == nullptr) {
          return FailHere(DiagId::kMissingAttribute,
                          "a conditional on pred[] needs true_computation= and false_computation=");
        }
        called = {yes->low, no->low};
      } else {
        if (yes != nullptr || no != nullptr) {
          return Fail(DiagId::kUnknownAttributeRead, p->attributes_offset,
                      "an s32 selector takes branch_computations=");
        }
        if (branches == nullptr) {
          return FailHere(DiagId::kMissingAttribute,
                          "a conditional on s32[] needs branch_computations=");
        }
        std::span<const uint32_t> ids = module_.refs(*branches);
        called.assign(ids.begin(), ids.end());
      }
      if (called.size() + 1 != p->operands.size()) {
        return FailHere(
            DiagId::kWrongOperandCount,
            fmt::format("{} branches need {} operands behind the selector, there are {}",
                        called.size(), called.size(), p->operands.size() - 1));
      }
      break;
    }
    case Opcode::kCustomCall: {
      const Attr* apply = FindPending(p, AttrKind::kToApply);
      const Attr* list = FindPending(p, AttrKind::kCalledComputations);
      if (apply != nullptr) {
        called = {apply->low};
      } else if (list != nullptr) {
        std::span<const uint32_t> ids = module_.refs(*list);
        called.assign(ids.begin(), ids.end());
      }
      break;
    }
    default:
      for (AttrKind kind : {AttrKind::kToApply, AttrKind::kCalls}) {
        if (const Attr* attr = FindPending(p, kind); attr != nullptr) called.push_back(attr->low);
      }
  }
  std::erase_if(p->attrs, [](const Attr& attr) {
    AttrType type = Info(attr.kind).type;
    return type == AttrType::kComputation || type == AttrType::kComputationList;
  });
  if (p->opcode == Opcode::kCustomCall &&
      FindPending(p, AttrKind::kOperandLayoutConstraints) != nullptr) {
    // The reference keeps no computation on a layout-constrained custom call.
    called.clear();
  }
  if (!called.empty())
    p->attrs.push_back(module_.RefsAttribute(AttrKind::kCalledComputations, called));
  return true;
}

// ---- shapes ----

bool Parser::InferPendingShape(Pending* p) {
  Result<ShapeId> inferred = InferShape(module_, p->opcode, p->operands, p->attrs);
  if (!inferred) {
    return FailHere(
        DiagId::kCannotInferShape,
        fmt::format("the result type of '{}' cannot be inferred: {}", p->opcode_text,
                    inferred.error().diagnostics.empty() ? std::string("no rule")
                                                         : inferred.error().diagnostics[0].message),
        "write the type in front of the opcode");
  }
  p->shape = FillLayouts(*inferred);
  return true;
}

bool Parser::NormaliseShape(Pending* p) {
  ShapePool& shapes = module_.shapes();
  auto operand_shape = [&](size_t i) { return module_.shape(p->operands[i]); };
  auto u32 = [&] { return shapes.Array(ElementType::kU32, {}, shapes.Layout({})); };
  // Types that the opcode fixes, whatever was written (section 6.5).
  switch (p->opcode) {
    case Opcode::kAfterAll:
    case Opcode::kSendDone:
    case Opcode::kOutfeed:
      p->shape = shapes.Token();
      break;
    case Opcode::kAddDependency:
      p->shape = operand_shape(0);
      break;
    case Opcode::kSend: {
      std::vector<ShapeId> parts = {operand_shape(0), u32(), shapes.Token()};
      p->shape = shapes.Tuple(parts);
      break;
    }
    case Opcode::kRecv:
    case Opcode::kInfeed: {
      if (!shapes.IsTuple(p->shape) || shapes.element_count(p->shape) == 0) {
        return FailHere(DiagId::kOperandShapeMismatch,
                        fmt::format("the type of '{}' must be a non-empty tuple", p->opcode_text));
      }
      ShapeId data = shapes.element(p->shape, 0);
      std::vector<ShapeId> parts = {data};
      if (p->opcode == Opcode::kRecv) parts.push_back(u32());
      parts.push_back(shapes.Token());
      p->shape = shapes.Tuple(parts);
      break;
    }
    case Opcode::kRecvDone: {
      ShapeId tuple = operand_shape(0);
      if (!shapes.IsTuple(tuple) || shapes.element_count(tuple) == 0) {
        return FailHere(DiagId::kOperandShapeMismatch, "the operand of recv-done must be a recv");
      }
      std::vector<ShapeId> parts = {shapes.element(tuple, 0), shapes.Token()};
      p->shape = shapes.Tuple(parts);
      break;
    }
    default:
      break;
  }
  if ((p->opcode == Opcode::kSendDone || p->opcode == Opcode::kRecvDone) &&
      p->operands.size() == 1) {
    const Attr* mine = FindPending(p, AttrKind::kChannelId);
    const Attr* theirs = module_.FindAttr(p->operands[0], AttrKind::kChannelId);
    if ((mine != nullptr) != (theirs != nullptr) ||
        (mine != nullptr && mine->integer() != theirs->integer())) {
      return FailHere(DiagId::kBadAttributeValue,
                      "the channel_id differs from that of the operand");
    }
  }
  if (!p->shape.valid() && !InferPendingShape(p)) return false;
  if (p->opcode == Opcode::kReshape) {
    ShapeId from = operand_shape(0);
    bool fits = shapes.IsArray(p->shape) && shapes.IsArray(from) &&
                shapes.ElementCount(p->shape) == shapes.ElementCount(from);
    if (!fits) {
      return FailHere(DiagId::kOperandShapeMismatch,
                      fmt::format("a reshape keeps the number of elements: {} does not fit {}",
                                  shapes.Text(from, false), shapes.Text(p->shape, false)));
    }
  }
  if (p->opcode == Opcode::kTuple && shapes.IsTuple(p->shape) &&
      shapes.element_count(p->shape) != p->operands.size()) {
    return FailHere(DiagId::kWrongOperandCount,
                    "the tuple type has another number of members than there are operands");
  }
  if (p->opcode == Opcode::kTuple && !shapes.IsTuple(p->shape)) {
    return FailHere(DiagId::kOperandShapeMismatch, "the type of 'tuple' must be a tuple");
  }
  if (p->opcode == Opcode::kConstant) {
    // The bound of a dynamic dimension is its size.
    std::vector<LayoutId> layouts;
    for (ShapeId leaf : shapes.Subshapes(p->shape)) layouts.push_back(shapes.layout(leaf));
    p->shape = shapes.WithLeafLayouts(shapes[p->shape].static_bare, layouts);
  }
  // A sharding given once stands for every leaf of a tuple.
  if (shapes.IsTuple(p->shape)) {
    Attr* sharding = FindPending(p, AttrKind::kSharding);
    if (sharding != nullptr) {
      std::string_view text = module_.str(sharding->text());
      bool is_tuple_form = text.starts_with("{{") || text == "{}";
      uint32_t leaves = shapes[p->shape].leaf_count;
      if (!is_tuple_form) {
        std::string all = "{";
        for (uint32_t i = 0; i < std::max<uint32_t>(leaves, 1); ++i) {
          if (i != 0) all += i % 5 == 0 ? fmt::format(", /*index={}*/", i) : std::string(", ");
          all += text;
        }
        sharding->low = 0;
        StrRef kept = KeepCanonical(0, all + "}");
        sharding->low = kept.offset;
        sharding->high = kept.length;
      }
    }
  }
  if (const Attr* replication = FindPending(p, AttrKind::kParameterReplication);
      replication != nullptr) {
    if (replication->high != shapes[p->shape].leaf_count) {
      return FailHere(DiagId::kBadAttributeValue,
                      fmt::format("parameter_replication has {} flags for {} leaf buffers",
                                  replication->high, shapes[p->shape].leaf_count));
    }
    if (p->opcode != Opcode::kParameter) {
      std::erase_if(p->attrs,
                    [](const Attr& a) { return a.kind == AttrKind::kParameterReplication; });
    }
  }
  return true;
}

}  // namespace hlokit::read
