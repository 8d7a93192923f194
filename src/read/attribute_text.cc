// Attributes that are only echoed: read, checked, and kept as canonical text. hlo-text.md
// section 8.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "fmt/format.h"
#include "hlokit/printer.h"
#include "src/read/parser.h"

namespace hlokit::read {

// ---- window and dim_labels ----

bool Parser::ParseWindow(std::vector<int64_t>* values) {
  uint32_t begin = token_.begin;
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
  std::vector<int64_t> lhs_dilate;
  std::vector<int64_t> rhs_dilate;
  std::vector<int64_t> reversal;
  std::vector<std::vector<int64_t>> pad;
  std::vector<std::string_view> seen;
  while (!Is(Tok::kRightBrace)) {
    if (!Is(Tok::kAttributeName)) return FailExpected("a window field such as size=");
    std::string_view name = WordText();
    uint32_t at = token_.begin;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return FailHere(DiagId::kRepeatedAttribute, fmt::format("'{}' appears twice", name));
    }
    seen.push_back(name);
    Next();
    bool ok =
        name == "size"           ? ParseSizeList(&size)
        : name == "stride"       ? ParseSizeList(&stride)
        : name == "lhs_dilate"   ? ParseSizeList(&lhs_dilate)
        : name == "rhs_dilate"   ? ParseSizeList(&rhs_dilate)
        : name == "rhs_reversal" ? ParseSizeList(&reversal)
        : name == "pad"
            ? ParsePadList(&pad)
            : Fail(DiagId::kBadAttributeValue, at, fmt::format("a window has no field '{}'", name),
                   "known: size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal");
    if (!ok) return false;
  }
  auto fits = [&](size_t n) { return n == 0 || n == size.size(); };
  if (!fits(stride.size()) || !fits(lhs_dilate.size()) || !fits(rhs_dilate.size()) ||
      !fits(pad.size())) {
    return Fail(DiagId::kBadAttributeValue, begin,
                "every window field needs as many entries as size");
  }
  for (const std::vector<int64_t>& p : pad) {
    if (p.size() != 2)
      return Fail(DiagId::kBadAttributeValue, begin, "a window pad is low_high per dimension");
  }
  Next();
  values->clear();
  for (size_t i = 0; i < size.size(); ++i) {
    auto or_else = [&](const std::vector<int64_t>& v, int64_t absent) {
      return i < v.size() ? v[i] : absent;
    };
    values->insert(values->end(), {size[i], or_else(stride, 1), pad.empty() ? 0 : pad[i][0],
                                   pad.empty() ? 0 : pad[i][1], or_else(lhs_dilate, 1),
                                   or_else(rhs_dilate, 1), or_else(reversal, 0)});
  }
  return true;
}

bool Parser::ParseDimLabels(std::string* out) {
  if (!Is(Tok::kDimLabels)) return FailExpected("labels such as b01f_01io->b01f");
  std::string_view text = TokenText();
  size_t underscore = text.find('_');
  size_t arrow = text.find("->");
  std::string_view parts[3] = {text.substr(0, underscore),
                               text.substr(underscore + 1, arrow - underscore - 1),
                               text.substr(arrow + 2)};
  size_t spatial[3] = {};
  out->clear();
  for (int i = 0; i < 3; ++i) {
    std::string_view part = parts[i];
    for (size_t k = 0; k < part.size(); ++k) {
      char c = part[k];
      if (c == '?') continue;
      if (part.find(c, k + 1) != std::string_view::npos) {
        return FailHere(DiagId::kBadAttributeValue, fmt::format("'{}' repeats '{}'", part, c));
      }
      if (c >= '0' && c <= '9') {
        if (static_cast<size_t>(c - '0') >= part.size()) {
          return FailHere(DiagId::kBadAttributeValue,
                          fmt::format("'{}' has no spatial dimension {}", part, c));
        }
        ++spatial[i];
      }
    }
    for (char role : i == 1 ? std::string_view("io") : std::string_view("bf")) {
      if (part.find(role) == std::string_view::npos) {
        return FailHere(DiagId::kBadAttributeValue, fmt::format("'{}' has no '{}'", part, role));
      }
    }
    if (spatial[i] != spatial[0]) {
      return FailHere(DiagId::kBadAttributeValue,
                      "the three labels must have the same number of spatial dimensions");
    }
    if (i == 1) *out += '_';
    if (i == 2) *out += "->";
    size_t used = part.find_last_not_of('?');
    *out += part.substr(0, used + 1);
  }
  Next();
  return true;
}

// ---- frontend attributes, backend config ----

namespace {

/// A value that is printed without quotes: "{…}" whose braces balance at its last character.
bool LexesAsRawBraces(std::string_view value) {
  Lexer lexer(value);
  uint32_t begin = lexer.SkipBlank(0);
  if (begin >= value.size() || value[begin] != '{') return false;
  uint32_t end = lexer.RawBracesEnd(begin);
  return end != 0 && value.substr(end).find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

bool Parser::ParseBackendConfig(StrRef* out) {
  if (Is(Tok::kLeftBrace)) {
    uint32_t begin = token_.begin;
    uint32_t end = lexer_.RawBracesEnd(begin);
    if (end == 0)
      return FailHere(DiagId::kBadAttributeValue, "the brace of backend_config never closes");
    *out = SourceRef(begin, end);
    JumpTo(end);
    return true;
  }
  if (!Is(Tok::kString)) {
    return Fail(DiagId::kBadAttributeValue, attribute_offset_,
                fmt::format("backend_config is a string or text in braces, not '{}'",
                            TokenText().substr(0, 40)));
  }
  if (!token_.has_escapes) {
    *out = SourceRef(token_.text_begin, token_.text_end);
  } else {
    std::string value;
    Unescape(WordText(), &value);
    *out = Keep(value);
  }
  Next();
  return true;
}

bool Parser::ParseFrontendAttributes(std::string* out) {
  std::map<std::string, std::string> values;
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  while (!Is(Tok::kRightBrace)) {
    if (!values.empty() && !Expect(Tok::kComma, "',' or '}'")) return false;
    if (!Is(Tok::kAttributeName)) return FailExpected("a key followed by '='");
    std::string key(WordText());
    Next();
    std::string text;
    if (Is(Tok::kLeftBrace)) {
      uint32_t end = lexer_.RawBracesEnd(token_.begin);
      if (end == 0) return FailHere(DiagId::kBadAttributeValue, "the brace never closes");
      text = lexer_.Slice(token_.begin, end);
      JumpTo(end);
    } else {
      std::string value;
      if (!ParseString(&value)) return false;
      if (LexesAsRawBraces(value)) {
        text = value;
      } else {
        text = "\"";
        AppendEscaped(value, &text);
        text += '"';
      }
    }
    values[key] = text;
  }
  Next();
  out->clear();
  if (values.empty()) return true;
  *out = "{";
  for (const auto& [key, text] : values) {
    if (out->size() > 1) *out += ',';
    *out += key + "=" + text;
  }
  *out += '}';
  return true;
}

// ---- smaller ones ----

bool Parser::ParseStatistics(std::string* out) {
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  out->clear();
  bool first = true;
  while (!Is(Tok::kRightBrace)) {
    if (!first && !Expect(Tok::kComma, "',' or '}'")) return false;
    if (!Is(Tok::kAttributeName)) return FailExpected("a key followed by '='");
    std::string key(WordText());
    Next();
    if (first) {
      int64_t index;
      if (!ParseInteger(&index)) return false;
      *out = "{visualizing_index=" + std::to_string(index);
    } else {
      double value;
      if (!Is(Tok::kInteger) && !Is(Tok::kDecimal)) {
        return Fail(DiagId::kBadAttributeValue, attribute_offset_,
                    "the value of a statistic is a number");
      }
      if (!ParseNumber(&value)) return false;
      *out += "," + key + "=" + fmt::format("{:g}", value);
    }
    first = false;
  }
  Next();
  // Without a single statistic nothing is printed.
  if (!out->empty()) *out += '}';
  if (out->find(',') == std::string::npos) out->clear();
  return true;
}

bool Parser::ParseResultAccuracy(std::string* out) {
  out->clear();
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  if (!Is(Tok::kAttributeName)) return FailExpected("mode= or tolerance=");
  std::string_view name = WordText();
  Next();
  if (name == "mode") {
    std::string mode(TokenText());
    for (char& c : mode) c = static_cast<char>(std::tolower(c));
    if (mode != "default" && mode != "highest") return FailExpected("default or highest");
    Next();
    if (mode == "highest") *out = "{mode=highest}";
  } else if (name == "tolerance") {
    double atol = 0;
    double rtol = 0;
    int64_t ulps = 0;
    if (!Expect(Tok::kLeftBrace, "'{'")) return false;
    bool first = true;
    while (!Is(Tok::kRightBrace)) {
      if (!first && !Expect(Tok::kComma, "',' or '}'")) return false;
      first = false;
      if (!Is(Tok::kAttributeName)) return FailExpected("atol=, rtol= or ulps=");
      std::string_view field = WordText();
      if (field != "atol" && field != "rtol" && field != "ulps")
        return FailExpected("atol=, rtol= or ulps=");
      Next();
      if (field == "ulps" ? !ParseInteger(&ulps) : !ParseNumber(field == "atol" ? &atol : &rtol))
        return false;
    }
    Next();
    *out = fmt::format("{{tolerance={{atol={:g},rtol={:g},ulps={}}}}}", atol, rtol, ulps);
  } else {
    return FailExpected("mode= or tolerance=");
  }
  return Expect(Tok::kRightBrace, "'}'");
}

bool Parser::ParseOriginLeaf(std::string* out) {
  // Behind the '{': [ string [ index ] ] "}".
  *out += '{';
  if (Is(Tok::kString)) {
    std::string name;
    ParseString(&name);
    *out += '"';
    AppendEscaped(name, out);
    *out += '"';
    if (Is(Tok::kLeftBrace)) {
      std::vector<int64_t> index;
      if (!ParseIntList(&index)) return false;
      if (!index.empty()) *out += fmt::format(" {{{}}}", fmt::join(index, ","));
    }
  }
  *out += '}';
  return Expect(Tok::kRightBrace, "'}'");
}

bool Parser::ParseOrigin(std::string* out) {
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  *out = "{";
  if (Eat(Tok::kLeftSquare)) {
    if (TokenText() != "synthetic_call") return FailExpected("synthetic_call");
    Next();
    *out += "[synthetic_call]}";
    return Expect(Tok::kRightSquare, "']'") && Expect(Tok::kRightBrace, "'}'");
  }
  int depth = 0;
  bool need_comma = false;
  do {
    if (Is(Tok::kLeftParen)) {
      if (need_comma) *out += ", ";
      need_comma = false;
      *out += '(';
      ++depth;
      Next();
    } else if (Is(Tok::kRightParen) && depth > 0) {
      *out += ')';
      --depth;
      need_comma = true;
      Next();
    } else if (Is(Tok::kComma)) {
      Next();
    } else if (Is(Tok::kLeftBrace)) {
      if (need_comma) *out += ", ";
      Next();
      if (!ParseOriginLeaf(out)) return false;
      need_comma = true;
    } else {
      return FailExpected("'{' or '('");
    }
  } while (depth > 0 || Is(Tok::kComma));
  *out += '}';
  return Expect(Tok::kRightBrace, "'}'");
}

bool Parser::ParseDomain(std::string* out) {
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  std::string kind;
  std::string entry;
  std::string exit;
  while (!Is(Tok::kRightBrace)) {
    if (Eat(Tok::kComma) && Is(Tok::kRightBrace)) return FailExpected("a field");
    if (!Is(Tok::kAttributeName)) return FailExpected("kind=, entry= or exit=");
    std::string_view name = WordText();
    if (name != "kind" && name != "entry" && name != "exit")
      return FailExpected("kind=, entry= or exit=");
    Next();
    if (name == "kind" ? !ParseString(&kind) : !ParseSharding(name == "entry" ? &entry : &exit))
      return false;
  }
  Next();
  if (kind != "sharding") {
    return FailHere(DiagId::kBadAttributeValue,
                    fmt::format("unknown domain kind '{}'; only sharding exists", kind));
  }
  if (entry.empty() || exit.empty())
    return FailHere(DiagId::kMissingAttribute, "a domain needs entry= and exit=");
  *out = fmt::format("{{kind=\"sharding\", entry={}, exit={}}}", entry, exit);
  return true;
}

bool Parser::ParseSparsity(std::string* out) {
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  *out = "{";
  std::string sides[2];
  while (!Is(Tok::kRightBrace)) {
    if (!Is(Tok::kAttributeName) || (WordText() != "lhs" && WordText() != "rhs"))
      return FailExpected("lhs= or rhs=");
    bool rhs = WordText() == "rhs";
    Next();
    if (!Expect(Tok::kLeftBrace, "'{'")) return false;
    std::vector<int64_t> sparsity;
    int64_t dimension = 0;
    int64_t stride = 0;
    while (!Is(Tok::kRightBrace)) {
      std::string_view field = WordText();
      if (!Is(Tok::kAttributeName) ||
          (field != "sparsity" && field != "dimension" && field != "stride")) {
        return FailExpected("sparsity=, dimension= or stride=");
      }
      Next();
      if (field == "sparsity" ? !ParseSizeList(&sparsity)
                              : !ParseInteger(field == "stride" ? &stride : &dimension)) {
        return false;
      }
    }
    Next();
    sides[rhs] = fmt::format("{}={{sparsity={} dimension={} stride={}}}", rhs ? "rhs" : "lhs",
                             fmt::join(sparsity, "x"), dimension, stride);
  }
  Next();
  *out += sides[0];
  if (!sides[0].empty() && !sides[1].empty()) *out += ' ';
  *out += sides[1] + "}";
  return true;
}

bool Parser::ParseAliasing(std::vector<int64_t>* encoded) {
  encoded->clear();
  if (!Expect(Tok::kLeftBrace, "'{'")) return false;
  while (!Is(Tok::kRightBrace)) {
    std::vector<int64_t> output;
    std::vector<int64_t> input;
    int64_t operand;
    if (!ParseIntList(&output) || !Expect(Tok::kColon, "':'") || !Expect(Tok::kLeftParen, "'('") ||
        !ParseInteger(&operand) || !Expect(Tok::kComma, "','") || !ParseIntList(&input) ||
        !Expect(Tok::kRightParen, "')'")) {
      return false;
    }
    encoded->push_back(static_cast<int64_t>(output.size()));
    encoded->insert(encoded->end(), output.begin(), output.end());
    encoded->push_back(operand);
    encoded->push_back(static_cast<int64_t>(input.size()));
    encoded->insert(encoded->end(), input.begin(), input.end());
    if (!Eat(Tok::kComma) && !Is(Tok::kRightBrace)) return FailExpected("',' or '}'");
  }
  Next();
  return true;
}

bool Parser::ParseRecoveryTable() {
  // Kept as written between the braces; printed sorted by the printer of the header.
  if (!Is(Tok::kLeftBrace)) return FailExpected("'{'");
  std::string text;
  Next();
  std::vector<std::array<std::string, 3>> rows;
  while (!Is(Tok::kRightBrace)) {
    std::array<std::string, 3> row;
    if (!Expect(Tok::kLeftBrace, "'{'") || !ParseOriginLeaf(&row[0]) ||
        !Expect(Tok::kColon, "':'") || !Expect(Tok::kLeftBrace, "'{'") ||
        !ParseOriginLeaf(&row[1])) {
      return false;
    }
    if (Eat(Tok::kComma) && !ParseString(&row[2])) return false;
    rows.push_back(std::move(row));
  }
  Next();
  std::sort(rows.begin(), rows.end());
  for (const std::array<std::string, 3>& row : rows) {
    text += "  " + row[0] + " : " + row[1];
    if (!row[2].empty()) {
      // The module in the text is read and printed again, indented.
      Result<Module> module = ReadText(row[2], options_);
      if (!module)
        return FailHere(DiagId::kBadAttributeValue,
                        "a recovery table holds a module that cannot be read");
      std::string printed = PrintModule(*module);
      text += ",\n  \"\n";
      for (size_t at = 0; at <= printed.size();) {
        size_t end = std::min(printed.find('\n', at), printed.size());
        if (end != at) text += "    " + printed.substr(at, end - at);
        text += '\n';
        at = end + 1;
      }
      text += "  \"";
    }
    text += "\n";
  }
  module_.config().origin_recovery_table = text;
  return true;
}

}  // namespace hlokit::read
