// How are shapes and layouts written?
#include <algorithm>

#include "fmt/format.h"
#include "hlokit/shape.h"

namespace hlokit {

namespace {

void AppendInteger(int64_t value, std::string* out) {
  fmt::format_int text(value);
  out->append(text.data(), text.size());
}

void AppendIntegers(std::span<const int64_t> values, std::string* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) *out += ',';
    AppendInteger(values[i], out);
  }
}

}  // namespace

void ShapePool::AppendLayoutText(LayoutId layout, std::string* out) const {
  *out += '{';
  AppendIntegers(minor_to_major(layout), out);
  const LayoutExtras& e = extras(layout);
  if (layouts_[layout.value].extras != 0) {
    *out += ':';
    if (!e.tiles.empty()) *out += 'T';
    for (const std::vector<int64_t>& tile : e.tiles) {
      *out += '(';
      for (size_t i = 0; i < tile.size(); ++i) {
        if (i != 0) *out += ',';
        if (tile[i] == kCombineDimension) {
          *out += '*';
        } else {
          AppendInteger(tile[i], out);
        }
      }
      *out += ')';
    }
    if (e.tail_padding_alignment != 1) *out += fmt::format("L({})", e.tail_padding_alignment);
    if (e.index_type != ElementType::kInvalid)
      *out += fmt::format("#({})", Info(e.index_type).text);
    if (e.pointer_type != ElementType::kInvalid) {
      *out += fmt::format("*({})", Info(e.pointer_type).text);
    }
    if (e.element_size_in_bits != 0) *out += fmt::format("E({})", e.element_size_in_bits);
    if (e.memory_space != 0) *out += fmt::format("S({})", e.memory_space);
    if (!e.splits.empty()) *out += "SC";
    for (const SplitConfig& split : e.splits) {
      *out += fmt::format("({}:", split.dimension);
      AppendIntegers(split.indices, out);
      *out += ')';
    }
    if (e.dynamic_shape_metadata_prefix_bytes != 0) {
      *out += fmt::format("M({})", e.dynamic_shape_metadata_prefix_bytes);
    }
  }
  *out += '}';
}

std::string ShapePool::LayoutText(LayoutId layout) const {
  if (!layout.valid()) return "unset";
  std::string out;
  AppendLayoutText(layout, &out);
  return out;
}

namespace {

void AppendArrayText(const ShapePool& pool, ShapeId shape, bool with_layout, std::string* out) {
  const ShapeData& s = pool[shape];
  if (s.is_buffer) *out += "b(";
  *out += Info(s.type).text;
  *out += '[';
  std::span<const int64_t> sizes = pool.sizes(shape);
  for (uint32_t i = 0; i < s.count; ++i) {
    if (i != 0) *out += ',';
    if (s.has_dynamic && pool.IsDynamicDimension(shape, i)) {
      if (sizes[i] == kUnboundedSize) {
        *out += '?';
        continue;
      }
      *out += "<=";
    }
    AppendInteger(sizes[i], out);
  }
  *out += ']';
  if (with_layout && s.layout.valid() && (s.count != 0 || pool[s.layout].extras != 0)) {
    pool.AppendLayoutText(s.layout, out);
  }
  if (s.is_buffer) *out += ')';
}

}  // namespace

void ShapePool::AppendText(ShapeId shape, bool with_layout, std::string* out) const {
  if (!IsTuple(shape)) return AppendArrayText(*this, shape, with_layout, out);
  struct Open {
    ShapeId tuple;
    uint32_t next;
  };
  std::vector<Open> stack = {{shape, 0}};
  *out += '(';
  while (!stack.empty()) {
    Open& top = stack.back();
    if (top.next == element_count(top.tuple)) {
      *out += ')';
      stack.pop_back();
      continue;
    }
    uint32_t i = top.next++;
    if (i != 0) {
      *out += i % 5 == 0 ? fmt::format(", /*index={}*/", i) : std::string(", ");
    }
    ShapeId member = element(top.tuple, i);
    if (IsTuple(member)) {
      *out += '(';
      stack.push_back({member, 0});
    } else {
      AppendArrayText(*this, member, with_layout, out);
    }
  }
}

}  // namespace hlokit
