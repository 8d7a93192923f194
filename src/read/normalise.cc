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

// ---- asynchronous operations ----

bool Parser::CheckAsync(Pending* p) {
  const ShapePool& shapes = module_.shapes();
  if (p->opcode == Opcode::kAsyncStart) {
    ShapeId shape = p->shape;
    if (!shapes.IsTuple(shape) || shapes.element_count(shape) < 2 ||
        !shapes.IsTuple(shapes.element(shape, 0))) {
      return Fail(DiagId::kBadAsync, p->after_arguments,
                  "the type of a start must be a tuple ((operands), result, context…)");
    }
    return true;
  }
  if (p->opcode != Opcode::kAsyncUpdate && p->opcode != Opcode::kAsyncDone) return true;
  InstId previous = p->operands[0];
  if (module_.opcode(previous) != Opcode::kAsyncStart &&
      module_.opcode(previous) != Opcode::kAsyncUpdate) {
    return FailHere(
        DiagId::kBadAsync,
        fmt::format("the operand of '{}' must be an async-start or async-update", p->opcode_text));
  }
  if (p->opcode == Opcode::kAsyncUpdate &&
      shapes[p->shape].bare != shapes[module_.shape(previous)].bare) {
    return FailHere(DiagId::kBadAsync, "an async-update has the type of its operand");
  }
  while (module_.opcode(previous) == Opcode::kAsyncUpdate) previous = module_.operand(previous, 0);
  CompId wrapped = module_.called_computations(previous)[0];
  if (p->async_form != 0) {
    InstId root = module_.computation(wrapped).root;
    if (!root.valid() || module_.opcode(root) != p->wrapped) {
      return FailHere(DiagId::kBadAsync,
                      fmt::format("the start of this chain wraps '{}', not '{}'",
                                  root.valid() ? OpcodeText(module_.opcode(root)) : "?",
                                  OpcodeText(p->wrapped)));
    }
  }
  if (const Attr* calls = FindPending(p, AttrKind::kCalls);
      calls != nullptr && calls->low != wrapped.value) {
    return FailHere(DiagId::kBadAsync,
                    "calls= names another computation than the start of this chain");
  }
  if (const Attr* thread = FindPending(p, AttrKind::kAsyncExecutionThread); thread != nullptr) {
    std::string_view of_start = module_.TextAttr(previous, AttrKind::kAsyncExecutionThread);
    std::string_view given = module_.str(thread->text());
    if (given != (of_start.empty() ? "main" : of_start)) {
      return FailHere(DiagId::kBadAsync,
                      "async_execution_thread= differs from the start of this chain");
    }
  }
  std::erase_if(p->attrs, [](const Attr& a) {
    return a.kind == AttrKind::kCalls || a.kind == AttrKind::kAsyncExecutionThread;
  });
  return true;
}

bool Parser::WrapAsync(CompId computation, Pending* p) {
  (void)computation;
  if (p->opcode != Opcode::kAsyncStart) return true;
  std::string_view thread;
  if (const Attr* attr = FindPending(p, AttrKind::kAsyncExecutionThread); attr != nullptr) {
    thread = module_.str(attr->text());
    if (thread == "main") {
      std::erase_if(p->attrs,
                    [](const Attr& a) { return a.kind == AttrKind::kAsyncExecutionThread; });
      thread = {};
    }
  }
  CompId wrapped;
  if (p->async_form == 1) {
    // X-start(…): a computation with one X in it.
    wrapped = module_.AddComputation(Keep("async_wrapped"));
    computation_offsets_.resize(module_.computation_count());
    computation_offsets_[wrapped.value] = p->name_offset;
    std::vector<InstId> parameters;
    for (InstId operand : p->operands) {
      Pending parameter;
      parameter.name = Keep("async_param");
      parameter.name_offset = p->name_offset;
      parameter.opcode = Opcode::kParameter;
      parameter.shape = module_.shape(operand);
      parameter.attrs.push_back(
          Attr::Integer(AttrKind::kParameterNumber, static_cast<int64_t>(parameters.size())));
      parameters.push_back(Create(wrapped, parameter));
    }
    Pending inner;
    inner.name = Keep(OpcodeText(p->wrapped));
    inner.name_offset = p->name_offset;
    inner.opcode = p->wrapped;
    inner.opcode_text = OpcodeText(p->wrapped);
    inner.shape = module_.shapes().element(p->shape, 1);
    inner.operands = parameters;
    // Its own attributes go inside, the shared descriptive ones stand on both.
    std::vector<Attr> outer;
    for (const Attr& attr : p->attrs) {
      switch (attr.kind) {
        case AttrKind::kAsyncExecutionThread:
        case AttrKind::kControlPredecessors:
        case AttrKind::kSharding:
          outer.push_back(attr);
          break;
        case AttrKind::kMetadata:
        case AttrKind::kOrigin:
        case AttrKind::kBackendConfig:
        case AttrKind::kFrontendAttributes:
        case AttrKind::kStatistics:
          outer.push_back(attr);  // ShareWithWrapped copies it inside
          break;
        default:
          inner.attrs.push_back(attr);
      }
    }
    if (!CheckAndFill(wrapped, &inner)) return false;
    ComputationData& data = module_.computation(wrapped);
    data.root = Create(wrapped, inner);
    module_.computation(wrapped).parameters = parameters;
    definition_order_.push_back(wrapped.value);
    p->attrs = std::move(outer);
    p->attrs.push_back({AttrKind::kCalls, wrapped.value, 0});
  } else {
    wrapped = CompId(FindPending(p, AttrKind::kCalls)->low);
  }
  if ((wrapped.value & 0x80000000u) == 0) {
    if (async_start_of_.count(wrapped.value) != 0) {
      return FailHere(DiagId::kBadAsync, "the wrapped computation has an async-start already");
    }
    if (!thread.empty()) SetThread(wrapped, thread);
  }
  return true;
}

void Parser::SetThread(CompId root, std::string_view thread) {
  StrRef name = Keep(thread);
  std::vector<CompId> todo = {root};
  std::unordered_set<uint32_t> seen = {root.value};
  while (!todo.empty()) {
    CompId id = todo.back();
    todo.pop_back();
    module_.computation(id).execution_thread = name;
    for (InstId inst : module_.computation(id).instructions) {
      for (CompId callee : module_.called_computations(inst)) {
        if (callee.value < module_.computation_count() && seen.insert(callee.value).second)
          todo.push_back(callee);
      }
    }
  }
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

// ---- attributes ----

bool Parser::NormaliseAttributes(Pending* p) {
  ShapePool& shapes = module_.shapes();
  // Most of what follows looks for attributes that are not there.
  static_assert(kAttributeCount <= 128);
  uint64_t present[2] = {};
  for (const Attr& attr : p->attrs)
    present[static_cast<int>(attr.kind) >> 6] |= uint64_t{1} << (static_cast<int>(attr.kind) & 63);
  auto has = [&](AttrKind kind) {
    return (present[static_cast<int>(kind) >> 6] >> (static_cast<int>(kind) & 63) & 1) != 0;
  };
  auto drop_if = [&](AttrKind kind, int64_t value) {
    if (has(kind))
      std::erase_if(p->attrs,
                    [&](const Attr& a) { return a.kind == kind && a.integer() == value; });
  };
  auto require = [&](AttrKind kind, std::span<const int64_t> values) {
    if (FindPending(p, kind) == nullptr) p->attrs.push_back(module_.IntsAttribute(kind, values));
  };
  auto drop = [&](AttrKind kind) {
    if (has(kind)) std::erase_if(p->attrs, [&](const Attr& a) { return a.kind == kind; });
  };
  auto drop_if_empty = [&](AttrKind kind) {
    if (has(kind))
      std::erase_if(p->attrs, [&](const Attr& a) { return a.kind == kind && a.high == 0; });
  };
  auto one_dimension = [&] {
    Attr* attr = FindPending(p, AttrKind::kDimensions);
    if (attr == nullptr || attr->high == 1) return true;
    return FailHere(DiagId::kBadAttributeValue,
                    fmt::format("'{}' takes one dimension, not {}", p->opcode_text, attr->high));
  };
  auto first_dimension = [&] {
    Attr* attr = FindPending(p, AttrKind::kDimensions);
    if (attr == nullptr) return true;
    if (attr->high == 0)
      return FailHere(DiagId::kBadAttributeValue,
                      fmt::format("'{}' needs a dimension", p->opcode_text));
    attr->high = 1;
    return true;
  };
  bool collective = false;
  switch (p->opcode) {
    case Opcode::kBroadcast:
      require(AttrKind::kDimensions, {});
      break;
    case Opcode::kMap: {
      drop(AttrKind::kDimensions);
      std::vector<int64_t> all(p->shape.valid() ? shapes.rank(p->shape)
                                                : shapes.rank(module_.shape(p->operands[0])));
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
      require(AttrKind::kDimensions, all);
      break;
    }
    case Opcode::kSort:
    case Opcode::kScan:
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
    case Opcode::kAllToAll:
      if (!one_dimension()) return false;
      break;
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kReduceScatter:
      if (!first_dimension()) return false;
      break;
    case Opcode::kRaggedAllToAll:
      drop(AttrKind::kDimensions);
      break;
    default:
      break;
  }
  switch (p->opcode) {
    case Opcode::kScan:
      if (FindPending(p, AttrKind::kIsAssociative) == nullptr) {
        p->attrs.push_back(Attr::Integer(AttrKind::kIsAssociative, 0));
      }
      drop_if(AttrKind::kIsReverse, 0);
      break;
    case Opcode::kTopK:
      for (AttrKind kind : {AttrKind::kLargest, AttrKind::kIsStable}) {
        if (FindPending(p, kind) == nullptr) p->attrs.push_back(Attr::Integer(kind, 1));
      }
      break;
    case Opcode::kDot:
    case Opcode::kScaledDot:
    case Opcode::kRaggedDot:
      require(AttrKind::kLhsContractingDims, {});
      require(AttrKind::kRhsContractingDims, {});
      drop_if_empty(AttrKind::kLhsBatchDims);
      drop_if_empty(AttrKind::kRhsBatchDims);
      drop_if_empty(AttrKind::kLhsRaggedDims);
      drop_if_empty(AttrKind::kRhsGroupDims);
      drop_if(AttrKind::kAlgorithm, 0);
      break;
    case Opcode::kGather:
      drop_if_empty(AttrKind::kOperandBatchingDims);
      drop_if_empty(AttrKind::kStartIndicesBatchingDims);
      break;
    case Opcode::kScatter:
      drop_if_empty(AttrKind::kInputBatchingDims);
      drop_if_empty(AttrKind::kScatterIndicesBatchingDims);
      break;
    case Opcode::kConvolution:
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      drop_if_empty(AttrKind::kWindow);
      drop_if(AttrKind::kConvolutionKind, 0);
      break;
    case Opcode::kCompare: {
      if (Attr* type = FindPending(p, AttrKind::kComparisonType); type != nullptr) {
        ElementType element = shapes.type(module_.shape(p->operands[0]));
        ComparisonType usual = IsFloating(element) || IsComplex(element) ? ComparisonType::kFloat
                               : Info(element).kind == ElementKind::kSigned
                                   ? ComparisonType::kSigned
                                   : ComparisonType::kUnsigned;
        drop_if(AttrKind::kComparisonType, static_cast<int64_t>(usual));
      }
      break;
    }
    case Opcode::kOutfeed:
      if (FindPending(p, AttrKind::kOutfeedShape) == nullptr) {
        p->attrs.push_back({AttrKind::kOutfeedShape, module_.shape(p->operands[0]).value, 0});
      }
      break;
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
    case Opcode::kCollectiveBroadcast:
      collective = true;
      break;
    case Opcode::kCustomCall: {
      if (const Attr* constraints = FindPending(p, AttrKind::kOperandLayoutConstraints);
          constraints != nullptr) {
        if (!CheckConstraints(*p, *constraints)) return false;
      }
      if (const Attr* version = FindPending(p, AttrKind::kApiVersion);
          options_.strict && version != nullptr && version->integer() == 0) {
        return FailHere(DiagId::kBadAttributeValue, "API_VERSION_UNSPECIFIED cannot be named",
                        "leave api_version= out");
      }
      drop_if(AttrKind::kApiVersion, 1);
      drop_if(AttrKind::kApiVersion, 0);
      drop_if(AttrKind::kSchedule, 0);
      drop_if(AttrKind::kPaddingType, 0);
      break;
    }
    default:
      break;
  }
  if (collective) {
    if (FindPending(p, AttrKind::kReplicaGroups) == nullptr) {
      p->attrs.push_back(Attr::Text(AttrKind::kReplicaGroups, KeepCanonical(0, "{}")));
    }
    drop(AttrKind::kMode);
    const Attr* global = FindPending(p, AttrKind::kUseGlobalDeviceIds);
    if (global != nullptr && global->integer() != 0 &&
        FindPending(p, AttrKind::kChannelId) == nullptr && p->opcode != Opcode::kAllGather &&
        p->opcode != Opcode::kAllGatherStart) {
      return Fail(DiagId::kBadAttributeValue, p->arguments_offset,
                  "use_global_device_ids=true needs a channel_id=");
    }
  }
  if (p->attrs.empty()) return true;
  for (AttrKind kind : {AttrKind::kFeatureGroupCount, AttrKind::kBatchGroupCount}) drop_if(kind, 1);
  for (AttrKind kind :
       {AttrKind::kConstrainLayout, AttrKind::kUseGlobalDeviceIds, AttrKind::kIndicesAreSorted,
        AttrKind::kUniqueIndices, AttrKind::kIsHostTransfer, AttrKind::kIsComposite,
        AttrKind::kLeftSide, AttrKind::kLower, AttrKind::kUnitDiagonal,
        AttrKind::kCustomCallHasSideEffect}) {
    drop_if(kind, 0);
  }
  if (p->opcode != Opcode::kTopK) drop_if(AttrKind::kIsStable, 0);
  if (has(AttrKind::kOperandPrecision))
    std::erase_if(p->attrs, [&](const Attr& a) {
      if (a.kind != AttrKind::kOperandPrecision) return false;
      std::span<const int64_t> values = module_.ints(a);
      return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
    });
  std::erase_if(p->attrs, [&](const Attr& a) {
    return Info(a.kind).type == AttrType::kString && a.high == 0 &&
           a.kind != AttrKind::kCustomCallTarget && a.kind != AttrKind::kUnknownOpcode;
  });
  return true;
}

bool Parser::CheckConstraints(const Pending& p, const Attr& constraints) {
  const ShapePool& shapes = module_.shapes();
  std::span<const uint32_t> list = module_.refs(constraints);
  if (list.size() != p.operands.size()) {
    return FailHere(DiagId::kBadAttributeValue,
                    fmt::format("operand_layout_constraints has {} shapes for {} operands",
                                list.size(), p.operands.size()));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    if (!shapes.Compatible(ShapeId(list[i]), module_.shape(p.operands[i]))) {
      return FailHere(DiagId::kOperandShapeMismatch,
                      fmt::format("the layout constraint of operand {} is {}, the operand is {}", i,
                                  shapes.Text(ShapeId(list[i]), false),
                                  shapes.Text(module_.shape(p.operands[i]), false)));
    }
    if (!shapes[ShapeId(list[i])].fully_set) {
      return FailHere(DiagId::kBadLayout,
                      fmt::format("the layout constraint of operand {} has no layout", i));
    }
  }
  if (p.shape.valid() && !shapes[p.shape].fully_set) {
    return FailHere(DiagId::kBadLayout,
                    "a custom call with operand_layout_constraints needs layouts in its type");
  }
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
