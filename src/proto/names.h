// Which names are legal, and what becomes of the others? (hlo-text.md sections 10.1 and 10.2)
#ifndef HLOKIT_SRC_PROTO_NAMES_H_
#define HLOKIT_SRC_PROTO_NAMES_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "bytes_memo.h"
#include "hlokit/element_type.h"

namespace hlokit::proto {

inline constexpr std::array<bool, 256> kNameCharacters = [] {
  std::array<bool, 256> out{};
  for (int c = 0; c < 256; ++c) {
    out[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.' || c == '-';
  }
  return out;
}();
constexpr bool IsNameCharacter(char c) { return kNameCharacters[static_cast<unsigned char>(c)]; }

/// Would sanitising leave the name as it is?
inline bool IsLegalName(std::string_view name) {
  if (name.empty()) return false;
  char first = name[0];
  if (!IsNameCharacter(first) || (first >= '0' && first <= '9') || first == '.' || first == '-')
    return false;
  for (char c : name) {
    if (!IsNameCharacter(c)) return false;
  }
  if (first == '_' && name.starts_with("__") && !name.starts_with("__xla_")) return false;
  return name.size() > 14 || ElementTypeFromText(name) == ElementType::kInvalid;
}

inline std::string SanitisedName(std::string_view name) {
  std::string out(name);
  if (out.empty()) return out;
  char first = out[0];
  if ((first >= '0' && first <= '9') || first == '.' || first == '-') out[0] = '_';
  for (char& c : out) {
    if (!IsNameCharacter(c)) c = '_';
  }
  if (ElementTypeFromText(out) != ElementType::kInvalid) out += '_';
  if (out.starts_with("__") && !out.starts_with("__xla_")) out[0] = 'a';
  return out;
}

/// Names seen so far, by number; the caller tells how to get from a number to its name. Slots hold
/// half of the hash and the number, so that most questions are answered by one read of memory.
class NameSet {
 public:
  void Reserve(size_t count) {
    size_t size = 64;
    while (size < 2 * count) size *= 2;
    if (size > slots_.size()) Resize(size);
  }
  /// Fetches the slot that Insert will look at: the table is larger than the caches.
  void Prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1); }
  /// False when the name is there already. `hash` is HashOf(name).
  template <typename NameOf>
  bool Insert(std::string_view name, uint64_t hash, uint32_t number, NameOf name_of) {
    if (2 * (count_ + 1) > slots_.size()) Resize(slots_.size() * 2);
    size_t mask = slots_.size() - 1;
    uint32_t tag = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & mask;
    for (; slots_[at].number != kFree; at = (at + 1) & mask) {
      if (slots_[at].tag == tag && name_of(slots_[at].number) == name) return false;
    }
    slots_[at] = {static_cast<uint32_t>(hash), tag, number};
    ++count_;
    return true;
  }

 private:
  static constexpr uint32_t kFree = 0xffffffffu;
  struct Slot {
    uint32_t low = 0;  // of the hash, to find the new place when the table grows
    uint32_t tag = 0;
    uint32_t number = kFree;
  };
  void Resize(size_t size) {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(size, {});
    for (const Slot& slot : old) {
      if (slot.number == kFree) continue;
      size_t at = slot.low & (size - 1);
      while (slots_[at].number != kFree) at = (at + 1) & (size - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  size_t count_ = 0;
};

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_NAMES_H_
