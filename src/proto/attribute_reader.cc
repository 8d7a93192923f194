// Which attributes does an instruction get from its fields? The table of attributes per opcode says
// which to look for, in printing order; hlo-proto.md section 6 says in which field each one is.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "hlokit/reader.h"
#include "module_reader.h"
#include "schema.h"
#include "text_to_wire.h"

namespace hlokit::proto {
namespace {

bool HasPrecision(Opcode opcode) {
  return opcode == Opcode::kDot || opcode == Opcode::kRaggedDot || opcode == Opcode::kScaledDot ||
         opcode == Opcode::kConvolution || opcode == Opcode::kCustomCall;
}

struct Nested {
  uint32_t field;  // of the instruction
  uint32_t inner;  // of its message
};

/// Integer lists that live in a nested message.
Nested NestedOf(Opcode opcode, AttrKind kind) {
  bool gather = opcode == Opcode::kGather;
  switch (kind) {
    case AttrKind::kLhsContractingDims:
      return {30, 1};
    case AttrKind::kRhsContractingDims:
      return {30, 2};
    case AttrKind::kLhsBatchDims:
      return {30, 3};
    case AttrKind::kRhsBatchDims:
      return {30, 4};
    case AttrKind::kLhsRaggedDims:
      return {90, 2};
    case AttrKind::kRhsGroupDims:
      return {90, 3};
    case AttrKind::kOffsetDims:
      return {33, 1};
    case AttrKind::kCollapsedSliceDims:
      return {33, 2};
    case AttrKind::kStartIndexMap:
      return {33, 3};
    case AttrKind::kOperandBatchingDims:
      return {33, 5};
    case AttrKind::kStartIndicesBatchingDims:
      return {33, 6};
    case AttrKind::kUpdateWindowDims:
      return {48, 1};
    case AttrKind::kInsertedWindowDims:
      return {48, 2};
    case AttrKind::kScatterDimsToOperandDims:
      return {48, 3};
    case AttrKind::kInputBatchingDims:
      return {48, 5};
    case AttrKind::kScatterIndicesBatchingDims:
      return {48, 6};
    case AttrKind::kIndexVectorDim:
      return {gather ? 33u : 48u, 4};
    case AttrKind::kLeftSide:
      return {59, 1};
    case AttrKind::kLower:
      return {opcode == Opcode::kCholesky ? 62u : 59u, opcode == Opcode::kCholesky ? 1u : 2u};
    case AttrKind::kUnitDiagonal:
      return {59, 3};
    case AttrKind::kTransposeA:
      return {59, 4};
    default:
      return {0, 0};
  }
}

}  // namespace

bool ModuleReader::TextFailed() {
  return Fail(DiagId::kProtoBadValue, text_.problem().at, text_.problem().what);
}

bool ModuleReader::AddInts(AttrKind kind, bool even_if_empty) {
  if (!ints_.empty() || even_if_empty) attrs_.push_back(module_.IntsAttribute(kind, ints_));
  return true;
}

bool ModuleReader::NestedInts(std::string_view bytes, uint32_t number, std::vector<int64_t>* out) {
  out->clear();
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == number && !Ints(field, out)) return false;
  }
  return reader.problem().what == nullptr || FailWire(reader.problem());
}

/// Fields of a message that the schema does not know make the instruction lossy.
void ModuleReader::NoteUnknown(MessageId message, std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    const FieldInfo* known = FindField(message, field.number);
    if (known == nullptr) {
      lossy_ = true;
    } else if (known->kind == FieldKind::kMessage && field.type == kBytesType) {
      NoteUnknown(known->message(), field.bytes);  // as deep as these messages: two levels
    }
  }
}

bool ModuleReader::CheckRequired(Opcode opcode) {
  struct Rule {
    Opcode opcode;
    uint32_t number;
    std::string_view what;
  };
  static constexpr Rule kRules[] = {
      {Opcode::kDot, 30, "dot_dimension_numbers"},
      {Opcode::kScaledDot, 30, "dot_dimension_numbers"},
      {Opcode::kRaggedDot, 90, "ragged_dot_dimension_numbers"},
      {Opcode::kGather, 33, "gather_dimension_numbers"},
      {Opcode::kScatter, 48, "scatter_dimension_numbers"},
      {Opcode::kPad, 21, "padding_config"},
      {Opcode::kConvolution, 15, "window"},
      {Opcode::kConvolution, 16, "convolution_dimension_numbers"},
      {Opcode::kFusion, 11, "fusion_kind"},
      {Opcode::kReduceWindow, 15, "window"},
      {Opcode::kSelectAndScatter, 15, "window"},
  };
  for (const Rule& rule : kRules) {
    if (rule.opcode == opcode && !fields_.Has(rule.number)) {
      return Fail(DiagId::kProtoMissingField, instruction_bytes_.data(),
                  fmt::format("'{}' needs the field {}", OpcodeText(opcode), rule.what));
    }
  }
  if (fields_.Has(51) && !HasPrecision(opcode) && opcode != Opcode::kUnknown) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("'{}' has no precision_config", OpcodeText(opcode)));
  }
  if (fields_.Has(30) && opcode != Opcode::kDot && opcode != Opcode::kScaledDot &&
      opcode != Opcode::kUnknown) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("'{}' has no dot_dimension_numbers", OpcodeText(opcode)));
  }
  return true;
}

bool ModuleReader::ReadAttributes(Opcode opcode, ShapeId shape) {
  if (opcode == Opcode::kUnknown) {
    // What its fields mean is not known; they are kept as they are.
    return ReadCalls(opcode) && ReadCommon(opcode, shape);
  }
  if (!CheckRequired(opcode)) return false;
  static constexpr std::pair<uint32_t, MessageId> kNestedLists[] = {
      {16, MessageId::ConvolutionDimensionNumbers}, {30, MessageId::DotDimensionNumbers},
      {33, MessageId::GatherDimensionNumbers},      {48, MessageId::ScatterDimensionNumbers},
      {59, MessageId::TriangularSolveOptions},      {62, MessageId::CholeskyOptions},
      {90, MessageId::RaggedDotDimensionNumbers}};
  for (const auto& [number, message] : kNestedLists) {
    if (fields_.Has(number)) NoteUnknown(message, fields_.Message(number));
  }
  if (opcode == Opcode::kParameter) AddInt(AttrKind::kParameterNumber, fields_.Int(9));
  if (opcode == Opcode::kConstant) {
    if (!ReadLiteralAttribute(AttrKind::kConstantLiteral, shape)) return false;
  }
  for (const AttrSpec& spec : OpcodeAttributes(opcode)) {
    if (!ReadAttribute(opcode, spec.kind, shape)) return false;
  }
  return ReadCalls(opcode) && ReadCommon(opcode, shape);
}

bool ModuleReader::ReadAttribute(Opcode opcode, AttrKind kind, ShapeId shape) {
  auto flag = [&](uint32_t number) {
    if (fields_.Bool(number)) AddInt(kind, 1);
    return true;
  };
  auto number = [&](uint32_t field) {
    AddInt(kind, fields_.Int(field));
    return true;
  };
  auto count = [&](uint32_t field) {  // 0 is read as 1, which is the default
    int64_t value = fields_.Int(field);
    if (value != 0 && value != 1) AddInt(kind, value);
    return true;
  };
  auto string = [&](uint32_t field, bool even_if_empty) {
    std::string_view bytes = fields_.Bytes(field);
    if (!bytes.empty() || even_if_empty) attrs_.push_back(Attr::Text(kind, Ref(bytes)));
    return true;
  };
  auto list = [&](uint32_t field) {
    if (!fields_.Ints(field, &ints_))
      return Fail(DiagId::kProtoBroken, instruction_bytes_.data(), "a list is broken");
    return AddInts(kind, true);
  };
  if (Nested nested = NestedOf(opcode, kind); nested.field != 0) {
    std::string_view bytes = fields_.Message(nested.field);
    std::string inner;
    if (opcode == Opcode::kRaggedDot && nested.field == 30) {  // one level deeper
      WireReader reader(fields_.Message(90));
      WireField field;
      while (reader.Next(&field)) {
        if (field.number == 1 && field.type == kBytesType) inner += field.bytes;
      }
      bytes = inner;
    }
    if (!NestedInts(bytes, nested.inner, &ints_)) return false;
    switch (Info(kind).type) {
      case AttrType::kIntList:
        return AddInts(
            kind, kind == AttrKind::kLhsContractingDims || kind == AttrKind::kRhsContractingDims ||
                      kind == AttrKind::kOffsetDims || kind == AttrKind::kCollapsedSliceDims ||
                      kind == AttrKind::kStartIndexMap || kind == AttrKind::kUpdateWindowDims ||
                      kind == AttrKind::kInsertedWindowDims ||
                      kind == AttrKind::kScatterDimsToOperandDims);
      case AttrType::kTransposeA:
        if (!ints_.empty() && (ints_.back() < 0 || ints_.back() > 3)) {
          return Fail(DiagId::kProtoBadValue, bytes.data(), "transpose_a has an unknown value");
        }
        [[fallthrough]];
      case AttrType::kBool:
        if (!ints_.empty() && ints_.back() != 0) AddInt(kind, ints_.back());
        return true;
      default:
        AddInt(kind, ints_.empty() ? 0 : ints_.back());
        return true;
    }
  }
  switch (kind) {
    case AttrKind::kParameterReplication:
      return ReadReplication();
    case AttrKind::kDirection:
      if (!attrs_.empty() && attrs_.back().kind == AttrKind::kDirection)
        return true;  // an old opcode
      return ReadOneOfNames(kind, 63);
    case AttrKind::kComparisonType:
      return ReadOneOfNames(kind, 72);
    case AttrKind::kFusionKind:
      return ReadOneOfNames(kind, 11);
    case AttrKind::kIotaDimension:
    case AttrKind::kInferredDimension:
    case AttrKind::kDimensions:
      return ReadDimensions(opcode, kind, shape);
    case AttrKind::kIsStable:
      if (opcode == Opcode::kTopK) return number(60);
      return flag(60);
    case AttrKind::kNumCarries:
      return number(95);
    case AttrKind::kIsReverse:
      return flag(94);
    case AttrKind::kIsAssociative:
      if (int64_t value = fields_.Int(96); value != 0) AddInt(kind, value == 1);
      return true;
    case AttrKind::kK:
      return number(81);
    case AttrKind::kLargest:
      return number(85);
    case AttrKind::kSlice:
      return ReadSlices(kind);
    case AttrKind::kDynamicSliceSizes:
      return list(20);
    case AttrKind::kSliceSizes:
      return list(34);
    case AttrKind::kFftLength:
      return list(32);
    case AttrKind::kPadding:
      return ReadPadding(kind);
    case AttrKind::kIndicesAreSorted:
      return flag(67);
    case AttrKind::kUniqueIndices:
      return flag(69);
    case AttrKind::kOperandPrecision:
      return ReadPrecision(opcode);
    case AttrKind::kAlgorithm:
      return true;  // read with the precision
    case AttrKind::kWindow:
      return ReadWindow(kind);
    case AttrKind::kDimLabels:
      if (opcode == Opcode::kCustomCall && !fields_.Has(16)) return true;
      return ReadText(kind, 16, &AttributeText::DimLabels);
    case AttrKind::kFeatureGroupCount:
      return count(50);
    case AttrKind::kBatchGroupCount:
      return count(58);
    case AttrKind::kConvolutionKind:
      return EnumAttribute(kind, 97, 0);
    case AttrKind::kSparsityConfig:
      if (fields_.Message(98).empty()) return true;
      lossy_ = true;
      return ReadText(kind, 98, &AttributeText::Sparsity);
    case AttrKind::kFftType:
      return EnumAttribute(kind, 31, -1);
    case AttrKind::kEpsilon:
      AddInt(kind, std::bit_cast<int64_t>(static_cast<double>(fields_.Float(24))));
      return true;
    case AttrKind::kFeatureIndex:
      return number(25);
    case AttrKind::kDistribution:
      return EnumAttribute(kind, 23, -1);
    case AttrKind::kRngAlgorithm:
      return EnumAttribute(kind, 70, -1);
    case AttrKind::kDelta:
      return number(66);
    case AttrKind::kExponentBits:
      return number(18);
    case AttrKind::kMantissaBits:
      return number(19);
    case AttrKind::kIndex:
      return number(13);
    case AttrKind::kDomain:
      return ReadDomain();
    case AttrKind::kOutputToOperandAliasing:
      return ReadAliasing(kind);
    case AttrKind::kPaddingType:
      return EnumAttribute(kind, 75, 0);
    case AttrKind::kCustomCallTarget:
      return string(28, true);
    case AttrKind::kOperandLayoutConstraints:
      if (!fields_.Bool(56)) return true;  // then field 57 means nothing
      return ReadShapeList(kind);
    case AttrKind::kCustomCallHasSideEffect:
      return flag(65);
    case AttrKind::kLiteral:
      return ReadLiteralAttribute(kind, {});
    case AttrKind::kSchedule:
      return EnumAttribute(kind, 76, 0);
    case AttrKind::kApiVersion:
      return EnumAttribute(kind, 77, 1);
    case AttrKind::kChannelId:
      return ReadChannel();
    case AttrKind::kReplicaGroups:
      return ReadReplicaGroups();
    case AttrKind::kConstrainLayout:
      return flag(56);
    case AttrKind::kUseGlobalDeviceIds:
      return flag(71);
    case AttrKind::kSourceTargetPairs:
      return ReadPairs(kind);
    case AttrKind::kCollectiveSliceSizes:
      return ReadSliceSizes(kind);
    case AttrKind::kIsHostTransfer:
      return flag(47);
    case AttrKind::kInfeedConfig:
      return string(27, false);
    case AttrKind::kOutfeedConfig:
      return string(22, false);
    case AttrKind::kOutfeedShape: {
      ShapeId outfeed;
      if (!fields_.Has(29)) {
        outfeed = module_.shape(operands_[0]);  // as in text
        lossy_ = true;
      } else if (!Shape(fields_.Message(29), &outfeed)) {
        return false;
      }
      attrs_.push_back({kind, outfeed.value, 0});
      return true;
    }
    case AttrKind::kCrossProgramPrefetchIndex:
      if (fields_.Has(80)) {
        AddInt(kind, AsInt32(static_cast<uint64_t>(fields_.Int(80))));
      } else if (fields_.Bool(73)) {
        AddInt(kind, 0);
        lossy_ = true;
      }
      return true;
    case AttrKind::kAsyncExecutionThread: {
      std::string_view thread = fields_.Bytes(79);
      if (opcode == Opcode::kAsyncStart && !thread.empty() && thread != "main") {
        attrs_.push_back(Attr::Text(kind, Ref(thread)));
      }
      return true;
    }
    default:
      return true;  // called computations come later; `mode` is not in the proto form
  }
}

bool ModuleReader::ReadDimensions(Opcode opcode, AttrKind kind, ShapeId shape) {
  if (!fields_.Ints(14, &ints_))
    return Fail(DiagId::kProtoBroken, instruction_bytes_.data(), "a list is broken");
  auto needs_one = [&] {
    if (ints_.size() == 1) return true;
    return Fail(
        DiagId::kProtoBadValue, instruction_bytes_.data(),
        fmt::format("'{}' needs one dimension and has {}", OpcodeText(opcode), ints_.size()));
  };
  switch (opcode) {
    case Opcode::kIota:
      if (!needs_one()) return false;
      AddInt(kind, ints_[0]);
      return true;
    case Opcode::kReshape:
      if (ints_.empty()) return true;
      if (!needs_one()) return false;
      AddInt(kind, ints_[0]);
      return true;
    case Opcode::kAllToAll:
      if (ints_.empty()) return true;
      return needs_one() && AddInts(kind, true);
    case Opcode::kRaggedAllToAll:
      if (!ints_.empty()) lossy_ = true;
      return true;
    case Opcode::kMap: {
      std::vector<int64_t> all(module_.shapes().rank(shape));
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
      if (ints_ != all) lossy_ = true;
      ints_ = std::move(all);
      return AddInts(kind, true);
    }
    case Opcode::kConcatenate:
    case Opcode::kSort:
    case Opcode::kScan:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize:
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kReduceScatter:
      return needs_one() && AddInts(kind, true);
    default:
      return AddInts(kind, true);
  }
}

bool ModuleReader::EnumAttribute(AttrKind kind, uint32_t number, int64_t absent) {
  int64_t value = fields_.Int(number);
  if (value == absent) return true;
  if (kind == AttrKind::kConvolutionKind && (value == 2 || value == 3))
    value = 5 - value;  // other order
  if (value < 0 || static_cast<size_t>(value) >= EnumNames(Info(kind).type).size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("{} has the unknown value {}", Info(kind).text, value));
  }
  AddInt(kind, value);
  return true;
}

bool ModuleReader::ReadOneOfNames(AttrKind kind, uint32_t number) {
  std::string_view word = fields_.Bytes(number);
  if (kind == AttrKind::kComparisonType && word.empty()) return true;
  std::span<const std::string_view> names = EnumNames(Info(kind).type);
  size_t value = std::find(names.begin(), names.end(), word) - names.begin();
  if (value == names.size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("'{}' is no value of {}", word.substr(0, 60), Info(kind).text));
  }
  if (kind == AttrKind::kComparisonType) {
    ElementType element = module_.shapes().type(module_.shape(operands_[0]));
    ComparisonType usual = IsFloating(element) || IsComplex(element)    ? ComparisonType::kFloat
                           : Info(element).kind == ElementKind::kSigned ? ComparisonType::kSigned
                                                                        : ComparisonType::kUnsigned;
    if (value == static_cast<size_t>(usual)) return true;
  }
  AddInt(kind, static_cast<int64_t>(value));
  return true;
}

}  // namespace hlokit::proto
