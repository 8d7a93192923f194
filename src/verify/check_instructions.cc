// What do single opcodes ask for besides their shape? hlo-verifier.md section 5.1.
#include <algorithm>
#include <charconv>

#include "hlokit/attribute_text.h"
#include "src/verify/checker.h"

namespace hlokit {

void Checker::CheckInstructions() {
  ForEach([&](InstId id) { CheckInstruction(id); });
}

void Checker::CheckInstruction(InstId id) {
  switch (module_.opcode(id)) {
    case Opcode::kCompare:
      CheckCompare(id);
      break;
    case Opcode::kBroadcast:
      if (options_.broadcast_dimensions_sorted && !std::ranges::is_sorted(module_.dimensions(id))) {
        Report(id, DiagId::kBroadcastOrder, "the dimensions of the broadcast are not sorted");
      }
      break;
    case Opcode::kCustomCall:
      CheckCustomCall(id);
      break;
    case Opcode::kCall:
      CheckComposite(id);
      CheckCall(id);
      break;
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kFusion:
      CheckCall(id);
      break;
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      CheckAsyncThreads(id);
      break;
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      CheckCollective(id);
      break;
    default:
      break;
  }
  if (options_.call_thread_names) CheckCallThreads(id);
  for (const Attr& attr : module_.attributes(id)) {
    if (attr.kind == AttrKind::kSharding) CheckSharding(id);
    if (attr.kind == AttrKind::kOrigin) CheckOrigin(id);
    if (attr.kind == AttrKind::kOutputToOperandAliasing) CheckOperandAliasing(id);
    if (attr.kind == AttrKind::kResultAccuracy) {
      bool takes = false;
      for (const AttrSpec& spec : OpcodeAttributes(module_.opcode(id))) {
        takes |= spec.kind == AttrKind::kResultAccuracy;
      }
      if (!takes && !TakesResultAccuracy(module_.opcode(id))) {
        Report(id, DiagId::kResultAccuracyMisplaced, "{} takes no result_accuracy",
               OpcodeText(module_.opcode(id)));
      }
    }
  }
}

void Checker::CheckCompare(InstId id) {
  const Attr* attr = module_.FindAttr(id, AttrKind::kComparisonType);
  ElementType type = shapes_.type(module_.shape(module_.operand(id, 0)));
  ComparisonType wanted = Info(type).kind == ElementKind::kSigned ? ComparisonType::kSigned
                          : IsFloating(type) || IsComplex(type)   ? ComparisonType::kFloat
                                                                  : ComparisonType::kUnsigned;
  if (attr == nullptr) return;
  ComparisonType got = static_cast<ComparisonType>(attr->integer());
  if (got == wanted || (IsFloating(type) && got == ComparisonType::kTotalOrder)) return;
  std::span<const std::string_view> names = EnumNames(AttrType::kComparisonType);
  Report(id, DiagId::kComparisonTypeWrong, "values of type {} are compared as {}, not as {}",
         Info(type).text, names[static_cast<size_t>(wanted)], names[static_cast<size_t>(got)]);
}

void Checker::CheckCustomCall(InstId id) {
  std::string_view target = module_.TextAttr(id, AttrKind::kCustomCallTarget);
  if (target == "GetRngSeed") {
    ShapeId shape = module_.shape(id);
    if (module_.operand_count(id) != 0 || !IsArray(shape) || shapes_.rank(shape) != 0 ||
        shapes_.type(shape) != ElementType::kU64) {
      Report(id, DiagId::kRngSeedCall, "GetRngSeed takes no operands and gives u64[]");
    }
  }
  if (!module_.IsLayoutConstrainedCustomCall(id)) return;
  if (target == "LayoutConstraint" || target == "control_dep") return;
  std::span<const ShapeId> constraints = module_.operand_layout_constraints(id);
  if (constraints.size() != module_.operand_count(id)) {
    Report(id, DiagId::kCustomCallLayouts, "there are {} layout constraints for {} operands",
           constraints.size(), module_.operand_count(id));
    return;
  }
  if (!shapes_[module_.shape(id)].fully_set) {
    Report(id, DiagId::kCustomCallLayouts,
           "the result {} of a constrained custom call needs layouts",
           shapes_.Text(module_.shape(id)));
  }
  for (uint32_t i = 0; i < constraints.size(); ++i) {
    ShapeId operand = module_.shape(module_.operand(id, i));
    if (!shapes_[constraints[i]].fully_set) {
      Report(id, DiagId::kCustomCallLayouts, "layout constraint {} ({}) has no layout", i,
             shapes_.Text(constraints[i]));
    } else if (!shapes_.Compatible(constraints[i], operand)) {
      Report(id, DiagId::kCustomCallLayouts, "layout constraint {} is {}, but the operand {}", i,
             shapes_.Text(constraints[i]), shapes_.Text(operand));
    }
  }
}

void Checker::CheckOperandAliasing(InstId id) {
  // Pin and Unpin alias an array with a buffer; check_buffers.cc compares them.
  bool changes_kind = module_.IsCustomCall(id, "Pin") || module_.IsCustomCall(id, "Unpin");
  for (const OperandAlias& alias : module_.output_to_operand_aliasing(id)) {
    ShapeId output = ShapeAt(module_.shape(id), alias.output_index);
    if (!output.valid()) {
      Report(id, DiagId::kOperandAliasing, "the result has no output {}",
             IndexText(alias.output_index));
      continue;
    }
    if (alias.operand_number < 0 || alias.operand_number >= module_.operand_count(id)) {
      Report(id, DiagId::kOperandAliasing, "there is no operand {}", alias.operand_number);
      continue;
    }
    ShapeId whole = module_.shape(module_.operand(id, static_cast<uint32_t>(alias.operand_number)));
    ShapeId operand = ShapeAt(whole, alias.operand_index);
    if (!operand.valid()) {
      Report(id, DiagId::kOperandAliasing, "operand {} has no part {}", alias.operand_number,
             IndexText(alias.operand_index));
      continue;
    }
    bool one_element = IsArray(operand) && shapes_.ElementCount(operand) == 1;
    if (changes_kind || Same(output, operand)) continue;
    if (one_element && SameIgnoringMemorySpace(output, operand)) continue;
    Report(id, DiagId::kOperandAliasing, "output {} is {}, but operand {} at {} is {}",
           IndexText(alias.output_index), Text(output), alias.operand_number,
           IndexText(alias.operand_index), Text(operand));
  }
}

void Checker::CheckComposite(InstId id) {
  if (module_.IntAttr(id, AttrKind::kIsComposite) == 0) return;
  TextFields fields = ParseFrontendAttributes(module_.TextAttr(id, AttrKind::kFrontendAttributes));
  const std::string* name = FindField(fields, "composite.name");
  if (name == nullptr || name->empty()) {
    Report(id, DiagId::kComposite, "a composite call needs the frontend attribute composite.name");
  }
  const std::string* attributes = FindField(fields, "composite.attributes");
  if (attributes != nullptr && attributes->empty()) {
    Report(id, DiagId::kComposite, "composite.attributes is empty");
  }
  const std::string* version = FindField(fields, "composite.version");
  int64_t number = -1;
  if (version != nullptr) {
    std::from_chars_result end =
        std::from_chars(version->data(), version->data() + version->size(), number);
    if (end.ec != std::errc() || end.ptr != version->data() + version->size()) number = -1;
  }
  if (number < 0) {
    Report(id, DiagId::kComposite,
           "a composite call needs composite.version, a number that is not negative");
  }
}

namespace {

/// Parentheses, commas and leaves (x) of the tree of an origin, without what the leaves contain.
std::string OriginStructure(std::string_view text) {
  std::string out;
  bool in_leaf = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (c == '{') {
      if (!in_leaf) out += 'x';
      in_leaf = true;
      // The leaf may hold an index, which has braces of its own.
      int depth = 1;
      for (++i; i < text.size() && depth > 0; ++i) {
        if (text[i] == '"') {
          for (++i; i < text.size() && text[i] != '"'; ++i) {
            if (text[i] == '\\') ++i;
          }
        } else if (text[i] == '{') {
          ++depth;
        } else if (text[i] == '}') {
          --depth;
        }
      }
      --i;
      in_leaf = false;
    } else if (c == '(' || c == ')' || c == ',') {
      out += c;
    }
  }
  return out;
}

}  // namespace

void Checker::CheckOrigin(InstId id) {
  std::string_view text = module_.TextAttr(id, AttrKind::kOrigin);
  if (text.find("synthetic_call") != std::string_view::npos &&
      text.find('"') == std::string_view::npos) {
    return;
  }
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return;
  // The structure of the shape in the same letters, with an explicit stack of (shape, next
  // element).
  std::string wanted;
  std::vector<std::pair<ShapeId, uint32_t>> stack = {{module_.shape(id), 0}};
  while (!stack.empty()) {
    auto& [shape, next] = stack.back();
    if (!shapes_.IsTuple(shape)) {
      wanted += 'x';
      stack.pop_back();
      continue;
    }
    if (next == 0) wanted += '(';
    if (next == shapes_.element_count(shape)) {
      wanted += ')';
      stack.pop_back();
      continue;
    }
    if (next > 0) wanted += ',';
    ShapeId element = shapes_.element(shape, next++);
    stack.emplace_back(element, 0);
  }
  if (OriginStructure(text.substr(1, text.size() - 2)) != wanted) {
    Report(id, DiagId::kOriginalValue, "the tree of origin does not have the structure of {}",
           Text(module_.shape(id)));
  }
}

}  // namespace hlokit
