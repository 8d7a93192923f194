#ifndef HLOKIT_SRC_NEURON_CHECKSUM_H_
#define HLOKIT_SRC_NEURON_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "fmt/format.h"

namespace hlokit {

/// Tells whether bytes are the same as at the last run; fast, not cryptographic. The value does not
/// depend on how the bytes are cut into pieces.
class Checksum {
 public:
  void Update(std::span<const std::byte> bytes) {
    for (size_t i = 0; i < bytes.size();) {
      if (used_ == 0 && bytes.size() - i >= sizeof(block_)) {
        const std::byte* p = bytes.data() + i;
        for (; bytes.size() - i >= sizeof(block_); i += sizeof(block_), p += sizeof(block_)) Mix(p);
        continue;
      }
      block_[used_++] = bytes[i++];
      if (used_ == sizeof(block_)) {
        Mix(block_);
        used_ = 0;
      }
    }
    size_ += bytes.size();
  }

  /// 16 hexadecimal digits. Ends the sum.
  std::string Hex() {
    while (used_ != 0 && used_ < sizeof(block_)) block_[used_++] = std::byte{0};
    if (used_ != 0) Mix(block_);
    uint64_t sum = size_ * kPrime;
    for (uint64_t lane : lanes_) sum = Scramble(sum ^ lane);
    return fmt::format("{:016x}", sum);
  }

 private:
  static constexpr uint64_t kPrime = 0x9E3779B97F4A7C15;  // odd, bits well spread

  static uint64_t Scramble(uint64_t x) {
    x = (x ^ x >> 32) * kPrime;
    return (x ^ x >> 29) * kPrime;
  }

  /// Each lane is a product sum, so that order matters; the lanes are independent, so that they run
  /// at once.
  void Mix(const std::byte* p) {
    for (size_t lane = 0; lane < 4; ++lane) {
      uint64_t word;
      std::memcpy(&word, p + 8 * lane, 8);
      lanes_[lane] = (lanes_[lane] ^ word) * kPrime;
      lanes_[lane] ^= lanes_[lane] >> 31;
    }
  }

  uint64_t lanes_[4] = {1, 2, 3, 4};
  std::byte block_[32];
  size_t used_ = 0;
  uint64_t size_ = 0;
};

inline std::string ChecksumOf(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.Update(bytes);
  return sum.Hex();
}

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_CHECKSUM_H_
