// Collectives: who gets what. Each device is a replica unless a test says otherwise.
#include "src/eval/compact_groups.h"
#include "tests/unit/eval/eval_test_util.h"

namespace hlokit {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

/// Results of all devices, one after the other.
std::string RunDevices(const std::string& text, EvalOptions options = {}) {
  const Module module = Read(text);
  const HostLeaves inputs = MakeInputs(module, InputRule::kGolden, 0);
  Result<std::vector<HostLeaves>> result = Evaluate(module, {&inputs, 1}, options);
  if (!result) return result.error().diagnostics[0].message;
  std::string out;
  for (const HostLeaves& leaves : *result) {
    out += GoldenText(module, module.shape(module.computation(module.entry()).root), leaves);
  }
  return out;
}

constexpr char kAdd[] =
    "add { a = u32[] parameter(0)\n b = u32[] parameter(1)\n ROOT r = u32[] add(a, b) }\n";

TEST(Collectives, AmongReplicas) {
  const std::string head = "HloModule m, replica_count=2\n" + std::string(kAdd) +
                           "ENTRY e {\n i = u32[] replica-id()\n b = u32[2] broadcast(i), "
                           "dimensions={}\n n = u32[2] iota(), iota_dimension=0\n"
                           " two = u32[] constant(2)\n t = u32[2] broadcast(two), dimensions={}\n"
                           " m = u32[2] multiply(b, t)\n x = u32[2] add(m, n)\n";  // 0 1 | 2 3
  EXPECT_EQ(RunDevices(head + "ROOT r = u32[2] all-reduce(x), replica_groups={{0,1}}, "
                              "to_apply=add\n}\n"),
            "{} u32[2] 2 4\n{} u32[2] 2 4\n");
  EXPECT_EQ(RunDevices(head + "ROOT r = u32[4] all-gather(x), replica_groups={{1,0}}, "
                              "dimensions={0}\n}\n"),
            "{} u32[4] 2 3 0 1\n{} u32[4] 2 3 0 1\n");
  EXPECT_EQ(RunDevices(head + "ROOT r = u32[1] reduce-scatter(x), replica_groups=[1,2]<=[2], "
                              "dimensions={0}, to_apply=add\n}\n"),
            "{} u32[1] 2\n{} u32[1] 4\n");
  EXPECT_EQ(RunDevices(head + "ROOT r = u32[2] all-to-all(x), replica_groups={{0,1}}, "
                              "dimensions={0}\n}\n"),
            "{} u32[2] 0 2\n{} u32[2] 1 3\n");
  EXPECT_EQ(RunDevices(head + "ROOT r = u32[2] collective-permute(x), "
                              "source_target_pairs={{0,1}}\n}\n"),
            "{} u32[2] 0 0\n{} u32[2] 0 1\n");
}

/// Two replicas d: %x is 100 d + (0 1 2 | 3 4 5), %y is 100 d + (0 1), %o and %w are full of -1 -
/// d, %d is d.
std::string SliceModule(const std::string& body) {
  return "HloModule m, replica_count=2\nENTRY e {\n u = u32[] replica-id()\n"
         " d = s32[] convert(u)\n hundred = s32[] constant(100)\n"
         " base = s32[] multiply(d, hundred)\n f = s32[6] iota(), iota_dimension=0\n"
         " n = s32[2,3] reshape(f)\n b = s32[2,3] broadcast(base), dimensions={}\n"
         " x = s32[2,3] add(n, b)\n n1 = s32[2] iota(), iota_dimension=0\n"
         " b1 = s32[2] broadcast(base), dimensions={}\n y = s32[2] add(n1, b1)\n"
         " inverse = s32[] not(d)\n o = s32[2,3] broadcast(inverse), dimensions={}\n"
         " w = s32[2] broadcast(inverse), dimensions={}\n"
         " zero = s32[] constant(0)\n one = s32[] constant(1)\n two = s32[] constant(2)\n" +
         body + "}\n";
}

TEST(PermuteSlices, SenderSaysFromWhereReceiverSaysTo) {
  // Device 0 starts at (0, 1) of its input, device 1 writes at (0, 1) of its output.
  const std::string starts =
      " s = (s32[], s32[]) tuple(d, one)\n t = (s32[], s32[]) tuple(zero, d)\n";
  const std::string expected = "{} s32[2,3] -1 -1 -1 -1 -1 -1\n{} s32[2,3] -2 1 2 -2 -2 -2\n";
  EXPECT_EQ(RunDevices(SliceModule(starts + " ROOT r = s32[2,3] collective-permute(x, o, s, t), "
                                            "source_target_pairs={{0,1}}, slice_sizes={{1,2}}\n")),
            expected);
  EXPECT_EQ(RunDevices(SliceModule(
                starts + " p = (s32[2,3], s32[2,3], u32[]) collective-permute-start(x, o, s, t), "
                         "source_target_pairs={{0,1}}, slice_sizes={{1,2}}\n"
                         " ROOT r = s32[2,3] collective-permute-done(p)\n")),
            expected);
}

TEST(PermuteSlices, SeveralOfOneBuffer) {
  EXPECT_EQ(
      RunDevices(SliceModule(
          " from0 = (s32[], s32[]) tuple(zero, zero)\n from1 = (s32[], s32[]) tuple(one, zero)\n"
          " to0 = (s32[], s32[]) tuple(one, two)\n"
          " s = ((s32[], s32[]), (s32[], s32[])) tuple(from0, from1)\n"
          " t = ((s32[], s32[]), (s32[], s32[])) tuple(to0, from0)\n"
          " ROOT r = s32[2,3] collective-permute(x, o, s, t), "
          "source_target_pairs={{0,1},{1,0}}, slice_sizes={{1,1},{1,2}}\n")),
      "{} s32[2,3] 103 104 -1 -1 -1 100\n{} s32[2,3] 3 4 -2 -2 -2 0\n");
}

TEST(PermuteSlices, SeveralBuffers) {
  const std::string operands =
      " from0 = (s32[], s32[]) tuple(zero, one)\n from1 = (s32[]) tuple(one)\n"
      " to0 = (s32[], s32[]) tuple(one, zero)\n to1 = (s32[]) tuple(zero)\n"
      " s = ((s32[], s32[]), (s32[])) tuple(from0, from1)\n"
      " t = ((s32[], s32[]), (s32[])) tuple(to0, to1)\n"
      " in = (s32[2,3], s32[2]) tuple(x, y)\n out = (s32[2,3], s32[2]) tuple(o, w)\n";
  const std::string expected =
      "{0} s32[2,3] -1 -1 -1 101 102 -1\n{1} s32[2] 101 -1\n"
      "{0} s32[2,3] -2 -2 -2 -2 -2 -2\n{1} s32[2] -2 -2\n";
  EXPECT_EQ(RunDevices(SliceModule(
                operands + " ROOT r = (s32[2,3], s32[2]) collective-permute(in, out, s, t), "
                           "source_target_pairs={{1,0}}, slice_sizes={{1,2},{1}}\n")),
            expected);
  EXPECT_EQ(RunDevices(SliceModule(
                operands +
                " p = ((s32[2,3], s32[2]), (s32[2,3], s32[2])) collective-permute-start(in, out, "
                "s, t), source_target_pairs={{1,0}}, slice_sizes={{1,2},{1}}\n"
                " ROOT r = (s32[2,3], s32[2]) collective-permute-done(p)\n")),
            expected);
}

/// The example of the documentation of jax.lax.ragged_all_to_all.
TEST(RaggedAllToAll, OffsetsInTheOutputAreTheSenders) {
  std::string body;
  const auto choose = [&](const std::string& name, const std::string& first,
                          const std::string& second) {
    const std::string type = "s32[" + std::to_string((first.size() + 1) / 2) + "]";
    body += " " + name + "0 = " + type + " constant({" + first + "})\n " + name + "1 = " + type +
            " constant({" + second + "})\n " + name + " = " + type + " select(" +
            (first.size() == 3 ? "pair" : "triple") + ", " + name + "0, " + name + "1)\n";
  };
  choose("operand", "1,2,2", "3,4,0");
  choose("input_offsets", "0,1", "0,1");
  choose("send_sizes", "1,2", "1,1");
  choose("output_offsets", "0,0", "1,2");
  choose("recv_sizes", "1,1", "2,1");
  std::vector<std::string> notes;
  EvalOptions options;
  options.stand_ins = &notes;
  EXPECT_EQ(RunDevices("HloModule m, replica_count=2\nENTRY e {\n u = u32[] replica-id()\n"
                       " z = u32[] constant(0)\n is_first = pred[] compare(u, z), direction=EQ\n"
                       " pair = pred[2] broadcast(is_first), dimensions={}\n"
                       " triple = pred[3] broadcast(is_first), dimensions={}\n" +
                           body +
                           " zero = s32[] constant(0)\n"
                           " output = s32[4] broadcast(zero), dimensions={}\n"
                           " ROOT r = s32[4] ragged-all-to-all(operand, output, input_offsets, "
                           "send_sizes, output_offsets, recv_sizes), replica_groups={{0,1}}\n}\n",
                       options),
            "{} s32[4] 1 3 0 0\n{} s32[4] 2 2 4 0\n");
  EXPECT_TRUE(notes.empty());
}

/// Peers are counted by their place in the group: device 1 is peer 0.
TEST(RaggedAllToAll, RowsAndOrderOfTheGroup) {
  EXPECT_EQ(RunDevices("HloModule m, replica_count=2\nENTRY e {\n u = u32[] replica-id()\n"
                       " d = s32[] convert(u)\n ten = s32[] constant(10)\n"
                       " m = s32[] multiply(d, ten)\n b = s32[2,2] broadcast(m), dimensions={}\n"
                       " f = s32[4] iota(), iota_dimension=0\n n = s32[2,2] reshape(f)\n"
                       " x = s32[2,2] add(n, b)\n at = s32[2] iota(), iota_dimension=0\n"
                       " one = s32[] constant(1)\n ones = s32[2] broadcast(one), dimensions={}\n"
                       " place = s32[] subtract(one, d)\n"
                       " to = s32[2] broadcast(place), dimensions={}\n"
                       " ROOT r = s32[2,2] ragged-all-to-all(x, x, at, ones, to, ones), "
                       "replica_groups={{1,0}}\n}\n"),
            "{} s32[2,2] 12 13 2 3\n{} s32[2,2] 10 11 0 1\n");
}

TEST(RaggedAllToAll, WhatDoesNotFitIsLimitedWithANote) {
  std::vector<std::string> notes;
  EvalOptions options;
  options.stand_ins = &notes;
  EXPECT_EQ(RunDevices("HloModule m\nENTRY e {\n x = s32[3] constant({1, 2, 3})\n"
                       " o = s32[4] constant({7, 8, 9, 6})\n two = s32[1] constant({2})\n"
                       " nine = s32[1] constant({9})\n"
                       " ROOT r = s32[4] ragged-all-to-all(x, o, two, two, nine, two)\n}\n",
                       options),
            "{} s32[4] 7 8 2 3\n");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].substr(0, 2), "r ");
}

TEST(RaggedAllToAll, OneNumberPerPeer) {
  EXPECT_EQ(RunDevices("HloModule m, replica_count=2\nENTRY e {\n x = s32[3] constant({1, 2, 3})\n"
                       " n = s32[1] constant({0})\n"
                       " ROOT r = s32[3] ragged-all-to-all(x, x, n, n, n, n), "
                       "replica_groups={{0,1}}\n}\n"),
            "r (ragged-all-to-all): a group has 2 members, which does not fit the sizes");
}

TEST(Groups, Iota) {
  EXPECT_EQ(eval::ExpandCompactGroups("[2,2]<=[4]"), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(eval::ExpandCompactGroups("[2,3]<=[3,2]T(1,0)"), (Groups{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(eval::ExpandCompactGroups("[2,2]<=[2,2]T(0,0)"), std::nullopt);
  EXPECT_EQ(eval::ExpandCompactGroups("[2,3]<=[4]"), std::nullopt);
}

TEST(Groups, MeshAxes) {
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=2,'b'=3] {'b'}"), (Groups{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=2,'b'=3] {'a'}"), (Groups{{0, 3}, {1, 4}, {2, 5}}));
  // The axis named first counts slowest.
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=2,'b'=2] {'b','a'}"), (Groups{{0, 2, 1, 3}}));
}

TEST(Groups, MeshDevices) {
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'b'}"),
            (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=2,'b'=2], device_ids=(3,2,1,0) {'b'}"),
            (Groups{{3, 2}, {1, 0}}));
}

TEST(Groups, MeshPartsOfAxes) {
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=4] {'a':(2)2}"), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=4] {'a':(1)2}"), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=4] {'a':(2)2,'a':(1)2}"), (Groups{{0, 2, 1, 3}}));
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=4] {'a','a':(2)2}"), std::nullopt);
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=4] {'a':(1)3}"), std::nullopt);
  EXPECT_EQ(eval::ExpandCompactGroups("mesh['a'=4] {'b'}"), std::nullopt);
}

TEST(Groups, MeshInAModule) {
  EXPECT_EQ(RunDevices("HloModule m, replica_count=4\nENTRY e {\n u = u32[] replica-id()\n"
                       " x = u32[1] reshape(u)\n"
                       " ROOT r = u32[2] all-gather(x), dimensions={0}, "
                       "replica_groups=mesh['a'=2,'b'=2] {'a'}\n}\n"),
            "{} u32[2] 0 2\n{} u32[2] 1 3\n{} u32[2] 0 2\n{} u32[2] 1 3\n");
}

}  // namespace
}  // namespace hlokit
