// Is a layout carried across a reshape as the tables of section 6.3 say?
#include <optional>

#include "tests/unit/layout/layout_test_util.h"

namespace hlokit {
namespace {

using List = std::vector<int64_t>;

std::optional<List> Align(const List& source, const List& order, const List& target) {
  List aligned;
  if (!AlignLayout(source, order, target, &aligned)) return std::nullopt;
  return aligned;
}

TEST(ReshapeAlign, TableOfSection63) {
  EXPECT_EQ(Align({6, 20}, {0, 1}, {6, 4, 5}), (List{0, 2, 1}));
  EXPECT_EQ(Align({6, 4, 5}, {0, 2, 1}, {6, 20}), (List{0, 1}));
  EXPECT_EQ(Align({6, 4, 5}, {1, 2, 0}, {6, 20}), std::nullopt);
  EXPECT_EQ(Align({10, 6, 7}, {0, 2, 1}, {2, 5, 42}), (List{1, 0, 2}));
  EXPECT_EQ(Align({5, 6}, {0, 1}, {6, 5}), std::nullopt);
  EXPECT_EQ(Align({8, 3}, {0, 1}, {8, 1, 3}), (List{0, 2, 1}));
  EXPECT_EQ(Align({3, 4}, {0, 1}, {3, 1, 4, 1}), (List{0, 2, 3, 1}));
  EXPECT_EQ(Align({4, 1, 6, 1}, {1, 2, 0, 3}, {1, 24, 1}), (List{1, 2, 0}));
  EXPECT_EQ(Align({4, 1, 6, 1}, {0, 1, 2, 3}, {24}), std::nullopt);
  EXPECT_EQ(Align({1, 1}, {0, 1}, {1, 1, 1}), (List{2, 1, 0}));
  EXPECT_EQ(Align({1, 1}, {1, 0}, {1, 1, 1}), (List{2, 1, 0}));
  EXPECT_EQ(Align({0, 4, 6}, {0, 2, 1}, {0, 24}), (List{0, 1}));
  EXPECT_EQ(Align({4, 0, 3}, {2, 1, 0}, {0, 7}), (List{1, 0}));
}

// The groups themselves show in which orders can be carried over: dimensions of one group must
// stand together in descending order, groups may stand in any order.
TEST(ReshapeAlign, CommonGroups) {
  // [7,9,2,15] -> [63,6,5]: groups {7,9 | 63} and {2,15 | 6,5}.
  EXPECT_EQ(Align({7, 9, 2, 15}, {1, 0, 3, 2}, {63, 6, 5}), (List{0, 2, 1}));
  EXPECT_EQ(Align({7, 9, 2, 15}, {3, 2, 1, 0}, {63, 6, 5}), (List{2, 1, 0}));
  EXPECT_EQ(Align({7, 9, 2, 15}, {3, 1, 2, 0}, {63, 6, 5}), std::nullopt);
  // [2,3,4] -> [4,3,2]: one group.
  EXPECT_EQ(Align({2, 3, 4}, {2, 1, 0}, {4, 3, 2}), (List{2, 1, 0}));
  EXPECT_EQ(Align({2, 3, 4}, {0, 2, 1}, {4, 3, 2}), std::nullopt);
  // [0,10,3] -> [0,3]: groups {0 | -}… (0,0) (3,2): one group from the first unmatched dimension
  // on.
  EXPECT_EQ(Align({0, 10, 3}, {2, 1, 0}, {0, 3}), (List{1, 0}));
}

TEST(ReshapeAlign, MerelyUnitDimensions) {
  auto merely = [](const List& a, const List& b) {
    return MerelyInsertsOrDeletesUnitDimensions(a, b);
  };
  EXPECT_TRUE(merely({1, 24, 4}, {24, 4}));
  EXPECT_TRUE(merely({8, 3}, {8, 1, 3}));
  EXPECT_TRUE(merely({6, 1}, {1, 6}));
  EXPECT_TRUE(merely({5, 7}, {5, 7}));
  EXPECT_FALSE(merely({6, 4}, {24}));
  EXPECT_FALSE(merely({2, 3}, {3, 2}));
}

TEST(ReshapeAlign, SizesThatOverflowDoNotLoop) {
  const int64_t big = int64_t{1} << 62;
  List aligned;
  AlignLayout(List{big, 8, 3}, List{2, 1, 0}, List{2, big, 12}, &aligned);
  MerelyInsertsOrDeletesUnitDimensions(List{big, 16, 16}, List{16, big, 16, 1});
}

// Every reshape of a small size list into another: an aligned layout must give every element the
// same physical position as before.
TEST(ReshapeAlign, AlignedLayoutsMoveNoData) {
  const std::vector<List> shapes = {{2, 3, 4},    {6, 4},  {24},      {2, 12}, {4, 6},
                                    {2, 3, 1, 4}, {1, 24}, {3, 2, 4}, {8, 3},  {2, 2, 2, 3}};
  int aligned_count = 0;
  for (const List& source : shapes) {
    for (const List& target : shapes) {
      List order(source.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
      do {
        List aligned;
        if (!AlignLayout(source, order, target, &aligned)) continue;
        ++aligned_count;
        auto position = [](const List& sizes, const List& m2m, int64_t flat) {
          List index(sizes.size());
          for (size_t d = sizes.size(); d-- > 0;) {
            index[d] = flat % sizes[d];
            flat /= sizes[d];
          }
          int64_t at = 0;
          int64_t stride = 1;
          for (int64_t d : m2m) {
            at += index[d] * stride;
            stride *= sizes[d];
          }
          return at;
        };
        for (int64_t flat = 0; flat < 24; ++flat) {
          ASSERT_EQ(position(source, order, flat), position(target, aligned, flat));
        }
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
  EXPECT_GT(aligned_count, 100);
}

}  // namespace
}  // namespace hlokit
