// Which fields does an instruction have in the proto form? (hlo-proto.md sections 5 and 6)
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "literal_wire.h"
#include "module_writer.h"
#include "shape_wire.h"
#include "text_to_wire.h"

namespace hlokit::proto {

const std::string& ModuleWriter::ShapeBytes(ShapeId id) {
  auto [it, is_new] = shape_bytes_.try_emplace(id.value);
  if (is_new) AppendShape(module_.shapes(), id, &it->second);
  return it->second;
}

template <typename Write>
void ModuleWriter::Field(uint32_t number, Write write) {
  uint32_t begin = static_cast<uint32_t>(scratch_.size());
  WireWriter w(&scratch_);
  write(w);
  segments_.push_back({number, begin, static_cast<uint32_t>(scratch_.size())});
}

void ModuleWriter::IntField(uint32_t number, int64_t value) {
  if (value != 0) Field(number, [&](WireWriter& w) { w.Int(number, value); });
}

bool ModuleWriter::TextField(const Attr& attr, uint32_t number,
                             bool (*append)(std::string_view, std::string*)) {
  bool ok = true;
  std::string_view text = module_.str(attr.text());
  Field(number, [&](WireWriter& w) {
    size_t begin = w.Open(number);
    ok = append(text, &w.out());
    w.Close(begin);
  });
  return ok || Fail(fmt::format("the value of {} has no proto form: {}", Info(attr.kind).text,
                                text.substr(0, 200)));
}

bool ModuleWriter::AppendInstruction(InstId id, std::string* out) {
  scratch_.clear();
  segments_.clear();
  bool ok = CollectFields(id);
  std::stable_sort(segments_.begin(), segments_.end(),
                   [](const Segment& a, const Segment& b) { return a.number < b.number; });
  for (const Segment& segment : segments_)
    out->append(scratch_, segment.begin, segment.end - segment.begin);
  return ok;
}

bool ModuleWriter::CollectFields(InstId id) {
  Opcode opcode = module_.opcode(id);
  std::string_view opcode_text = opcode == Opcode::kUnknown
                                     ? module_.TextAttr(id, AttrKind::kUnknownOpcode)
                                     : OpcodeText(opcode);
  Field(1, [&](WireWriter& w) { w.Bytes(1, module_.name(id)); });
  Field(2, [&](WireWriter& w) { w.Bytes(2, opcode_text); });
  Field(3, [&](WireWriter& w) { w.PresentBytes(3, ShapeBytes(module_.shape(id))); });
  if (!module_.HasAttr(id, AttrKind::kMetadata)) Field(7, [](WireWriter& w) { w.EmptyMessage(7); });
  IntField(35, FullId(id));
  if (module_.operand_count(id) != 0) {
    Field(36, [&](WireWriter& w) {
      std::vector<int64_t> ids;
      for (InstId operand : module_.operands(id)) ids.push_back(FullId(operand));
      w.Packed(36, ids);
    });
  }
  if (!module_.HasAttr(id, AttrKind::kFrontendAttributes))
    Field(68, [](WireWriter& w) { w.EmptyMessage(68); });
  if (!module_.HasAttr(id, AttrKind::kStatistics))
    Field(82, [](WireWriter& w) { w.EmptyMessage(82); });
  DimensionFields(id);
  NestedFields(id);
  PrecisionField(id);
  ComparisonFields(id);
  if (!CollectiveFields(id)) return false;
  if (opcode == Opcode::kCustomCall || opcode == Opcode::kConvolution) CountFields(id);
  if (opcode == Opcode::kConvolution && !module_.HasAttr(id, AttrKind::kSparsityConfig)) {
    Field(98, [](WireWriter& w) { w.EmptyMessage(98); });
  }
  bool has_window = opcode == Opcode::kConvolution || opcode == Opcode::kReduceWindow ||
                    opcode == Opcode::kSelectAndScatter;
  if (has_window && !module_.HasAttr(id, AttrKind::kWindow))
    Field(15, [](WireWriter& w) { w.EmptyMessage(15); });
  bool ok = true;
  for (const Attr& attr : module_.attributes(id)) ok &= AttributeFields(id, attr);
  return ok;
}

void ModuleWriter::DimensionFields(InstId id) {
  std::vector<int64_t> values;
  std::span<const int64_t> dimensions = module_.dimensions(id);
  values.assign(dimensions.begin(), dimensions.end());
  for (AttrKind kind : {AttrKind::kIotaDimension, AttrKind::kInferredDimension}) {
    if (const Attr* attr = module_.FindAttr(id, kind)) values.push_back(attr->integer());
  }
  if (!values.empty()) Field(14, [&](WireWriter& w) { w.Packed(14, values); });
}

/// Integer lists and flags that share one nested message.
void ModuleWriter::NestedFields(InstId id) {
  auto ints = [&](WireWriter& w, uint32_t number, AttrKind kind) {
    w.Packed(number, module_.IntsAttr(id, kind));
  };
  auto dot = [&](WireWriter& w, uint32_t number) {
    size_t begin = w.Open(number);
    ints(w, 1, AttrKind::kLhsContractingDims);
    ints(w, 2, AttrKind::kRhsContractingDims);
    ints(w, 3, AttrKind::kLhsBatchDims);
    ints(w, 4, AttrKind::kRhsBatchDims);
    w.Close(begin);
  };
  switch (module_.opcode(id)) {
    case Opcode::kDot:
    case Opcode::kScaledDot:
      return Field(30, [&](WireWriter& w) { dot(w, 30); });
    case Opcode::kRaggedDot:
      return Field(90, [&](WireWriter& w) {
        size_t begin = w.Open(90);
        dot(w, 1);
        ints(w, 2, AttrKind::kLhsRaggedDims);
        ints(w, 3, AttrKind::kRhsGroupDims);
        w.Close(begin);
      });
    case Opcode::kGather:
      return Field(33, [&](WireWriter& w) {
        size_t begin = w.Open(33);
        ints(w, 1, AttrKind::kOffsetDims);
        ints(w, 2, AttrKind::kCollapsedSliceDims);
        ints(w, 3, AttrKind::kStartIndexMap);
        w.Int(4, module_.IntAttr(id, AttrKind::kIndexVectorDim));
        ints(w, 5, AttrKind::kOperandBatchingDims);
        ints(w, 6, AttrKind::kStartIndicesBatchingDims);
        w.Close(begin);
      });
    case Opcode::kScatter:
      return Field(48, [&](WireWriter& w) {
        size_t begin = w.Open(48);
        ints(w, 1, AttrKind::kUpdateWindowDims);
        ints(w, 2, AttrKind::kInsertedWindowDims);
        ints(w, 3, AttrKind::kScatterDimsToOperandDims);
        w.Int(4, module_.IntAttr(id, AttrKind::kIndexVectorDim));
        ints(w, 5, AttrKind::kInputBatchingDims);
        ints(w, 6, AttrKind::kScatterIndicesBatchingDims);
        w.Close(begin);
      });
    case Opcode::kTriangularSolve:
      return Field(59, [&](WireWriter& w) {
        size_t begin = w.Open(59);
        w.Bool(1, module_.IntAttr(id, AttrKind::kLeftSide) != 0);
        w.Bool(2, module_.IntAttr(id, AttrKind::kLower) != 0);
        w.Bool(3, module_.IntAttr(id, AttrKind::kUnitDiagonal) != 0);
        w.Int(4, module_.IntAttr(id, AttrKind::kTransposeA));
        w.Close(begin);
      });
    case Opcode::kCholesky:
      return Field(62, [&](WireWriter& w) {
        size_t begin = w.Open(62);
        w.Bool(1, module_.IntAttr(id, AttrKind::kLower) != 0);
        w.Close(begin);
      });
    default:
      return;
  }
}

void ModuleWriter::PrecisionField(InstId id) {
  Opcode opcode = module_.opcode(id);
  size_t count = module_.operand_count(id);
  switch (opcode) {
    case Opcode::kDot:
    case Opcode::kConvolution:
    case Opcode::kCustomCall:
      break;
    case Opcode::kRaggedDot:
    case Opcode::kScaledDot:
      count = 2;
      break;
    default:
      return;
  }
  Field(51, [&](WireWriter& w) {
    size_t begin = w.Open(51);
    std::span<const int64_t> given = module_.IntsAttr(id, AttrKind::kOperandPrecision);
    std::vector<int64_t> precision(given.begin(), given.end());
    precision.resize(std::max(count, precision.size()));
    w.Packed(1, precision);
    int64_t algorithm = module_.IntAttr(id, AttrKind::kAlgorithm);
    w.Int(2, algorithm == 9 ? 13 : algorithm > 9 ? algorithm - 1 : algorithm);
    w.Close(begin);
  });
}

void ModuleWriter::ComparisonFields(InstId id) {
  if (module_.opcode(id) != Opcode::kCompare) return;
  ElementType element = module_.shapes().type(module_.shape(module_.operand(id, 0)));
  ComparisonType usual = IsFloating(element) || IsComplex(element)    ? ComparisonType::kFloat
                         : Info(element).kind == ElementKind::kSigned ? ComparisonType::kSigned
                                                                      : ComparisonType::kUnsigned;
  int64_t type = module_.IntAttr(id, AttrKind::kComparisonType, static_cast<int64_t>(usual));
  Field(72, [&](WireWriter& w) { w.Bytes(72, EnumNames(AttrType::kComparisonType)[type]); });
}

bool ModuleWriter::CollectiveFields(InstId id) {
  const Attr* groups = module_.FindAttr(id, AttrKind::kReplicaGroups);
  if (groups == nullptr) return true;
  std::string payload;
  uint32_t number = 0;
  std::string_view text = module_.str(groups->text());
  if (!AppendReplicaGroupFields(text, &number, &payload)) {
    return Fail(fmt::format("the replica groups have no proto form: {}", text.substr(0, 200)));
  }
  Field(number, [&](WireWriter& w) { w.PresentBytes(number, payload); });
  return true;
}

/// Defaults that are written all the same.
void ModuleWriter::CountFields(InstId id) {
  if (!module_.HasAttr(id, AttrKind::kFeatureGroupCount)) IntField(50, 1);
  if (!module_.HasAttr(id, AttrKind::kBatchGroupCount)) IntField(58, 1);
  bool is_call = module_.opcode(id) == Opcode::kCustomCall;
  if (is_call && !module_.HasAttr(id, AttrKind::kApiVersion)) IntField(77, 1);
}

void ModuleWriter::WindowField(const Attr& attr) {
  std::span<const int64_t> values = module_.ints(attr);
  Field(15, [&](WireWriter& w) {
    size_t window = w.Open(15);
    for (size_t i = 0; i + kWindowFields <= values.size(); i += kWindowFields) {
      std::span<const int64_t> d = values.subspan(i, kWindowFields);
      size_t dimension = w.Open(1);
      w.Int(1, d[kWindowSize]);
      w.Int(2, d[kWindowStride]);
      w.Int(3, d[kWindowPadLow]);
      w.Int(4, d[kWindowPadHigh]);
      w.Int(5, d[kWindowWindowDilation]);
      w.Int(6, d[kWindowBaseDilation]);
      w.Bool(7, d[kWindowReversal] != 0);
      w.Close(dimension);
    }
    w.Close(window);
  });
}

void ModuleWriter::AliasingFields(InstId id) {
  Field(74, [&](WireWriter& w) {
    for (const OperandAlias& alias : module_.output_to_operand_aliasing(id)) {
      size_t begin = w.Open(74);
      w.Packed(1, alias.output_index);
      w.Int(2, alias.operand_number);
      w.Packed(3, alias.operand_index);
      w.Close(begin);
    }
  });
}

bool ModuleWriter::DomainFields(const Attr& attr) {
  TextCursor cursor(module_.str(attr.text()));
  std::string_view entry;
  std::string_view exit;
  std::string entry_bytes;
  std::string exit_bytes;
  bool ok = cursor.Eat("{kind=\"sharding\", entry=") && cursor.Braces(&entry) &&
            cursor.Eat(", exit=") && cursor.Braces(&exit) && cursor.Eat("}") &&
            AppendShardingProto(entry, &entry_bytes) && AppendShardingProto(exit, &exit_bytes);
  if (!ok) return Fail("the value of domain has no proto form");
  // Crossed: what text calls exit is the entry of the proto.
  Field(54, [&](WireWriter& w) { w.PresentBytes(54, exit_bytes); });
  Field(55, [&](WireWriter& w) { w.PresentBytes(55, entry_bytes); });
  return true;
}

bool ModuleWriter::AttributeFields(InstId id, const Attr& attr) {
  int64_t value = attr.integer();
  auto string = [&](uint32_t number) {
    Field(number, [&](WireWriter& w) { w.Bytes(number, module_.str(attr.text())); });
    return true;
  };
  auto number = [&](uint32_t field) {
    IntField(field, value);
    return true;
  };
  auto list = [&](uint32_t field) {
    Field(field, [&](WireWriter& w) { w.Packed(field, module_.ints(attr)); });
    return true;
  };
  auto name = [&](uint32_t field) {
    Field(field, [&](WireWriter& w) { w.Bytes(field, EnumNames(Info(attr.kind).type)[value]); });
    return true;
  };
  switch (attr.kind) {
    case AttrKind::kParameterNumber:
      return number(9);
    case AttrKind::kConstantLiteral:
    case AttrKind::kLiteral: {
      const LiteralData& literal = module_.literal(LiteralId(attr.low));
      if (literal.elided) return true;  // an absent literal is an elided one
      ShapeId shape = attr.kind == AttrKind::kLiteral ? literal.shape : module_.shape(id);
      Field(8, [&](WireWriter& w) {
        size_t begin = w.Open(8);
        AppendLiteralProto(module_, LiteralId(attr.low), shape, &w.out());
        w.Close(begin);
      });
      return true;
    }
    case AttrKind::kAsyncExecutionThread:
      return string(79);
    case AttrKind::kBackendConfig:
      return string(43);
    case AttrKind::kFeatureGroupCount:
      return number(50);
    case AttrKind::kBatchGroupCount:
      return number(58);
    case AttrKind::kChannelId:
      return number(26);
    case AttrKind::kApiVersion:
      return number(77);
    case AttrKind::kConstrainLayout:
      return number(56);
    case AttrKind::kConvolutionKind:
      IntField(97, value == 2 || value == 3 ? 5 - value : value);
      return true;
    case AttrKind::kCrossProgramPrefetchIndex:
      Field(80, [&](WireWriter& w) { w.Present(80, value); });
      return true;
    case AttrKind::kCustomCallHasSideEffect:
      return number(65);
    case AttrKind::kCustomCallTarget:
      return string(28);
    case AttrKind::kDelta:
      return number(66);
    case AttrKind::kDimLabels:
      return TextField(attr, 16, AppendDimLabelsProto);
    case AttrKind::kDirection:
      return name(63);
    case AttrKind::kDistribution:
      return number(23);
    case AttrKind::kDomain:
      return DomainFields(attr);
    case AttrKind::kDynamicSliceSizes:
      return list(20);
    case AttrKind::kEpsilon:
      Field(24,
            [&](WireWriter& w) { w.Float(24, static_cast<float>(std::bit_cast<double>(value))); });
      return true;
    case AttrKind::kExponentBits:
      return number(18);
    case AttrKind::kMantissaBits:
      return number(19);
    case AttrKind::kFeatureIndex:
      return number(25);
    case AttrKind::kFftLength:
      return list(32);
    case AttrKind::kFftType:
      return number(31);
    case AttrKind::kFrontendAttributes:
      return TextField(attr, 68, AppendFrontendProto);
    case AttrKind::kFusionKind:
      return name(11);
    case AttrKind::kIndex:
      return number(13);
    case AttrKind::kIndicesAreSorted:
      return number(67);
    case AttrKind::kInfeedConfig:
      return string(27);
    case AttrKind::kOutfeedConfig:
      return string(22);
    case AttrKind::kIsAssociative:
      IntField(96, value != 0 ? 1 : 2);
      return true;
    case AttrKind::kIsComposite:
      return number(89);
    case AttrKind::kIsHostTransfer:
      return number(47);
    case AttrKind::kIsReverse:
      return number(94);
    case AttrKind::kIsStable:
      return number(60);
    case AttrKind::kK:
      return number(81);
    case AttrKind::kLargest:
      return number(85);
    case AttrKind::kMetadata:
      return TextField(attr, 7, AppendMetadataProto);
    case AttrKind::kNumCarries:
      return number(95);
    case AttrKind::kOrigin:
      return TextField(attr, 88, AppendOriginProto);
    case AttrKind::kOutfeedShape:
      Field(29, [&](WireWriter& w) { w.PresentBytes(29, ShapeBytes(ShapeId(attr.low))); });
      return true;
    case AttrKind::kOutputToOperandAliasing:
      AliasingFields(id);
      return true;
    case AttrKind::kPadding:
      Field(21, [&](WireWriter& w) {
        std::span<const int64_t> values = module_.ints(attr);
        size_t begin = w.Open(21);
        for (size_t i = 0; i + 3 <= values.size(); i += 3) {
          size_t dimension = w.Open(1);
          for (uint32_t j = 0; j < 3; ++j) w.Int(j + 1, values[i + j]);
          w.Close(dimension);
        }
        w.Close(begin);
      });
      return true;
    case AttrKind::kPaddingType:
      return number(75);
    case AttrKind::kParameterReplication:
      Field(61, [&](WireWriter& w) {
        size_t begin = w.Open(61);
        w.Packed(1, module_.ints(attr));
        w.Close(begin);
      });
      return true;
    case AttrKind::kResultAccuracy:
      return TextField(attr, 91, AppendAccuracyProto);
    case AttrKind::kRngAlgorithm:
      return number(70);
    case AttrKind::kSchedule:
      return number(76);
    case AttrKind::kSharding:
      return TextField(attr, 40, AppendShardingProto);
    case AttrKind::kSlice:
      Field(17, [&](WireWriter& w) {
        std::span<const int64_t> values = module_.ints(attr);
        for (size_t i = 0; i + 3 <= values.size(); i += 3) {
          size_t begin = w.Open(17);
          for (uint32_t j = 0; j < 3; ++j) w.Int(j + 1, values[i + j]);
          w.Close(begin);
        }
      });
      return true;
    case AttrKind::kSliceSizes:
      return list(34);
    case AttrKind::kCollectiveSliceSizes: {
      std::vector<std::vector<int64_t>> slices;
      std::vector<int64_t> flat;
      if (!ReadIntListList(module_.str(attr.text()), &slices))
        return Fail("slice_sizes has no proto form");
      for (const std::vector<int64_t>& slice : slices)
        flat.insert(flat.end(), slice.begin(), slice.end());
      Field(20, [&](WireWriter& w) { w.Packed(20, flat); });
      return true;
    }
    case AttrKind::kSourceTargetPairs: {
      bool ok = true;
      Field(52, [&](WireWriter& w) { ok = AppendPairFields(module_.str(attr.text()), &w.out()); });
      return ok || Fail("source_target_pairs has no proto form");
    }
    case AttrKind::kSparsityConfig:
      return TextField(attr, 98, AppendSparsityProto);
    case AttrKind::kStatistics:
      return TextField(attr, 82, AppendStatisticsProto);
    case AttrKind::kUniqueIndices:
      return number(69);
    case AttrKind::kUseGlobalDeviceIds:
      return number(71);
    case AttrKind::kWindow:
      WindowField(attr);
      return true;
    case AttrKind::kCalledComputations:
      Field(38, [&](WireWriter& w) {
        std::vector<int64_t> ids;
        for (CompId callee : module_.called_computations(id))
          ids.push_back(computation_id_[callee.value]);
        w.Packed(38, ids);
      });
      return true;
    case AttrKind::kControlPredecessors:
      Field(37, [&](WireWriter& w) {
        std::vector<int64_t> ids;
        for (InstId before : module_.control_predecessors(id)) ids.push_back(FullId(before));
        w.Packed(37, ids);
      });
      return true;
    case AttrKind::kOperandLayoutConstraints:
      IntField(56, 1);
      Field(57, [&](WireWriter& w) {
        for (ShapeId shape : module_.operand_layout_constraints(id))
          w.PresentBytes(57, ShapeBytes(shape));
      });
      return true;
    case AttrKind::kUnknownAttribute:
      return Fail(fmt::format("the unknown attribute {} of '{}' has no proto form",
                              module_.str(attr.text()).substr(0, 100), module_.name(id)));
    default:
      return true;  // written with its relatives: dimensions, contraction, gather and scatter
                    // numbers, precision
  }
}

}  // namespace hlokit::proto
