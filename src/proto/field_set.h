// Which fields does one instruction have? Filled in one walk over its bytes; afterwards each reader
// takes its field, and what nobody took shows.
#ifndef HLOKIT_SRC_PROTO_FIELD_SET_H_
#define HLOKIT_SRC_PROTO_FIELD_SET_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "wire.h"

namespace hlokit::proto {

/// Highest field number of HloInstructionProto, plus one.
inline constexpr uint32_t kInstructionFields = 100;

/// Bit w is set when a field of HloInstructionProto may have wire type w; 0 = no such field.
extern const std::array<uint8_t, kInstructionFields> kInstructionWireTypes;

/// Fields that occur several times are walked over again when they are asked for, so that memory
/// does not depend on how often that is.
class FieldSet {
 public:
  /// Walks over an instruction. False when the bytes are broken.
  bool Scan(std::string_view bytes, WireProblem* problem) {
    present_ = {};
    taken_ = {};
    repeated_ = {};
    merged_.clear();
    unknown_ = false;
    bytes_ = bytes;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(&field)) {
      uint32_t number = field.number;
      if (!IsKnown(field)) {
        unknown_ = true;
        continue;
      }
      uint64_t bit = uint64_t{1} << (number & 63);
      if ((present_[number >> 6] & bit) != 0) repeated_[number >> 6] |= bit;
      present_[number >> 6] |= bit;
      slots_[number] = field;  // of several, the last one wins
    }
    *problem = reader.problem();
    return problem->what == nullptr;
  }

  /// Some field is not in the schema.
  bool unknown() const { return unknown_; }
  /// Some field was not taken.
  bool LeftOver() const {
    return (present_[0] & ~taken_[0]) != 0 || (present_[1] & ~taken_[1]) != 0;
  }
  bool Has(uint32_t number) const { return (present_[number >> 6] >> (number & 63)) & 1; }
  bool IsRepeated(uint32_t number) const { return (repeated_[number >> 6] >> (number & 63)) & 1; }

  /// Value of a varint field, 0 when absent.
  int64_t Int(uint32_t number) { return Take(number) ? AsInt64(slots_[number].value) : 0; }
  bool Bool(uint32_t number) { return Int(number) != 0; }
  float Float(uint32_t number) { return std::bit_cast<float>(static_cast<uint32_t>(Int(number))); }
  /// Bytes of a string or bytes field, empty when absent.
  std::string_view Bytes(uint32_t number) {
    return Take(number) ? slots_[number].bytes : std::string_view();
  }
  /// Bytes of a nested message. Several occurrences are one message: their bytes in one string,
  /// which stays until the next Scan.
  std::string_view Message(uint32_t number) {
    if (!Take(number)) return {};
    if (!IsRepeated(number)) return slots_[number].bytes;
    std::string& all = merged_.emplace_back();
    ForEach(number, [&](const WireField& field) {
      all += field.bytes;
      return true;
    });
    return all;
  }
  /// Calls use(field) for each occurrence; stops when it answers false, and answers that.
  template <typename Use>
  bool ForEach(uint32_t number, Use use) {
    if (!Take(number)) return true;
    if (!IsRepeated(number)) return use(slots_[number]);
    WireReader reader(bytes_);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number == number && IsKnown(field) && !use(field)) return false;
    }
    return true;
  }
  /// The numbers of a repeated field. False when a packed field is broken.
  bool Ints(uint32_t number, std::vector<int64_t>* out) {
    out->clear();
    return ForEach(number, [&](const WireField& field) {
      return ForEachVarint(field, [&](uint64_t value) { out->push_back(AsInt64(value)); });
    });
  }
  /// Counts a field as taken, or not.
  bool Take(uint32_t number) {
    taken_[number >> 6] |= uint64_t{1} << (number & 63);
    return Has(number);
  }

 private:
  static bool IsKnown(const WireField& field) {
    return field.number < kInstructionFields &&
           ((kInstructionWireTypes[field.number] >> field.type) & 1) != 0;
  }

  std::string_view bytes_;
  std::array<uint64_t, 2> present_{};
  std::array<uint64_t, 2> taken_{};
  std::array<uint64_t, 2> repeated_{};
  bool unknown_ = false;
  std::array<WireField, kInstructionFields> slots_;
  std::deque<std::string> merged_;
};

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_FIELD_SET_H_
