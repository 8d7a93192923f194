// How are protobuf fields read from and written to bytes? No allocation, every length checked
// against what is left; the reader never looks beyond the bytes that it was given.
#ifndef HLOKIT_SRC_PROTO_WIRE_H_
#define HLOKIT_SRC_PROTO_WIRE_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace hlokit::proto {

enum WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytesType = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

/// What is wrong with the bytes, and where.
struct WireProblem {
  const char* at = nullptr;
  const char* what = nullptr;  ///< null = no problem
};

/// One field. `number_value` holds varints and fixed values, `bytes` the payload of
/// length-delimited fields and the inside of groups; `raw` is the whole field with its tag.
struct WireField {
  uint32_t number = 0;
  WireType type = kVarint;
  uint64_t value = 0;
  std::string_view bytes;
  std::string_view raw;
};

/// Walks over the fields of one message.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool AtEnd() const { return at_ == end_; }
  const char* position() const { return at_; }
  const WireProblem& problem() const { return problem_; }

  /// False at the end and when the bytes are no field; then problem() tells which.
  bool Next(WireField* field) {
    if (at_ == end_) return false;
    const char* start = at_;
    uint64_t tag;
    if (!Varint(&tag)) return false;
    if (tag > 0xffffffffu || (tag >> 3) == 0) return Fail(start, "this is no field tag");
    field->number = static_cast<uint32_t>(tag >> 3);
    field->type = static_cast<WireType>(tag & 7);
    switch (field->type) {
      case kVarint:
        if (!Varint(&field->value)) return false;
        break;
      case kFixed64:
        if (end_ - at_ < 8) return Fail(start, "the input ends inside a field");
        std::memcpy(&field->value, at_, 8);
        at_ += 8;
        break;
      case kFixed32: {
        if (end_ - at_ < 4) return Fail(start, "the input ends inside a field");
        uint32_t value;
        std::memcpy(&value, at_, 4);
        field->value = value;
        at_ += 4;
        break;
      }
      case kBytesType: {
        uint64_t length;
        if (!Varint(&length)) return false;
        if (length > static_cast<uint64_t>(end_ - at_)) {
          return Fail(start, "a field claims more bytes than its message has left");
        }
        field->bytes = {at_, static_cast<size_t>(length)};
        at_ += length;
        break;
      }
      case kStartGroup:
        if (!SkipGroup(start, field)) return false;
        break;
      default:
        return Fail(start, "this is no field tag");
    }
    field->raw = {start, static_cast<size_t>(at_ - start)};
    return true;
  }

  bool Varint(uint64_t* value) {
    const char* at = at_;
    if (at != end_ && static_cast<uint8_t>(*at) < 0x80) {
      *value = static_cast<uint8_t>(*at);
      at_ = at + 1;
      return true;
    }
    uint64_t out = 0;
    for (int shift = 0; shift < 70 && at != end_; shift += 7) {
      uint8_t byte = static_cast<uint8_t>(*at++);
      if (shift < 64) out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        *value = out;
        at_ = at;
        return true;
      }
    }
    return Fail(at_, at == end_ ? "the input ends inside a number" : "a number has no end");
  }

 private:
  bool Fail(const char* at, const char* what) {
    if (problem_.what == nullptr) problem_ = {at, what};
    at_ = end_;
    return false;
  }
  // Groups are an old form; they are only skipped. Nesting is counted, not recursed into.
  bool SkipGroup(const char* start, WireField* field) {
    const char* inside = at_;
    size_t depth = 1;
    while (at_ != end_) {
      const char* tag_at = at_;
      uint64_t tag;
      uint64_t value;
      if (!Varint(&tag)) return false;
      switch (tag & 7) {
        case kVarint:
          if (!Varint(&value)) return false;
          break;
        case kFixed64:
        case kFixed32: {
          size_t width = (tag & 7) == kFixed64 ? 8 : 4;
          if (static_cast<size_t>(end_ - at_) < width)
            return Fail(start, "the input ends inside a field");
          at_ += width;
          break;
        }
        case kBytesType:
          if (!Varint(&value)) return false;
          if (value > static_cast<uint64_t>(end_ - at_)) {
            return Fail(tag_at, "a field claims more bytes than its message has left");
          }
          at_ += value;
          break;
        case kStartGroup:
          ++depth;
          break;
        case kEndGroup:
          if (--depth == 0) {
            if ((tag >> 3) != field->number) return Fail(tag_at, "a group ends that did not begin");
            field->bytes = {inside, static_cast<size_t>(tag_at - inside)};
            return true;
          }
          break;
        default:
          return Fail(tag_at, "this is no field tag");
      }
    }
    return Fail(start, "the input ends inside a group");
  }

  const char* at_;
  const char* end_;
  WireProblem problem_;
};

inline int32_t AsInt32(uint64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}
inline int64_t AsInt64(uint64_t value) { return static_cast<int64_t>(value); }

/// Appends fields to a string. A nested message is written in place: its length is patched in when
/// it is closed, and the bytes move only when the length needs more than one byte.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(out) {}

  std::string& out() { return *out_; }
  static size_t VarintSize(uint64_t value) { return (std::bit_width(value | 1) + 6) / 7; }
  void Varint(uint64_t value) {
    char buffer[10];
    int n = 0;
    while (value >= 0x80) {
      buffer[n++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    buffer[n++] = static_cast<char>(value);
    out_->append(buffer, n);
  }
  void Tag(uint32_t number, WireType type) { Varint((uint64_t{number} << 3) | type); }

  /// A varint field that is written even when it is zero.
  void Present(uint32_t number, int64_t value) {
    Tag(number, kVarint);
    Varint(static_cast<uint64_t>(value));
  }
  /// Proto3 leaves scalars at their default out; so do these.
  void Int(uint32_t number, int64_t value) {
    if (value != 0) Present(number, value);
  }
  void Bool(uint32_t number, bool value) {
    if (value) Present(number, 1);
  }
  void Double(uint32_t number, double value) {
    uint64_t bits = std::bit_cast<uint64_t>(value);
    if (bits == 0) return;
    Tag(number, kFixed64);
    out_->append(reinterpret_cast<const char*>(&bits), 8);
  }
  void Float(uint32_t number, float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if (bits == 0) return;
    Tag(number, kFixed32);
    out_->append(reinterpret_cast<const char*>(&bits), 4);
  }
  void PresentBytes(uint32_t number, std::string_view bytes) {
    Tag(number, kBytesType);
    Varint(bytes.size());
    out_->append(bytes);
  }
  void Bytes(uint32_t number, std::string_view bytes) {
    if (!bytes.empty()) PresentBytes(number, bytes);
  }
  template <typename Range>
  void Packed(uint32_t number, const Range& values) {
    size_t size = 0;
    bool any = false;
    for (auto value : values) {
      size += VarintSize(static_cast<uint64_t>(static_cast<int64_t>(value)));
      any = true;
    }
    if (!any) return;
    Tag(number, kBytesType);
    Varint(size);
    for (auto value : values) Varint(static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
  void EmptyMessage(uint32_t number) { PresentBytes(number, {}); }

  /// Opens a nested message; hand the answer to Close.
  size_t Open(uint32_t number) {
    Tag(number, kBytesType);
    out_->push_back('\0');
    return out_->size();
  }
  void Close(size_t begin) {
    size_t size = out_->size() - begin;
    if (size < 0x80) {
      (*out_)[begin - 1] = static_cast<char>(size);
      return;
    }
    char buffer[10];
    int n = 0;
    uint64_t value = size;
    while (value >= 0x80) {
      buffer[n++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    buffer[n++] = static_cast<char>(value);
    out_->replace(begin - 1, 1, buffer, n);
  }

 private:
  std::string* out_;
};

/// Calls `use` with each number of a repeated scalar field, packed or not. False when a packed
/// payload is broken.
template <typename Use>
bool ForEachVarint(const WireField& field, Use use) {
  if (field.type == kVarint) {
    use(field.value);
    return true;
  }
  if (field.type != kBytesType) return false;
  WireReader reader(field.bytes);
  uint64_t value;
  while (!reader.AtEnd()) {
    if (!reader.Varint(&value)) return false;
    use(value);
  }
  return true;
}

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_WIRE_H_
