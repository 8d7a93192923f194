// Replica groups, meshes and shardings by axis names, brought into their canonical text.
// hlo-text.md sections 8.11, 8.12.
#include <algorithm>

#include "fmt/format.h"
#include "src/read/iota_list.h"
#include "src/read/parser.h"

namespace hlokit::read {

bool Parser::ParseReplicaGroups(std::string* out) {
  if (Is(Tok::kLeftBrace)) {
    std::vector<std::vector<int64_t>> groups;
    if (!ParseIntListList(&groups)) return false;
    *out = "{";
    for (size_t i = 0; i < groups.size(); ++i) {
      *out += i == 0 ? "{" : ",{";
      for (size_t k = 0; k < groups[i].size(); ++k) {
        if (k != 0) *out += ',';
        AppendInteger(groups[i][k], out);
      }
      *out += '}';
    }
    *out += '}';
    return true;
  }
  if (Is(Tok::kIdentifier) && TokenText() == "mesh") {
    std::vector<std::pair<std::string, int64_t>> axes;
    bool maximal;
    out->clear();
    if (!ParseMesh(out, &axes, &maximal)) return false;
    *out += " {";
    int64_t product = 1;
    uint32_t close = 0;
    if (!Expect(Tok::kLeftBrace, "'{'")) return false;
    if (!ParseAxisList(axes, out, &product, Tok::kRightBrace, &close)) return false;
    *out += '}';
    if (product <= 1)
      return Fail(DiagId::kBadSharding, close, "a group needs more than one device");
    return true;
  }
  std::vector<int64_t> groups;
  uint32_t begin = token_.begin;
  if (!ParseIotaList(out, &groups)) return false;
  if (groups.size() != 2) {
    return Fail(DiagId::kBadSharding, begin,
                "the iota form names two numbers: groups and devices per group");
  }
  return true;
}

bool Parser::ParseSquareList(std::vector<int64_t>* values) {
  values->clear();
  if (!Expect(Tok::kLeftSquare, "'['")) return false;
  while (!Is(Tok::kRightSquare)) {
    if (!values->empty() && !Expect(Tok::kComma, "',' or ']'")) return false;
    int64_t v;
    uint32_t at = token_.begin;
    if (!ParseInteger(&v)) return false;
    if (v < 1) return Fail(DiagId::kBadSharding, at, "a size is at least 1");
    values->push_back(v);
  }
  Next();
  return true;
}

bool Parser::ParseIotaTail(std::vector<int64_t>* dims, std::vector<int64_t>* perm) {
  // Behind the "<=": [dims] [T(perm)].
  if (!ParseSquareList(dims)) return false;
  perm->clear();
  if (dims->size() == 1) {
    perm->push_back(0);
    return true;
  }
  if (!Is(Tok::kIdentifier) || TokenText() != "T") return FailExpected("a transpose T(…)");
  Next();
  if (!Expect(Tok::kLeftParen, "'('")) return false;
  std::vector<bool> seen(dims->size());
  while (!Is(Tok::kRightParen)) {
    if (!perm->empty() && !Expect(Tok::kComma, "',' or ')'")) return false;
    uint32_t at = token_.begin;
    int64_t v;
    if (!ParseInteger(&v)) return false;
    if (v < 0 || v >= static_cast<int64_t>(dims->size()) || seen[v]) {
      // The entry is checked once it is read: the token behind it carries the position.
      return Fail(DiagId::kBadSharding, options_.strict ? token_.begin : at,
                  "the transpose is no permutation of the dimensions");
    }
    seen[v] = true;
    perm->push_back(v);
  }
  if (perm->size() != dims->size())
    return FailHere(DiagId::kBadSharding, "the transpose needs one entry per dimension");
  Next();
  return true;
}

bool Parser::ParseIotaList(std::string* out, std::vector<int64_t>* groups) {
  uint32_t begin = token_.begin;
  if (!ParseSquareList(groups) || !Expect(Tok::kLessEquals, "'<='")) return false;
  Iota iota;
  if (!ParseIotaTail(&iota.dims, &iota.perm)) return false;
  if (Product(*groups) != Product(iota.dims) || Product(*groups) < 0) {
    return Fail(DiagId::kBadSharding, begin,
                "the two sides of '<=' name different numbers of devices");
  }
  iota.Canonicalise();
  *out = fmt::format("[{}]", fmt::join(*groups, ",")) + iota.Text();
  return true;
}

// ---- meshes ----

bool Parser::ParseMesh(std::string* out, std::vector<std::pair<std::string, int64_t>>* axes,
                       bool* maximal) {
  *maximal = TokenText() == "maximal_mesh";
  Next();
  if (!Expect(Tok::kLeftSquare, "'['")) return false;
  if (*maximal) {
    if (!Is(Tok::kAttributeName) || WordText() != "device_id") return FailExpected("device_id=");
    Next();
    int64_t id;
    if (!ParseInteger(&id)) return false;
    *out += fmt::format("maximal_mesh[device_id={}]", id);
    return Expect(Tok::kRightSquare, "']'");
  }
  *out += "mesh[";
  int64_t total = 1;
  while (!Is(Tok::kRightSquare)) {
    if (!axes->empty() && !Expect(Tok::kComma, "',' or ']'")) return false;
    std::string name;
    int64_t size;
    uint32_t at = token_.begin;
    if (!ParseString(&name) || !Expect(Tok::kEquals, "'='") || !ParseInteger(&size)) return false;
    if (size < 1 || __builtin_mul_overflow(total, size, &total)) {
      return Fail(DiagId::kBadSharding, at, "a mesh axis has a size of at least 1");
    }
    if (!axes->empty()) *out += ',';
    *out += fmt::format("'{}'={}", name, size);
    axes->emplace_back(name, size);
  }
  Next();
  *out += ']';
  Token ahead = lexer_.At(token_.end);
  bool comma = Is(Tok::kComma) && ahead.kind == Tok::kAttributeName &&
               lexer_.Slice(ahead.text_begin, ahead.text_end) == "device_ids";
  if (!comma) return true;
  Next();
  Next();
  uint32_t begin = token_.begin;
  if (!Expect(Tok::kLeftParen, "'('")) return false;
  if (Is(Tok::kLeftSquare)) {
    Iota iota;
    if (!ParseIotaTail(&iota.dims, &iota.perm)) return false;
    if (Product(iota.dims) != total)
      return Fail(DiagId::kBadSharding, begin, "device_ids do not fill the mesh");
    bool plain = std::is_sorted(iota.perm.begin(), iota.perm.end());
    if (!plain) {
      std::string text = iota.Text();
      *out += fmt::format(", device_ids=({})", text.substr(2));
    }
  } else {
    std::vector<int64_t> ids;
    while (!Is(Tok::kRightParen)) {
      if (!ids.empty() && !Expect(Tok::kComma, "',' or ')'")) return false;
      int64_t id;
      if (!ParseInteger(&id)) return false;
      ids.push_back(id);
    }
    if (static_cast<int64_t>(ids.size()) != total) {
      return Fail(DiagId::kBadSharding, begin, "device_ids do not fill the mesh");
    }
    bool plain = true;
    for (size_t i = 0; i < ids.size(); ++i) plain = plain && ids[i] == static_cast<int64_t>(i);
    if (!plain) *out += fmt::format(", device_ids=({})", fmt::join(ids, ","));
  }
  return Expect(Tok::kRightParen, "')'");
}

bool Parser::ParseAxis(const std::vector<std::pair<std::string, int64_t>>& axes, std::string* out,
                       int64_t* size) {
  std::string name;
  uint32_t at = token_.begin;
  if (!ParseString(&name)) return false;
  size_t axis = 0;
  while (axis < axes.size() && axes[axis].first != name) ++axis;
  if (axis == axes.size() && !name.empty() &&
      std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
      name.size() < 9) {
    axis = std::stoul(name);
  }
  if (axis >= axes.size())
    return Fail(DiagId::kBadSharding, at, fmt::format("the mesh has no axis '{}'", name));
  *size = axes[axis].second;
  *out += fmt::format("'{}'", axes[axis].first);
  if (!Eat(Tok::kColon)) return true;
  int64_t before;
  int64_t own;
  if (!Expect(Tok::kLeftParen, "'('") || !ParseInteger(&before) ||
      !Expect(Tok::kRightParen, "')'") || !ParseInteger(&own)) {
    return false;
  }
  *out += fmt::format(":({}){}", before, own);
  *size = own;
  return true;
}

bool Parser::ParseAxisList(const std::vector<std::pair<std::string, int64_t>>& axes,
                           std::string* out, int64_t* product, Tok close, uint32_t* close_offset) {
  bool first = true;
  while (!Is(close)) {
    if (!first) {
      if (!Expect(Tok::kComma, "','")) return false;
      *out += close_offset == nullptr ? ", " : ",";
    }
    first = false;
    int64_t size = 1;
    if (!ParseAxis(axes, out, &size)) return false;
    if (__builtin_mul_overflow(*product, size, product))
      return FailHere(DiagId::kBadSharding, "too many devices");
  }
  if (close_offset != nullptr) *close_offset = token_.end;
  Next();
  return true;
}

bool Parser::ParseNamedSharding(std::string* out) {
  std::vector<std::pair<std::string, int64_t>> axes;
  bool maximal;
  if (!ParseMesh(out, &axes, &maximal)) return false;
  std::string metadata;
  std::string lists[3];
  constexpr std::string_view kLists[] = {"replicated", "unreduced", "manual"};
  auto parse_metadata = [&] {
    Next();
    std::string one;
    if (!ParseMetadataOrList(&one)) return false;
    metadata = ", metadata=" + one;
    return true;
  };
  if (!maximal) {
    Eat(Tok::kComma);
    *out += ", ";
    if (Is(Tok::kKeyword)) {
      std::string_view word = TokenText();
      if (word != "replicated" && word != "unreduced" && word != "manual") {
        return FailExpected("replicated, unreduced, manual or '['");
      }
      *out += word;
      Next();
    } else {
      if (!Expect(Tok::kLeftSquare, "'['")) return false;
      *out += '[';
      bool first = true;
      while (!Is(Tok::kRightSquare)) {
        if (!first) {
          if (!Expect(Tok::kComma, "',' or ']'")) return false;
          *out += ", ";
        }
        first = false;
        if (!Expect(Tok::kLeftBrace, "'{'")) return false;
        *out += '{';
        bool first_axis = true;
        while (!Is(Tok::kRightBrace)) {
          if (!first_axis) {
            if (!Expect(Tok::kComma, "',' or '}'")) return false;
            *out += ", ";
          }
          first_axis = false;
          int64_t size;
          if (Eat(Tok::kQuestion)) {
            *out += '?';
            if (!Is(Tok::kRightBrace)) return FailExpected("'}' behind '?'");
          } else if (!ParseAxis(axes, out, &size)) {
            return false;
          }
        }
        Next();
        *out += '}';
      }
      Next();
      *out += ']';
    }
  }
  while (Eat(Tok::kComma)) {
    if (!Is(Tok::kAttributeName))
      return FailExpected("replicated=, unreduced=, manual= or metadata=");
    std::string_view word = WordText();
    if (word == "metadata") {
      if (!parse_metadata()) return false;
      continue;
    }
    size_t list = std::find(std::begin(kLists), std::end(kLists), word) - std::begin(kLists);
    if (list == std::size(kLists))
      return FailExpected("replicated=, unreduced=, manual= or metadata=");
    Next();
    if (!Expect(Tok::kLeftBrace, "'{'")) return false;
    std::string text;
    int64_t product = 1;
    if (!ParseAxisList(axes, &text, &product, Tok::kRightBrace, nullptr)) return false;
    lists[list] = text;
  }
  for (size_t i = 0; i < std::size(kLists); ++i) {
    if (!lists[i].empty()) *out += fmt::format(", {}={{{}}}", kLists[i], lists[i]);
  }
  *out += metadata;
  return true;
}

}  // namespace hlokit::read
