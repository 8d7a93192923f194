// Groups, shards, pairs, channels.
#include "gtest/gtest.h"
#include "tests/unit/verify/findings.h"

namespace hlokit {
namespace {

constexpr const char* kAdd =
    "red {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n";

std::string Text(const std::string& header, const std::string& lines) {
  return "HloModule m" + header + "\n" + kAdd + "ENTRY e {\n x = f32[4] parameter(0)\n" + lines +
         "\n}\n";
}

std::string AllReduce(const std::string& header, const std::string& attributes) {
  return Text(header, "ROOT r = f32[4] all-reduce(x), to_apply=red, " + attributes);
}

TEST(Groups, CoverTheDevicesOnce) {
  const std::string four = ", replica_count=4";
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={{0,1},{2,3}}")), "");
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={{0},{1,2,3}}")), "");  // sizes may differ here
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={}")), "");
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={{0,0},{1,2}}")), "V040");
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={{0,1},{2,4}}")), "V040");
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={{0,1}}")), "V040");
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={{0,1},{2,3},{}}")), "V040");
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups=[2,4]<=[8]")), "V040");
  EXPECT_EQ(Codes(AllReduce("", "replica_groups={{0,1}}")),
            "");  // the number of replicas is not known
  EXPECT_EQ(Codes(AllReduce(four, "replica_groups={{0,0},{1,2}}"), {.check_replica_groups = false}),
            "");
}

TEST(Groups, CountWhatTheModeCounts) {
  const std::string header = ", replica_count=2, num_partitions=3";
  EXPECT_EQ(Codes(AllReduce(header, "channel_id=1, replica_groups={{0,1}}")), "");
  EXPECT_EQ(Codes(AllReduce(header,
                            "channel_id=1, replica_groups=[1,6]<=[6], use_global_device_ids=true")),
            "");
  EXPECT_EQ(
      Codes(AllReduce(header, "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true")),
      "V040");
  EXPECT_EQ(Codes(AllReduce(header, "channel_id=1, replica_groups={}, use_global_device_ids=true")),
            "V040");
  // No use_global_device_ids here: a channel means partitions.
  EXPECT_EQ(Codes(Text(
                header,
                "ROOT r = f32[4] collective-broadcast(x), channel_id=1, replica_groups={{0,1,2}}")),
            "");
  EXPECT_EQ(
      Codes(Text(header,
                 "ROOT r = f32[4] collective-broadcast(x), channel_id=1, replica_groups={{0,1}}")),
      "V040");
  EXPECT_EQ(Codes(Text(", replica_count=3",
                       "ROOT r = f32[4] collective-broadcast(x), replica_groups={{0},{1,2}}")),
            "V040");  // uniform sizes
}

TEST(Groups, ChannelIds) {
  EXPECT_EQ(Codes(AllReduce("", "channel_id=0")), "V044");
  // The reader refuses this; a pass could make it.
  Result<Module> module = ReadText(AllReduce("", "replica_groups={{0,1}}"));
  ASSERT_TRUE(module);
  module->SetAttr(module->FindInstruction("r"), Attr::Integer(AttrKind::kUseGlobalDeviceIds, 1));
  EXPECT_EQ(CodesOf(*module), "V044");
}

TEST(Shards, FollowTheGroups) {
  auto gather = [](const std::string& shape, const std::string& groups) {
    return Text("",
                "ROOT r = " + shape + " all-gather(x), dimensions={0}, replica_groups=" + groups);
  };
  EXPECT_EQ(Codes(gather("f32[8]", "{{0,1}}")), "");
  EXPECT_EQ(Codes(gather("f32[12]", "{{0,1}}")), "V041");
  EXPECT_EQ(Codes(gather("f32[9]", "{{0,1,2}}")), "V002");  // three shards of 4 are 12
  EXPECT_EQ(Codes(gather("f32[12]", "{{0}}")), "");         // groups of one say nothing
  EXPECT_EQ(Codes(Text("",
                       "ROOT r = f32[2] reduce-scatter(x), dimensions={0}, replica_groups={{0,1}}, "
                       "to_apply=red")),
            "");
  EXPECT_EQ(Codes(Text("",
                       "ROOT r = f32[1] reduce-scatter(x), dimensions={0}, replica_groups={{0,1}}, "
                       "to_apply=red")),
            "V041");
  EXPECT_EQ(
      Codes(Text("", "ROOT r = f32[4] all-to-all(x), dimensions={0}, replica_groups={{0,1,2}}")),
      "V041");
  EXPECT_EQ(Codes(Text("", "ROOT r = (f32[4], f32[4]) all-to-all(x, x), replica_groups={{0,1}}")),
            "");
  EXPECT_EQ(Codes(Text("", "ROOT r = (f32[4], f32[4]) all-to-all(x, x), replica_groups={{0,1,2}}")),
            "V041");
}

TEST(Pairs, FitTheDevices) {
  auto permute = [](const std::string& pairs) {
    return Text(", replica_count=3",
                "ROOT r = f32[4] collective-permute(x), source_target_pairs=" + pairs);
  };
  EXPECT_EQ(Codes(permute("{{0,1},{1,0}}")), "");
  EXPECT_EQ(Codes(permute("{{0,1},{0,2}}")), "V042");
  EXPECT_EQ(Codes(permute("{{0,1},{2,1}}")), "V042");
  EXPECT_EQ(Codes(permute("{{0,3}}")), "V042");
}

TEST(AllReduces, ConstrainAllOrNone) {
  auto text = [](const std::string& second) {
    return Text("",
                "y = f32[4] all-reduce(x), to_apply=red, constrain_layout=true\n"
                "ROOT r = f32[4] all-reduce(y), to_apply=red" +
                    second);
  };
  EXPECT_EQ(Codes(text(", constrain_layout=true")), "");
  EXPECT_EQ(Codes(text("")), "V043");
}

TEST(Channels, EndsAgree) {
  auto text = [](const std::string& start, const std::string& done) {
    return Entry(
        "x = f32[4] parameter(0)\nt = token[] after-all()\n"
        "s = (f32[4], u32[], token[]) send(x, t), channel_id=1" +
        start +
        "\n"
        "ROOT d = token[] send-done(s), channel_id=1" +
        done);
  };
  EXPECT_EQ(Codes(text("", "")), "");
  EXPECT_EQ(Codes(text(", is_host_transfer=true", ", is_host_transfer=true")), "");
  EXPECT_EQ(Codes(text(", is_host_transfer=true", "")), "V024");
}

TEST(Channels, HostTransfersOnOneChannelAreAlike) {
  auto text = [](const std::string& shape) {
    return Entry("x = f32[4] parameter(0)\ny = " + shape +
                 " parameter(1)\nt = token[] after-all()\n"
                 "s = (f32[4], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\n"
                 "d = token[] send-done(s), channel_id=1, is_host_transfer=true\n"
                 "v = (" +
                 shape +
                 ", u32[], token[]) send(y, d), channel_id=1, is_host_transfer=true\n"
                 "ROOT w = token[] send-done(v), channel_id=1, is_host_transfer=true");
  };
  EXPECT_EQ(Codes(text("f32[4]")), "");
  EXPECT_EQ(Codes(text("f32[5]")), "V025");
}

}  // namespace
}  // namespace hlokit
