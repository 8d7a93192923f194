#ifndef HLOKIT_TEXT_ARENA_H_
#define HLOKIT_TEXT_ARENA_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/id.h"

namespace hlokit {

/// Append-only store of bytes addressed by 32-bit offsets. Views stay valid for the life of the
/// arena. The source text of a module is adopted, not copied, so that names and echoed attributes
/// are byte ranges of it.
class TextArena {
 public:
  /// Largest number of bytes that an arena can address.
  static constexpr size_t kMaxBytes = (size_t{1} << 32) - (size_t{1} << 20);

  std::string_view View(StrRef ref) const {
    if (ref.length == 0) return {};
    return {slots_[ref.offset >> kSlotBits] + (ref.offset & kSlotMask), ref.length};
  }
  /// Takes over a buffer; returns the reference to all of it.
  StrRef Adopt(std::string text);
  StrRef Append(std::string_view text);
  /// The text that was adopted first; empty when there is none.
  std::string_view FirstAdopted() const {
    return adopted_.empty() ? std::string_view() : std::string_view(*adopted_.front());
  }
  /// Bytes of heap that the arena holds.
  size_t MemoryBytes() const;

 private:
  static constexpr int kSlotBits = 20;
  static constexpr uint32_t kSlotMask = (1u << kSlotBits) - 1;
  StrRef AddBlock(const char* data, size_t size);

  std::vector<const char*> slots_;  // start of each 1 MiB slice of the address space
  std::vector<std::unique_ptr<std::string>> adopted_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* open_block_ = nullptr;  // block that small strings are appended to
  uint32_t open_offset_ = 0;    // address of its next free byte
  uint32_t open_end_ = 0;
  size_t bytes_ = 0;
};

}  // namespace hlokit

#endif  // HLOKIT_TEXT_ARENA_H_
