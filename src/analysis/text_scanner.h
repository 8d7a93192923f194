// How is the canonical text of an attribute taken apart? Token by token; a failed step changes
// nothing.
#ifndef HLOKIT_SRC_ANALYSIS_TEXT_SCANNER_H_
#define HLOKIT_SRC_ANALYSIS_TEXT_SCANNER_H_

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hlokit {

class TextScanner {
 public:
  explicit TextScanner(std::string_view text) : rest_(text) {}
  std::string_view rest() const { return rest_; }
  bool AtEnd() {
    SkipBlanks();
    return rest_.empty();
  }
  bool Eat(std::string_view word) {
    SkipBlanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool EatInt(int64_t* value) {
    SkipBlanks();
    std::from_chars_result result =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), *value);
    if (result.ec != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(result.ptr - rest_.data()));
    return true;
  }
  /// Integers with commas between, at least one unless `close` follows at once; then `close`.
  bool EatInts(std::string_view close, std::vector<int64_t>* values) {
    if (Eat(close)) return true;
    do {
      int64_t value;
      if (!EatInt(&value)) return false;
      values->push_back(value);
    } while (Eat(","));
    return Eat(close);
  }
  /// A name in single or double quotes, without escapes.
  bool EatQuoted(std::string_view* name) {
    SkipBlanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return false;
    *name = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  /// Everything up to the brace that closes an open one.
  bool SkipToClosingBrace() {
    int depth = 1;
    for (size_t i = 0; i < rest_.size(); ++i) {
      char c = rest_[i];
      if (c == '"') {
        for (++i; i < rest_.size() && rest_[i] != '"'; ++i) {
          if (rest_[i] == '\\') ++i;
        }
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        rest_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

 private:
  void SkipBlanks() {
    while (!rest_.empty() &&
           (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t' || rest_[0] == '\r')) {
      rest_.remove_prefix(1);
    }
    // Between the members of a tuple sharding stands /*index=5*/.
    if (rest_.starts_with("/*")) {
      size_t end = rest_.find("*/", 2);
      if (end != std::string_view::npos) {
        rest_.remove_prefix(end + 2);
        SkipBlanks();
      }
    }
  }

  std::string_view rest_;
};

/// a * b, or the largest int64 when that is too much. Both must not be negative.
inline int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

}  // namespace hlokit

#endif  // HLOKIT_SRC_ANALYSIS_TEXT_SCANNER_H_
