#include "hlokit/element_type.h"

#include <array>

namespace hlokit {
namespace {

constexpr uint32_t kBuckets = 256;

constexpr uint32_t Hash(std::string_view word) {
  uint32_t hash = static_cast<uint32_t>(word.size()) * 7;
  hash = hash * 31 + static_cast<unsigned char>(word[0]);
  hash = hash * 31 + static_cast<unsigned char>(word[1]);
  hash = hash * 31 + static_cast<unsigned char>(word.back());
  hash = hash * 31 + static_cast<unsigned char>(word[word.size() / 2]);
  return (hash ^ hash >> 9) % kBuckets;
}

constexpr std::array<uint8_t, kBuckets> MakeTable() {
  std::array<uint8_t, kBuckets> table{};
  for (int i = 1; i < kElementTypeCount; ++i) {
    if (kElementTypes[i].text.empty()) continue;
    uint32_t at = Hash(kElementTypes[i].text);
    while (table[at] != 0) at = (at + 1) % kBuckets;
    table[at] = static_cast<uint8_t>(i);
  }
  return table;
}

constexpr std::array<uint8_t, kBuckets> kTable = MakeTable();

}  // namespace

ElementType ElementTypeFromText(std::string_view word) {
  if (word.size() < 2 || word.size() > 13) return ElementType::kInvalid;
  // Nearly every word that comes here is a name: the second character gives it away.
  switch (word[0]) {
    case 's':
    case 'u':
    case 'f':
    case 'c':
      if (word[1] < '0' || word[1] > '9') return ElementType::kInvalid;
      break;
    case 'b':
      if (word[1] != 'f') return ElementType::kInvalid;
      break;
    case 'p':
    case 't':
    case 'o':
      if (word.size() < 4 || word.size() > 6) return ElementType::kInvalid;
      break;
    default:
      return ElementType::kInvalid;
  }
  for (uint32_t at = Hash(word); kTable[at] != 0; at = (at + 1) % kBuckets) {
    if (kElementTypes[kTable[at]].text == word) return static_cast<ElementType>(kTable[at]);
  }
  return ElementType::kInvalid;
}

}  // namespace hlokit
