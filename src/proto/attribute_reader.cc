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

/// Called computations that an opcode must have; -1 = any number.
int CallCount(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWhile:
    case Opcode::kSelectAndScatter:
      return 2;
    case Opcode::kCall:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kSort:
    case Opcode::kScan:
    case Opcode::kScatter:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
      return 1;
    case Opcode::kCustomCall:
    case Opcode::kConditional:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kUnknown:
      return -1;
    default:
      return 0;
  }
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

bool ModuleReader::ReadSlices(AttrKind kind) {
  ints_.clear();
  bool ok = fields_.ForEach(17, [&](const WireField& range) {
    int64_t values[3] = {0, 0, 0};
    WireReader reader(range.bytes);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number <= 3 && field.type == kVarint) {
        values[field.number - 1] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (reader.problem().what != nullptr) return FailWire(reader.problem());
    ints_.insert(ints_.end(), values, values + 3);
    return true;
  });
  return ok && AddInts(kind, true);
}

bool ModuleReader::ReadPadding(AttrKind kind) {
  ints_.clear();
  WireReader reader(fields_.Message(21));
  WireField dimension;
  while (reader.Next(&dimension)) {
    if (dimension.number != 1 || dimension.type != kBytesType) {
      lossy_ = true;
      continue;
    }
    int64_t values[3] = {0, 0, 0};
    WireReader inner(dimension.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number <= 3 && field.type == kVarint) {
        values[field.number - 1] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    if (values[2] < 0)
      return Fail(DiagId::kProtoBadValue, dimension.raw.data(), "an interior padding is negative");
    ints_.insert(ints_.end(), values, values + 3);
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  return AddInts(kind, true);
}

bool ModuleReader::ReadWindow(AttrKind kind) {
  if (!fields_.Has(15)) return true;
  // Field numbers of WindowDimension in the order of WindowField.
  static constexpr WindowField kOrder[8] = {
      kWindowFields,  kWindowSize,           kWindowStride,       kWindowPadLow,
      kWindowPadHigh, kWindowWindowDilation, kWindowBaseDilation, kWindowReversal};
  ints_.clear();
  WireReader reader(fields_.Message(15));
  WireField dimension;
  while (reader.Next(&dimension)) {
    if (dimension.number != 1 || dimension.type != kBytesType) {
      lossy_ = true;
      continue;
    }
    int64_t values[kWindowFields] = {};
    WireReader inner(dimension.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number <= 7 && field.type == kVarint) {
        values[kOrder[field.number]] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    ints_.insert(ints_.end(), values, values + kWindowFields);
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  return AddInts(kind, fields_.Has(28));  // an empty one shows on custom calls only
}

bool ModuleReader::ReadPairs(AttrKind kind) {
  buffer_.Truncate(0);
  buffer_.Append('{');
  bool first = true;
  bool ok = fields_.ForEach(52, [&](const WireField& pair) {
    int64_t values[2] = {0, 0};
    WireReader reader(pair.bytes);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number <= 2 && field.type == kVarint) {
        values[field.number - 1] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (reader.problem().what != nullptr) return FailWire(reader.problem());
    buffer_.Append(first ? "{" : ",{");
    first = false;
    AppendIntList(values, &buffer_);
    buffer_.Append('}');
    return true;
  });
  if (!ok) return false;
  buffer_.Append('}');
  attrs_.push_back(module_.TextAttribute(kind, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadSliceSizes(AttrKind kind) {
  if (!fields_.Has(20)) return true;
  if (!fields_.Ints(20, &ints_))
    return Fail(DiagId::kProtoBroken, instruction_bytes_.data(), "a list is broken");
  if (ints_.empty()) return true;
  // Flattened; each slice has as many sizes as the operand that it is taken from has dimensions.
  buffer_.Truncate(0);
  buffer_.Append('{');
  const ShapePool& shapes = module_.shapes();
  std::vector<uint32_t> ranks;
  if (!operands_.empty()) {
    ShapeId source = module_.shape(operands_[0]);
    if (shapes.IsTuple(source)) {
      for (uint32_t i = 0; i < shapes.element_count(source); ++i)
        ranks.push_back(shapes.rank(shapes.element(source, i)));
    } else {
      ranks.push_back(shapes.rank(source));
    }
  }
  size_t at = 0;
  for (size_t slice = 0; at < ints_.size(); ++slice) {
    size_t size = slice < ranks.size() ? ranks[slice] : (ranks.empty() ? 0 : ranks.back());
    if (size == 0 || at + size > ints_.size()) {
      return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                  "the slice sizes do not fit the operands");
    }
    buffer_.Append(at == 0 ? "{" : ",{");
    AppendIntList({ints_.data() + at, size}, &buffer_);
    buffer_.Append('}');
    at += size;
  }
  buffer_.Append('}');
  attrs_.push_back(module_.TextAttribute(kind, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadAliasing(AttrKind kind) {
  if (!fields_.Has(74)) return true;
  std::vector<int64_t> encoded;
  bool ok = fields_.ForEach(74, [&](const WireField& pair) {
    std::vector<int64_t> output;
    std::vector<int64_t> operand;
    int64_t number = 0;
    WireReader reader(pair.bytes);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number == 1) {
        if (!Ints(field, &output)) return false;
      } else if (field.number == 2 && field.type == kVarint) {
        number = AsInt64(field.value);
      } else if (field.number == 3) {
        if (!Ints(field, &operand)) return false;
      } else {
        lossy_ = true;
      }
    }
    if (reader.problem().what != nullptr) return FailWire(reader.problem());
    encoded.push_back(static_cast<int64_t>(output.size()));
    encoded.insert(encoded.end(), output.begin(), output.end());
    encoded.push_back(number);
    encoded.push_back(static_cast<int64_t>(operand.size()));
    encoded.insert(encoded.end(), operand.begin(), operand.end());
    return true;
  });
  if (!ok) return false;
  attrs_.push_back(module_.IntsAttribute(kind, encoded));
  return true;
}

bool ModuleReader::ReadShapeList(AttrKind kind) {
  refs_.clear();
  bool ok = fields_.ForEach(57, [&](const WireField& field) {
    ShapeId shape;
    if (!Shape(field.bytes, &shape)) return false;
    refs_.push_back(shape.value);
    return true;
  });
  if (!ok) return false;
  if (refs_.size() != operands_.size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("a custom call constrains {} layouts and has {} operands", refs_.size(),
                            operands_.size()));
  }
  attrs_.push_back(module_.RefsAttribute(kind, refs_));
  return true;
}

bool ModuleReader::ReadPrecision(Opcode opcode) {
  int64_t algorithm = 0;
  ints_.clear();
  WireReader reader(fields_.Message(51));
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1) {
      if (!Ints(field, &ints_)) return false;
    } else if (field.number == 2 && field.type == kVarint) {
      algorithm = AsInt64(field.value);
    } else {
      lossy_ = true;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  size_t wanted =
      opcode == Opcode::kRaggedDot || opcode == Opcode::kScaledDot ? 2 : operands_.size();
  if (ints_.size() != wanted) lossy_ = true;
  ints_.resize(wanted);
  bool any = false;
  for (int64_t value : ints_) {
    if (value < 0 || value > 2) {
      return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                  fmt::format("a precision has the unknown value {}", value));
    }
    any |= value != 0;
  }
  if (any) AddInts(AttrKind::kOperandPrecision, true);
  if (algorithm == 0) return true;
  if (algorithm < 0 || algorithm > 13) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("an algorithm has the unknown value {}", algorithm));
  }
  // The last one stands among its relatives in text.
  AddInt(AttrKind::kAlgorithm, algorithm == 13 ? 9 : algorithm >= 9 ? algorithm + 1 : algorithm);
  return true;
}

bool ModuleReader::ReadReplication() {
  if (!fields_.Has(61)) return true;
  ints_.clear();
  WireReader reader(fields_.Message(61));
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1) {
      if (!Ints(field, &ints_)) return false;
    } else {
      lossy_ = true;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  for (int64_t& value : ints_) value = value != 0;
  return AddInts(AttrKind::kParameterReplication, false);
}

bool ModuleReader::ReadLiteralAttribute(AttrKind kind, ShapeId declared) {
  LiteralId literal;
  if (!fields_.Has(8)) {
    if (kind != AttrKind::kConstantLiteral) return true;
    LiteralData data;
    data.shape = module_.shapes()[declared].static_bare;
    data.elided = true;
    literal = module_.AddLiteral(std::move(data));
  } else {
    LiteralProblem problem;
    if (!ReadLiteral(fields_.Message(8), declared, &module_, &literal, &lossy_, &problem)) {
      return Fail(problem.broken ? DiagId::kProtoBroken : DiagId::kProtoBadLiteral, problem.at,
                  problem.what);
    }
  }
  attrs_.push_back({kind, literal.value, 0});
  return true;
}

bool ModuleReader::ReadChannel() {
  int64_t channel = fields_.Int(26);
  int64_t old = fields_.Int(45);
  if (channel > 0 && old > 0) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                "channel_id and all_reduce_id are both set");
  }
  if (channel < 0 || old != 0) lossy_ = true;
  if (channel <= 0) channel = old;
  if (channel > 0) AddInt(AttrKind::kChannelId, channel);
  return true;
}

bool ModuleReader::ReadReplicaGroups() {
  buffer_.Truncate(0);
  bool ok = true;
  text_.ClearLossy();
  bool legacy = fields_.Has(49);
  if (fields_.Has(92)) {
    ok = text_.IotaGroups(fields_.Message(92), &buffer_);
  } else if (fields_.Has(93)) {
    ok = text_.MeshGroups(fields_.Message(93), &buffer_);
    lossy_ = true;
  } else if (legacy) {
    std::vector<std::string_view> groups;
    fields_.ForEach(49, [&](const WireField& field) {
      groups.push_back(field.bytes);
      return true;
    });
    ok = text_.GroupList(groups, &buffer_);
    lossy_ = true;
  } else {
    ok = text_.DeviceList(fields_.Message(87), &buffer_);
  }
  if (!ok) return TextFailed();
  lossy_ |= text_.lossy();
  attrs_.push_back(module_.TextAttribute(AttrKind::kReplicaGroups, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadText(AttrKind kind, uint32_t number,
                            bool (AttributeText::*convert)(std::string_view, TextBuffer*)) {
  if (!fields_.Take(number)) return true;
  buffer_.Truncate(0);
  text_.ClearLossy();
  if (!(text_.*convert)(fields_.Message(number), &buffer_)) return TextFailed();
  lossy_ |= text_.lossy();
  if (buffer_.size() != 0) attrs_.push_back(module_.TextAttribute(kind, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadCalls(Opcode opcode) {
  if (!fields_.Has(38)) refs_.clear();
  if (!fields_.Ints(38, &ints_))
    return Fail(DiagId::kProtoBroken, instruction_bytes_.data(), "a list is broken");
  refs_.clear();
  for (int64_t id : ints_) {
    auto it = computation_by_id_.find(id);
    if (it == computation_by_id_.end()) {
      return Fail(DiagId::kProtoBadId, instruction_bytes_.data(),
                  fmt::format("id {} names no computation that stands before its caller", id),
                  "computations stand behind those that they call");
    }
    refs_.push_back(it->second.value);
  }
  int wanted = CallCount(opcode);
  if (wanted >= 0 && static_cast<size_t>(wanted) != refs_.size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("'{}' calls {} computation(s), not {}", OpcodeText(opcode), wanted,
                            refs_.size()));
  }
  if (opcode == Opcode::kConditional && refs_.size() + 1 != operands_.size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("a conditional has {} branches and {} operands", refs_.size(),
                            operands_.size()));
  }
  if (opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) {
    // They may name what their start names; a module keeps that with the start only.
    InstId start = operands_.empty() ? InstId() : operands_[0];
    bool is_chain = start.valid() && (module_.opcode(start) == Opcode::kAsyncStart ||
                                      module_.opcode(start) == Opcode::kAsyncUpdate);
    if (!is_chain) {
      return Fail(
          DiagId::kProtoBadValue, instruction_bytes_.data(),
          fmt::format("the operand of '{}' is no async-start or async-update", OpcodeText(opcode)));
    }
    while (module_.opcode(start) == Opcode::kAsyncUpdate) start = module_.operand(start, 0);
    std::span<const CompId> calls = module_.called_computations(start);
    if (!refs_.empty() && (refs_.size() != 1 || calls.size() != 1 || calls[0].value != refs_[0])) {
      return Fail(
          DiagId::kProtoBadValue, instruction_bytes_.data(),
          fmt::format("'{}' calls another computation than its async-start", OpcodeText(opcode)));
    }
    return true;
  }
  if (!refs_.empty()) attrs_.push_back(module_.RefsAttribute(AttrKind::kCalledComputations, refs_));
  if (opcode == Opcode::kCall && fields_.Bool(89)) AddInt(AttrKind::kIsComposite, 1);
  return true;
}

bool ModuleReader::ReadCommon(Opcode opcode, ShapeId) {
  (void)opcode;
  if (fields_.Has(40) && !ReadSharding()) return false;
  if (std::string_view bytes = fields_.Message(68); !bytes.empty()) {
    KnownText text;
    if (const KnownText* known = frontends_.Find(bytes); known != nullptr) {
      text = *known;
    } else {
      buffer_.Truncate(0);
      text_.ClearLossy();
      if (!text_.FrontendAttributes(bytes, &buffer_)) return TextFailed();
      text = {module_.text().Append(buffer_.View(0)), text_.lossy()};
      if (IsInFile(bytes)) frontends_.Insert(bytes, text);
    }
    lossy_ |= text.lossy;
    if (text.text.length > 2)
      attrs_.push_back(Attr::Text(AttrKind::kFrontendAttributes, text.text));
  }
  if (fields_.Has(37)) {
    std::vector<InstId> predecessors;
    if (!ResolveOperands(37, &predecessors)) return false;
    refs_.clear();
    for (InstId id : predecessors) {
      if (std::find(refs_.begin(), refs_.end(), id.value) == refs_.end()) refs_.push_back(id.value);
    }
    if (!refs_.empty())
      attrs_.push_back(module_.RefsAttribute(AttrKind::kControlPredecessors, refs_));
  }
  // Rare ones: text may not show all of them, so their bytes are always compared (see extras.h).
  if (fields_.Has(82) && !fields_.Message(82).empty()) {
    lossy_ = true;
    if (!ReadText(AttrKind::kStatistics, 82, &AttributeText::Statistics)) return false;
  }
  if (fields_.Has(91)) {
    lossy_ = true;
    if (!ReadText(AttrKind::kResultAccuracy, 91, &AttributeText::ResultAccuracy)) return false;
  }
  if (fields_.Has(88)) {
    lossy_ = true;
    if (!ReadText(AttrKind::kOrigin, 88, &AttributeText::Origin)) return false;
  }
  return ReadMetadata() && ReadBackendConfig();
}

bool ModuleReader::ReadMetadata() {
  std::string_view bytes = fields_.Message(7);
  if (bytes.empty()) return true;
  buffer_.Truncate(0);
  text_.ClearLossy();
  bool shown;
  if (!text_.Metadata(bytes, &buffer_, &shown)) return TextFailed();
  lossy_ |= text_.lossy();
  if (shown) attrs_.push_back(module_.TextAttribute(AttrKind::kMetadata, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadBackendConfig() {
  std::string_view config = fields_.Bytes(43);
  if (fields_.Has(99)) {
    lossy_ = true;
    config = {};
    if (!text_.PayloadBytes(fields_.Message(99), &config)) return TextFailed();
  }
  if (!config.empty()) attrs_.push_back(Attr::Text(AttrKind::kBackendConfig, Ref(config)));
  return true;
}

bool ModuleReader::ShardingText(std::string_view bytes, StrRef* out) {
  if (const KnownText* known = shardings_.Find(bytes); known != nullptr) {
    *out = known->text;
    lossy_ |= known->lossy;
    return true;
  }
  buffer_.Truncate(0);
  if (!text_.Sharding(bytes, &buffer_)) return TextFailed();
  std::string text(buffer_.View(0));
  // Tile shardings have several spellings; the reader of text knows which one is canonical.
  if (text.find("devices=") != std::string::npos &&
      text.find("last_tile_dim") != std::string::npos) {
    Result<Module> probe = hlokit::ReadText("ROOT x = f32[] parameter(0), sharding=" + text);
    if (!probe)
      return Fail(DiagId::kProtoBadValue, bytes.data(),
                  "a sharding makes no sense: " + text.substr(0, 200));
    InstId root = probe->computation(probe->entry()).root;
    text = probe->TextAttr(root, AttrKind::kSharding);
  }
  *out = module_.text().Append(text);
  scratch_.clear();
  bool lossy = !AppendShardingProto(text, &scratch_) || scratch_ != bytes;
  lossy_ |= lossy;
  if (IsInFile(bytes)) shardings_.Insert(bytes, {*out, lossy});
  return true;
}

bool ModuleReader::ReadSharding() {
  StrRef text;
  if (!ShardingText(fields_.Message(40), &text)) return false;
  attrs_.push_back(Attr::Text(AttrKind::kSharding, text));
  return true;
}

bool ModuleReader::ReadDomain() {
  StrRef entry;
  StrRef exit;
  fields_.Take(54);
  fields_.Take(55);
  // Crossed: the operand's side is `entry` in the proto and `exit` in text.
  if (!ShardingText(fields_.Message(55), &entry)) return false;
  if (!ShardingText(fields_.Message(54), &exit)) return false;
  lossy_ = true;
  std::string text = fmt::format("{{kind=\"sharding\", entry={}, exit={}}}", module_.str(entry),
                                 module_.str(exit));
  attrs_.push_back(module_.TextAttribute(AttrKind::kDomain, text));
  return true;
}

}  // namespace hlokit::proto
