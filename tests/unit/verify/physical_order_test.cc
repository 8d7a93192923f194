// When does a bitcast keep every element in place? Compared with a slow, literal second answer.
#include "src/verify/physical_order.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

namespace hlokit {
namespace {

/// Place of each element in row-major logical order.
std::vector<int64_t> Places(const ShapePool& shapes, ShapeId shape) {
  std::span<const int64_t> sizes = shapes.sizes(shape);
  std::vector<int64_t> places;
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t n = 0; n < shapes.ElementCount(shape); ++n) {
    int64_t rest = n;
    for (size_t d = sizes.size(); d-- > 0;) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
    }
    int64_t place = 0;
    int64_t stride = 1;
    for (int64_t d : shapes.minor_to_major(shapes.layout(shape))) {
      place += index[static_cast<size_t>(d)] * stride;
      stride *= sizes[static_cast<size_t>(d)];
    }
    places.push_back(place);
  }
  return places;
}

/// All shapes of 12 elements of up to 3 dimensions, in all orders.
std::vector<ShapeId> AllShapes(ShapePool& shapes) {
  std::vector<ShapeId> out;
  for (int64_t a = 1; a <= 12; ++a) {
    for (int64_t b = 1; b <= 12; ++b) {
      for (int64_t c = 1; c <= 12; ++c) {
        if (a * b * c != 12) continue;
        const int64_t sizes[] = {a, b, c};
        int64_t order[] = {0, 1, 2};
        do {
          out.push_back(shapes.Array(ElementType::kF32, sizes, shapes.Layout(order)));
        } while (std::next_permutation(order, order + 3));
      }
    }
  }
  return out;
}

TEST(PhysicalOrder, ReshapeBitcastMeansTheSamePlaces) {
  ShapePool shapes;
  std::vector<ShapeId> all = AllShapes(shapes);
  size_t kept = 0;
  for (ShapeId from : all) {
    for (ShapeId to : all) {
      bool same = Places(shapes, from) == Places(shapes, to);
      EXPECT_EQ(IsReshapeBitcast(shapes, from, to), same)
          << shapes.Text(from) << " " << shapes.Text(to);
      kept += same ? 1 : 0;
    }
  }
  EXPECT_GT(kept, all.size());  // more than each with itself
  EXPECT_LT(kept, all.size() * all.size());
}

TEST(PhysicalOrder, TransposeBitcastMeansTheSameSizesInPhysicalOrder) {
  ShapePool shapes;
  auto shape = [&](std::vector<int64_t> sizes, std::vector<int64_t> order) {
    return shapes.Array(ElementType::kF32, sizes, shapes.Layout(order));
  };
  EXPECT_TRUE(IsTransposeBitcast(shapes, shape({2, 3}, {1, 0}), shape({3, 2}, {0, 1})));
  EXPECT_FALSE(IsTransposeBitcast(shapes, shape({2, 3}, {1, 0}), shape({2, 3}, {0, 1})));
  EXPECT_TRUE(IsTransposeBitcast(shapes, shape({2, 1, 3}, {2, 1, 0}), shape({3, 2, 1}, {0, 2, 1})));
}

TEST(PhysicalOrder, EmptyArraysNeverMove) {
  ShapePool shapes;
  auto shape = [&](std::vector<int64_t> sizes, std::vector<int64_t> order) {
    return shapes.Array(ElementType::kF32, sizes, shapes.Layout(order));
  };
  EXPECT_TRUE(IsReshapeBitcast(shapes, shape({0, 3}, {1, 0}), shape({3, 0}, {0, 1})));
  EXPECT_FALSE(IsReshapeBitcast(shapes, shape({0, 3}, {1, 0}), shape({3, 1}, {0, 1})));
}

}  // namespace
}  // namespace hlokit
