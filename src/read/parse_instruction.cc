// The right-hand side of an instruction: operands, attributes, what follows from them.
// hlo-text.md sections 6, 7 and 9.
#include <algorithm>
#include <bit>
#include <optional>

#include "fmt/format.h"
#include "hlokit/shape_inference.h"
#include "src/read/parser.h"

namespace hlokit::read {
namespace {

/// Opcodes with start/done opcodes of their own: no async sugar (section 6.3).
bool HasOwnAsyncForm(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kCollectivePermute:
    case Opcode::kCopy:
    case Opcode::kRecv:
    case Opcode::kSend:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Parser::ParseRightHandSide(CompId computation, Pending* p) {
  p->shape_offset = token_.begin;
  if (LooksLikeShape()) {
    if (!ParseShape(&p->shape)) return false;
    p->shape = FillLayouts(p->shape);
  }
  return ParseOpcode(p) && ParseArguments(computation, p) && ParseAttributes(computation, p) &&
         CheckAndFill(computation, p);
}

bool Parser::ParseOpcode(Pending* p) {
  p->opcode_offset = token_.begin;
  // `select`, `tuple` and others are plain words; `while(` too.
  if (!Is(Tok::kIdentifier) && !Is(Tok::kKeyword) && !(Is(Tok::kType) && !options_.strict)) {
    return FailExpected("an opcode");
  }
  p->opcode_text = TokenText();
  p->opcode = OpcodeFromText(p->opcode_text);
  if (p->opcode == Opcode::kUnknown) {
    constexpr std::pair<std::string_view, int> kForms[] = {
        {"-start", 1}, {"-update", 2}, {"-done", 3}};
    for (const auto& [suffix, form] : kForms) {
      if (!p->opcode_text.ends_with(suffix)) continue;
      Opcode wrapped =
          OpcodeFromText(p->opcode_text.substr(0, p->opcode_text.size() - suffix.size()));
      if (wrapped == Opcode::kUnknown || HasOwnAsyncForm(wrapped)) break;
      p->async_form = form;
      p->wrapped = wrapped;
      p->opcode = form == 1   ? Opcode::kAsyncStart
                  : form == 2 ? Opcode::kAsyncUpdate
                              : Opcode::kAsyncDone;
    }
  }
  if (p->opcode == Opcode::kUnknown) {
    if (options_.strict || !Is(Tok::kIdentifier) || lexer_.text()[token_.end] != '(') {
      return FailHere(DiagId::kUnknownOpcodeRead,
                      fmt::format("unknown opcode '{}'", p->opcode_text));
    }
    if (warned_.insert(std::string(p->opcode_text)).second) {
      Warn(DiagId::kUnknownOpcodeRead, token_.begin,
           fmt::format("unknown opcode '{}' is kept as it is", p->opcode_text),
           "its layouts are treated like those of a custom call; --strict makes this an error");
    }
    p->attrs.push_back(Attr::Text(AttrKind::kUnknownOpcode, SourceRef(token_.begin, token_.end)));
  }
  Next();
  return true;
}

bool Parser::ParseArguments(CompId computation, Pending* p) {
  uint32_t open = token_.begin;
  p->arguments_offset = open;
  if (!p->shape.valid() && !Info(p->opcode).inferable) {
    return FailHere(DiagId::kCannotInferShape,
                    fmt::format("the result type of '{}' cannot be inferred", p->opcode_text),
                    "write it in front of the opcode");
  }
  if (!Expect(Tok::kLeftParen, "'('")) return false;
  if (p->opcode == Opcode::kParameter) {
    int64_t number;
    if (!ParseInteger(&number, "the parameter number")) return false;
    if (number < 0)
      return FailHere(DiagId::kBadParameterNumber, "a parameter number cannot be negative");
    if (!parameter_numbers_[depth_].Insert(static_cast<uint64_t>(number))) {
      return FailHere(DiagId::kBadParameterNumber,
                      fmt::format("parameter number {} is used twice", number));
    }
    p->attrs.push_back(Attr::Integer(AttrKind::kParameterNumber, number));
    return Expect(Tok::kRightParen, "')'");
  }
  if (p->opcode == Opcode::kConstant) {
    LiteralId literal;
    if (!ParseLiteral(p->shape, &literal)) return false;
    p->attrs.push_back({AttrKind::kConstantLiteral, literal.value, 0});
    return Expect(Tok::kRightParen, "')'");
  }
  while (!Is(Tok::kRightParen)) {
    uint32_t at = token_.begin;
    if (!ParseOperand(computation, p)) return false;
    if (!Is(Tok::kRightParen) && !Is(Tok::kComma)) {
      return Fail(DiagId::kUnexpectedToken, at,
                  "the list of operands does not close behind this operand",
                  "operands are separated by ',' and end with ')'");
    }
    if (Eat(Tok::kComma) && Is(Tok::kRightParen)) return FailExpected("an operand");
  }
  Next();
  int arity = p->opcode == Opcode::kUnknown ? kVariadic : Info(p->opcode).arity;
  if (arity != kVariadic && static_cast<int>(p->operands.size()) != arity && !p->poisoned) {
    return Fail(
        DiagId::kWrongOperandCount, open,
        fmt::format("'{}' takes {} operand(s), not {}", p->opcode_text, arity, p->operands.size()));
  }
  return true;
}

bool Parser::ParseOperand(CompId computation, Pending* p) {
  uint32_t begin = token_.begin;
  ShapeId written;
  if (LooksLikeShape()) {
    if (!ParseShape(&written)) return false;
    if (single_instruction_ && (Is(Tok::kComma) || Is(Tok::kRightParen))) {
      // A type alone is a parameter named after its number.
      Pending parameter;
      int64_t number = static_cast<int64_t>(module_.computation(computation).instructions.size());
      parameter.name = Keep("_" + std::to_string(number));
      parameter.name_offset = begin;
      parameter.opcode = Opcode::kParameter;
      parameter.shape = FillLayouts(written);
      parameter.attrs.push_back(Attr::Integer(AttrKind::kParameterNumber, number));
      p->operands.push_back(Create(computation, parameter));
      return true;
    }
  }
  bool opcode_like = Is(Tok::kIdentifier) || Is(Tok::kKeyword);
  if (opcode_like && lexer_.text()[token_.end] == '(')
    return ParseNested(computation, written, begin, p);
  if (!IsNameToken()) {
    return Fail(DiagId::kUnknownName, begin,
                fmt::format("expected an operand, found '{}'", TokenText().substr(0, 60)));
  }
  return ParseOperandName(computation, written, begin, p);
}

bool Parser::ParseOperandName(CompId computation, ShapeId written, uint32_t begin, Pending* p) {
  std::string_view name = WordText();
  InstId id = scopes_[depth_].Find(name, module_);
  if (!id.valid()) {
    if (single_instruction_ && written.valid() && depth_ == 0) {
      Pending parameter;
      parameter.name = SourceRef(token_.text_begin, token_.text_end);
      parameter.name_offset = begin;
      parameter.opcode = Opcode::kParameter;
      parameter.shape = FillLayouts(written);
      parameter.attrs.push_back(Attr::Integer(
          AttrKind::kParameterNumber, module_.computation(computation).instructions.size()));
      id = Create(computation, parameter);
      scopes_[depth_].Insert(name, id);
    } else if (poisoned_.count(name) != 0) {
      // Its own line has an error already.
      p->poisoned = true;
      Next();
      while (Eat(Tok::kHash)) Next();
      return true;
    } else {
      return Fail(
          DiagId::kUnknownName, begin,
          fmt::format("no instruction '{}' is defined before this line in the computation", name),
          "HLO text defines every value before it is used");
    }
  }
  Next();
  if (Is(Tok::kHash) && !ParseTupleAccess(computation, &id, name, begin)) return false;
  if (written.valid() &&
      module_.shapes()[written].bare != module_.shapes()[module_.shape(id)].bare) {
    return Fail(DiagId::kOperandShapeMismatch, begin,
                fmt::format("the operand '{}' is {}, not {}", name,
                            module_.shapes().Text(module_.shape(id), false),
                            module_.shapes().Text(written, false)));
  }
  p->operands.push_back(id);
  return true;
}

bool Parser::ParseTupleAccess(CompId computation, InstId* id, std::string_view name,
                              uint32_t begin) {
  // name#1#0: get-tuple-element instructions named name_1, name_1_0, made at their first use.
  std::string access(name);
  while (Eat(Tok::kHash)) {
    int64_t index;
    if (!ParseInteger(&index, "a tuple index")) return false;
    ShapeId tuple = module_.shape(*id);
    if (!module_.shapes().IsTuple(tuple) || index < 0 ||
        index >= module_.shapes().element_count(tuple)) {
      return Fail(DiagId::kOperandShapeMismatch, begin,
                  fmt::format("'{}' is {}: it has no element {}", access,
                              module_.shapes().Text(tuple, false), index));
    }
    access += "_" + std::to_string(index);
    InstId known = scopes_[depth_].Find(access, module_);
    if (known.valid()) {
      *id = known;
      continue;
    }
    Pending element;
    element.name = Keep(access);
    element.name_offset = begin;
    element.opcode = Opcode::kGetTupleElement;
    element.shape = module_.shapes().element(tuple, static_cast<uint32_t>(index));
    element.operands = {*id};
    element.attrs.push_back(Attr::Integer(AttrKind::kIndex, index));
    *id = Create(computation, element);
    scopes_[depth_].Insert(module_.str(element.name), *id);
  }
  return true;
}

bool Parser::ParseNested(CompId computation, ShapeId shape, uint32_t begin, Pending* p) {
  size_t errors = diagnostics_.size();
  if (++nesting_ > kMaxNestedOperands) {
    --nesting_;
    return FailHere(DiagId::kTooDeep, "operands nest too deep");
  }
  std::unique_ptr<Pending> nested = std::make_unique<Pending>();
  nested->shape = shape.valid() ? FillLayouts(shape) : shape;
  nested->name_offset = begin;
  bool ok = ParseOpcode(nested.get()) && ParseArguments(computation, nested.get());
  nested->after_arguments = nested->attributes_offset = token_.begin;
  ok = ok && CheckAndFill(computation, nested.get());
  --nesting_;
  if (!ok) {
    if (diagnostics_.size() > errors && diagnostics_[errors].id != DiagId::kTooDeep) {
      diagnostics_.insert(
          diagnostics_.begin() + errors,
          MakeDiagnostic(
              DiagId::kUnknownName, begin,
              "this operand is neither a known instruction nor a complete nested one",
              "nested instructions cannot have attributes: give them a line of their own"));
    }
    return false;
  }
  if (nested->poisoned) {
    p->poisoned = true;
    return true;
  }
  std::string root = std::string(nested->opcode_text) + ".anon";
  uint32_t& next = anonymous_names_[depth_][root];
  std::string name = next == 0 ? root : root + "." + std::to_string(next);
  while (scopes_[depth_].Find(name, module_).valid()) name = root + "." + std::to_string(++next);
  ++next;
  nested->name = Keep(name);
  InstId id = Create(computation, *nested);
  scopes_[depth_].Insert(module_.str(nested->name), id);
  p->operands.push_back(id);
  return true;
}

InstId Parser::Create(CompId computation, const Pending& p) {
  InstId id =
      module_.AddInstruction(computation, p.opcode, p.shape, p.operands, p.name, p.name_offset);
  if (!p.attrs.empty()) module_.SetAttributes(id, p.attrs);
  if (p.stack_frame_id != 0) stack_frame_users_.emplace_back(id, p.stack_frame_id);
  if (p.opcode == Opcode::kAsyncStart) {
    async_start_of_[module_.called_computations(id)[0].value] = id;
  }
  if (p.opcode == Opcode::kAsyncStart || p.opcode == Opcode::kAsyncUpdate ||
      p.opcode == Opcode::kAsyncDone) {
    ShareWithWrapped(id, p.stack_frame_id);
  }
  return id;
}

void Parser::ShareWithWrapped(InstId async, int64_t stack_frame_id) {
  // What describes an asynchronous operation describes the wrapped one too (section 6.3).
  InstId start = async;
  while (module_.opcode(start) != Opcode::kAsyncStart) start = module_.operand(start, 0);
  CompId wrapped = module_.called_computations(start)[0];
  if (wrapped.value >= module_.computation_count()) return;  // named before it is defined
  InstId root = module_.computation(wrapped).root;
  if (!root.valid() || module_.opcode(root) == Opcode::kParameter) return;
  std::vector<Attr> own(module_.attributes(async).begin(), module_.attributes(async).end());
  for (const Attr& attr : own) {
    switch (attr.kind) {
      case AttrKind::kMetadata:
        std::erase_if(stack_frame_users_, [&](const auto& user) { return user.first == root; });
        if (stack_frame_id != 0) stack_frame_users_.emplace_back(root, stack_frame_id);
        [[fallthrough]];
      case AttrKind::kOrigin:
      case AttrKind::kBackendConfig:
      case AttrKind::kFrontendAttributes:
      case AttrKind::kStatistics:
        module_.SetAttr(root, attr);
        break;
      default:
        break;
    }
  }
}

}  // namespace hlokit::read
