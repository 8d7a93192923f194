// The header, the stack frame tables and the three kinds of input: hlo-text.md sections 1 and 3.
#include <algorithm>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit::read {

bool Parser::ParseInput() {
  JumpTo(0);
  if (Is(Tok::kEnd)) {
    return FailHere(DiagId::kEmptyInput, "the input holds no text",
                    "give a file with an HLO module, for instance from a dump folder");
  }
  if (IsKeyword(Keyword::kHloModule) || IsKeyword(Keyword::kEntry)) return ParseModule();
  Token ahead = lexer_.At(token_.end);
  if (ahead.kind == Tok::kLeftBrace && !Is(Tok::kType)) return ParseModule();
  // Kept although the reference refuses it: a computation with a signature in front (H62).
  if (!options_.strict && IsNameToken() && ahead.kind == Tok::kLeftParen) return ParseModule();
  return ParseSingleInstruction();
}

bool Parser::ParseModule() {
  // Nearly every line is an instruction: with room for them the arrays need not grow.
  std::string_view text = lexer_.text();
  size_t lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  // … but empty lines are no reason to take memory.
  constexpr size_t kShortestLine = 24;
  module_.Reserve(std::min(lines, text.size() / kShortestLine));
  bool has_header = IsKeyword(Keyword::kHloModule);
  if (has_header && !ParseHeader()) return false;
  if (has_header && IsKeyword(Keyword::kFileNames) && !ParseStackFrameIndex()) return false;
  bool ok = true;
  do {
    if (!ParseComputation(!has_header)) {
      ok = false;
      if (TooManyErrors() || !RecoverInComputation()) break;
    }
  } while (!Is(Tok::kEnd));
  if (!ok || !diagnostics_.empty()) return false;
  if (!has_header) {
    module_.config().name =
        "module_" +
        std::string(module_.name(module_.entry().valid() ? module_.entry()
                                                         : CompId(definition_order_.back())));
  }
  return FinishModule();
}

bool Parser::ParseHeader() {
  Next();
  if (!IsNameToken()) return FailExpected("the name of the module");
  module_.config().name = WordText();
  Next();
  std::vector<std::string> seen;
  while (Eat(Tok::kComma)) {
    if (!Is(Tok::kAttributeName)) return FailExpected("a module attribute such as is_scheduled=");
    std::string name(WordText());
    uint32_t at = token_.begin;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return Fail(DiagId::kRepeatedAttribute, at, fmt::format("'{}' appears twice", name));
    }
    seen.push_back(name);
    Next();
    if (!ParseModuleAttribute(name, at)) return false;
  }
  return true;
}

bool Parser::ParseModuleAttribute(std::string_view name, uint32_t name_offset) {
  ModuleConfig& config = module_.config();
  if (name == "is_scheduled") return ParseBool(&config.is_scheduled);
  if (name == "input_output_alias") return ParseInputOutputAlias();
  if (name == "buffer_donor") return ParseBufferDonor();
  if (name == "alias_passthrough_params") return ParseBool(&config.alias_passthrough_params);
  if (name == "entry_computation_layout") {
    config.entry_computation_layout.emplace();
    config.entry_computation_layout_given = true;
    return Expect(Tok::kLeftBrace, "'{'") &&
           ParseComputationLayout(nullptr, &*config.entry_computation_layout) &&
           Expect(Tok::kRightBrace, "'}'");
  }
  if (name == "allow_spmd_sharding_propagation_to_parameters") {
    return ParseBoolListOrBool(&config.allow_spmd_sharding_propagation_to_parameters);
  }
  if (name == "allow_spmd_sharding_propagation_to_output") {
    return ParseBoolListOrBool(&config.allow_spmd_sharding_propagation_to_output);
  }
  if (name == "replica_count") return ParseInteger(&config.replica_count);
  if (name == "num_partitions") return ParseInteger(&config.num_partitions);
  if (name == "frontend_attributes") return ParseFrontendAttributes(&config.frontend_attributes);
  if (name == "origin_recovery_table") return ParseRecoveryTable();
  if (!options_.strict) {
    // Keep reading: skip a value up to the next comma outside brackets.
    Warn(DiagId::kUnknownAttributeRead, name_offset,
         fmt::format("unknown module attribute '{}' is dropped", name));
    int depth = 0;
    while (!Is(Tok::kEnd) && !Is(Tok::kError)) {
      if (depth == 0 && Is(Tok::kComma)) return true;
      if (Is(Tok::kLeftBrace) || Is(Tok::kLeftParen) || Is(Tok::kLeftSquare)) ++depth;
      if (Is(Tok::kRightBrace) || Is(Tok::kRightParen) || Is(Tok::kRightSquare)) --depth;
      bool word = Is(Tok::kInteger) || Is(Tok::kIdentifier) || Is(Tok::kString) ||
                  Is(Tok::kKeyword) || Is(Tok::kDecimal);
      Next();
      if (depth == 0 && (word || !Is(Tok::kComma))) return true;
    }
  }
  return Fail(
      DiagId::kUnknownAttributeRead, name_offset, fmt::format("'{}' is no module attribute", name),
      "known: alias_passthrough_params, allow_spmd_sharding_propagation_to_output, "
      "allow_spmd_sharding_propagation_to_parameters, buffer_donor, entry_computation_layout, "
      "frontend_attributes, input_output_alias, is_scheduled, num_partitions, "
      "origin_recovery_table, replica_count");
}

bool Parser::ParseBoolListOrBool(std::vector<bool>* values) {
  values->clear();
  bool value;
  if (!Is(Tok::kLeftBrace)) {
    if (!ParseBool(&value)) return false;
    values->push_back(value);
    return true;
  }
  Next();
  while (!Is(Tok::kRightBrace)) {
    if (!values->empty() && !Expect(Tok::kComma, "',' or '}'")) return false;
    if (!ParseBool(&value)) return false;
    values->push_back(value);
  }
  Next();
  return true;
}

bool Parser::ParseShapeIndex(std::vector<int64_t>* index) { return ParseIntList(index); }

bool Parser::ParseInputOutputAlias() {
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  while (!Is(Tok::kRightBrace)) {
    InputOutputAlias alias;
    if (!ParseShapeIndex(&alias.output_index) || !Expect(Tok::kColon, "':'") ||
        !Expect(Tok::kLeftParen, "'('") || !ParseInteger(&alias.parameter_number) ||
        !Expect(Tok::kComma, "','") || !ParseShapeIndex(&alias.parameter_index)) {
      return false;
    }
    if (Eat(Tok::kComma)) {
      std::string_view kind = TokenText();
      Next();
      if (kind == "must-alias") {
        alias.kind = AliasKind::kMust;
      } else if (kind != "may-alias") {
        return FailHere(DiagId::kBadAlias,
                        fmt::format("'{}' is no kind of alias", kind.substr(0, 40)),
                        "write may-alias or must-alias");
      }
    }
    if (!Expect(Tok::kRightParen, "')'")) return false;
    module_.config().input_output_alias.push_back(std::move(alias));
    if (!Eat(Tok::kComma) && !Is(Tok::kRightBrace)) return FailExpected("',' or '}'");
  }
  Next();
  return true;
}

bool Parser::ParseBufferDonor() {
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  std::vector<BufferDonor>& donors = module_.config().buffer_donors;
  while (!Is(Tok::kRightBrace)) {
    BufferDonor donor;
    if (!Expect(Tok::kLeftParen, "'('") || !ParseInteger(&donor.parameter_number) ||
        !Expect(Tok::kComma, "','") || !ParseShapeIndex(&donor.parameter_index) ||
        !Expect(Tok::kRightParen, "')'")) {
      return false;
    }
    donors.push_back(std::move(donor));
    if (!Eat(Tok::kComma) && !Is(Tok::kRightBrace)) return FailExpected("',' or '}'");
  }
  Next();
  // A set: sorted, each once.
  auto key = [](const BufferDonor& d) {
    return std::make_pair(d.parameter_number, d.parameter_index);
  };
  std::sort(donors.begin(), donors.end(),
            [&](const BufferDonor& a, const BufferDonor& b) { return key(a) < key(b); });
  donors.erase(
      std::unique(donors.begin(), donors.end(),
                  [&](const BufferDonor& a, const BufferDonor& b) { return key(a) == key(b); }),
      donors.end());
  return true;
}

// ---- stack frames ----

bool Parser::ParseFieldBraces(std::initializer_list<std::string_view> names,
                              std::vector<int64_t>* values) {
  values->assign(names.size(), 0);
  std::vector<bool> seen(names.size());
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  while (!Is(Tok::kRightBrace)) {
    bool comma = Eat(Tok::kComma);
    if (comma && Is(Tok::kRightBrace)) return FailExpected("a field");
    if (!Is(Tok::kAttributeName)) return FailExpected("a field or '}'");
    size_t field = std::find(names.begin(), names.end(), WordText()) - names.begin();
    if (field == names.size()) {
      return FailHere(DiagId::kBadStackFrames, fmt::format("unknown field '{}'", WordText()));
    }
    if (seen[field]) return FailHere(DiagId::kRepeatedAttribute, "the field appears twice");
    seen[field] = true;
    Next();
    if (!ParseInt32(&(*values)[field])) return false;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) {
      return FailHere(DiagId::kBadStackFrames,
                      fmt::format("the field '{}' is missing", names.begin()[i]));
    }
  }
  Next();
  return true;
}

bool Parser::ParseStackFrameIndex() {
  StackFrameIndex& index = module_.config().stack_frame_index;
  auto table = [&](Keyword keyword, std::string_view name, auto entry) {
    if (!IsKeyword(keyword)) return FailExpected(fmt::format("the table {}", name));
    Next();
    while (Is(Tok::kInteger)) {
      Next();
      if (!entry()) return false;
    }
    return true;
  };
  std::vector<int64_t> f;
  return table(Keyword::kFileNames, "FileNames",
               [&] { return ParseString(&index.file_names.emplace_back()); }) &&
         table(Keyword::kFunctionNames, "FunctionNames",
               [&] { return ParseString(&index.function_names.emplace_back()); }) &&
         table(Keyword::kFileLocations, "FileLocations",
               [&] {
                 if (!ParseFieldBraces({"file_name_id", "function_name_id", "line", "end_line",
                                        "column", "end_column"},
                                       &f)) {
                   return false;
                 }
                 auto at = [&](int i) { return static_cast<int32_t>(f[i]); };
                 index.file_locations.push_back({at(0), at(1), at(2), at(3), at(4), at(5)});
                 return true;
               }) &&
         table(Keyword::kStackFrames, "StackFrames", [&] {
           if (!ParseFieldBraces({"file_location_id", "parent_frame_id"}, &f)) return false;
           index.stack_frames.push_back(
               {static_cast<int32_t>(f[0]), static_cast<int32_t>(f[1] - 1)});
           return true;
         });
}

// ---- single instructions ----

bool Parser::ParseSingleInstruction() {
  single_instruction_ = true;
  module_.config().name = "_";
  module_.config().is_scheduled = true;
  CompId computation = module_.AddComputation(Keep("_"));
  module_.set_entry(computation);
  scopes_[0].Clear();
  InstId id;
  bool is_root = false;
  if (!ParseInstruction(computation, &id, &is_root)) return false;
  if (!Is(Tok::kEnd)) {
    return FailHere(
        DiagId::kTrailingText,
        fmt::format("expected the end after a single instruction, found '{}'", TokenText()),
        "a module begins with HloModule, ENTRY, or a computation name and '{'");
  }
  if (!diagnostics_.empty()) return false;
  module_.computation(computation).root = id;
  definition_order_.push_back(computation.value);
  return FinishComputation(computation, token_.begin) && FinishModule();
}

// ---- after the last computation ----

bool Parser::FinishModule() {
  if (!ResolveForwardReferences()) return false;
  std::vector<CompId>& order = module_.mutable_computation_order();
  order.clear();
  for (uint32_t id : definition_order_) order.push_back(CompId(id));
  if (!module_.entry().valid()) module_.set_entry(order.back());
  if (!CheckHeaderAgainstEntry()) return false;
  for (const auto& [wrapped, start] : async_start_of_) {
    if (!start.valid()) {
      return Fail(DiagId::kBadAsync, 0,
                  "a computation wrapped for async execution has no async-start");
    }
  }
  RenumberStackFrames();
  MakeNamesUnique();
  return true;
}

bool Parser::CheckHeaderAgainstEntry() {
  ModuleConfig& config = module_.config();
  const ComputationData& entry = module_.computation(module_.entry());
  ShapePool& shapes = module_.shapes();
  if (!config.entry_computation_layout) {
    config.entry_computation_layout.emplace();
    for (InstId parameter : entry.parameters) {
      config.entry_computation_layout->parameters.push_back(module_.shape(parameter));
    }
    config.entry_computation_layout->result = module_.shape(entry.root);
  }
  std::vector<uint32_t> seen;
  // Just behind the last computation.
  uint32_t end = static_cast<uint32_t>(lexer_.text().find_last_not_of(" \t\r\n") + 1);
  for (const InputOutputAlias& alias : config.input_output_alias) {
    std::optional<uint32_t> at = shapes.PreorderOf(module_.shape(entry.root), alias.output_index);
    if (!at) {
      return Fail(DiagId::kBadAlias, end,
                  "input_output_alias names a part that the result does not have");
    }
    if (std::find(seen.begin(), seen.end(), *at) != seen.end()) {
      return Fail(DiagId::kBadAlias, end, "input_output_alias names a part of the result twice");
    }
    seen.push_back(*at);
  }
  // Pre-order of the result, as printed.
  std::vector<size_t> by_output(seen.size());
  for (size_t i = 0; i < by_output.size(); ++i) by_output[i] = i;
  std::sort(by_output.begin(), by_output.end(),
            [&](size_t a, size_t b) { return seen[a] < seen[b]; });
  std::vector<InputOutputAlias> sorted;
  for (size_t i : by_output) sorted.push_back(std::move(config.input_output_alias[i]));
  config.input_output_alias = std::move(sorted);
  return true;
}

}  // namespace hlokit::read
