#include "hlokit/opcode.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hlokit {
namespace {

// Perfect enough: a power-of-two table over a cheap hash of the length and three characters.
constexpr int kBuckets = 512;

constexpr uint32_t Hash(std::string_view word) {
  uint32_t hash = static_cast<uint32_t>(word.size()) * 31;
  hash = hash * 131 + static_cast<unsigned char>(word.front());
  hash = hash * 131 + static_cast<unsigned char>(word[word.size() / 2]);
  hash = hash * 131 + static_cast<unsigned char>(word.back());
  return hash % kBuckets;
}

constexpr std::array<uint8_t, kBuckets> MakeTable() {
  std::array<uint8_t, kBuckets> table{};  // opcode + 1, linear probing
  for (int i = 0; i < kOpcodeCount; ++i) {
    uint32_t at = Hash(kOpcodes[i].text);
    while (table[at] != 0) at = (at + 1) % kBuckets;
    table[at] = static_cast<uint8_t>(i + 1);
  }
  return table;
}

constexpr std::array<uint8_t, kBuckets> kTable = MakeTable();

}  // namespace

Opcode OpcodeFromText(std::string_view word) {
  if (word.empty()) return Opcode::kUnknown;
  for (uint32_t at = Hash(word); kTable[at] != 0; at = (at + 1) % kBuckets) {
    if (kOpcodes[kTable[at] - 1].text == word) return static_cast<Opcode>(kTable[at] - 1);
  }
  return Opcode::kUnknown;
}

}  // namespace hlokit
