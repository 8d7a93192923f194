// How is one HloInstructionProto read: name, opcode, shape, operands?
#include <fmt/format.h>

#include <algorithm>

#include "module_reader.h"
#include "names.h"
#include "schema.h"

namespace hlokit::proto {
namespace {

constexpr std::array<uint8_t, kInstructionFields> MakeWireTypes() {
  std::array<uint8_t, kInstructionFields> out{};
  constexpr uint8_t kOfKind[] = {
      1 << kFixed64, 1 << kFixed32,   1 << kVarint,    1 << kVarint, 1 << kVarint,    1 << kVarint,
      1 << kVarint,  1 << kBytesType, 1 << kBytesType, 1 << kVarint, 1 << kBytesType,
  };
#define HLOKIT_PROTO_MESSAGE(id, name)
#define HLOKIT_PROTO_FIELD(message, number, name, kind, label, type)                 \
  if (MessageId::message == MessageId::HloInstructionProto) {                        \
    out[number % kInstructionFields] = kOfKind[static_cast<int>(FieldKind::kind)];   \
    if (FieldLabel::label == FieldLabel::kRepeated && IsPackable(FieldKind::kind)) { \
      out[number % kInstructionFields] |= 1 << kBytesType;                           \
    }                                                                                \
  }
#define HLOKIT_PROTO_ENUM(id, name)
#define HLOKIT_PROTO_VALUE(enumeration, number, name)
#include "schema.def"
  return out;
}

struct OldComparison {
  std::string_view text;
  ComparisonDirection direction;
};

}  // namespace

constexpr std::array<uint8_t, kInstructionFields> kInstructionWireTypes = MakeWireTypes();

StrRef ModuleReader::Ref(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (IsInFile(bytes)) {
    return {file_ref_.offset + static_cast<uint32_t>(bytes.data() - file_.data()),
            static_cast<uint32_t>(bytes.size())};
  }
  return module_.text().Append(bytes);
}

bool ModuleReader::Shape(std::string_view bytes, ShapeId* out) {
  if (const KnownShape* known = shapes_.Find(bytes); known != nullptr) {
    *out = known->shape;
    lossy_ |= known->lossy;
    return true;
  }
  ShapeReader reader(&module_.shapes());
  *out = reader.Read(bytes);
  if (!out->valid()) {
    const ShapeProblem& problem = reader.problem();
    DiagId id = problem.too_deep ? DiagId::kProtoTooDeep
                : problem.broken ? DiagId::kProtoBroken
                                 : DiagId::kProtoBadValue;
    return Fail(id, problem.at, problem.what);
  }
  scratch_.clear();
  AppendShape(module_.shapes(), *out, &scratch_);
  bool lossy = scratch_ != bytes;
  lossy_ |= lossy;
  if (IsInFile(bytes)) shapes_.Insert(bytes, {*out, lossy});
  return true;
}

InstId ModuleReader::Resolve(int64_t id) const {
  uint32_t local = static_cast<uint32_t>(id);  // the high half is ignored
  uint32_t rank;
  if (!rank_by_local_.empty()) {
    if (local >= rank_by_local_.size() || rank_by_local_[local] == InstId::kNone) return {};
    rank = rank_by_local_[local];
  } else {
    auto it = std::lower_bound(locals_.begin(), locals_.end(), local);
    if (it == locals_.end() || *it != local) return {};
    rank = static_cast<uint32_t>(it - locals_.begin());
  }
  return InstId(first_inst_ + rank);
}

bool ModuleReader::ResolveOperands(uint32_t number, std::vector<InstId>* out) {
  out->clear();
  bool ok = true;
  bool whole = fields_.ForEach(number, [&](const WireField& field) {
    return ForEachVarint(field, [&](uint64_t value) {
      InstId id = Resolve(AsInt64(value));
      if (ok && !id.valid()) {
        ok = Fail(DiagId::kProtoBadId, field.raw.data(),
                  fmt::format("id {} names no instruction of its computation", AsInt64(value)));
      } else if (ok && file_position_[id.value - first_inst_] >= file_position_[current_rank_]) {
        ok = Fail(
            DiagId::kProtoBadId, field.raw.data(),
            fmt::format("id {} names an instruction that stands behind its user", AsInt64(value)),
            "instructions stand behind their operands and control predecessors");
      }
      if (ok) out->push_back(id);
    });
  });
  if (ok && !whole)
    return Fail(DiagId::kProtoBroken, instruction_bytes_.data(), "a list of ids is broken");
  return ok;
}

bool ModuleReader::ReadName(std::string_view name, const char* at, StrRef* out) {
  if (name.empty()) return Fail(DiagId::kProtoMissingField, at, "an instruction has no name");
  if (IsLegalName(name)) {
    *out = Ref(name);
  } else {
    *out = module_.text().Append(SanitisedName(name));
    lossy_ = true;
  }
  name_hash_ = HashOf(module_.str(*out));
  instruction_names_.Prefetch(name_hash_);
  return true;
}

bool ModuleReader::ReadOpcode(std::string_view text, const char* at, Opcode* opcode) {
  if (text.empty()) return Fail(DiagId::kProtoMissingField, at, "an instruction has no opcode");
  *opcode = OpcodeFromText(text);
  if (*opcode != Opcode::kUnknown) return true;
  static constexpr OldComparison kOld[] = {
      {"equal-to", ComparisonDirection::kEq},
      {"not-equal-to", ComparisonDirection::kNe},
      {"greater-than", ComparisonDirection::kGt},
      {"greater-than-or-equal-to", ComparisonDirection::kGe},
      {"less-than", ComparisonDirection::kLt},
      {"less-than-or-equal-to", ComparisonDirection::kLe},
  };
  for (const OldComparison& old : kOld) {
    if (old.text != text) continue;
    *opcode = Opcode::kCompare;
    AddInt(AttrKind::kDirection, static_cast<int64_t>(old.direction));
    lossy_ = true;
    return true;
  }
  if (options_.strict || !IsLegalName(text)) {
    return Fail(DiagId::kProtoUnknownOpcode, at, fmt::format("the opcode '{}' is unknown", text));
  }
  if (std::find(warned_opcodes_.begin(), warned_opcodes_.end(), text) == warned_opcodes_.end() &&
      warned_opcodes_.size() < 20) {
    warned_opcodes_.push_back(text);
    Warn(DiagId::kProtoUnknownOpcode, at,
         fmt::format("the unknown opcode '{}' is kept as it is", text),
         "its layouts are treated like those of a custom call; --strict makes this an error");
  }
  attrs_.push_back(Attr::Text(AttrKind::kUnknownOpcode, Ref(text)));
  return true;
}

bool ModuleReader::CheckOperandCount(Opcode opcode, size_t count, const char* at) {
  int arity = opcode == Opcode::kUnknown ? kVariadic : Info(opcode).arity;
  bool ok = arity == kVariadic || static_cast<size_t>(arity) == count;
  switch (opcode) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      ok = count != 0 && count % 2 == 0;
      break;
    case Opcode::kScatter:
      ok = count >= 3 && count % 2 == 1;
      break;
    case Opcode::kSort:
    case Opcode::kConcatenate:
    case Opcode::kDynamicReshape:
    case Opcode::kConditional:
      ok = count >= 1;
      break;
    case Opcode::kDynamicSlice:
      ok = count >= 1;
      break;
    case Opcode::kDynamicUpdateSlice:
      ok = count >= 2;
      break;
    default:
      break;
  }
  if (ok) return true;
  return Fail(DiagId::kProtoBadValue, at,
              fmt::format("'{}' cannot have {} operand(s)", OpcodeText(opcode), count));
}

bool ModuleReader::ReadInstruction(std::string_view bytes, CompId computation) {
  instruction_bytes_ = bytes;
  instruction_name_ = {};
  lossy_ = false;
  attrs_.clear();
  WireProblem problem;
  if (!fields_.Scan(bytes, &problem)) return FailWire(problem);
  lossy_ = fields_.unknown();
  instruction_name_ = fields_.Bytes(1);
  StrRef name;
  Opcode opcode;
  if (!ReadName(instruction_name_, bytes.data(), &name)) return false;
  if (!ReadOpcode(fields_.Bytes(2), bytes.data(), &opcode)) return false;
  if (!fields_.Has(3))
    return Fail(DiagId::kProtoMissingField, bytes.data(), "an instruction has no shape");
  ShapeId shape;
  if (!Shape(fields_.Message(3), &shape)) return false;
  if (!ResolveOperands(36, &operands_)) return false;
  if (!CheckOperandCount(opcode, operands_.size(), bytes.data())) return false;
  fields_.Take(35);
  if (!ReadAttributes(opcode, shape)) return false;
  if (opcode == Opcode::kConstant) {
    // As in text, a constant has no dynamic dimensions: the bound is the size.
    ShapePool& shapes = module_.shapes();
    if (shapes[shape].has_dynamic) {
      std::vector<LayoutId> layouts;
      for (ShapeId leaf : shapes.Subshapes(shape)) layouts.push_back(shapes.layout(leaf));
      shape = shapes.WithLeafLayouts(shapes[shape].static_bare, layouts);
      lossy_ = true;
    }
  }
  auto name_of = [&](uint32_t number) { return module_.name(InstId(number)); };
  if (!instruction_names_.Insert(module_.str(name), name_hash_, module_.instruction_count(),
                                 name_of)) {
    return Fail(DiagId::kProtoDuplicateName, bytes.data(),
                fmt::format("two instructions have the name '{}'", module_.str(name)));
  }
  InstId id = module_.AddInstruction(computation, opcode, shape, operands_, name);
  module_.SetAttributes(id, attrs_);
  if (lossy_ || fields_.LeftOver()) lossy_instructions_.emplace_back(id, bytes);
  return true;
}

}  // namespace hlokit::proto
