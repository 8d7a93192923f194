// Which value belongs to these bytes? Shapes, shardings and the like repeat byte for byte in a
// proto; each distinct spelling is decoded once.
#ifndef HLOKIT_SRC_PROTO_BYTES_MEMO_H_
#define HLOKIT_SRC_PROTO_BYTES_MEMO_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace hlokit::proto {

inline uint64_t HashOf(std::string_view bytes) {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15;
  uint64_t hash = bytes.size() * kMix;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * kMix;
    hash ^= hash >> 32;
  }
  uint64_t word = 0;
  if (left != 0) std::memcpy(&word, at, left);
  hash = (hash ^ word) * kMix;
  return hash ^ (hash >> 29);
}

/// An open-addressing table from bytes to values. Keys are views: the bytes must outlive the table.
template <typename Value>
class BytesMemo {
 public:
  /// The value of these bytes; null when there is none yet.
  const Value* Find(std::string_view bytes) {
    uint64_t hash = HashOf(bytes);
    size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask; slots_[at].used; at = (at + 1) & mask) {
      if (slots_[at].hash == hash && slots_[at].key == bytes) return &slots_[at].value;
    }
    return nullptr;
  }
  void Insert(std::string_view bytes, Value value) {
    if ((count_ + 1) * 2 > slots_.size()) Grow();
    uint64_t hash = HashOf(bytes);
    size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].used) at = (at + 1) & mask;
    slots_[at] = {hash, bytes, value, true};
    ++count_;
  }
  size_t size() const { return count_; }

 private:
  struct Slot {
    uint64_t hash = 0;
    std::string_view key;
    Value value{};
    bool used = false;
  };
  void Grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.size() * 2, {});
    size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (!slot.used) continue;
      size_t at = slot.hash & mask;
      while (slots_[at].used) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(256);
  size_t count_ = 0;
};

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_BYTES_MEMO_H_
