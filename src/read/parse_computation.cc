// Computations and the lines in them: hlo-text.md sections 3 and 10.
#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit::read {

bool Parser::ParseComputation(bool headerless) {
  bool is_entry = IsKeyword(Keyword::kEntry);
  uint32_t begin = token_.begin;
  if (is_entry) Next();
  if (!IsNameToken())
    return FailExpected(is_entry ? "the name of the computation" : "a computation");
  (void)headerless;
  std::string_view name = WordText();
  uint32_t name_offset = token_.begin;
  if (is_entry && module_.entry().valid()) {
    return Fail(DiagId::kSecondEntry, begin, "there is an ENTRY computation already",
                fmt::format("the first is '{}'", module_.name(module_.entry())));
  }
  StrRef name_ref = SourceRef(token_.text_begin, token_.text_end);
  Next();
  ShapeId signature_result;
  uint32_t signature_offset = 0;
  if (Is(Tok::kLeftParen) && !ParseSignature(&signature_result, &signature_offset)) return false;
  CompId id;
  if (!ParseInstructionList(&id, name_ref, name_offset)) return false;
  if (auto known = computation_names_.find(name); known != computation_names_.end()) {
    uint32_t first = computation_offsets_[known->second.value];
    SourceLocation place = Locate(first);
    Fail(DiagId::kNameTaken, begin, fmt::format("the computation '{}' is defined already", name),
         fmt::format("the first definition is at {}:{}", place.line, place.column));
    return false;
  }
  computation_names_.emplace(name, id);
  computation_offsets_[id.value] = begin;
  InstId root = module_.computation(id).root;
  if (signature_result.valid() && root.valid() &&
      !module_.shapes().Compatible(signature_result, module_.shape(root))) {
    return Fail(DiagId::kOperandShapeMismatch, signature_offset,
                fmt::format("the signature says {}, but the root is {}",
                            module_.shapes().Text(signature_result, false),
                            module_.shapes().Text(module_.shape(root), false)));
  }
  while (Eat(Tok::kComma)) {
    if (!Is(Tok::kAttributeName) || WordText() != "execution_thread") {
      return FailExpected("execution_thread=");
    }
    Next();
    std::string thread;
    if (!ParseString(&thread)) return false;
    if (thread != "main") module_.computation(id).execution_thread = Keep(thread);
  }
  if (is_entry) module_.set_entry(id);
  return true;
}

bool Parser::ParseSignature(ShapeId* result, uint32_t* result_offset) {
  Next();
  bool first = true;
  while (!Is(Tok::kRightParen)) {
    if (!first && !Expect(Tok::kComma, "',' or ')'")) return false;
    first = false;
    if (!IsNameToken()) return FailExpected("a parameter name");
    Next();
    ShapeId ignored;
    if (!ParseShape(&ignored)) return false;
  }
  Next();
  if (!Expect(Tok::kArrow, "'->'")) return false;
  *result_offset = token_.begin;
  return ParseShape(result);
}

bool Parser::ParseInstructionList(CompId* computation, StrRef name, uint32_t name_offset) {
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  CompId id = module_.AddComputation(name);
  *computation = id;
  computation_offsets_.resize(module_.computation_count());
  computation_offsets_[id.value] = name_offset;
  ++depth_;
  if (scopes_.size() <= depth_) {
    scopes_.emplace_back();
    anonymous_names_.emplace_back();
    parameter_numbers_.emplace_back();
  }
  scopes_[depth_].Clear();
  if (!anonymous_names_[depth_].empty()) anonymous_names_[depth_].clear();
  parameter_numbers_[depth_].Clear();
  bool ok = true;
  InstId root;
  bool any = false;
  bool explicit_root = false;
  while (!Is(Tok::kRightBrace) || !any) {
    InstId inst;
    bool is_root = false;
    uint32_t at = token_.begin;
    if (!ParseInstruction(id, &inst, &is_root)) {
      ok = false;
      if (depth_ > 1 || TooManyErrors() || !RecoverInComputation()) {
        --depth_;
        return false;
      }
      any = true;
      continue;
    }
    any = true;
    // Left out: it uses a name whose line had an error.
    if (!inst.valid()) ok = false;
    if (is_root) {
      if (explicit_root) {
        Fail(DiagId::kSecondRoot, at, "there is a ROOT instruction already");
        ok = false;
      }
      explicit_root = true;
      root = inst;
    }
  }
  --depth_;
  uint32_t close = token_.begin;
  Next();
  if (!ok) {
    // The names that are defined here are known, so that what follows can be checked too.
    return true;
  }
  ComputationData& data = module_.computation(id);
  data.root = explicit_root ? root : data.instructions.back();
  definition_order_.push_back(id.value);
  return FinishComputation(id, close);
}

bool Parser::FinishComputation(CompId computation, uint32_t offset) {
  ComputationData& data = module_.computation(computation);
  size_t count = 0;
  for (InstId id : data.instructions) count += module_.opcode(id) == Opcode::kParameter;
  std::vector<InstId> by_number(count);
  for (InstId id : data.instructions) {
    if (module_.opcode(id) != Opcode::kParameter) continue;
    int64_t number = module_.parameter_number(id);
    uint32_t at =
        std::min<uint32_t>(module_.source_offset(id), static_cast<uint32_t>(lexer_.text().size()));
    if (number < 0 || number >= static_cast<int64_t>(by_number.size())) {
      return Fail(
          DiagId::kBadParameterNumber, single_instruction_ ? offset : at,
          fmt::format("parameter number {} leaves a gap: the computation has {} parameter(s)",
                      number, by_number.size()),
          "number the parameters 0, 1, 2, …");
    }
    by_number[number] = id;
  }
  data.parameters = std::move(by_number);
  return true;
}

namespace {

/// Does an instruction or the end of a computation begin at this line?
bool LineBeginsInstruction(std::string_view line) {
  size_t at = line.find_first_not_of(" \t\r");
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at);
  if (line.front() == '}') return true;
  if (line.starts_with("ROOT ")) line.remove_prefix(5);
  if (line.starts_with("%")) line.remove_prefix(1);
  size_t word = 0;
  while (word < line.size() && IsWordCharacter(static_cast<unsigned char>(line[word]))) ++word;
  return word != 0 && line.substr(word).starts_with(" = ");
}

}  // namespace

bool Parser::RecoverInComputation() {
  // Go on at the next line that looks like an instruction, so that several errors are found at
  // once.
  std::string_view text = lexer_.text();
  size_t at = token_.begin;
  while (true) {
    size_t line_end = text.find('\n', at);
    if (line_end == std::string_view::npos) return false;
    at = line_end + 1;
    size_t next_end = text.find('\n', at);
    std::string_view line =
        text.substr(at, next_end == std::string_view::npos ? next_end : next_end - at);
    if (depth_ > 0
            ? LineBeginsInstruction(line)
            : (line.starts_with("ENTRY ") || line.ends_with("{")) && !line.starts_with(" ")) {
      JumpTo(static_cast<uint32_t>(at));
      return true;
    }
  }
}

bool Parser::ParseInstruction(CompId computation, InstId* id, bool* is_root) {
  // Pending instructions are reused: their vectors keep their memory.
  if (pending_pool_.size() == pending_depth_) pending_pool_.emplace_back();
  Pending& p = pending_pool_[pending_depth_];
  p.Reset();
  ++pending_depth_;
  bool ok = ParseInstructionLine(computation, &p, id, is_root);
  --pending_depth_;
  if (!ok && !p.name.empty()) poisoned_.insert(module_.str(p.name));
  return ok;
}

bool Parser::ParseInstructionLine(CompId computation, Pending* pending, InstId* id, bool* is_root) {
  Pending& p = *pending;
  *is_root = IsKeyword(Keyword::kRoot);
  if (*is_root) Next();
  bool bare = single_instruction_ && depth_ == 0 && !*is_root && LooksLikeShape();
  if (bare) {
    p.name = Keep("_");
    p.name_offset = token_.begin;
  } else {
    if (!IsNameToken()) return FailExpected("the name of an instruction");
    p.name = SourceRef(token_.text_begin, token_.text_end);
    p.name_offset = token_.begin;
    std::string_view name = WordText();
    if (ElementTypeFromText(name) != ElementType::kInvalid ||
        (name.starts_with("__") && !name.starts_with("__xla_"))) {
      std::string legal = ElementTypeFromText(name) != ElementType::kInvalid
                              ? std::string(name) + "_"
                              : "a" + std::string(name.substr(1));
      return FailHere(DiagId::kIllegalName,
                      fmt::format("'{}' cannot be the name of an instruction", name),
                      fmt::format("call it '{}'", legal));
    }
    Next();
    if (!Expect(Tok::kEquals, "'='")) return false;
  }
  if (!ParseRightHandSide(computation, &p)) return false;
  std::string_view name = module_.str(p.name);
  if (p.poisoned) {
    poisoned_.insert(name);
    *id = {};
    return true;
  }
  InstId next(module_.instruction_count());
  if (InstId known = scopes_[depth_].FindOrInsert(name, next, &module_); known.valid()) {
    SourceLocation place = Locate(module_.source_offset(known));
    return Fail(DiagId::kNameTaken, p.name_offset,
                fmt::format("the instruction '{}' is defined already", name),
                fmt::format("the first definition is at {}:{}", place.line, place.column));
  }
  *id = Create(computation, p);
  return true;
}

bool Parser::ParseComputationReference(uint32_t* computation, bool* forward) {
  *forward = false;
  if (Is(Tok::kLeftBrace)) {
    if (static_cast<int>(depth_) + nesting_ >= kMaxNestedComputations) {
      return FailHere(DiagId::kTooDeep, "in-place computations nest too deep");
    }
    CompId id;
    if (!ParseInstructionList(&id, Keep("_"), token_.begin)) return false;
    *computation = id.value;
    return true;
  }
  if (!IsNameToken()) return FailExpected("the name of a computation");
  auto known = computation_names_.find(WordText());
  if (known != computation_names_.end()) {
    *computation = known->second.value;
    Next();
    return true;
  }
  if (options_.strict) {
    return FailHere(DiagId::kUnknownComputation,
                    fmt::format("no computation '{}' is defined before this line", WordText()));
  }
  *forward = true;
  *computation = static_cast<uint32_t>(forwards_.size()) | 0x80000000u;
  forwards_.push_back({*computation, WordText(), token_.begin, {}});
  Next();
  return true;
}

bool Parser::ResolveForwardReferences() {
  if (forwards_.empty()) return true;
  std::vector<CompId> answers;
  for (const Forward& forward : forwards_) {
    auto known = computation_names_.find(forward.name);
    if (known == computation_names_.end()) {
      Fail(DiagId::kUnknownComputation, forward.offset,
           fmt::format("no computation '{}' is defined in this text", forward.name));
      continue;
    }
    answers.push_back(known->second);
  }
  if (!diagnostics_.empty()) return false;
  for (uint32_t i = 0; i < module_.instruction_count(); ++i) {
    InstId id{i};
    const std::span<const CompId> called = module_.called_computations(id);
    for (uint32_t k = 0; k < called.size(); ++k) {
      if ((called[k].value & 0x80000000u) != 0) {
        module_.SetCalledComputation(id, k, answers[called[k].value & 0x7fffffffu]);
      }
    }
  }
  return CheckAcyclic();
}

bool Parser::CheckAcyclic() {
  // Calls written forward may form a circle; calls to earlier computations cannot.
  std::vector<uint8_t> state(module_.computation_count());  // 0 new, 1 open, 2 done
  struct Frame {
    CompId computation;
    size_t instruction;
    size_t callee;
  };
  for (uint32_t root : definition_order_) {
    if (state[root] != 0) continue;
    std::vector<Frame> stack = {{CompId(root), 0, 0}};
    state[root] = 1;
    while (!stack.empty()) {
      Frame& top = stack.back();
      const std::vector<InstId>& instructions = module_.computation(top.computation).instructions;
      if (top.instruction == instructions.size()) {
        state[top.computation.value] = 2;
        stack.pop_back();
        continue;
      }
      std::span<const CompId> called = module_.called_computations(instructions[top.instruction]);
      if (top.callee == called.size()) {
        ++top.instruction;
        top.callee = 0;
        continue;
      }
      CompId callee = called[top.callee++];
      if (state[callee.value] == 1) {
        return Fail(DiagId::kUnknownComputation,
                    module_.source_offset(instructions[top.instruction]),
                    fmt::format("the computation '{}' calls itself", module_.name(callee)),
                    "HLO has no recursion");
      }
      if (state[callee.value] == 0) {
        state[callee.value] = 1;
        stack.push_back({callee, 0, 0});
      }
    }
  }
  return true;
}

}  // namespace hlokit::read
