// How are the attributes of an instruction written? They are stored in printing order and without
// defaults, so that printing is a walk (hlo-text.md sections 8, 11.5 and 11.6).
#include "src/print/literal_text.h"
#include "src/print/module_printer.h"
#include "src/print/value_text.h"

namespace hlokit {
namespace {

/// ", name=" of every attribute.
constexpr std::string_view kPrefix[] = {
#define HLOKIT_ATTRIBUTE(id, text, type) ", " text "=",
#include "hlokit/attributes.def"
};
std::string_view Prefix(AttrKind kind) { return kPrefix[static_cast<int>(kind)]; }

/// Rank of the first attribute that every opcode takes; see AttributeRank.
bool IsCommon(AttrKind kind) {
  for (AttrKind common : CommonAttributes()) {
    if (common == kind) return true;
  }
  return kind == AttrKind::kUnknownAttribute;
}

void AppendIntegers(std::span<const int64_t> values, TextBuffer* out) {
  out->Append('{');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out->Append(',');
    out->AppendInteger(values[i]);
  }
  out->Append('}');
}

}  // namespace

void ModulePrinter::AppendAttributes(InstId id, int indent) {
  if (options_.async_sugar && module_.opcode(id) == Opcode::kAsyncStart) {
    const InstId wrapped = SugaredInstruction(id);
    if (wrapped.valid()) return AppendSugaredAttributes(id, wrapped, indent);
  }
  for (const Attr& attr : module_.attributes(id)) {
    if (IsShown(id, attr)) AppendAttribute(id, attr, indent);
  }
}

/// The thread, what the wrapped instruction has of its own, aliasing, what every instruction has.
void ModulePrinter::AppendSugaredAttributes(InstId start, InstId wrapped, int indent) {
  const std::span<const Attr> own = module_.attributes(start);
  const auto append_own = [&](auto&& wanted) {
    for (const Attr& attr : own) {
      if (wanted(attr.kind) && IsShown(start, attr)) AppendAttribute(start, attr, indent);
    }
  };
  append_own([](AttrKind kind) { return kind == AttrKind::kAsyncExecutionThread; });
  for (const Attr& attr : module_.attributes(wrapped)) {
    if (!IsCommon(attr.kind) && IsShown(wrapped, attr)) AppendAttribute(wrapped, attr, indent);
  }
  append_own([](AttrKind kind) { return kind == AttrKind::kOutputToOperandAliasing; });
  append_own(IsCommon);
}

/// Does an attribute stand behind the parenthesis at all, and do the options want it?
bool ModulePrinter::IsShown(InstId id, const Attr& attr) const {
  switch (attr.kind) {
    case AttrKind::kParameterNumber:
    case AttrKind::kConstantLiteral:
    case AttrKind::kUnknownOpcode:
      return false;
    case AttrKind::kMetadata:
      return options_.metadata;
    case AttrKind::kBackendConfig:
      return options_.backend_config && !attr.text().empty();
    case AttrKind::kControlPredecessors:
      return options_.control_predecessors;
    case AttrKind::kInfeedConfig:
    case AttrKind::kOutfeedConfig:
      return options_.infeed_outfeed_config && !attr.text().empty();
    case AttrKind::kAsyncExecutionThread: {
      const std::string_view thread = module_.str(attr.text());
      return module_.opcode(id) == Opcode::kAsyncStart && !thread.empty() && thread != "main";
    }
    case AttrKind::kWindow:
      return attr.high != 0 || module_.opcode(id) == Opcode::kCustomCall;
    case AttrKind::kCalledComputations:
      return module_.opcode(id) != Opcode::kAsyncUpdate &&
             module_.opcode(id) != Opcode::kAsyncDone && attr.high != 0;
    default:
      return true;
  }
}

void ModulePrinter::AppendAttribute(InstId id, const Attr& attr, int indent) {
  if (attr.kind == AttrKind::kCalledComputations) return AppendCalledComputations(id, indent);
  if (attr.kind == AttrKind::kUnknownAttribute) {  // "name=value" as it was written
    out_.Append(", ");
    return out_.Append(module_.str(attr.text()));
  }
  out_.Append(Prefix(attr.kind));
  AppendValue(attr);
}

void ModulePrinter::AppendValue(const Attr& attr) {
  const AttrType type = Info(attr.kind).type;
  if (IsText(type)) return AppendTextValue(attr, module_.str(attr.text()));
  if (IsIntegerList(type) || IsReferenceList(type)) return AppendList(attr);
  if (IsEnum(type)) {
    const std::span<const std::string_view> names = EnumNames(type);
    const uint64_t number = static_cast<uint64_t>(attr.integer());
    return out_.Append(number < names.size() ? names[number] : "?");
  }
  switch (type) {
    case AttrType::kBool:
      return out_.Append(attr.integer() != 0 ? "true" : "false");
    case AttrType::kFloat:
      return AppendGeneral(std::bit_cast<double>(attr.integer()), 6, &out_);
    case AttrType::kShape:
      return AppendShape(ShapeId(attr.low), options_.layouts);
    case AttrType::kLiteral:
      return AppendLiteral(module_, LiteralId(attr.low), LiteralShapes::kOnLeaves, &out_);
    default:
      return out_.AppendInteger(attr.integer());
  }
}

void ModulePrinter::AppendTextValue(const Attr& attr, std::string_view text) {
  switch (Info(attr.kind).type) {
    case AttrType::kString:
      return AppendQuoted(text, &out_);
    case AttrType::kBackendConfig:
      if (!IsBareBraces(text)) return AppendQuoted(text, &out_);
      return out_.Append(text);
    case AttrType::kSharding:
      if (!options_.metadata) return out_.Append(WithoutShardingMetadata(text));
      return out_.Append(text);
    case AttrType::kReplicaGroups:
      if (options_.expand_replica_groups) return out_.Append(ExpandedReplicaGroups(text));
      return out_.Append(text);
    default:
      return out_.Append(text);
  }
}

void ModulePrinter::AppendList(const Attr& attr) {
  switch (Info(attr.kind).type) {
    case AttrType::kIntList:
      return AppendIntegers(module_.ints(attr), &out_);
    case AttrType::kWindow:
      return AppendWindow(module_.ints(attr));
    case AttrType::kPadding:
      return AppendPadding(module_.ints(attr));
    case AttrType::kRanges:
      return AppendRanges(module_.ints(attr));
    case AttrType::kAliasing:
      return AppendAliasing(module_.ints(attr));
    default:
      break;
  }
  std::string_view separator;
  out_.Append('{');
  switch (Info(attr.kind).type) {
    case AttrType::kBoolList:
      for (int64_t value : module_.ints(attr)) {
        out_.Append(separator);
        out_.Append(value != 0 ? "true" : "false");
        separator = ",";
      }
      break;
    case AttrType::kPrecisionList:
      for (int64_t value : module_.ints(attr)) {
        out_.Append(separator);
        const uint64_t number = static_cast<uint64_t>(value);
        out_.Append(number < PrecisionNames().size() ? PrecisionNames()[number] : "?");
        separator = ",";
      }
      break;
    case AttrType::kShapeList:
      for (uint32_t shape : module_.refs(attr)) {
        out_.Append(separator);
        AppendShape(ShapeId(shape), options_.layouts);
        separator = ", ";
      }
      break;
    case AttrType::kInstructionList:
      for (uint32_t instruction : module_.refs(attr)) {
        out_.Append(separator);
        AppendName(InstId(instruction));
        separator = ", ";
      }
      break;
    default:
      break;
  }
  out_.Append('}');
}

/// {size=3x3 stride=2x2 pad=0_0x1_1 lhs_dilate=… rhs_dilate=… rhs_reversal=…}: each key only when
/// some dimension differs from the default.
void ModulePrinter::AppendWindow(std::span<const int64_t> window) {
  const size_t rank = window.size() / kWindowFields;
  const auto field = [&](size_t dimension, int index) {
    return window[dimension * kWindowFields + index];
  };
  const auto differs = [&](int index, int64_t usual) {
    for (size_t d = 0; d < rank; ++d) {
      if (field(d, index) != usual) return true;
    }
    return false;
  };
  bool first = true;
  const auto append = [&](std::string_view key, int index) {
    if (!first) out_.Append(' ');
    first = false;
    out_.Append(key);
    for (size_t d = 0; d < rank; ++d) {
      if (d != 0) out_.Append('x');
      out_.AppendInteger(field(d, index));
      if (index == kWindowPadLow) {
        out_.Append('_');
        out_.AppendInteger(field(d, kWindowPadHigh));
      }
    }
  };
  out_.Append('{');
  if (rank != 0) append("size=", kWindowSize);
  if (differs(kWindowStride, 1)) append("stride=", kWindowStride);
  if (differs(kWindowPadLow, 0) || differs(kWindowPadHigh, 0)) append("pad=", kWindowPadLow);
  if (differs(kWindowBaseDilation, 1)) append("lhs_dilate=", kWindowBaseDilation);
  if (differs(kWindowWindowDilation, 1)) append("rhs_dilate=", kWindowWindowDilation);
  if (differs(kWindowReversal, 0)) append("rhs_reversal=", kWindowReversal);
  out_.Append('}');
}

/// low_high per dimension, low_high_interior for all when any interior padding is there.
void ModulePrinter::AppendPadding(std::span<const int64_t> padding) {
  bool interior = false;
  for (size_t i = 2; i < padding.size(); i += 3) interior = interior || padding[i] != 0;
  for (size_t i = 0; i + 2 < padding.size(); i += 3) {
    if (i != 0) out_.Append('x');
    out_.AppendInteger(padding[i]);
    out_.Append('_');
    out_.AppendInteger(padding[i + 1]);
    if (!interior) continue;
    out_.Append('_');
    out_.AppendInteger(padding[i + 2]);
  }
}

/// {[start:limit], …}, with strides for all when any differs from 1.
void ModulePrinter::AppendRanges(std::span<const int64_t> ranges) {
  bool strided = false;
  for (size_t i = 2; i < ranges.size(); i += 3) strided = strided || ranges[i] != 1;
  out_.Append('{');
  for (size_t i = 0; i + 2 < ranges.size(); i += 3) {
    if (i != 0) out_.Append(", ");
    out_.Append('[');
    out_.AppendInteger(ranges[i]);
    out_.Append(':');
    out_.AppendInteger(ranges[i + 1]);
    if (strided) {
      out_.Append(':');
      out_.AppendInteger(ranges[i + 2]);
    }
    out_.Append(']');
  }
  out_.Append('}');
}

/// {{0}: (1, {}), …} from the code of Module::output_to_operand_aliasing.
void ModulePrinter::AppendAliasing(std::span<const int64_t> code) {
  out_.Append('{');
  for (size_t at = 0; at < code.size();) {
    if (at != 0) out_.Append(", ");
    const size_t output_length = static_cast<size_t>(code[at]);
    AppendIntegers(code.subspan(at + 1, output_length), &out_);
    at += 1 + output_length;
    out_.Append(": (");
    out_.AppendInteger(code[at]);
    out_.Append(", ");
    const size_t operand_length = static_cast<size_t>(code[at + 1]);
    AppendIntegers(code.subspan(at + 2, operand_length), &out_);
    at += 2 + operand_length;
    out_.Append(')');
  }
  out_.Append('}');
}

void ModulePrinter::AppendCalledComputations(InstId id, int indent) {
  const std::span<const CompId> calls = module_.called_computations(id);
  const auto one = [&](AttrKind name, size_t index) {
    out_.Append(Prefix(name));
    AppendCalled(calls[index], indent);
  };
  switch (module_.opcode(id)) {
    case Opcode::kWhile:
      if (calls.size() != 2) break;
      one(AttrKind::kCondition, 1);
      return one(AttrKind::kBody, 0);
    case Opcode::kSelectAndScatter:
      if (calls.size() != 2) break;
      one(AttrKind::kSelectComputation, 0);
      return one(AttrKind::kScatterComputation, 1);
    case Opcode::kConditional: {
      const bool is_pred =
          module_.operand_count(id) != 0 &&
          module_.shapes().type(module_.shape(module_.operand(id, 0))) == ElementType::kPred;
      if (is_pred && calls.size() == 2) {
        one(AttrKind::kTrueComputation, 0);
        return one(AttrKind::kFalseComputation, 1);
      }
      out_.Append(Prefix(AttrKind::kBranchComputations));
      return AppendCalledList(calls, indent);
    }
    case Opcode::kCustomCall:
      out_.Append(Prefix(AttrKind::kCalledComputations));
      return AppendCalledList(calls, indent);
    case Opcode::kCall:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kScan:
      if (calls.size() == 1) return one(AttrKind::kToApply, 0);
      break;
    default:
      break;
  }
  if (calls.size() == 1) return one(AttrKind::kCalls, 0);
  out_.Append(Prefix(AttrKind::kCalls));
  AppendCalledList(calls, indent);
}

void ModulePrinter::AppendCalledList(std::span<const CompId> calls, int indent) {
  out_.Append('{');
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i != 0) out_.Append(", ");
    AppendCalled(calls[i], indent);
  }
  out_.Append('}');
}

void ModulePrinter::AppendCalled(CompId id, int indent) {
  if (options_.inline_computations && id.value < bodies_.size() && !bodies_[id.value].empty()) {
    return AppendBlock(id, indent);
  }
  if (options_.percent) out_.Append('%');
  out_.Append(module_.name(id));
}

}  // namespace hlokit
