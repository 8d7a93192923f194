// Where do the bytes of names and echoed text live? In append-only blocks that never move.
#include "hlokit/text_arena.h"

#include <algorithm>
#include <cstring>

namespace hlokit {

StrRef TextArena::AddBlock(const char* data, size_t size) {
  uint32_t offset = static_cast<uint32_t>(slots_.size() << kSlotBits);
  for (size_t at = 0; at < std::max<size_t>(size, 1); at += size_t{1} << kSlotBits) {
    slots_.push_back(data + at);
  }
  return {offset, static_cast<uint32_t>(size)};
}

StrRef TextArena::Adopt(std::string text) {
  adopted_.push_back(std::make_unique<std::string>(std::move(text)));
  bytes_ += adopted_.back()->capacity();
  return AddBlock(adopted_.back()->data(), adopted_.back()->size());
}

StrRef TextArena::Append(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > open_end_ - open_offset_) {
    // Small arenas stay small: blocks start at 4 KiB and grow to one slot.
    size_t want = std::clamp<size_t>(bytes_ / 4, 4096, size_t{1} << kSlotBits);
    size_t size = std::max(want, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    bytes_ += size;
    StrRef block = AddBlock(blocks_.back().get(), size);
    if (text.size() == size) {
      std::memcpy(blocks_.back().get(), text.data(), text.size());
      return block;
    }
    open_block_ = blocks_.back().get();
    open_offset_ = block.offset;
    open_end_ = block.offset + block.length;
  }
  StrRef ref{open_offset_, static_cast<uint32_t>(text.size())};
  std::memcpy(open_block_, text.data(), text.size());
  open_block_ += text.size();
  open_offset_ += ref.length;
  return ref;
}

size_t TextArena::MemoryBytes() const { return bytes_ + slots_.capacity() * sizeof(char*); }

}  // namespace hlokit
