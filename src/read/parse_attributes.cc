// The attributes of an instruction, name by name: which value stands behind each of them?
// hlo-text.md sections 7 and 8.
#include <algorithm>
#include <bit>
#include <optional>

#include "fmt/format.h"
#include "src/read/parser.h"

namespace hlokit::read {

// ---- attributes ----

Attr* Parser::FindPending(Pending* p, AttrKind kind) {
  for (Attr& attr : p->attrs) {
    if (attr.kind == kind) return &attr;
  }
  return nullptr;
}

bool Parser::SpecsFor(const Pending& p, std::string_view name, AttrKind* kind) {
  Opcode opcode = p.async_form == 1 ? p.wrapped : p.opcode;
  for (const AttrSpec& spec : OpcodeAttributes(opcode)) {
    if (Info(spec.kind).text == name) {
      *kind = spec.kind;
      return true;
    }
  }
  if (p.async_form != 0 && name == "async_execution_thread") {
    *kind = AttrKind::kAsyncExecutionThread;
    return true;
  }
  if (name == "result_accuracy") {
    *kind = AttrKind::kResultAccuracy;
    return TakesResultAccuracy(opcode);
  }
  for (AttrKind common : CommonAttributes()) {
    if (Info(common).text == name) {
      *kind = common;
      return true;
    }
  }
  if (name == "parameter_replication") {
    *kind = AttrKind::kParameterReplication;
    return true;
  }
  return false;
}

std::string Parser::AllowedAttributes(const Pending& p) {
  std::vector<std::string_view> names;
  Opcode opcode = p.async_form == 1 ? p.wrapped : p.opcode;
  for (const AttrSpec& spec : OpcodeAttributes(opcode)) names.push_back(Info(spec.kind).text);
  for (AttrKind common : CommonAttributes()) {
    if (common != AttrKind::kResultAccuracy || TakesResultAccuracy(opcode))
      names.push_back(Info(common).text);
  }
  std::sort(names.begin(), names.end());
  std::string out;
  for (std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

bool Parser::ParseAttributes(CompId computation, Pending* p) {
  std::vector<std::string_view>& seen = seen_attributes_;
  size_t first = seen.size();
  bool ok = true;
  p->after_arguments = token_.begin;
  p->attributes_offset = Is(Tok::kComma) ? lexer_.At(token_.end).begin : token_.begin;
  while (ok && Is(Tok::kComma)) {
    Next();
    if (!Is(Tok::kAttributeName)) {
      ok = FailExpected("an attribute such as dimensions=");
      break;
    }
    std::string_view name = WordText();
    uint32_t at = token_.begin;
    if (std::find(seen.begin() + first, seen.end(), name) != seen.end()) {
      ok = Fail(DiagId::kRepeatedAttribute, at,
                fmt::format("the attribute '{}' appears twice", name));
      break;
    }
    seen.push_back(name);
    attribute_offset_ = at;
    AttrKind kind;
    if (SpecsFor(*p, name, &kind)) {
      Next();
      ok = ParseAttributeValue(computation, kind, p);
      continue;
    }
    if (options_.strict) {
      ok = Fail(DiagId::kUnknownAttributeRead, at,
                fmt::format("'{}' takes no attribute '{}'", p->opcode_text, name),
                "allowed: " + AllowedAttributes(*p));
      break;
    }
    ok = ParseUnknownAttribute(name, at, p);
  }
  seen.resize(first);
  return ok;
}

bool Parser::ParseUnknownAttribute(std::string_view name, uint32_t name_offset, Pending* p) {
  if (p->opcode != Opcode::kUnknown && warned_.insert(std::string(name)).second) {
    Warn(DiagId::kUnknownAttributeRead, name_offset,
         fmt::format("'{}' takes no attribute '{}'; it is kept as it is", p->opcode_text, name),
         "--strict makes this an error");
  }
  Next();
  // One value: brackets as a whole, or one token with what hangs on it.
  uint32_t end = token_.end;
  int depth = 0;
  do {
    if (Is(Tok::kEnd)) return FailExpected("the value of the attribute");
    if (Is(Tok::kLeftBrace) && depth == 0) {
      uint32_t close = lexer_.RawBracesEnd(token_.begin);
      if (close == 0) return FailHere(DiagId::kBadAttributeValue, "the brace never closes");
      end = close;
      JumpTo(close);
    } else {
      if (Is(Tok::kLeftParen) || Is(Tok::kLeftSquare) || Is(Tok::kLeftBrace)) ++depth;
      if (Is(Tok::kRightParen) || Is(Tok::kRightSquare) || Is(Tok::kRightBrace)) --depth;
      end = token_.end;
      Next();
    }
  } while (depth > 0 || Is(Tok::kLeftParen) || Is(Tok::kLeftSquare) || Is(Tok::kLeftBrace) ||
           Is(Tok::kLessEquals) || Is(Tok::kHash));
  p->attrs.push_back(Attr::Text(AttrKind::kUnknownAttribute, SourceRef(name_offset, end)));
  return true;
}

bool Parser::ParseAttributeValue(CompId computation, AttrKind kind, Pending* p) {
  AttrType type = Info(kind).type;
  uint32_t begin = token_.begin;
  auto push_ints = [&](std::span<const int64_t> values) {
    p->attrs.push_back(module_.IntsAttribute(kind, values));
    return true;
  };
  auto push_text = [&](bool ok) {
    if (!ok) return false;
    if (!scratch_.empty()) {
      p->attrs.push_back(Attr::Text(kind, KeepCanonical(begin, scratch_)));
    }
    return true;
  };
  if (IsEnum(type)) {
    std::string_view word = TokenText();
    std::span<const std::string_view> names = EnumNames(type);
    auto same = [&](std::string_view name) {
      if (!EnumIgnoresCase(type)) return name == word;
      return std::equal(name.begin(), name.end(), word.begin(), word.end(),
                        [](char a, char b) { return std::tolower(a) == std::tolower(b); });
    };
    size_t index = std::find_if(names.begin(), names.end(), same) - names.begin();
    bool refused = index == names.size() || (kind == AttrKind::kTransposeA && index == 0);
    if (refused) {
      std::string all;
      for (std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
      return FailHere(DiagId::kBadAttributeValue,
                      fmt::format("'{}' is no value of {}", word.substr(0, 60), Info(kind).text),
                      "known: " + all);
    }
    Next();
    p->attrs.push_back(Attr::Integer(kind, static_cast<int64_t>(index)));
    return true;
  }
  switch (type) {
    case AttrType::kInt:
    case AttrType::kInt32: {
      int64_t value;
      if (type == AttrType::kInt ? !ParseInteger(&value) : !ParseInt32(&value)) return false;
      p->attrs.push_back(Attr::Integer(kind, value));
      return true;
    }
    case AttrType::kBool: {
      bool value;
      if (!ParseBool(&value)) return false;
      p->attrs.push_back(Attr::Integer(kind, value));
      return true;
    }
    case AttrType::kFloat: {
      double value;
      if (!ParseFloat(&value)) return false;
      // Stored as a 32-bit float by everybody who reads it.
      p->attrs.push_back(Attr::Integer(
          kind, std::bit_cast<int64_t>(static_cast<double>(static_cast<float>(value)))));
      return true;
    }
    case AttrType::kString: {
      if (!Is(Tok::kString)) return FailExpected("a string");
      if (!token_.has_escapes) {
        p->attrs.push_back(Attr::Text(kind, SourceRef(token_.text_begin, token_.text_end)));
      } else {
        Unescape(WordText(), &scratch_);
        p->attrs.push_back(Attr::Text(kind, Keep(scratch_)));
      }
      Next();
      return true;
    }
    case AttrType::kBackendConfig: {
      StrRef text;
      if (!ParseBackendConfig(&text)) return false;
      if (!text.empty()) p->attrs.push_back(Attr::Text(kind, text));
      return true;
    }
    case AttrType::kIntList:
      return ParseIntList(&ints_) && push_ints(ints_);
    case AttrType::kBoolList: {
      std::vector<bool> values;
      if (!Is(Tok::kLeftBrace)) return FailExpected("'{'");
      if (!ParseBoolListOrBool(&values)) return false;
      ints_.assign(values.begin(), values.end());
      return push_ints(ints_);
    }
    case AttrType::kPrecisionList: {
      ints_.clear();
      if (!Expect(Tok::kLeftBrace, "'{'")) return false;
      while (!Is(Tok::kRightBrace)) {
        if (!ints_.empty() && !Expect(Tok::kComma, "',' or '}'")) return false;
        std::string word(TokenText());
        for (char& c : word) c = static_cast<char>(std::tolower(c));
        std::span<const std::string_view> names = PrecisionNames();
        size_t index = std::find(names.begin(), names.end(), word) - names.begin();
        if (index == names.size()) return FailExpected("default, high or highest");
        ints_.push_back(static_cast<int64_t>(index));
        Next();
      }
      Next();
      return push_ints(ints_);
    }
    case AttrType::kRanges: {
      ints_.clear();
      if (!Expect(Tok::kLeftBrace, "'{'")) return false;
      while (!Is(Tok::kRightBrace)) {
        if (!ints_.empty() && !Expect(Tok::kComma, "',' or '}'")) return false;
        int64_t start;
        int64_t limit;
        int64_t stride = 1;
        uint32_t at = token_.begin;
        if (!Expect(Tok::kLeftSquare, "'['") || !ParseInteger(&start)) return false;
        if (!Is(Tok::kColon)) {
          return Fail(DiagId::kBadAttributeValue, at,
                      "a range is [start:limit] or [start:limit:stride]");
        }
        Next();
        if (!ParseInteger(&limit)) return false;
        if (Eat(Tok::kColon) && !ParseInteger(&stride)) return false;
        if (!Expect(Tok::kRightSquare, "']'")) return false;
        ints_.insert(ints_.end(), {start, limit, stride});
      }
      Next();
      return push_ints(ints_);
    }
    case AttrType::kPadding: {
      std::vector<std::vector<int64_t>> pads;
      if (!ParsePadList(&pads)) return false;
      ints_.clear();
      for (std::vector<int64_t>& pad : pads) {
        pad.resize(3);
        ints_.insert(ints_.end(), pad.begin(), pad.end());
      }
      return push_ints(ints_);
    }
    case AttrType::kWindow:
      return ParseWindow(&ints_) && push_ints(ints_);
    case AttrType::kAliasing:
      return ParseAliasing(&ints_) && push_ints(ints_);
    case AttrType::kComputation: {
      uint32_t id;
      bool forward;
      if (!ParseComputationReference(&id, &forward)) return false;
      p->attrs.push_back({kind, id, 0});
      return true;
    }
    case AttrType::kComputationList: {
      std::vector<uint32_t> ids;
      if (!Expect(Tok::kLeftBrace, "'{'")) return false;
      while (!Is(Tok::kRightBrace)) {
        if (!ids.empty() && !Expect(Tok::kComma, "',' or '}'")) return false;
        bool forward;
        if (!ParseComputationReference(&ids.emplace_back(), &forward)) return false;
      }
      Next();
      p->attrs.push_back(module_.RefsAttribute(kind, ids));
      return true;
    }
    case AttrType::kInstructionList: {
      std::vector<uint32_t> ids;
      if (!Expect(Tok::kLeftBrace, "'{'")) return false;
      do {
        if (!IsNameToken()) return FailExpected("the name of an instruction");
        std::string_view name = WordText();
        InstId id = scopes_[depth_].Find(name, module_);
        Next();
        if (!id.valid()) {
          if (poisoned_.count(name) == 0) {
            return FailHere(DiagId::kUnknownName,
                            fmt::format("no instruction '{}' is defined before this line", name));
          }
          p->poisoned = true;
        } else if (std::find(ids.begin(), ids.end(), id.value) == ids.end()) {
          ids.push_back(id.value);
        }
      } while (Eat(Tok::kComma));
      p->attrs.push_back(module_.RefsAttribute(kind, ids));
      return Expect(Tok::kRightBrace, "',' or '}'");
    }
    case AttrType::kShapeList: {
      std::vector<uint32_t> ids;
      if (!Expect(Tok::kLeftBrace, "'{'")) return false;
      while (!Is(Tok::kRightBrace)) {
        if (!ids.empty() && !Expect(Tok::kComma, "',' or '}'")) return false;
        ShapeId shape;
        if (!ParseShape(&shape)) return false;
        ids.push_back(FillLayouts(shape).value);
      }
      Next();
      p->attrs.push_back(module_.RefsAttribute(kind, ids));
      return true;
    }
    case AttrType::kShape: {
      ShapeId shape;
      if (!ParseShape(&shape)) return false;
      p->attrs.push_back({kind, FillLayouts(shape).value, 0});
      return true;
    }
    case AttrType::kLiteral: {
      LiteralId literal;
      if (!ParseLiteralWithShape(&literal)) return false;
      p->attrs.push_back({kind, literal.value, 0});
      return true;
    }
    case AttrType::kMetadata: {
      Attr attr{kind, 0, 0};
      int64_t frame = 0;
      if (uint32_t end = CanonicalMetadataEnd(&frame); end != 0) {
        attr = Attr::Text(kind, SourceRef(begin, end));
        JumpTo(end);
      } else {
        bool printed = false;
        if (!ParseMetadataFields(&scratch_, &printed, &frame)) return false;
        if (!printed) return true;
        attr = Attr::Text(kind, Keep("{" + scratch_ + "}"));
      }
      p->attrs.push_back(attr);
      p->stack_frame_id = frame;
      return true;
    }
    case AttrType::kIntListList: {
      std::vector<std::vector<int64_t>> lists;
      if (!ParseIntListList(&lists)) return false;
      scratch_ = "{";
      for (const std::vector<int64_t>& list : lists) {
        if (kind == AttrKind::kSourceTargetPairs && list.size() != 2) {
          return FailHere(DiagId::kBadAttributeValue,
                          "source_target_pairs holds pairs of two numbers");
        }
        if (scratch_.size() > 1) scratch_ += ',';
        scratch_ += '{';
        for (size_t i = 0; i < list.size(); ++i) {
          if (i != 0) scratch_ += ',';
          AppendInteger(list[i], &scratch_);
        }
        scratch_ += '}';
      }
      scratch_ += '}';
      return push_text(true);
    }
    case AttrType::kDimLabels:
      return push_text(ParseDimLabels(&scratch_));
    case AttrType::kReplicaGroups:
    case AttrType::kSharding:
    case AttrType::kFrontendAttributes:
      return ParseRepeatedText(kind, p);
    case AttrType::kStatistics:
      return push_text(ParseStatistics(&scratch_));
    case AttrType::kResultAccuracy:
      return push_text(ParseResultAccuracy(&scratch_));
    case AttrType::kOrigin:
      return push_text(ParseOrigin(&scratch_));
    case AttrType::kDomain:
      return push_text(ParseDomain(&scratch_));
    case AttrType::kSparsity:
      return push_text(ParseSparsity(&scratch_));
    default:
      break;
  }
  (void)computation;
  return Fail(DiagId::kInternalError, begin, "no reader for this attribute");
}

bool Parser::ParseRepeatedText(AttrKind kind, Pending* p) {
  // A module writes a handful of these thousands of times: compare with the last ones first.
  uint32_t begin = token_.begin;
  std::string_view text = lexer_.text();
  for (const RepeatedText& known : repeated_) {
    if (known.kind != kind || known.length == 0) continue;
    uint32_t end = begin + known.length;
    if (end >= text.size() || (text[end] != ',' && text[end] != '\n')) continue;
    if (lexer_.Slice(begin, end) != lexer_.Slice(known.begin, known.begin + known.length)) continue;
    if (known.canonical.length != 0) p->attrs.push_back(Attr::Text(kind, known.canonical));
    JumpTo(end);
    return true;
  }
  bool ok = kind == AttrKind::kReplicaGroups ? ParseReplicaGroups(&scratch_)
            : kind == AttrKind::kSharding    ? ParseSharding(&scratch_)
                                             : ParseFrontendAttributes(&scratch_);
  if (!ok) return false;
  StrRef canonical;
  if (!scratch_.empty()) {
    canonical = KeepCanonical(begin, scratch_);
    p->attrs.push_back(Attr::Text(kind, canonical));
  }
  // Only a value that ends right in front of a comma or a line break can be found again.
  std::string_view raw = lexer_.Slice(begin, token_.begin);
  if (!raw.empty() && raw.back() == '\n') raw = raw.substr(0, raw.find_last_not_of(" \n\r\t") + 1);
  bool plain =
      raw.find_first_of("/\n") == std::string_view::npos && !raw.empty() && raw.back() != ' ';
  if (plain) {
    repeated_[next_repeated_] = {kind, begin, static_cast<uint32_t>(raw.size()), canonical};
    next_repeated_ = (next_repeated_ + 1) % std::size(repeated_);
  }
  return true;
}

StrRef Parser::KeepCanonical(uint32_t begin, std::string_view canonical) {
  // Most values are canonical already: keep the range of the source instead of a copy.
  if (lexer_.text().substr(begin, canonical.size()) == canonical) {
    return SourceRef(begin, begin + static_cast<uint32_t>(canonical.size()));
  }
  auto [entry, fresh] = canonical_memo_.try_emplace(HashBytes(canonical));
  if (!fresh && module_.str(entry->second) == canonical) return entry->second;
  entry->second = Keep(canonical);
  return entry->second;
}

}  // namespace hlokit::read
