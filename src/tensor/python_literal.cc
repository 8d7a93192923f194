// What does a Python literal say? An explicit stack instead of recursion, since the text is not
// trusted.

#include "src/tensor/python_literal.h"

namespace hlokit::internal {
namespace {

constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxNodes = size_t{1} << 20;

class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}

  LiteralTree Run() {
    do {
      Step();
    } while (tree_.error.empty() && !stack_.empty());
    SkipSpace();
    if (tree_.error.empty() && at_ != source_.size()) Fail("unexpected text after the literal");
    return std::move(tree_);
  }

 private:
  struct Open {
    int32_t node;
    int32_t last_child = -1;
    char close;
    bool need_separator = false;
    bool comma = false;
  };

  void Fail(std::string what) {
    if (!tree_.error.empty()) return;
    tree_.error = std::move(what);
    tree_.error_at = at_;
  }

  void SkipSpace() {
    while (at_ < source_.size() &&
           std::string_view(" \t\r\n").find(source_[at_]) != std::string_view::npos)
      ++at_;
  }

  int32_t Add(LiteralKind kind) {
    if (tree_.nodes.size() >= kMaxNodes) {
      Fail("too many items");
      return 0;
    }
    const int32_t id = static_cast<int32_t>(tree_.nodes.size());
    tree_.nodes.push_back({.kind = kind, .begin = at_});
    if (!stack_.empty()) {
      Open& top = stack_.back();
      (top.last_child < 0 ? tree_.nodes[top.node].first : tree_.nodes[top.last_child].next) = id;
      top.last_child = id;
      ++tree_.nodes[top.node].children;
      top.need_separator = true;
      top.comma = false;
    }
    return id;
  }

  /// One value, separator or closing bracket.
  void Step() {
    SkipSpace();
    if (at_ == source_.size()) return Fail("the text ends too early");
    const char c = source_[at_];
    if (!stack_.empty()) {
      Open& top = stack_.back();
      if (c == top.close) return Close();
      if (top.need_separator) {
        const bool key = top.close == '}' && tree_.nodes[top.node].children % 2 == 1;
        if (c != (key ? ':' : ',')) return Fail(key ? "expected ':'" : "expected ','");
        ++at_;
        top.need_separator = false;
        top.comma = !key;
        return;
      }
    }
    Value(c);
  }

  void Close() {
    Open& top = stack_.back();
    Literal& node = tree_.nodes[top.node];
    if (top.close == '}' &&
        (node.children % 2 != 0 || (!top.need_separator && !top.comma && node.children != 0))) {
      return Fail("a key has no value");
    }
    if (top.close == ')' && node.children == 1 && !top.comma)
      return Fail("a tuple of one item needs a comma");
    ++at_;
    node.end = at_;
    stack_.pop_back();
  }

  void Value(char c) {
    if (c == '(' || c == '[' || c == '{') {
      if (stack_.size() == kMaxDepth) return Fail("nested too deeply");
      const LiteralKind kind = c == '('   ? LiteralKind::kTuple
                               : c == '[' ? LiteralKind::kList
                                          : LiteralKind::kDict;
      const int32_t id = Add(kind);
      if (!tree_.error.empty()) return;
      stack_.push_back({.node = id, .close = c == '(' ? ')' : c == '[' ? ']' : '}'});
      ++at_;
    } else if (c == '\'' || c == '"') {
      String(c);
    } else if ((c >= '0' && c <= '9') || c == '-') {
      Number();
    } else if (!Word("True", LiteralKind::kBool, 1) && !Word("False", LiteralKind::kBool, 0) &&
               !Word("None", LiteralKind::kNone, 0)) {
      Fail("expected a string, a number, True, False, None or a bracket");
    }
  }

  bool Word(std::string_view word, LiteralKind kind, int64_t number) {
    if (source_.substr(at_, word.size()) != word) return false;
    const int32_t id = Add(kind);
    if (!tree_.error.empty()) return true;
    tree_.nodes[id].number = number;
    at_ += word.size();
    tree_.nodes[id].end = at_;
    return true;
  }

  void Number() {
    const int32_t id = Add(LiteralKind::kInt);
    const bool negative = source_[at_] == '-';
    if (negative) ++at_;
    int64_t value = 0;
    bool digits = false;
    for (; at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '9';
         ++at_, digits = true) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, source_[at_] - '0', &value)) {
        return Fail("the number is too large");
      }
    }
    if (!digits) return Fail("expected digits");
    if (at_ < source_.size() && source_[at_] == 'L') ++at_;  // written by Python 2
    if (!tree_.error.empty()) return;
    tree_.nodes[id].number = negative ? -value : value;
    tree_.nodes[id].end = at_;
  }

  void String(char quote) {
    const int32_t id = Add(LiteralKind::kString);
    std::string text;
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      // Escapes other than these two do not occur in type names; field names are kept as written.
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) text += source_[at_++];
      text += source_[at_];
    }
    if (at_ == source_.size()) return Fail("the string has no end");
    ++at_;
    if (!tree_.error.empty()) return;
    tree_.nodes[id].text = std::move(text);
    tree_.nodes[id].end = at_;
  }

  std::string_view source_;
  size_t at_ = 0;
  LiteralTree tree_;
  std::vector<Open> stack_;
};

}  // namespace

LiteralTree ParseLiteral(std::string_view source) { return Parser(source).Run(); }

}  // namespace hlokit::internal
