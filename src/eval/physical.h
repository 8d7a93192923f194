// Where in memory does an element lie, given a layout with tiles and packed elements?
#ifndef HLOKIT_SRC_EVAL_PHYSICAL_H_
#define HLOKIT_SRC_EVAL_PHYSICAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hlokit/shape.h"

namespace hlokit::eval {

/// The place of every element of one array shape: the sum of one table entry per group of
/// dimensions (dimensions that a tile combines share a table).
struct PhysicalOrder {
  struct Group {
    std::vector<int64_t> dimensions;  ///< major to minor
    std::vector<int64_t> position;    ///< by index in the group
  };
  std::vector<Group> groups;
  int64_t elements = 0;  ///< with padding
  int64_t element_bits = 8;
  uint64_t bytes = 0;
  bool row_major = false;  ///< the bytes are those of the row-major array
};

/// Nothing when the layout combines dimensions in a way that hlokit does not know. A shape without
/// a layout is row-major.
std::optional<PhysicalOrder> OrderOf(const ShapePool& shapes, ShapeId array);

/// Row-major elements to bytes in physical order (padding is zero), and back.
void Pack(const ShapePool& shapes, ShapeId array, const PhysicalOrder& order,
          const std::byte* logical, std::byte* physical);
void Unpack(const ShapePool& shapes, ShapeId array, const PhysicalOrder& order,
            const std::byte* physical, std::byte* logical);

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_PHYSICAL_H_
