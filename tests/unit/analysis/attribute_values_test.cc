// Are the attributes that are kept as text understood?
#include "src/analysis/attribute_values.h"

#include "gtest/gtest.h"

namespace hlokit {
namespace {

TEST(DimLabels, Positions) {
  std::optional<ConvolutionDims> dims = DecodeDimLabels("b01f_01io->f0b1");
  ASSERT_TRUE(dims);
  EXPECT_EQ(dims->input_batch, 0);
  EXPECT_EQ(dims->input_feature, 3);
  EXPECT_EQ(dims->input_spatial, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(dims->kernel_input, 2);
  EXPECT_EQ(dims->kernel_output, 3);
  EXPECT_EQ(dims->output_feature, 0);
  EXPECT_EQ(dims->output_batch, 2);
  EXPECT_EQ(dims->output_spatial, (std::vector<int64_t>{1, 3}));
}

TEST(DimLabels, Malformed) {
  EXPECT_FALSE(DecodeDimLabels(""));
  EXPECT_FALSE(DecodeDimLabels("bf"));
  EXPECT_FALSE(DecodeDimLabels("bf_io"));
  EXPECT_FALSE(DecodeDimLabels("bb_io->bf"));
  EXPECT_FALSE(DecodeDimLabels("b1f_1io->b1f"));  // spatial dimension 0 is missing
}

TEST(ReplicaGroupsText, List) {
  std::optional<ReplicaGroups> groups = DecodeReplicaGroups("{{0,2},{1,3}}");
  ASSERT_TRUE(groups);
  EXPECT_TRUE(groups->is_list);
  EXPECT_EQ(groups->group_count, 2);
  EXPECT_EQ(groups->group_size, 2);
  EXPECT_EQ(groups->total, 4);
  EXPECT_TRUE(DecodeReplicaGroups("{}")->empty());
  EXPECT_TRUE(DecodeReplicaGroups("")->empty());
}

TEST(ReplicaGroupsText, CompactFormsAreNotExpanded) {
  std::optional<ReplicaGroups> groups = DecodeReplicaGroups("[2,1000000]<=[4,500000]T(1,0)");
  ASSERT_TRUE(groups);
  EXPECT_FALSE(groups->is_list);
  EXPECT_EQ(groups->total, 2000000);
  groups = DecodeReplicaGroups("mesh['x'=2,'y'=4] {'y'}");
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->group_count, 2);
  EXPECT_EQ(groups->group_size, 4);
  groups = DecodeReplicaGroups("mesh['x'=2,'y'=4] {'y':(1)2}");
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->group_count, 4);
}

TEST(ReplicaGroupsText, Malformed) {
  EXPECT_FALSE(DecodeReplicaGroups("[2,3]<=[4]"));
  EXPECT_FALSE(DecodeReplicaGroups("[2,2]<=[4]T(1)"));
  EXPECT_FALSE(DecodeReplicaGroups("[2,2]<=[2,2]T(0,0)"));
  EXPECT_FALSE(DecodeReplicaGroups("[4611686018427387904,4]<=[8]"));
  EXPECT_FALSE(DecodeReplicaGroups("{{0,1}"));
  EXPECT_FALSE(DecodeReplicaGroups("mesh['x'=2] {'z'}"));
}

TEST(ShardingText, Kinds) {
  using Kind = ShardingValue::Kind;
  EXPECT_EQ(DecodeSharding("{replicated}")->kind, Kind::kReplicated);
  EXPECT_EQ(DecodeSharding("{maximal device=3}")->device, 3);
  EXPECT_EQ(DecodeSharding("{manual}")->kind, Kind::kManual);
  std::optional<ShardingValue> tiled =
      DecodeSharding("{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate metadata={op_name=\"a}b\"}}");
  ASSERT_TRUE(tiled);
  EXPECT_EQ(tiled->tile, (std::vector<int64_t>{2, 1, 2}));
  EXPECT_EQ(tiled->subgroup_dims, 1u);
  EXPECT_EQ(tiled->devices.size(), 4u);
  EXPECT_EQ(
      DecodeSharding("{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}")->subgroup_dims,
      2u);
  EXPECT_EQ(DecodeSharding("{mesh['a'=2], [{'a'}]}")->kind, Kind::kNamed);
  EXPECT_FALSE(DecodeSharding("{devices=[2,2]<=[8]}"));
  EXPECT_FALSE(DecodeSharding("{devices=[2,2]<=[2,2]T(1,5)}"));
}

TEST(ShardingText, Tuples) {
  bool is_tuple = false;
  EXPECT_EQ(
      SplitSharding("{{replicated}, {devices=[2]<=[2]}, /*index=5*/{manual}}", &is_tuple).size(),
      3u);
  EXPECT_TRUE(is_tuple);
  EXPECT_EQ(SplitSharding("{replicated}", &is_tuple).size(), 1u);
  EXPECT_FALSE(is_tuple);
  EXPECT_TRUE(SplitSharding("{}", &is_tuple).empty());
  EXPECT_TRUE(is_tuple);
}

}  // namespace
}  // namespace hlokit
