// Index maps, against positions counted by hand.
#include "src/copies/index_map.h"

#include "gtest/gtest.h"

namespace hlokit {
namespace {

TEST(IndexMap, IdentityOfRowMajorStep) {
  IndexMap map = IndexMap::Identity(6);
  ASSERT_TRUE(map.Step({{2, 3}, {3, 1}}, {3, 1}));
  EXPECT_TRUE(map.IsIdentity());
  EXPECT_EQ(map.Permutation(), (std::vector<uint32_t>{0}));
}

/// f32[2,3]{1,0} read from {0,1}: the element after the next one is 2 away.
TEST(IndexMap, TransposedMatrix) {
  IndexMap map = IndexMap::Identity(6);
  ASSERT_TRUE(map.Step({{2, 3}, {3, 1}}, {1, 2}));
  EXPECT_FALSE(map.IsIdentity());
  EXPECT_FALSE(map.KeepsRows());
  EXPECT_EQ(map.Permutation(), (std::vector<uint32_t>{1, 0}));
}

/// The outer two of three dimensions change places: rows stay together.
TEST(IndexMap, OuterSwapKeepsRows) {
  IndexMap map = IndexMap::Identity(24);
  ASSERT_TRUE(map.Step({{2, 12}, {3, 4}, {4, 1}}, {4, 8, 1}));
  EXPECT_TRUE(map.KeepsRows());
  EXPECT_EQ(map.Permutation(), (std::vector<uint32_t>{1, 0, 2}));
}

/// Twice the same swap is nothing.
TEST(IndexMap, SwapTwice) {
  IndexMap map = IndexMap::Identity(6);
  ASSERT_TRUE(map.Step({{2, 3}, {3, 1}}, {1, 2}));
  ASSERT_TRUE(map.Step({{3, 2}, {2, 1}}, {1, 3}));
  EXPECT_TRUE(map.IsIdentity());
}

/// [4,6] seen as [4,2,3]: the digit of size 6 is split.
TEST(IndexMap, SplitsDigits) {
  IndexMap map = IndexMap::Identity(24);
  ASSERT_TRUE(map.Step({{4, 6}, {6, 1}}, {6, 1}));
  ASSERT_TRUE(map.Step({{4, 6}, {2, 3}, {3, 1}}, {6, 1, 2}));
  EXPECT_EQ(map.Permutation(), (std::vector<uint32_t>{0, 2, 1}));
}

/// 2x3 transposed, then seen as 3x2 with borders that do not fit.
TEST(IndexMap, RefusesWhatDoesNotFit) {
  IndexMap map = IndexMap::Identity(6);
  ASSERT_TRUE(map.Step({{2, 3}, {3, 1}}, {1, 2}));
  EXPECT_FALSE(map.Step({{2, 3}, {3, 1}}, {1, 2}));
}

}  // namespace
}  // namespace hlokit
