#ifndef HLOKIT_SHAPE_H_
#define HLOKIT_SHAPE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hlokit/element_type.h"
#include "hlokit/id.h"
#include "hlokit/result.h"

namespace hlokit {

/// A size that is not known and has no bound (`?` in text).
inline constexpr int64_t kUnboundedSize = std::numeric_limits<int64_t>::min();
/// The "combine with the next more major dimension" entry of a tile (`*` in text).
inline constexpr int64_t kCombineDimension = std::numeric_limits<int64_t>::min();

struct SplitConfig {
  int64_t dimension = 0;
  std::vector<int64_t> indices;
  bool operator==(const SplitConfig&) const = default;
};

/// The fields of a layout besides minor_to_major; hlo-text.md section 4.
struct LayoutExtras {
  std::vector<std::vector<int64_t>> tiles;
  int64_t tail_padding_alignment = 1;                ///< elements
  ElementType index_type = ElementType::kInvalid;    ///< sparse arrays only
  ElementType pointer_type = ElementType::kInvalid;  ///< sparse arrays only
  int64_t element_size_in_bits = 0;                  ///< 0 = natural
  int64_t memory_space = 0;                          ///< 0 device, 5 host
  std::vector<SplitConfig> splits;
  int64_t dynamic_shape_metadata_prefix_bytes = 0;
  bool operator==(const LayoutExtras&) const = default;
  bool IsDefault() const { return *this == LayoutExtras{}; }
};

struct LayoutData {
  const int64_t* minor_to_major = nullptr;
  uint32_t rank = 0;
  LayoutId order;       ///< the layout with the same minor_to_major and no extras
  uint32_t extras = 0;  ///< index of the extras; 0 = all default
};

/// One interned shape. Kinds: array (IsArrayType(type)), tuple (kTuple), token, opaque.
struct ShapeData {
  ElementType type = ElementType::kInvalid;
  bool is_buffer = false;          ///< b(array)
  bool has_dynamic = false;        ///< some dimension is dynamic (arrays), or some leaf (tuples)
  bool fully_set = false;          ///< every array leaf has a layout; tokens count as having one
  uint32_t count = 0;              ///< rank of an array, number of elements of a tuple
  const int64_t* sizes = nullptr;  // arrays: sizes, then dynamic flags where has_dynamic
  const uint32_t* elements = nullptr;  // tuples: (shape id, pre-order offset) pairs
  LayoutId layout;              ///< invalid = not set; always invalid for tuples, tokens, opaque
  ShapeId bare;                 ///< the same shape without any layout
  ShapeId static_bare;          ///< `bare` with all dynamic flags cleared: equal ids = compatible
  uint32_t subshape_count = 1;  ///< nodes of the shape tree in pre-order, this one included
  uint32_t leaf_count = 1;      ///< nodes that are not tuples

  bool IsTuple() const { return type == ElementType::kTuple; }
  bool IsArray() const { return IsArrayType(type); }
};

/// Append-only arrays that never move.
template <typename T>
class BumpPool {
 public:
  T* Append(size_t count) {
    if (count > left_) {
      left_ = count > kBlock ? count : kBlock;
      blocks_.push_back(std::make_unique_for_overwrite<T[]>(left_));
      next_ = blocks_.back().get();
      bytes_ += left_ * sizeof(T);
    }
    T* out = next_;
    next_ += count;
    left_ -= count;
    return out;
  }
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kBlock = 1024;
  std::vector<std::unique_ptr<T[]>> blocks_;
  T* next_ = nullptr;
  size_t left_ = 0;
  size_t bytes_ = 0;
};

/// All shapes and layouts of a module, hash-consed and immutable: equality is id equality.
/// Copies of a module share the pool. Spans stay valid for the life of the pool; references to
/// ShapeData and LayoutData only until the next shape or layout is made. Not thread-safe.
class ShapePool {
 public:
  ShapePool();
  ShapePool(const ShapePool&) = delete;
  ShapePool& operator=(const ShapePool&) = delete;

  // ---- making ----
  /// `dynamic` is empty (all static) or has one flag per dimension. A bounded dynamic dimension has
  /// its bound as size, an unbounded one kUnboundedSize.
  ShapeId Array(ElementType type, std::span<const int64_t> sizes, LayoutId layout = {},
                std::span<const uint8_t> dynamic = {}, bool is_buffer = false);
  ShapeId Tuple(std::span<const ShapeId> elements);
  ShapeId Token();
  ShapeId Opaque();
  LayoutId Layout(std::span<const int64_t> minor_to_major);
  LayoutId Layout(std::span<const int64_t> minor_to_major, const LayoutExtras& extras);
  /// {rank-1, …, 1, 0}
  LayoutId DescendingLayout(uint32_t rank);
  /// The same minor_to_major with other extras.
  LayoutId WithExtras(LayoutId layout, const LayoutExtras& extras);

  // ---- looking ----
  const ShapeData& operator[](ShapeId id) const { return shapes_[id.value]; }
  ElementType type(ShapeId id) const { return shapes_[id.value].type; }
  bool IsArray(ShapeId id) const { return shapes_[id.value].IsArray(); }
  bool IsTuple(ShapeId id) const { return shapes_[id.value].IsTuple(); }
  /// Rank of an array shape; 0 for all others.
  uint32_t rank(ShapeId id) const { return IsArray(id) ? shapes_[id.value].count : 0; }
  LayoutId layout(ShapeId id) const { return shapes_[id.value].layout; }
  /// Sizes of an array shape.
  std::span<const int64_t> sizes(ShapeId id) const {
    const ShapeData& s = shapes_[id.value];
    return {s.sizes, s.count};
  }
  bool IsDynamicDimension(ShapeId id, uint32_t dimension) const {
    const ShapeData& s = shapes_[id.value];
    return s.has_dynamic && s.sizes[s.count + dimension] != 0;
  }
  uint32_t element_count(ShapeId tuple) const { return shapes_[tuple.value].count; }
  ShapeId element(ShapeId tuple, uint32_t index) const {
    return ShapeId(shapes_[tuple.value].elements[2 * index]);
  }
  /// Pre-order number of element `index` of a tuple, counted from the tuple itself (which is 0).
  uint32_t element_offset(ShapeId tuple, uint32_t index) const {
    return shapes_[tuple.value].elements[2 * index + 1];
  }
  /// The node with the given pre-order number (0 = the shape itself). O(depth * log(width)).
  ShapeId Subshape(ShapeId shape, uint32_t preorder) const;
  /// The tuple path of a pre-order number, and back. Nothing when the path does not exist.
  std::vector<uint32_t> IndexOf(ShapeId shape, uint32_t preorder) const;
  std::optional<uint32_t> PreorderOf(ShapeId shape, std::span<const int64_t> index) const;
  /// The whole tree in pre-order (element i of the answer has pre-order number i).
  void AppendSubshapes(ShapeId shape, std::vector<ShapeId>* out) const;
  std::vector<ShapeId> Subshapes(ShapeId shape) const {
    std::vector<ShapeId> out;
    AppendSubshapes(shape, &out);
    return out;
  }

  const LayoutData& operator[](LayoutId id) const { return layouts_[id.value]; }
  std::span<const int64_t> minor_to_major(LayoutId id) const {
    const LayoutData& l = layouts_[id.value];
    return {l.minor_to_major, l.rank};
  }
  const LayoutExtras& extras(LayoutId id) const { return extras_[layouts_[id.value].extras]; }
  /// The layout without extras: equal ids = same order. Invalid stays invalid.
  LayoutId order(LayoutId id) const { return id.valid() ? layouts_[id.value].order : id; }

  // ---- new shapes from old ones ----
  ShapeId WithLayout(ShapeId array, LayoutId layout);
  /// Replaces the layout of the leaf with pre-order number i by layouts[i] for each array leaf.
  ShapeId WithLeafLayouts(ShapeId shape, std::span<const LayoutId> layouts_by_preorder);
  ShapeId WithType(ShapeId array, ElementType type);
  /// No array leaf has a layout.
  ShapeId ClearLayouts(ShapeId shape) const { return shapes_[shape.value].bare; }
  /// Each array leaf gets {n-1,…,0}; extras of a layout that was there survive.
  ShapeId WithDefaultLayouts(ShapeId shape);
  /// Leaves without a layout get {n-1,…,0}; the others keep theirs.
  ShapeId FillMissingLayouts(ShapeId shape);
  /// Memory space 0 in every layout.
  ShapeId WithoutMemorySpaces(ShapeId shape);
  /// Replaces the subshape with pre-order number `preorder`.
  ShapeId WithSubshape(ShapeId shape, uint32_t preorder, ShapeId replacement);

  // ---- comparing (layout-assignment.md section 1.2) ----
  /// Structure, element types and sizes; layouts and dynamic flags ignored.
  bool Compatible(ShapeId a, ShapeId b) const {
    return shapes_[a.value].static_bare == shapes_[b.value].static_bare;
  }
  bool SameOrder(LayoutId a, LayoutId b) const { return order(a) == order(b); }
  /// Structure, types, sizes, presence and order of layouts; extras ignored. `strict` compares
  /// dynamic flags too, lenient does not.
  bool SameShapeAndOrder(ShapeId a, ShapeId b, bool strict) const;

  // ---- measuring ----
  /// Elements of an array (dynamic dimensions count with their bound, unbounded ones as 0);
  /// saturates at the largest int64.
  int64_t ElementCount(ShapeId array) const;
  /// Bytes of all array leaves, unpadded; sub-byte elements are packed when the layout says so
  /// (element_size_in_bits), else take one byte each. Saturates.
  int64_t LogicalBytes(ShapeId shape) const;
  /// The same with every tile rounded up to its full size (tiles of the layouts present).
  int64_t PaddedBytes(ShapeId shape) const;

  // ---- text ----
  /// As in dumps: f32[2,3]{1,0:T(8,128)}; `with_layout` false leaves layouts out.
  void AppendText(ShapeId shape, bool with_layout, std::string* out) const;
  void AppendLayoutText(LayoutId layout, std::string* out) const;
  std::string Text(ShapeId shape, bool with_layout = true) const {
    std::string out;
    AppendText(shape, with_layout, &out);
    return out;
  }
  std::string LayoutText(LayoutId layout) const;

  /// InvalidArgument of layout-assignment.md section 1.1: empty when the layout fits the array.
  std::string LayoutProblem(ShapeId array, LayoutId layout) const;

  size_t shape_count() const { return shapes_.size(); }
  size_t layout_count() const { return layouts_.size(); }
  size_t MemoryBytes() const;

 private:
  ShapeId InternArray(ShapeData data, std::span<const int64_t> sizes,
                      std::span<const uint8_t> dynamic);
  uint32_t InternExtras(const LayoutExtras& extras);

  std::vector<ShapeData> shapes_;
  BumpPool<int64_t> integers_;
  BumpPool<uint32_t> elements_;
  std::vector<LayoutData> layouts_;
  std::vector<LayoutExtras> extras_;
  // Hash tables: slot -> id + 1, 0 = empty; grown to keep at most half full.
  struct IdTable {
    std::vector<uint32_t> slots;
    std::vector<uint64_t> hashes;  // by id
  };
  IdTable shape_table_;
  IdTable layout_table_;
  std::vector<LayoutId> descending_;  // by rank
};

}  // namespace hlokit

#endif  // HLOKIT_SHAPE_H_
