// How are shapes and layouts read from and written to their messages? (hlo-proto.md sections 5 and
// 11)
#include "shape_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hlokit::proto {
namespace {

constexpr uint64_t kProtoTuple = 13;
constexpr uint64_t kProtoOpaque = 14;
constexpr uint64_t kProtoToken = 17;
constexpr uint64_t kProtoBuffer = 34;

constexpr std::array<ElementType, 64> TypesByNumber() {
  std::array<ElementType, 64> out{};
  for (int i = 0; i < kElementTypeCount; ++i) {
    out[kElementTypes[i].proto] = static_cast<ElementType>(i);
  }
  out[0] = ElementType::kInvalid;
  return out;
}
constexpr std::array<ElementType, 64> kTypes = TypesByNumber();

}  // namespace

ElementType ElementTypeFromProto(uint64_t number) {
  return number < kTypes.size() ? kTypes[number] : ElementType::kInvalid;
}

ShapeId ShapeReader::Fail(const char* at, std::string what) {
  if (problem_.what.empty()) {
    problem_.what = std::move(what);
    problem_.at = at;
  }
  return {};
}

ShapeId ShapeReader::FailWire(const WireReader& reader) {
  problem_.broken = true;
  return Fail(reader.problem().at, reader.problem().what);
}

ShapeId ShapeReader::ReadAt(std::string_view bytes, int depth) {
  if (depth > kMaxDepth) {
    problem_.too_deep = true;
    return Fail(bytes.data(), fmt::format("shapes are nested more than {} deep", kMaxDepth));
  }
  size_t dims_begin = dims_.size();
  size_t dynamic_begin = dynamic_.size();
  size_t elements_begin = elements_.size();
  uint64_t type = 0;
  std::string_view layout;
  std::string merged_layout;
  bool has_layout = false;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    switch (field.number) {
      case 2:
        if (field.type == kVarint) type = field.value;
        break;
      case 3:
        if (!ForEachVarint(field, [&](uint64_t v) { dims_.push_back(AsInt64(v)); })) {
          return Fail(field.raw.data(), "the list of dimensions is broken");
        }
        break;
      case 4: {
        if (field.type != kBytesType) break;
        ShapeId element = ReadAt(field.bytes, depth + 1);
        if (!element.valid()) return {};
        elements_.push_back(element);
        break;
      }
      case 5:
        if (field.type != kBytesType) break;
        if (has_layout) {  // several occurrences of a message are one message
          merged_layout = std::string(layout) + std::string(field.bytes);
          layout = merged_layout;
        } else {
          layout = field.bytes;
        }
        has_layout = true;
        break;
      case 6:
        if (!ForEachVarint(field, [&](uint64_t v) { dynamic_.push_back(v != 0); })) {
          return Fail(field.raw.data(), "the list of dynamic dimensions is broken");
        }
        break;
      default:
        break;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader);
  ShapeId out =
      Finish(type, layout, has_layout, bytes.data(), dims_begin, dynamic_begin, elements_begin);
  dims_.resize(dims_begin);
  dynamic_.resize(dynamic_begin);
  elements_.resize(elements_begin);
  return out;
}

ShapeId ShapeReader::Finish(uint64_t type_number, std::string_view layout_bytes, bool has_layout,
                            const char* at, size_t dims_begin, size_t dynamic_begin,
                            size_t elements_begin) {
  std::span<const ShapeId> elements(elements_.data() + elements_begin,
                                    elements_.size() - elements_begin);
  if (type_number == kProtoTuple) return pool_->Tuple(elements);
  if (type_number == kProtoOpaque) return pool_->Opaque();
  if (type_number == kProtoToken) return pool_->Token();
  if (type_number == kProtoBuffer) {
    if (elements.size() != 1 || !pool_->IsArray(elements[0]) || (*pool_)[elements[0]].is_buffer) {
      return Fail(at, "a buffer shape must hold one array shape");
    }
    ShapeId array = elements[0];
    std::vector<int64_t> sizes(pool_->sizes(array).begin(), pool_->sizes(array).end());
    std::vector<uint8_t> dynamic;
    for (uint32_t i = 0; i < sizes.size(); ++i)
      dynamic.push_back(pool_->IsDynamicDimension(array, i));
    return pool_->Array(pool_->type(array), sizes, pool_->layout(array), dynamic, true);
  }
  ElementType type = ElementTypeFromProto(type_number);
  if (!IsArrayType(type))
    return Fail(at, fmt::format("no element type has the number {}", type_number));
  std::span<const int64_t> sizes(dims_.data() + dims_begin, dims_.size() - dims_begin);
  for (int64_t size : sizes) {
    if (size < 0 && size != kUnboundedSize)
      return Fail(at, fmt::format("a dimension has the size {}", size));
  }
  std::span<const uint8_t> dynamic(dynamic_.data() + dynamic_begin,
                                   dynamic_.size() - dynamic_begin);
  if (!dynamic.empty() && dynamic.size() != sizes.size()) {
    return Fail(at, fmt::format("there are {} dynamic-dimension flags for {} dimensions",
                                dynamic.size(), sizes.size()));
  }
  // An unbounded dimension is dynamic, whatever the flags say.
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != kUnboundedSize) continue;
    dynamic_.resize(dynamic_begin + sizes.size());
    dynamic_[dynamic_begin + i] = 1;
    dynamic = {dynamic_.data() + dynamic_begin, sizes.size()};
  }
  LayoutId layout;
  if (has_layout) {
    if (!ReadLayout(layout_bytes, sizes.size(), &layout)) return {};
  } else if (sizes.empty()) {
    layout = pool_->DescendingLayout(0);  // scalars always have the empty layout
  }
  if (std::find(dynamic.begin(), dynamic.end(), 1) == dynamic.end()) dynamic = {};
  return pool_->Array(type, sizes, layout, dynamic);
}

bool ShapeReader::ReadLayout(std::string_view bytes, size_t rank, LayoutId* layout) {
  order_.clear();
  LayoutExtras extras;
  bool plain = true;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1) {
      if (!ForEachVarint(field, [&](uint64_t v) { order_.push_back(AsInt64(v)); })) {
        return Fail(field.raw.data(), "the layout is broken").valid();
      }
    } else if (field.number == 16 && field.type == kVarint && field.value <= 1) {
      extras.tail_padding_alignment = 1;
    } else {
      plain = false;
      if (!ReadLayoutField(field, &extras)) return false;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader).valid();
  if (order_.size() != rank) {
    return Fail(bytes.data(), fmt::format("the layout has {} entries, the array has rank {}",
                                          order_.size(), rank))
        .valid();
  }
  uint64_t seen_small = 0;
  std::vector<bool> seen(rank > 64 ? rank : 0);
  for (int64_t entry : order_) {
    bool ok = entry >= 0 && static_cast<uint64_t>(entry) < rank;
    if (ok && rank <= 64) ok = ((seen_small >> entry) & 1) == 0;
    if (ok && rank > 64) ok = !seen[entry];
    if (!ok) {
      return Fail(bytes.data(), fmt::format("entry {} of the layout is no new dimension", entry))
          .valid();
    }
    if (rank <= 64) seen_small |= uint64_t{1} << entry;
    if (rank > 64) seen[entry] = true;
  }
  if (plain) {
    *layout = pool_->Layout(order_);
    return true;
  }
  if (extras.tail_padding_alignment == 0) extras.tail_padding_alignment = 1;
  bool ok = extras.tail_padding_alignment > 0 && extras.element_size_in_bits >= 0;
  for (const std::vector<int64_t>& tile : extras.tiles) {
    ok &= std::all_of(tile.begin(), tile.end(),
                      [](int64_t size) { return size > 0 || size == kCombineDimension; });
  }
  if (!ok)
    return Fail(bytes.data(), "the layout has a tile, padding or element size below 1").valid();
  *layout = pool_->Layout(order_, extras);
  return true;
}

bool ShapeReader::ReadLayoutField(const WireField& field, LayoutExtras* extras) {
  if (field.type == kVarint) return ReadLayoutNumber(field, extras);
  if (field.number != 6 && field.number != 17) return true;
  if (field.type != kBytesType) return true;
  std::vector<int64_t> list;
  int64_t dimension = 0;
  WireReader reader(field.bytes);
  WireField inner;
  uint32_t list_number = field.number == 6 ? 1 : 2;
  while (reader.Next(&inner)) {
    if (inner.number == list_number) {
      if (!ForEachVarint(inner, [&](uint64_t v) { list.push_back(AsInt64(v)); })) {
        return Fail(inner.raw.data(), "a tile or split of a layout is broken").valid();
      }
    } else if (inner.number == 1 && inner.type == kVarint) {
      dimension = AsInt64(inner.value);
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader).valid();
  if (field.number == 6) {
    extras->tiles.push_back(std::move(list));
  } else {
    extras->splits.push_back({dimension, std::move(list)});
  }
  return true;
}

bool ShapeReader::ReadLayoutNumber(const WireField& field, LayoutExtras* extras) {
  switch (field.number) {
    case 7:
      extras->element_size_in_bits = AsInt64(field.value);
      return true;
    case 8:
      extras->memory_space = AsInt64(field.value);
      return true;
    case 11:
    case 12: {
      ElementType type = ElementTypeFromProto(field.value);
      if (type == ElementType::kInvalid && field.value != 0) {
        return Fail(field.raw.data(), fmt::format("no element type has the number {}", field.value))
            .valid();
      }
      (field.number == 11 ? extras->index_type : extras->pointer_type) = type;
      return true;
    }
    case 15:
      extras->dynamic_shape_metadata_prefix_bytes = AsInt64(field.value);
      return true;
    case 16:
      extras->tail_padding_alignment = AsInt64(field.value);
      return true;
    default:
      return true;  // old fields of sparse layouts, and what is newer than this table
  }
}

void AppendLayout(const ShapePool& pool, LayoutId layout, std::string* out) {
  WireWriter w(out);
  w.Packed(1, pool.minor_to_major(layout));
  const LayoutExtras& e = pool.extras(layout);
  for (const std::vector<int64_t>& tile : e.tiles) {
    size_t at = w.Open(6);
    w.Packed(1, tile);
    w.Close(at);
  }
  w.Int(7, e.element_size_in_bits);
  w.Int(8, e.memory_space);
  w.Int(11, Info(e.index_type).proto);
  w.Int(12, Info(e.pointer_type).proto);
  w.Int(15, e.dynamic_shape_metadata_prefix_bytes);
  w.Int(16, e.tail_padding_alignment);
  for (const SplitConfig& split : e.splits) {
    size_t at = w.Open(17);
    w.Int(1, split.dimension);
    w.Packed(2, split.indices);
    w.Close(at);
  }
}

namespace {

void AppendArray(const ShapePool& pool, ShapeId shape, WireWriter* w) {
  w->Int(2, Info(pool.type(shape)).proto);
  w->Packed(3, pool.sizes(shape));
  if (pool.layout(shape).valid()) {
    size_t at = w->Open(5);
    AppendLayout(pool, pool.layout(shape), &w->out());
    w->Close(at);
  }
  uint32_t rank = pool.rank(shape);
  if (rank == 0) return;
  w->Tag(6, kBytesType);
  w->Varint(rank);
  for (uint32_t i = 0; i < rank; ++i) w->Varint(pool.IsDynamicDimension(shape, i));
}

}  // namespace

void AppendShape(const ShapePool& pool, ShapeId shape, std::string* out) {
  WireWriter w(out);
  const ShapeData data = pool[shape];
  if (data.is_buffer) {
    w.Int(2, kProtoBuffer);
    size_t at = w.Open(4);
    AppendArray(pool, shape, &w);
    w.Close(at);
    return;
  }
  if (data.IsArray()) return AppendArray(pool, shape, &w);
  if (!data.IsTuple()) return w.Int(2, Info(data.type).proto);
  // A tuple: an explicit stack of (tuple, next member, where its length goes).
  struct Open {
    ShapeId tuple;
    uint32_t next;
    size_t begin;
  };
  std::vector<Open> stack;
  w.Int(2, kProtoTuple);
  stack.push_back({shape, 0, 0});
  while (!stack.empty()) {
    Open& top = stack.back();
    if (top.next == pool.element_count(top.tuple)) {
      if (stack.size() > 1) w.Close(top.begin);
      stack.pop_back();
      continue;
    }
    ShapeId member = pool.element(top.tuple, top.next++);
    size_t begin = w.Open(4);
    if (pool.IsTuple(member)) {
      w.Int(2, kProtoTuple);
      stack.push_back({member, 0, begin});
      continue;
    }
    AppendShape(pool, member, out);  // a leaf: one level deep
    w.Close(begin);
  }
}

}  // namespace hlokit::proto
