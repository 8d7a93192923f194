// Which shapes and layouts are there? Each exists once; ids compare.
#include "hlokit/shape.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "fmt/format.h"

namespace hlokit {
namespace {

constexpr uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

/// Looks `hash` up; `equal(id)` decides. Returns the id, or inserts `fresh` and returns it.
template <typename Table, typename Equal>
uint32_t FindOrInsert(Table& table, uint64_t hash, uint32_t fresh, Equal equal) {
  if (table.slots.empty()) table.slots.resize(64);
  uint32_t mask = static_cast<uint32_t>(table.slots.size()) - 1;
  uint32_t slot = static_cast<uint32_t>(hash) & mask;
  while (table.slots[slot] != 0) {
    uint32_t id = table.slots[slot] - 1;
    if (table.hashes[id] == hash && equal(id)) return id;
    slot = (slot + 1) & mask;
  }
  table.slots[slot] = fresh + 1;
  table.hashes.resize(fresh + 1);
  table.hashes[fresh] = hash;
  if (2 * table.hashes.size() > table.slots.size()) {
    std::vector<uint32_t> grown(table.slots.size() * 2);
    uint32_t grown_mask = static_cast<uint32_t>(grown.size()) - 1;
    for (uint32_t entry : table.slots) {
      if (entry == 0) continue;
      uint32_t at = static_cast<uint32_t>(table.hashes[entry - 1]) & grown_mask;
      while (grown[at] != 0) at = (at + 1) & grown_mask;
      grown[at] = entry;
    }
    table.slots = std::move(grown);
  }
  return fresh;
}

}  // namespace

ShapePool::ShapePool() { extras_.emplace_back(); }

// ---- layouts ----

LayoutId ShapePool::Layout(std::span<const int64_t> minor_to_major) {
  return Layout(minor_to_major, LayoutExtras{});
}

uint32_t ShapePool::InternExtras(const LayoutExtras& extras) {
  // A module uses a handful of different extras: a scan beats a table.
  for (uint32_t i = 0; i < extras_.size(); ++i) {
    if (extras_[i] == extras) return i;
  }
  extras_.push_back(extras);
  return static_cast<uint32_t>(extras_.size() - 1);
}

LayoutId ShapePool::Layout(std::span<const int64_t> minor_to_major, const LayoutExtras& extras) {
  uint32_t extras_index = InternExtras(extras);
  uint64_t hash = Mix(minor_to_major.size(), extras_index);
  for (int64_t entry : minor_to_major) hash = Mix(hash, static_cast<uint64_t>(entry));
  uint32_t fresh = static_cast<uint32_t>(layouts_.size());
  uint32_t found = FindOrInsert(layout_table_, hash, fresh, [&](uint32_t id) {
    const LayoutData& l = layouts_[id];
    return l.extras == extras_index && l.rank == minor_to_major.size() &&
           std::equal(minor_to_major.begin(), minor_to_major.end(), l.minor_to_major);
  });
  if (found != fresh) return LayoutId(found);
  int64_t* entries = integers_.Append(minor_to_major.size());
  std::copy(minor_to_major.begin(), minor_to_major.end(), entries);
  layouts_.push_back({.minor_to_major = entries,
                      .rank = static_cast<uint32_t>(minor_to_major.size()),
                      .extras = extras_index});
  LayoutId order(fresh);
  if (extras_index != 0) order = Layout(minor_to_major);
  layouts_[fresh].order = order;
  return LayoutId(fresh);
}

LayoutId ShapePool::DescendingLayout(uint32_t rank) {
  if (rank < descending_.size() && descending_[rank].valid()) return descending_[rank];
  std::vector<int64_t> entries(rank);
  for (uint32_t i = 0; i < rank; ++i) entries[i] = rank - 1 - i;
  LayoutId id = Layout(entries);
  if (rank < 64) {
    if (rank >= descending_.size()) descending_.resize(rank + 1);
    descending_[rank] = id;
  }
  return id;
}

LayoutId ShapePool::WithExtras(LayoutId layout, const LayoutExtras& extras) {
  return Layout(minor_to_major(layout), extras);
}

// ---- shapes ----

ShapeId ShapePool::InternArray(ShapeData data, std::span<const int64_t> sizes,
                               std::span<const uint8_t> dynamic) {
  data.has_dynamic = std::any_of(dynamic.begin(), dynamic.end(), [](uint8_t d) { return d != 0; });
  uint64_t hash = Mix(static_cast<uint64_t>(data.type),
                      sizes.size() * 4 + data.is_buffer * 2 + data.has_dynamic);
  hash = Mix(hash, data.layout.value);
  for (int64_t size : sizes) hash = Mix(hash, static_cast<uint64_t>(size));
  if (data.has_dynamic) {
    for (uint8_t d : dynamic) hash = Mix(hash, d != 0);
  }
  uint32_t fresh = static_cast<uint32_t>(shapes_.size());
  uint32_t found = FindOrInsert(shape_table_, hash, fresh, [&](uint32_t id) {
    const ShapeData& s = shapes_[id];
    if (s.type != data.type || s.count != data.count || s.is_buffer != data.is_buffer ||
        s.layout != data.layout || s.has_dynamic != data.has_dynamic) {
      return false;
    }
    const int64_t* pooled = s.sizes;
    if (!std::equal(sizes.begin(), sizes.end(), pooled)) return false;
    for (uint32_t i = 0; s.has_dynamic && i < s.count; ++i) {
      if ((pooled[s.count + i] != 0) != (dynamic[i] != 0)) return false;
    }
    return true;
  });
  if (found != fresh) return ShapeId(found);
  data.fully_set = data.layout.valid();
  int64_t* pooled = integers_.Append(sizes.size() * (data.has_dynamic ? 2 : 1));
  std::copy(sizes.begin(), sizes.end(), pooled);
  for (size_t i = 0; data.has_dynamic && i < sizes.size(); ++i)
    pooled[sizes.size() + i] = dynamic[i] != 0;
  data.sizes = pooled;
  shapes_.push_back(data);
  ShapeId id(fresh);
  ShapeId bare = id;
  if (data.layout.valid()) {
    ShapeData bare_data = data;
    bare_data.layout = {};
    bare = InternArray(bare_data, sizes, dynamic);
  }
  ShapeId static_bare = bare;
  if (data.has_dynamic) {
    ShapeData static_data = data;
    static_data.layout = {};
    static_bare = InternArray(static_data, sizes, {});
  }
  shapes_[fresh].bare = bare;
  shapes_[fresh].static_bare = static_bare;
  return id;
}

ShapeId ShapePool::Array(ElementType type, std::span<const int64_t> sizes, LayoutId layout,
                         std::span<const uint8_t> dynamic, bool is_buffer) {
  ShapeData data{.type = type,
                 .is_buffer = is_buffer,
                 .count = static_cast<uint32_t>(sizes.size()),
                 .layout = layout};
  return InternArray(data, sizes, dynamic);
}

ShapeId ShapePool::Token() {
  ShapeData data{.type = ElementType::kToken};
  ShapeId id = InternArray(data, {}, {});
  shapes_[id.value].fully_set = true;
  return id;
}

ShapeId ShapePool::Opaque() {
  ShapeData data{.type = ElementType::kOpaque};
  ShapeId id = InternArray(data, {}, {});
  shapes_[id.value].fully_set = true;
  return id;
}

ShapeId ShapePool::Tuple(std::span<const ShapeId> elements) {
  uint64_t hash = Mix(static_cast<uint64_t>(ElementType::kTuple), elements.size());
  for (ShapeId element : elements) hash = Mix(hash, element.value);
  uint32_t fresh = static_cast<uint32_t>(shapes_.size());
  uint32_t found = FindOrInsert(shape_table_, hash, fresh, [&](uint32_t id) {
    const ShapeData& s = shapes_[id];
    if (!s.IsTuple() || s.count != elements.size()) return false;
    for (uint32_t i = 0; i < s.count; ++i) {
      if (s.elements[2 * i] != elements[i].value) return false;
    }
    return true;
  });
  if (found != fresh) return ShapeId(found);
  ShapeData data{.type = ElementType::kTuple,
                 .fully_set = true,
                 .count = static_cast<uint32_t>(elements.size()),
                 .leaf_count = 0};
  uint32_t* pooled = elements_.Append(2 * elements.size());
  data.elements = pooled;
  bool all_bare = true;
  bool all_static = true;
  for (ShapeId element : elements) {
    const ShapeData& e = shapes_[element.value];
    *pooled++ = element.value;
    *pooled++ = data.subshape_count;
    data.subshape_count += e.subshape_count;
    data.leaf_count += e.leaf_count;
    data.fully_set = data.fully_set && e.fully_set;
    data.has_dynamic = data.has_dynamic || e.has_dynamic;
    all_bare = all_bare && e.bare == element;
    all_static = all_static && e.static_bare == element;
  }
  shapes_.push_back(data);
  ShapeId bare(fresh);
  ShapeId static_bare(fresh);
  std::vector<ShapeId> mapped(elements.size());
  if (!all_bare) {
    for (uint32_t i = 0; i < data.count; ++i) {
      mapped[i] = shapes_[data.elements[2 * i]].bare;
    }
    bare = Tuple(mapped);
  }
  if (!all_static) {
    for (uint32_t i = 0; i < data.count; ++i) {
      mapped[i] = shapes_[data.elements[2 * i]].static_bare;
    }
    static_bare = Tuple(mapped);
  }
  shapes_[fresh].bare = bare;
  shapes_[fresh].static_bare = static_bare;
  return ShapeId(fresh);
}

// ---- trees ----

ShapeId ShapePool::Subshape(ShapeId shape, uint32_t preorder) const {
  while (preorder != 0) {
    const ShapeData& s = shapes_[shape.value];
    assert(s.IsTuple() && preorder < s.subshape_count);
    // The last element that begins at or before `preorder`.
    uint32_t low = 0;
    uint32_t high = s.count;
    while (high - low > 1) {
      uint32_t middle = (low + high) / 2;
      if (s.elements[2 * middle + 1] <= preorder) {
        low = middle;
      } else {
        high = middle;
      }
    }
    shape = ShapeId(s.elements[2 * low]);
    preorder -= s.elements[2 * low + 1];
  }
  return shape;
}

std::vector<uint32_t> ShapePool::IndexOf(ShapeId shape, uint32_t preorder) const {
  std::vector<uint32_t> index;
  while (preorder != 0) {
    uint32_t i = element_count(shape) - 1;
    while (element_offset(shape, i) > preorder) --i;
    index.push_back(i);
    preorder -= element_offset(shape, i);
    shape = element(shape, i);
  }
  return index;
}

std::optional<uint32_t> ShapePool::PreorderOf(ShapeId shape, std::span<const int64_t> index) const {
  uint32_t preorder = 0;
  for (int64_t i : index) {
    if (!IsTuple(shape) || i < 0 || i >= element_count(shape)) return std::nullopt;
    preorder += element_offset(shape, static_cast<uint32_t>(i));
    shape = element(shape, static_cast<uint32_t>(i));
  }
  return preorder;
}

void ShapePool::AppendSubshapes(ShapeId shape, std::vector<ShapeId>* out) const {
  if (!IsTuple(shape)) {
    out->push_back(shape);
    return;
  }
  size_t base = out->size();
  out->resize(base + shapes_[shape.value].subshape_count);
  struct Pending {
    ShapeId shape;
    uint32_t at;
  };
  std::vector<Pending> stack = {{shape, 0}};
  while (!stack.empty()) {
    Pending top = stack.back();
    stack.pop_back();
    (*out)[base + top.at] = top.shape;
    if (!IsTuple(top.shape)) continue;
    for (uint32_t i = 0; i < element_count(top.shape); ++i) {
      stack.push_back({element(top.shape, i), top.at + element_offset(top.shape, i)});
    }
  }
}

ShapeId ShapePool::WithLayout(ShapeId array, LayoutId layout) {
  ShapeData data = shapes_[array.value];
  if (data.layout == layout) return array;
  data.layout = layout;
  std::vector<uint8_t> dynamic;
  for (uint32_t i = 0; data.has_dynamic && i < data.count; ++i) {
    dynamic.push_back(data.sizes[data.count + i] != 0);
  }
  return InternArray(data, {data.sizes, data.count}, dynamic);
}

ShapeId ShapePool::WithType(ShapeId array, ElementType type) {
  ShapeData data = shapes_[array.value];
  data.type = type;
  std::vector<uint8_t> dynamic;
  for (uint32_t i = 0; data.has_dynamic && i < data.count; ++i) {
    dynamic.push_back(data.sizes[data.count + i] != 0);
  }
  return InternArray(data, {data.sizes, data.count}, dynamic);
}

namespace {

/// Rebuilds a shape tree bottom-up without recursion: `leaf(shape, preorder)` maps each non-tuple.
template <typename Leaf>
ShapeId MapLeaves(ShapePool& pool, ShapeId shape, Leaf leaf) {
  if (!pool.IsTuple(shape)) return leaf(shape, 0);
  std::vector<ShapeId> nodes = pool.Subshapes(shape);
  // Children follow their parents in pre-order: go backwards and combine.
  for (uint32_t at = static_cast<uint32_t>(nodes.size()); at-- > 0;) {
    ShapeId node = nodes[at];
    if (!pool.IsTuple(node)) {
      nodes[at] = leaf(node, at);
      continue;
    }
    std::vector<ShapeId> elements(pool.element_count(node));
    for (uint32_t i = 0; i < elements.size(); ++i) {
      elements[i] = nodes[at + pool.element_offset(node, i)];
    }
    nodes[at] = pool.Tuple(elements);
  }
  return nodes[0];
}

}  // namespace

ShapeId ShapePool::WithLeafLayouts(ShapeId shape, std::span<const LayoutId> layouts) {
  return MapLeaves(*this, shape, [&](ShapeId leaf, uint32_t at) {
    return IsArray(leaf) ? WithLayout(leaf, layouts[at]) : leaf;
  });
}

ShapeId ShapePool::WithDefaultLayouts(ShapeId shape) {
  return MapLeaves(*this, shape, [&](ShapeId leaf, uint32_t) {
    if (!IsArray(leaf)) return leaf;
    LayoutId descending = DescendingLayout(rank(leaf));
    LayoutId old = layout(leaf);
    if (old.valid() && layouts_[old.value].extras != 0) {
      LayoutExtras kept = extras(old);
      descending = WithExtras(descending, kept);
    }
    return WithLayout(leaf, descending);
  });
}

ShapeId ShapePool::FillMissingLayouts(ShapeId shape) {
  if (shapes_[shape.value].fully_set) return shape;
  return MapLeaves(*this, shape, [&](ShapeId leaf, uint32_t) {
    if (!IsArray(leaf) || layout(leaf).valid()) return leaf;
    return WithLayout(leaf, DescendingLayout(rank(leaf)));
  });
}

ShapeId ShapePool::WithoutMemorySpaces(ShapeId shape) {
  if (extras_.size() == 1) return shape;
  return MapLeaves(*this, shape, [&](ShapeId leaf, uint32_t) {
    LayoutId old = layout(leaf);
    if (!old.valid() || extras(old).memory_space == 0) return leaf;
    LayoutExtras changed = extras(old);
    changed.memory_space = 0;
    return WithLayout(leaf, WithExtras(old, changed));
  });
}

ShapeId ShapePool::WithSubshape(ShapeId shape, uint32_t preorder, ShapeId replacement) {
  if (preorder == 0) return replacement;
  // Remember the way down, rebuild on the way up.
  std::vector<std::pair<ShapeId, uint32_t>> way;
  for (uint32_t index : IndexOf(shape, preorder)) {
    way.emplace_back(shape, index);
    shape = element(shape, index);
  }
  for (auto step = way.rbegin(); step != way.rend(); ++step) {
    std::vector<ShapeId> elements(element_count(step->first));
    for (uint32_t i = 0; i < elements.size(); ++i) elements[i] = element(step->first, i);
    elements[step->second] = replacement;
    replacement = Tuple(elements);
  }
  return replacement;
}

bool ShapePool::SameShapeAndOrder(ShapeId a, ShapeId b, bool strict) const {
  if (a == b) return true;
  const ShapeData& x = shapes_[a.value];
  const ShapeData& y = shapes_[b.value];
  if (strict ? x.bare != y.bare : x.static_bare != y.static_bare) return false;
  if (!x.IsTuple()) return order(x.layout) == order(y.layout);
  std::vector<ShapeId> left = Subshapes(a);
  std::vector<ShapeId> right = Subshapes(b);
  for (size_t i = 0; i < left.size(); ++i) {
    if (order(layout(left[i])) != order(layout(right[i]))) return false;
  }
  return true;
}

std::string ShapePool::LayoutProblem(ShapeId array, LayoutId layout) const {
  if (!layout.valid()) return "the shape has no layout";
  const ShapeData& s = shapes_[array.value];
  std::span<const int64_t> entries = minor_to_major(layout);
  if (entries.size() != s.count) {
    return fmt::format("the layout has {} entries, the array has rank {}", entries.size(), s.count);
  }
  std::vector<bool> seen(s.count);
  for (int64_t entry : entries) {
    if (entry < 0 || entry >= s.count) return fmt::format("dimension {} is out of bounds", entry);
    if (seen[entry]) return fmt::format("dimension {} appears twice", entry);
    seen[entry] = true;
  }
  if (layouts_[layout.value].extras == 0) return "";
  const LayoutExtras& e = extras(layout);
  if (e.tail_padding_alignment < 1) return "the tail padding alignment is below 1";
  if (e.index_type != ElementType::kInvalid || e.pointer_type != ElementType::kInvalid) {
    return "index and pointer types belong to sparse arrays";
  }
  for (const std::vector<int64_t>& tile : e.tiles) {
    if (tile.empty()) return "a tile has no dimensions";
    for (int64_t size : tile) {
      if (size <= 0 && size != kCombineDimension) return "a tile size is not positive";
    }
  }
  if (e.element_size_in_bits < 0) return "the element size is negative";
  std::vector<int64_t> split_dimensions;
  for (const SplitConfig& split : e.splits) {
    if (split.dimension < 0 || split.dimension >= s.count) {
      return fmt::format("split dimension {} is out of bounds", split.dimension);
    }
    if (std::count(split_dimensions.begin(), split_dimensions.end(), split.dimension) != 0) {
      return fmt::format("dimension {} is split twice", split.dimension);
    }
    split_dimensions.push_back(split.dimension);
    // A split names a physical dimension, counted from the most major one.
    int64_t logical = entries[s.count - 1 - split.dimension];
    int64_t previous = 0;
    for (int64_t at : split.indices) {
      if (at <= previous || at >= s.sizes[logical]) {
        return fmt::format("split index {} is out of range or not increasing", at);
      }
      previous = at;
    }
  }
  return "";
}

size_t ShapePool::MemoryBytes() const {
  return shapes_.capacity() * sizeof(ShapeData) + integers_.bytes() + elements_.bytes() +
         layouts_.capacity() * sizeof(LayoutData) +
         (shape_table_.slots.capacity() + layout_table_.slots.capacity()) * 4 +
         (shape_table_.hashes.capacity() + layout_table_.hashes.capacity()) * 8;
}

}  // namespace hlokit
