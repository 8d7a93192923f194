// How are the values of literals read from and written to LiteralProto? (hlo-proto.md section 7)
#include "literal_wire.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <numeric>

namespace hlokit::proto {
namespace {

enum class Coding : uint8_t { kNone, kVarint, kFixed32, kFixed64, kBytes };

struct ElementField {
  ElementType type;
  uint8_t number;
  Coding coding;
};

constexpr ElementField kElementFields[] = {
    {ElementType::kPred, 2, Coding::kVarint},
    {ElementType::kU8, 3, Coding::kBytes},
    {ElementType::kS32, 4, Coding::kVarint},
    {ElementType::kS64, 5, Coding::kVarint},
    {ElementType::kU32, 6, Coding::kVarint},
    {ElementType::kU64, 7, Coding::kVarint},
    {ElementType::kF32, 8, Coding::kFixed32},
    {ElementType::kF64, 9, Coding::kFixed64},
    {ElementType::kF16, 11, Coding::kBytes},
    {ElementType::kC64, 12, Coding::kFixed32},
    {ElementType::kBf16, 13, Coding::kBytes},
    {ElementType::kS8, 15, Coding::kBytes},
    {ElementType::kU16, 16, Coding::kBytes},
    {ElementType::kS16, 17, Coding::kBytes},
    {ElementType::kC128, 18, Coding::kFixed64},
    {ElementType::kF8e5m2, 19, Coding::kBytes},
    {ElementType::kF8e4m3fn, 20, Coding::kBytes},
    {ElementType::kS4, 21, Coding::kBytes},
    {ElementType::kU4, 22, Coding::kBytes},
    {ElementType::kF8e4m3b11fnuz, 23, Coding::kBytes},
    {ElementType::kF8e5m2fnuz, 24, Coding::kBytes},
    {ElementType::kF8e4m3fnuz, 25, Coding::kBytes},
    {ElementType::kS2, 26, Coding::kBytes},
    {ElementType::kU2, 27, Coding::kBytes},
    {ElementType::kF8e4m3, 28, Coding::kBytes},
    {ElementType::kF8e3m4, 29, Coding::kBytes},
    {ElementType::kS1, 30, Coding::kBytes},
    {ElementType::kU1, 31, Coding::kBytes},
    {ElementType::kF4e2m1fn, 32, Coding::kBytes},
    {ElementType::kF8e8m0fnu, 33, Coding::kBytes},
    {ElementType::kF6e3m2fn, 35, Coding::kBytes},
    {ElementType::kF6e2m3fn, 36, Coding::kBytes},
};

ElementField FieldOf(ElementType type) {
  for (const ElementField& field : kElementFields) {
    if (field.type == type) return field;
  }
  return {type, 0, Coding::kNone};
}

/// Walks over the elements of an array in the order of memory and tells the row-major number of
/// each.
class LayoutWalk {
 public:
  LayoutWalk(std::span<const int64_t> sizes, std::span<const int64_t> minor_to_major)
      : order_(minor_to_major), sizes_(sizes), index_(sizes.size()), stride_(sizes.size()) {
    int64_t stride = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
      stride_[i] = stride;
      stride *= sizes[i];
    }
  }
  int64_t row_major() const { return at_; }
  void Step() {
    for (int64_t dimension : order_) {
      at_ += stride_[dimension];
      if (++index_[dimension] < sizes_[dimension]) return;
      at_ -= stride_[dimension] * sizes_[dimension];
      index_[dimension] = 0;
    }
  }

 private:
  std::span<const int64_t> order_;
  std::span<const int64_t> sizes_;
  std::vector<int64_t> index_;
  std::vector<int64_t> stride_;
  int64_t at_ = 0;
};

bool IsRowMajor(std::span<const int64_t> minor_to_major) {
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    if (minor_to_major[i] != static_cast<int64_t>(minor_to_major.size() - 1 - i)) return false;
  }
  return true;
}

/// Sub-byte elements as stored: high bits are copies of the sign for signed types, zero for others.
std::byte StoredByte(ElementType type, std::byte raw) {
  uint8_t value = static_cast<uint8_t>(raw);
  int bits = Info(type).bits;
  if (bits >= 8) return raw;
  uint8_t low = value & ((1u << bits) - 1);
  if (Info(type).kind == ElementKind::kSigned && ((low >> (bits - 1)) & 1) != 0) {
    low = static_cast<uint8_t>(low | (0xffu << bits));
  }
  return std::byte{low};
}

class LiteralReader {
 public:
  LiteralReader(Module* module, bool* lossy, LiteralProblem* problem)
      : module_(module), shapes_(&module->shapes()), lossy_(lossy), problem_(problem) {}

  bool Read(std::string_view bytes, ShapeId declared, int depth, LiteralId* out);

 private:
  bool Fail(const char* at, std::string what) {
    if (problem_->what.empty()) {
      problem_->what = std::move(what);
      problem_->at = at;
    }
    return false;
  }
  bool FailWire(const WireReader& reader) {
    problem_->broken = true;
    return Fail(reader.problem().at, reader.problem().what);
  }
  bool ReadParts(std::string_view bytes, ShapeId* shape, std::vector<std::string_view>* members,
                 bool* has_data);
  bool ReadArray(std::string_view bytes, ShapeId shape, LiteralId* out);
  bool CountElements(const ElementField& field, std::string_view bytes, int64_t* count);
  void Decode(const ElementField& field, std::string_view bytes, std::byte* out);

  Module* module_;
  ShapePool* shapes_;
  bool* lossy_;
  LiteralProblem* problem_;
};

bool LiteralReader::ReadParts(std::string_view bytes, ShapeId* shape,
                              std::vector<std::string_view>* members, bool* has_data) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == kBytesType) {
      if (shape->valid()) *lossy_ = true;
      ShapeReader shape_reader(shapes_);
      *shape = shape_reader.Read(field.bytes);
      if (!shape->valid()) {
        problem_->broken = shape_reader.problem().broken;
        return Fail(shape_reader.problem().at, shape_reader.problem().what);
      }
    } else if (field.number == 10 && field.type == kBytesType) {
      members->push_back(field.bytes);
    } else if (field.number >= 2 && field.number <= 36 && field.number != 14 &&
               field.number != 34) {
      *has_data = true;
    } else {
      *lossy_ = true;
    }
  }
  return reader.problem().what == nullptr || FailWire(reader);
}

bool LiteralReader::Read(std::string_view bytes, ShapeId declared, int depth, LiteralId* out) {
  if (depth > kMaxDepth) return Fail(bytes.data(), "literals are nested too deep");
  ShapeId shape;
  std::vector<std::string_view> members;
  bool has_data = false;
  if (!ReadParts(bytes, &shape, &members, &has_data)) return false;
  if (!shape.valid()) return Fail(bytes.data(), "a literal has no shape");
  if (declared.valid()) {
    if (!shapes_->Compatible(shape, declared)) {
      return Fail(bytes.data(), fmt::format("a literal has the shape {}, its instruction {}",
                                            shapes_->Text(shape), shapes_->Text(declared)));
    }
    if (shapes_->IsArray(shape) && shapes_->layout(declared).valid() &&
        shapes_->layout(shape).valid() &&
        !shapes_->SameOrder(shapes_->layout(shape), shapes_->layout(declared))) {
      return Fail(bytes.data(),
                  fmt::format("a literal has the layout of {}, its instruction that of {}",
                              shapes_->Text(shape), shapes_->Text(declared)));
    }
  }
  if (shapes_->IsArray(shape)) {
    if (!members.empty()) *lossy_ = true;
    if (!ReadArray(bytes, shape, out)) return false;
  } else {
    if (has_data) *lossy_ = true;
    *out = module_->AddLiteral({});
    if (shapes_->IsTuple(shape)) {
      if (members.size() != shapes_->element_count(shape)) {
        return Fail(bytes.data(), fmt::format("a tuple literal has {} members, its shape {}",
                                              members.size(), shapes_->element_count(shape)));
      }
      std::vector<LiteralId> ids(members.size());
      for (uint32_t i = 0; i < members.size(); ++i) {
        ShapeId member = declared.valid() ? shapes_->element(declared, i) : ShapeId();
        if (!Read(members[i], member, depth + 1, &ids[i])) return false;
      }
      module_->literal(*out).elements = std::move(ids);
    }
  }
  module_->literal(*out).shape = declared.valid() ? (*shapes_)[shape].static_bare : shape;
  return true;
}

/// Checks the form of the elements on the way; nothing is allocated before their number is known.
bool LiteralReader::CountElements(const ElementField& field, std::string_view bytes,
                                  int64_t* count) {
  WireReader reader(bytes);
  WireField part;
  size_t width = field.coding == Coding::kFixed32   ? 4
                 : field.coding == Coding::kFixed64 ? 8
                 : field.coding == Coding::kBytes   ? StorageBytes(field.type)
                                                    : 1;
  while (reader.Next(&part)) {
    if (part.number != field.number) {
      if (part.number != 1 && part.number != 10) *lossy_ = true;
      continue;
    }
    if (part.type == kBytesType) {
      if (part.bytes.size() % width != 0) {
        return Fail(part.raw.data(), "the elements of a literal end in the middle of one");
      }
      if (field.coding == Coding::kBytes) {
        *count = part.bytes.size() / width;  // no list: the last one wins
      } else if (field.coding == Coding::kVarint) {
        if (!ForEachVarint(part, [&](uint64_t) { ++*count; })) {
          return Fail(part.raw.data(), "the elements of a literal end in the middle of one");
        }
      } else {
        *count += part.bytes.size() / width;
      }
    } else if ((field.coding == Coding::kVarint && part.type == kVarint) ||
               (field.coding == Coding::kFixed32 && part.type == kFixed32) ||
               (field.coding == Coding::kFixed64 && part.type == kFixed64)) {
      ++*count;
    } else {
      return Fail(part.raw.data(), "the elements of a literal are written in the wrong form");
    }
  }
  if (!IsComplex(field.type)) return true;
  *count = *count % 2 == 0 ? *count / 2 : -1;
  return true;
}

void LiteralReader::Decode(const ElementField& field, std::string_view bytes, std::byte* out) {
  int width = StorageBytes(field.type);
  std::byte* at = out;
  std::string_view last;
  WireReader reader(bytes);
  WireField part;
  while (reader.Next(&part)) {
    if (part.number != field.number) continue;
    if (field.coding == Coding::kBytes) {
      last = part.bytes;
    } else if (field.coding == Coding::kVarint) {
      ForEachVarint(part, [&](uint64_t value) {
        if (field.type == ElementType::kPred) value = value != 0;
        std::memcpy(at, &value, width);  // little endian, as everywhere in this file
        at += width;
      });
    } else if (part.type == kBytesType) {
      std::memcpy(at, part.bytes.data(), part.bytes.size());
      at += part.bytes.size();
    } else {
      size_t size = part.type == kFixed32 ? 4 : 8;
      std::memcpy(at, &part.value, size);
      at += size;
    }
  }
  if (!last.empty()) std::memcpy(out, last.data(), last.size());
}

bool LiteralReader::ReadArray(std::string_view bytes, ShapeId shape, LiteralId* out) {
  ElementType type = shapes_->type(shape);
  ElementField field = FieldOf(type);
  if (field.coding == Coding::kNone) {
    return Fail(bytes.data(), fmt::format("a literal cannot have the type {}", Info(type).text));
  }
  int64_t wanted = shapes_->ElementCount(shape);
  int64_t found = 0;
  if (!CountElements(field, bytes, &found)) return false;
  if (wanted != found) {
    return Fail(bytes.data(), fmt::format("a literal of shape {} needs {} elements and has {}",
                                          shapes_->Text(shape, false), wanted, found));
  }
  *out = module_->AddLiteral({});
  size_t size = static_cast<size_t>(wanted) * StorageBytes(type);
  std::span<std::byte> target = module_->AllocateLiteralBytes(*out, size);
  LayoutId layout = shapes_->layout(shape);
  bool direct = !layout.valid() || wanted <= 1 || IsRowMajor(shapes_->minor_to_major(layout));
  std::vector<std::byte> memory;
  if (!direct) memory.resize(size);
  std::byte* decoded = direct ? target.data() : memory.data();
  if (size != 0) Decode(field, bytes, decoded);
  if (Info(type).bits < 8) {
    for (size_t i = 0; i < size; ++i) decoded[i] = StoredByte(type, decoded[i]);
  }
  if (direct) return true;
  size_t width = StorageBytes(type);
  LayoutWalk walk(shapes_->sizes(shape), shapes_->minor_to_major(layout));
  for (int64_t i = 0; i < wanted; ++i, walk.Step()) {
    std::memcpy(target.data() + walk.row_major() * width, memory.data() + i * width, width);
  }
  return true;
}

/// The elements of an array in the order of memory.
void AppendElements(ElementType type, std::span<const std::byte> memory, WireWriter* w) {
  ElementField field = FieldOf(type);
  if (memory.empty() || field.coding == Coding::kNone) return;
  size_t width = StorageBytes(type);
  if (field.coding != Coding::kVarint) {
    w->Tag(field.number, kBytesType);
    w->Varint(memory.size());
    size_t at = w->out().size();
    w->out().append(reinterpret_cast<const char*>(memory.data()), memory.size());
    if (Info(type).bits < 8) {
      char mask = static_cast<char>((1 << Info(type).bits) - 1);
      for (size_t i = at; i < w->out().size(); ++i) w->out()[i] &= mask;
    }
    return;
  }
  size_t begin = w->Open(field.number);
  bool sign = Info(type).kind == ElementKind::kSigned;
  for (size_t i = 0; i < memory.size(); i += width) {
    uint64_t value = 0;
    std::memcpy(&value, memory.data() + i, width);
    if (sign && width == 4)
      value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
    w->Varint(value);
  }
  w->Close(begin);
}

}  // namespace

bool ReadLiteral(std::string_view bytes, ShapeId declared, Module* module, LiteralId* out,
                 bool* lossy, LiteralProblem* problem) {
  return LiteralReader(module, lossy, problem).Read(bytes, declared, 0, out);
}

void AppendLiteralProto(const Module& module, LiteralId literal, ShapeId shape, std::string* out) {
  const ShapePool& shapes = module.shapes();
  WireWriter w(out);
  size_t begin = w.Open(1);
  AppendShape(shapes, shape, out);
  w.Close(begin);
  if (!shapes.IsArray(shape)) {
    const std::vector<LiteralId>& members = module.literal(literal).elements;
    for (uint32_t i = 0; i < members.size(); ++i) {
      size_t member = w.Open(10);
      AppendLiteralProto(module, members[i], shapes.element(shape, i), out);
      w.Close(member);
    }
    return;
  }
  ElementType type = shapes.type(shape);
  std::span<const std::byte> values = module.literal_bytes(literal);
  LayoutId layout = shapes.layout(shape);
  if (!layout.valid() || IsRowMajor(shapes.minor_to_major(layout))) {
    return AppendElements(type, values, &w);
  }
  size_t width = StorageBytes(type);
  std::vector<std::byte> memory(values.size());
  LayoutWalk walk(shapes.sizes(shape), shapes.minor_to_major(layout));
  for (size_t i = 0; i * width < values.size(); ++i, walk.Step()) {
    std::memcpy(memory.data() + i * width, values.data() + walk.row_major() * width, width);
  }
  AppendElements(type, memory, &w);
}

}  // namespace hlokit::proto
