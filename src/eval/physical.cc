// Where in memory does an element lie, given a layout with tiles and packed elements?
#include "src/eval/physical.h"

#include <algorithm>
#include <cstring>

#include "hlokit/module.h"
#include "src/eval/value.h"

namespace hlokit::eval {
namespace {

/// Larger arrays are refused before anything overflows.
constexpr int64_t kMaxElements = int64_t{1} << 48;

/// One factor of the physical position: (index of the axis / divisor) % extent.
struct Digit {
  size_t axis = 0;
  int64_t divisor = 1;
  int64_t extent = 1;
};

struct Digits {
  std::vector<std::vector<int64_t>> axes;  // logical dimensions per axis, major to minor
  std::vector<Digit> digits;               // major to minor
};

/// Joins digits of whole axes into one axis, in the place of the minor one; false when they were
/// tiled already.
bool Combine(Digits& all, const Digit& major, Digit* minor, std::span<const int64_t> sizes) {
  auto whole = [&](const Digit& digit) {
    int64_t size = 1;
    for (int64_t dimension : all.axes[digit.axis]) size *= sizes[dimension];
    return digit.divisor == 1 && digit.extent == size;
  };
  if (!whole(major) || !whole(*minor)) return false;
  std::vector<int64_t>& joined = all.axes[major.axis];
  joined.insert(joined.end(), all.axes[minor->axis].begin(), all.axes[minor->axis].end());
  all.axes[minor->axis].clear();
  *minor = Digit{major.axis, 1, major.extent * minor->extent};
  return true;
}

bool ApplyTile(Digits& all, const std::vector<int64_t>& tile, std::span<const int64_t> sizes) {
  while (all.digits.size() < tile.size()) {
    all.axes.emplace_back();
    all.digits.insert(all.digits.begin(), Digit{all.axes.size() - 1, 1, 1});
  }
  const size_t base = all.digits.size() - tile.size();
  std::vector<Digit> outer(all.digits.begin(), all.digits.begin() + static_cast<int64_t>(base));
  std::vector<Digit> inner;
  Digit carried;  // whole axes that wait for the next more minor one
  bool has_carried = false;
  for (size_t i = 0; i < tile.size(); ++i) {
    Digit digit = all.digits[base + i];
    if (has_carried && !Combine(all, carried, &digit, sizes)) return false;
    has_carried = tile[i] == kCombineDimension;
    if (has_carried) {
      carried = digit;
      continue;
    }
    const int64_t size = std::max<int64_t>(tile[i], 1);
    outer.push_back({digit.axis, digit.divisor * size, (digit.extent + size - 1) / size});
    inner.push_back({digit.axis, digit.divisor, size});
  }
  if (has_carried) return false;
  outer.insert(outer.end(), inner.begin(), inner.end());
  all.digits = std::move(outer);
  return true;
}

bool IsDescending(std::span<const int64_t> minor_to_major) {
  for (size_t i = 0; i < minor_to_major.size(); ++i) {
    if (minor_to_major[i] != static_cast<int64_t>(minor_to_major.size() - 1 - i)) return false;
  }
  return true;
}

/// Calls move(logical element, physical element) for every element.
template <typename Move>
void ForEachElement(std::span<const int64_t> sizes, const PhysicalOrder& order, Move move) {
  const int64_t count = Product(sizes);
  if (count == 0) return;
  if (sizes.empty()) return move(0, 0);
  // The innermost dimension has a table of its own unless a tile combines it.
  std::vector<int64_t> index(sizes.size(), 0);
  const PhysicalOrder::Group* inner = nullptr;
  for (const PhysicalOrder::Group& group : order.groups) {
    if (group.dimensions.size() == 1 &&
        group.dimensions[0] == static_cast<int64_t>(sizes.size()) - 1) {
      inner = &group;
    }
  }
  const std::span<const int64_t> outer_sizes = inner ? sizes.first(sizes.size() - 1) : sizes;
  int64_t element = 0;
  do {
    int64_t position = 0;
    for (const PhysicalOrder::Group& group : order.groups) {
      if (&group == inner) continue;
      int64_t flat = 0;
      for (int64_t dimension : group.dimensions) flat = flat * sizes[dimension] + index[dimension];
      position += group.position[flat];
    }
    if (inner == nullptr) {
      move(element++, position);
    } else {
      for (int64_t place : inner->position) move(element++, position + place);
    }
  } while (NextIndex(outer_sizes, std::span<int64_t>(index).first(outer_sizes.size())));
}

uint64_t ReadBits(const std::byte* bytes, uint64_t bit, int64_t width) {
  uint64_t value = 0;
  for (int64_t i = 0; i < width; ++i) {
    const uint64_t at = bit + static_cast<uint64_t>(i);
    value |= (static_cast<uint64_t>(bytes[at / 8]) >> (at % 8) & 1) << i;
  }
  return value;
}

void WriteBits(std::byte* bytes, uint64_t bit, int64_t width, uint64_t value) {
  for (int64_t i = 0; i < width; ++i) {
    const uint64_t at = bit + static_cast<uint64_t>(i);
    const uint8_t mask = static_cast<uint8_t>(1u << (at % 8));
    uint8_t byte = static_cast<uint8_t>(bytes[at / 8]);
    byte = (value >> i & 1) != 0 ? byte | mask : byte & ~mask;
    bytes[at / 8] = static_cast<std::byte>(byte);
  }
}

/// One stored element from packed bits: signed types are sign-extended to their byte.
uint8_t FromPacked(ElementType type, uint64_t bits) {
  const int width = Info(type).bits;
  bits &= (uint64_t{1} << width) - 1;
  if (Info(type).kind == ElementKind::kSigned && (bits >> (width - 1) & 1) != 0) {
    bits |= ~uint64_t{0} << width;
  }
  return static_cast<uint8_t>(bits);
}

template <typename Move>
void WithWidth(int width, Move move) {
  switch (width) {
    case 1:
      return move(std::integral_constant<size_t, 1>());
    case 2:
      return move(std::integral_constant<size_t, 2>());
    case 4:
      return move(std::integral_constant<size_t, 4>());
    case 8:
      return move(std::integral_constant<size_t, 8>());
    default:
      return move(std::integral_constant<size_t, 16>());
  }
}

/// Are elements kept in whole bytes of their storage size?
bool WholeElements(ElementType type, const PhysicalOrder& order) {
  return order.element_bits == 8 * StorageBytes(type);
}

}  // namespace

std::optional<PhysicalOrder> OrderOf(const ShapePool& shapes, ShapeId array) {
  const std::span<const int64_t> sizes = shapes.sizes(array);
  const LayoutId layout = shapes.layout(array);
  const ElementType type = shapes.type(array);
  Digits all;
  PhysicalOrder out;
  const bool descending = !layout.valid() || IsDescending(shapes.minor_to_major(layout));
  static const LayoutExtras kNoExtras;
  const LayoutExtras& extras = layout.valid() ? shapes.extras(layout) : kNoExtras;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t dimension = static_cast<int64_t>(i);
    if (layout.valid()) dimension = shapes.minor_to_major(layout)[sizes.size() - 1 - i];
    all.axes.push_back({dimension});
    all.digits.push_back({i, 1, sizes[dimension]});
  }
  for (const std::vector<int64_t>& tile : extras.tiles) {
    if (!ApplyTile(all, tile, sizes)) return std::nullopt;
  }
  const int64_t align = std::max<int64_t>(extras.tail_padding_alignment, 1);
  const bool packed = extras.element_size_in_bits >= Info(type).bits;
  out.element_bits = packed ? extras.element_size_in_bits : 8 * StorageBytes(type);
  out.elements = 1;
  for (const Digit& digit : all.digits) {
    if (__builtin_mul_overflow(out.elements, digit.extent, &out.elements)) return std::nullopt;
  }
  if (out.elements > kMaxElements || align > kMaxElements || out.element_bits > 1024) {
    return std::nullopt;
  }
  out.elements = (out.elements + align - 1) / align * align;
  out.bytes = static_cast<uint64_t>(out.elements * out.element_bits + 7) / 8;
  out.row_major = descending && extras.tiles.empty() && align == 1 && WholeElements(type, out);
  if (out.row_major) return out;
  // Strides of the digits, then one table per axis.
  std::vector<std::vector<std::pair<Digit, int64_t>>> by_axis(all.axes.size());
  int64_t stride = 1;
  for (size_t i = all.digits.size(); i-- > 0;) {
    by_axis[all.digits[i].axis].emplace_back(all.digits[i], stride);
    stride *= all.digits[i].extent;
  }
  for (size_t axis = 0; axis < all.axes.size(); ++axis) {
    if (all.axes[axis].empty()) continue;
    PhysicalOrder::Group group;
    group.dimensions = all.axes[axis];
    int64_t extent = 1;
    for (int64_t dimension : group.dimensions) extent *= sizes[dimension];
    group.position.resize(static_cast<size_t>(extent));
    for (int64_t i = 0; i < extent; ++i) {
      int64_t position = 0;
      for (const auto& [digit, step] : by_axis[axis]) {
        position += i / digit.divisor % digit.extent * step;
      }
      group.position[static_cast<size_t>(i)] = position;
    }
    out.groups.push_back(std::move(group));
  }
  return out;
}

void Pack(const ShapePool& shapes, ShapeId array, const PhysicalOrder& order,
          const std::byte* logical, std::byte* physical) {
  const ElementType type = shapes.type(array);
  if (order.bytes == 0) return;  // no memory at all: the pointers may be null
  if (order.row_major) {
    std::memcpy(physical, logical, order.bytes);
    return;
  }
  std::memset(physical, 0, order.bytes);
  if (WholeElements(type, order)) {
    return WithWidth(StorageBytes(type), [&](auto width) {
      ForEachElement(shapes.sizes(array), order, [&](int64_t from, int64_t to) {
        std::memcpy(physical + to * width, logical + from * width, width);
      });
    });
  }
  const int bytes = StorageBytes(type);
  const int64_t bits = std::min<int64_t>(order.element_bits, Info(type).bits);
  ForEachElement(shapes.sizes(array), order, [&](int64_t from, int64_t to) {
    for (int64_t bit = 0; bit < bits; bit += 64) {
      const int64_t width = std::min<int64_t>(64, bits - bit);
      const uint64_t value = ReadBits(logical + from * bytes, static_cast<uint64_t>(bit), width);
      WriteBits(physical, static_cast<uint64_t>(to * order.element_bits + bit), width, value);
    }
  });
}

void Unpack(const ShapePool& shapes, ShapeId array, const PhysicalOrder& order,
            const std::byte* physical, std::byte* logical) {
  const ElementType type = shapes.type(array);
  if (order.bytes == 0) return;
  if (order.row_major) {
    std::memcpy(logical, physical, order.bytes);
    return;
  }
  if (WholeElements(type, order)) {
    return WithWidth(StorageBytes(type), [&](auto width) {
      ForEachElement(shapes.sizes(array), order, [&](int64_t to, int64_t from) {
        std::memcpy(logical + to * width, physical + from * width, width);
      });
    });
  }
  const int bytes = StorageBytes(type);
  const int64_t bits = std::min<int64_t>(order.element_bits, Info(type).bits);
  ForEachElement(shapes.sizes(array), order, [&](int64_t to, int64_t from) {
    for (int64_t bit = 0; bit < bits; bit += 64) {
      const int64_t width = std::min<int64_t>(64, bits - bit);
      const uint64_t value =
          ReadBits(physical, static_cast<uint64_t>(from * order.element_bits + bit), width);
      if (bytes == 1 && Info(type).bits < 8) {
        logical[to] = static_cast<std::byte>(FromPacked(type, value));
      } else {
        WriteBits(logical + to * bytes, static_cast<uint64_t>(bit), width, value);
      }
    }
  });
}

}  // namespace hlokit::eval
