// Which attributes are left out because they have their default, and which must agree? hlo-text.md
// section 8.
#include <algorithm>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit::read {

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

}  // namespace hlokit::read
