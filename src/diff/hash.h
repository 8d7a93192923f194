// 64-bit hashes that find candidates. What is paired is compared exactly afterwards.
#ifndef HLOKIT_SRC_DIFF_HASH_H_
#define HLOKIT_SRC_DIFF_HASH_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hlokit {

/// A bijection that spreads every bit over all others.
constexpr uint64_t Scramble(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

/// Folds one more value into a hash; the order counts.
constexpr uint64_t Mix(uint64_t hash, uint64_t value) {
  return Scramble(std::rotl(hash, 23) ^ (value + 0x9e3779b97f4a7c15u)) + hash;
}

inline uint64_t MixBytes(uint64_t hash, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  hash = Mix(hash, size);
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = Mix(hash, word);
  }
  uint64_t rest = 0;
  if (size != 0) std::memcpy(&rest, at, size);
  return size == 0 ? hash : Mix(hash, rest);
}
inline uint64_t MixText(uint64_t hash, std::string_view text) {
  return MixBytes(hash, text.data(), text.size());
}

}  // namespace hlokit

#endif  // HLOKIT_SRC_DIFF_HASH_H_
