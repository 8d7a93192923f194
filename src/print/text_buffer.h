#ifndef HLOKIT_SRC_PRINT_TEXT_BUFFER_H_
#define HLOKIT_SRC_PRINT_TEXT_BUFFER_H_

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hlokit {

/// A string that is only appended to. Unlike std::string it keeps its write position in a plain
/// pointer, which halves the time of printing.
class TextBuffer {
 public:
  explicit TextBuffer(size_t expected) { Grow(expected); }
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;

  void Append(std::string_view text) {
    if (text.empty()) return;  // std::memcpy does not take the null pointer of an empty view
    Need(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void Append(char c) {
    Need(1);
    *at_++ = c;
  }
  void AppendInteger(int64_t value) {
    if (value >= 0 && value < 10) return Append(static_cast<char>('0' + value));
    fmt::format_int text(value);
    Append(std::string_view(text.data(), text.size()));
  }
  void AppendUnsigned(uint64_t value) {
    fmt::format_int text(value);
    Append(std::string_view(text.data(), text.size()));
  }
  /// Room for `size` bytes that the caller fills; Commit says how far it came.
  char* Room(size_t size) {
    Need(size);
    return at_;
  }
  void Commit(char* end) { at_ = end; }

  size_t size() const { return static_cast<size_t>(at_ - text_.data()); }
  std::string_view View(size_t from) const {
    return std::string_view(text_.data() + from, size() - from);
  }
  /// Forgets what was appended after a position.
  void Truncate(size_t size) { at_ = text_.data() + size; }
  std::string Take() {
    text_.resize(size());
    return std::move(text_);
  }

 private:
  void Need(size_t count) {
    if (static_cast<size_t>(end_ - at_) < count) [[unlikely]] {
      Grow(count);
    }
  }
  void Grow(size_t count) {
    const size_t used = at_ == nullptr ? 0 : size();
    text_.resize_and_overwrite(used + used / 2 + count, [](char*, size_t all) { return all; });
    at_ = text_.data() + used;
    end_ = text_.data() + text_.size();
  }

  std::string text_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace hlokit

#endif  // HLOKIT_SRC_PRINT_TEXT_BUFFER_H_
