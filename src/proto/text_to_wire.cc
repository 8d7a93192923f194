// Which message belongs to the canonical text of metadata, frontend attributes, replica groups and
// the like? Shardings are in sharding_wire.cc.
#include "text_to_wire.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "names.h"

namespace hlokit::proto {

// ---- cursor ----

bool TextCursor::Int(int64_t* value) {
  const char* begin = text_.data() + at_;
  std::from_chars_result result = std::from_chars(begin, text_.data() + text_.size(), *value);
  if (result.ec != std::errc()) return false;
  at_ += static_cast<size_t>(result.ptr - begin);
  return true;
}

bool TextCursor::Number(double* value) {
  const char* begin = text_.data() + at_;
  std::from_chars_result result = std::from_chars(begin, text_.data() + text_.size(), *value);
  if (result.ec != std::errc()) return false;
  at_ += static_cast<size_t>(result.ptr - begin);
  return true;
}

bool TextCursor::Ints(std::vector<int64_t>* values) {
  values->clear();
  int64_t value;
  if (!Int(&value)) return true;
  do {
    values->push_back(value);
  } while (Eat(",") && Int(&value));
  return true;
}

bool TextCursor::Word(std::string_view* word) {
  size_t end = at_;
  while (end < text_.size() && IsNameCharacter(text_[end])) ++end;
  *word = text_.substr(at_, end - at_);
  at_ = end;
  return !word->empty();
}

bool TextCursor::Quoted(std::string* value) {
  char quote = Peek();
  if (quote != '"' && quote != '\'') return false;
  value->clear();
  for (++at_; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == quote) {
      ++at_;
      return true;
    }
    if (c != '\\') {
      value->push_back(c);
      continue;
    }
    if (++at_ == text_.size()) return false;
    c = text_[at_];
    if (c >= '0' && c <= '7') {
      int code = 0;
      int digits = 0;
      while (digits < 3 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7') {
        code = code * 8 + (text_[at_] - '0');
        ++at_;
        ++digits;
      }
      --at_;
      value->push_back(static_cast<char>(code));
      continue;
    }
    constexpr std::string_view kLetters = "abfnrtv";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v";
    size_t letter = kLetters.find(c);
    value->push_back(letter == std::string_view::npos ? c : kMeanings[letter]);
  }
  return false;
}

bool TextCursor::RawUntil(char end, std::string_view* value) {
  size_t stop = text_.find(end, at_);
  if (stop == std::string_view::npos) return false;
  *value = text_.substr(at_, stop - at_);
  at_ = stop;
  return true;
}

bool TextCursor::Braces(std::string_view* value) {
  if (Peek() != '{') return false;
  size_t begin = at_;
  size_t depth = 0;
  for (; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\') ++at_;
      }
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      ++at_;
      *value = text_.substr(begin, at_ - begin);
      return true;
    }
  }
  return false;
}

// ---- messages ----

bool AppendMetadataProto(std::string_view text, std::string* out) {
  struct Key {
    std::string_view name;
    uint32_t number;
    char form;  // s string, i number, r raw string, l list, p payload
  };
  static constexpr Key kKeys[] = {
      {"op_type", 1, 's'},
      {"op_name", 2, 's'},
      {"source_file", 3, 's'},
      {"source_line", 4, 'i'},
      {"source_end_line", 17, 'i'},
      {"source_column", 18, 'i'},
      {"source_end_column", 19, 'i'},
      {"profile_type", 5, 'l'},
      {"deduplicated_name", 12, 's'},
      {"scheduling_name", 16, 'r'},
      {"stack_frame_id", 15, 'i'},
      {"metadata_payload", 20, 'p'},
  };
  TextCursor cursor(text);
  if (!cursor.Eat("{")) return false;
  std::array<std::string, 21> strings;
  std::array<int64_t, 21> numbers{};
  std::vector<int64_t> profile_types;
  while (!cursor.Eat("}")) {
    cursor.Eat(",");
    cursor.SkipBlanks();
    std::string_view name;
    if (!cursor.Word(&name) || !cursor.Eat("=")) return false;
    const Key* key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                  [&](const Key& k) { return k.name == name; });
    if (key == std::end(kKeys)) return false;
    bool ok = false;
    std::string_view raw;
    switch (key->form) {
      case 'i':
        ok = cursor.Int(&numbers[key->number]);
        break;
      case 'l':
        ok = cursor.Eat("{") && cursor.Ints(&profile_types) && cursor.Eat("}");
        break;
      case 'r':
        ok = cursor.Eat("\"") && cursor.RawUntil('"', &raw) && cursor.Eat("\"");
        strings[key->number] = raw;
        break;
      default:
        ok = cursor.Quoted(&strings[key->number]);
    }
    if (!ok) return false;
    cursor.SkipBlanks();
  }
  WireWriter w(out);
  for (uint32_t number : {1, 2, 3}) w.Bytes(number, strings[number]);
  w.Int(4, numbers[4]);
  w.Packed(5, profile_types);
  w.Bytes(12, strings[12]);
  w.Int(15, numbers[15]);
  w.Bytes(16, strings[16]);
  for (uint32_t number : {17, 18, 19}) w.Int(number, numbers[number]);
  if (!strings[20].empty()) {
    size_t begin = w.Open(20);
    w.PresentBytes(1, strings[20]);
    w.Close(begin);
  }
  return cursor.AtEnd();
}

bool AppendFrontendProto(std::string_view text, std::string* out) {
  TextCursor cursor(text);
  if (!cursor.Eat("{")) return false;
  WireWriter w(out);
  while (!cursor.Eat("}")) {
    // A key may hold anything when it came from a proto; it ends at the first '='.
    std::string_view key;
    if (!cursor.RawUntil('=', &key) || !cursor.Eat("=")) return false;
    std::string value;
    std::string_view raw;
    if (cursor.Peek() == '"' || cursor.Peek() == '\'') {
      if (!cursor.Quoted(&value)) return false;
    } else {
      while (cursor.Peek() == ' ' || cursor.Peek() == '\n' || cursor.Peek() == '\t' ||
             cursor.Peek() == '\r') {
        value.push_back(cursor.Peek());
        cursor.Eat(cursor.Rest().substr(0, 1));
      }
      if (!cursor.Braces(&raw)) return false;
      value += raw;
      // White space behind the braces belongs to the value too.
      while (!cursor.AtEnd() && cursor.Peek() != ',' && cursor.Peek() != '}') {
        value.push_back(cursor.Peek());
        cursor.Eat(cursor.Rest().substr(0, 1));
      }
    }
    size_t begin = w.Open(1);
    w.PresentBytes(1, key);
    w.PresentBytes(2, value);
    w.Close(begin);
    cursor.Eat(",");
    if (cursor.AtEnd()) return false;
  }
  return cursor.AtEnd();
}

bool AppendStatisticsProto(std::string_view text, std::string* out) {
  TextCursor cursor(text);
  WireWriter w(out);
  if (!cursor.Eat("{")) return false;
  bool first = true;
  while (!cursor.Eat("}")) {
    if (!first && !cursor.Eat(",")) return false;
    std::string_view name;
    if (!cursor.Word(&name) || !cursor.Eat("=")) return false;
    if (first) {
      int64_t index;
      if (!cursor.Int(&index)) return false;
      w.Int(1, index);
    } else {
      double value;
      if (!cursor.Number(&value)) return false;
      size_t begin = w.Open(2);
      w.Bytes(1, name);
      w.Double(2, value);
      w.Close(begin);
    }
    first = false;
    cursor.SkipBlanks();
  }
  return cursor.AtEnd();
}

bool AppendOriginArrayProto(TextCursor* cursor, std::string* out) {
  std::string name;
  if (!cursor->Quoted(&name)) return false;
  std::vector<int64_t> index;
  cursor->SkipBlanks();
  if (cursor->Eat("{") && (!cursor->Ints(&index) || !cursor->Eat("}"))) return false;
  WireWriter w(out);
  w.Bytes(1, name);
  w.Packed(2, index);
  return true;
}

bool AppendOriginProto(std::string_view text, std::string* out) {
  TextCursor cursor(text);
  WireWriter w(out);
  if (!cursor.Eat("{")) return false;
  if (cursor.Eat("[synthetic_call]")) {
    w.Bool(2, true);
    return cursor.Eat("}") && cursor.AtEnd();
  }
  std::vector<int64_t> path;
  while (true) {
    cursor.SkipBlanks();
    if (cursor.Eat("(")) {
      path.push_back(0);
    } else if (cursor.Eat(")")) {
      if (path.empty()) return false;
      path.pop_back();
    } else if (cursor.Eat(",")) {
      if (path.empty()) return false;
      ++path.back();
    } else if (cursor.Eat("{")) {
      size_t element = w.Open(1);
      w.Packed(1, path);
      if (cursor.Peek() != '}') {
        size_t array = w.Open(2);
        if (!AppendOriginArrayProto(&cursor, out)) return false;
        w.Close(array);
      }
      if (!cursor.Eat("}")) return false;
      w.Close(element);
    } else {
      return path.empty() && cursor.Eat("}") && cursor.AtEnd();
    }
  }
}

bool AppendAccuracyProto(std::string_view text, std::string* out) {
  TextCursor cursor(text);
  WireWriter w(out);
  if (cursor.Eat("{mode=highest}")) {
    w.Present(1, 1);
    return cursor.AtEnd();
  }
  if (cursor.Eat("{mode=default}")) {
    w.Present(1, 0);
    return cursor.AtEnd();
  }
  double absolute = 0;
  double relative = 0;
  int64_t ulps = 0;
  bool ok = cursor.Eat("{tolerance={atol=") && cursor.Number(&absolute) && cursor.Eat(",rtol=") &&
            cursor.Number(&relative) && cursor.Eat(",ulps=") && cursor.Int(&ulps) &&
            cursor.Eat("}}");
  size_t begin = w.Open(2);
  w.Double(1, absolute);
  w.Double(2, relative);
  w.Int(3, ulps);
  w.Close(begin);
  return ok && cursor.AtEnd();
}

bool AppendSparsityProto(std::string_view text, std::string* out) {
  TextCursor cursor(text);
  WireWriter w(out);
  if (!cursor.Eat("{")) return false;
  while (!cursor.Eat("}")) {
    cursor.SkipBlanks();
    uint32_t number = cursor.Eat("lhs=") ? 1 : 2;
    if (number == 2 && !cursor.Eat("rhs=")) return false;
    int64_t non_zero;
    int64_t block;
    int64_t dimension;
    int64_t stride;
    bool ok = cursor.Eat("{sparsity=") && cursor.Int(&non_zero) && cursor.Eat("x") &&
              cursor.Int(&block) && cursor.Eat(" dimension=") && cursor.Int(&dimension) &&
              cursor.Eat(" stride=") && cursor.Int(&stride) && cursor.Eat("}");
    if (!ok) return false;
    size_t begin = w.Open(number);
    w.Int(1, non_zero);
    w.Int(2, block);
    w.Int(3, dimension);
    w.Int(4, stride);
    w.Close(begin);
  }
  return cursor.AtEnd();
}

namespace {

/// Positions of two letters and of the digits in one of the three label strings.
struct LabelSide {
  int64_t first = 0;
  int64_t second = 0;
  std::vector<int64_t> spatial;
};

bool ReadSide(std::string_view text, char first, char second, LabelSide* out) {
  size_t spatial = 0;
  for (char c : text) spatial += c >= '0' && c <= '9';
  out->spatial.assign(spatial, 0);
  for (size_t i = 0; i < text.size(); ++i) {
    int64_t at = static_cast<int64_t>(i);
    if (text[i] == first) {
      out->first = at;
    } else if (text[i] == second) {
      out->second = at;
    } else if (text[i] >= '0' && text[i] <= '9') {
      size_t digit = static_cast<size_t>(text[i] - '0');
      if (digit >= spatial) return false;
      out->spatial[digit] = at;
    } else if (text[i] != '?') {
      return false;
    }
  }
  return true;
}

}  // namespace

bool AppendDimLabelsProto(std::string_view text, std::string* out) {
  size_t underscore = text.find('_');
  size_t arrow = text.find("->");
  if (underscore == std::string_view::npos || arrow == std::string_view::npos || arrow < underscore)
    return false;
  LabelSide lhs;
  LabelSide rhs;
  LabelSide result;
  if (!ReadSide(text.substr(0, underscore), 'b', 'f', &lhs) ||
      !ReadSide(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', &rhs) ||
      !ReadSide(text.substr(arrow + 2), 'b', 'f', &result)) {
    return false;
  }
  WireWriter w(out);
  w.Int(3, rhs.first);
  w.Int(4, rhs.second);
  w.Packed(6, rhs.spatial);
  w.Int(7, lhs.first);
  w.Int(8, lhs.second);
  w.Int(9, result.first);
  w.Int(10, result.second);
  w.Packed(11, lhs.spatial);
  w.Packed(12, result.spatial);
  return true;
}

bool ReadIntListList(std::string_view text, std::vector<std::vector<int64_t>>* out) {
  TextCursor cursor(text);
  if (!cursor.Eat("{")) return false;
  while (!cursor.Eat("}")) {
    cursor.Eat(",");
    cursor.SkipBlanks();
    if (!cursor.Eat("{") || !cursor.Ints(&out->emplace_back()) || !cursor.Eat("}")) return false;
  }
  return cursor.AtEnd();
}

bool AppendPairFields(std::string_view text, std::string* out) {
  std::vector<std::vector<int64_t>> pairs;
  if (!ReadIntListList(text, &pairs)) return false;
  WireWriter w(out);
  for (const std::vector<int64_t>& pair : pairs) {
    if (pair.size() != 2) return false;
    size_t begin = w.Open(52);
    w.Int(1, pair[0]);
    w.Int(2, pair[1]);
    w.Close(begin);
  }
  return true;
}

bool AppendReplicaGroupFields(std::string_view text, uint32_t* number, std::string* payload) {
  WireWriter w(payload);
  TextCursor cursor(text);
  if (cursor.Peek() == '{') {
    *number = 87;
    std::vector<std::vector<int64_t>> groups;
    if (!ReadIntListList(text, &groups)) return false;
    for (const std::vector<int64_t>& group : groups) {
      size_t begin = w.Open(1);
      w.Packed(1, group);
      w.Close(begin);
    }
    return true;
  }
  if (cursor.Eat("[")) {
    *number = 92;
    std::vector<int64_t> groups;
    std::vector<int64_t> dims;
    std::vector<int64_t> perm;
    if (!cursor.Ints(&groups) || groups.size() != 2 || !cursor.Eat("]<=[") || !cursor.Ints(&dims) ||
        !cursor.Eat("]")) {
      return false;
    }
    if (cursor.Eat("T(")) {
      if (!cursor.Ints(&perm) || !cursor.Eat(")")) return false;
    } else {
      perm = {0};
    }
    w.Int(1, groups[0]);
    w.Int(2, groups[1]);
    w.Packed(3, dims);
    w.Packed(4, perm);
    return cursor.AtEnd();
  }
  *number = 93;
  std::vector<std::string> axes;
  size_t mesh = w.Open(1);
  if (!AppendMeshProto(&cursor, &axes, payload)) return false;
  w.Close(mesh);
  if (!cursor.Eat(" {")) return false;
  while (!cursor.Eat("}")) {
    cursor.Eat(",");
    size_t axis = w.Open(2);
    if (!AppendAxisProto(&cursor, axes, payload)) return false;
    w.Close(axis);
  }
  return cursor.AtEnd();
}

}  // namespace hlokit::proto
