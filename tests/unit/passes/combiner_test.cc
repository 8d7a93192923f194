// The worked tests of collective-combiners.md section 8, and what the Neuron keys separate.

#include "pass_test_util.h"
#include "src/passes/shared/replica_groups.h"

namespace hlokit {
namespace {

constexpr std::string_view kReducers = R"(HloModule m, replica_count=4
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
add2 { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
max { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] maximum(x, y) }
weird { x = f32[] parameter(0) y = f32[] parameter(1) n = f32[] negate(y) ROOT r = f32[] add(x, n) }
)";

/// A module whose entry holds these lines.
Module Entry(std::string_view body) {
  return MustRead(std::string(kReducers) + "ENTRY main {\n" + std::string(body) + "}\n");
}

constexpr std::string_view kTwo = R"(
  p = f32[32]{0} parameter(0)
  q = f32[32]{0} parameter(1)
  a = f32[32]{0} all-reduce(p), replica_groups={{0,1},{2,3}}, to_apply=add
  b = f32[32]{0} all-reduce(q), replica_groups={{0,1},{2,3}}, to_apply=add2
  ROOT t = (f32[32]{0}, f32[32]{0}) tuple(a, b)
)";

TEST(Combiner, TwoIndependentAllReducesBecomeOne) {
  Module module = Entry(kTwo);
  EXPECT_TRUE(RunPasses(module, "all-reduce-combiner").changed);
  EXPECT_EQ(
      Line(module, "all-reduce"),
      "%all-reduce = (f32[32]{0}, f32[32]{0}) all-reduce(%p, %q), replica_groups={{0,1},{2,3}}, "
      "to_apply=%add");
  EXPECT_EQ(RootLine(module),
            "%t = (f32[32]{0}, f32[32]{0}) tuple(%get-tuple-element, %get-tuple-element.1)");
  EXPECT_FALSE(module.FindInstruction("a").valid());
}

TEST(Combiner, RunningTwiceChangesNothing) {
  Module module = Entry(kTwo);
  RunPasses(module, "all-reduce-combiner");
  EXPECT_FALSE(RunPasses(module, "all-reduce-combiner").changed);
}

TEST(Combiner, DependentOnesStayApart) {
  Module module = Entry(R"(
  p = f32[32]{0} parameter(0)
  a = f32[32]{0} all-reduce(p), replica_groups={}, to_apply=add
  n = f32[32]{0} negate(a)
  ROOT b = f32[32]{0} all-reduce(n), replica_groups={}, to_apply=add
)");
  EXPECT_FALSE(RunPasses(module, "all-reduce-combiner").changed);
}

TEST(Combiner, TheFirstDependentOneEndsTheSweep) {
  Module module = Entry(R"(
  p = f32[32]{0} parameter(0)
  q = f32[32]{0} parameter(1)
  a = f32[32]{0} all-reduce(p), replica_groups={}, to_apply=add
  b = f32[32]{0} all-reduce(a), replica_groups={}, to_apply=add
  c = f32[32]{0} all-reduce(q), replica_groups={}, to_apply=add
  ROOT t = (f32[32]{0}, f32[32]{0}, f32[32]{0}) tuple(a, b, c)
)");
  EXPECT_TRUE(RunPasses(module, "all-reduce-combiner").changed);
  EXPECT_EQ(Line(module, "all-reduce"),
            "%all-reduce = (f32[32]{0}, f32[32]{0}) all-reduce(%a, %q), replica_groups={}, "
            "to_apply=%add");
}

TEST(Combiner, ControlEdgesCountAsDependence) {
  Module module = Entry(R"(
  p = f32[32]{0} parameter(0)
  a = f32[32]{0} all-reduce(p), replica_groups={}, to_apply=add
  n = f32[32]{0} negate(p), control-predecessors={a}
  b = f32[32]{0} all-reduce(n), replica_groups={}, to_apply=add
  ROOT t = (f32[32]{0}, f32[32]{0}) tuple(a, b)
)");
  EXPECT_FALSE(RunPasses(module, "all-reduce-combiner").changed);
}

TEST(Combiner, ByteLimitSplitsAndSkips) {
  // 400 bytes each, one of 2000.
  constexpr std::string_view kSizes = R"(
  p = f32[100]{0} parameter(0)
  q = f32[500]{0} parameter(1)
  big = f32[500]{0} all-reduce(q), replica_groups={}, to_apply=add
  a = f32[100]{0} all-reduce(p), replica_groups={}, to_apply=add
  b = f32[100]{0} all-reduce(p), replica_groups={}, to_apply=add
  c = f32[100]{0} all-reduce(p), replica_groups={}, to_apply=add
  ROOT t = (f32[500]{0}, f32[100]{0}, f32[100]{0}, f32[100]{0}) tuple(big, a, b, c)
)";
  Module module = Entry(kSizes);
  EXPECT_TRUE(RunPasses(module, "all-reduce-combiner{bytes=1000}").changed);
  EXPECT_TRUE(module.FindInstruction("big").valid());
  EXPECT_TRUE(module.FindInstruction("c").valid());
  EXPECT_FALSE(module.FindInstruction("b").valid());
  module = Entry(kSizes);
  RunPasses(module, "all-reduce-combiner{bytes=1200}");  // equal to the limit is allowed
  EXPECT_FALSE(module.FindInstruction("c").valid());
}

TEST(Combiner, CountLimitMakesPairs) {
  Module module = Entry(R"(
  p = f32[4]{0} parameter(0)
  a = f32[4]{0} all-reduce(p), replica_groups={}, to_apply=add
  b = f32[4]{0} all-reduce(p), replica_groups={}, to_apply=add
  c = f32[4]{0} all-reduce(p), replica_groups={}, to_apply=add
  d = f32[4]{0} all-reduce(p), replica_groups={}, to_apply=add
  ROOT t = (f32[4]{0}, f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(a, b, c, d)
)");
  RunPasses(module, "all-reduce-combiner{count=2}");
  EXPECT_EQ(CountOpcode(module, Opcode::kAllReduce), 2);
}

TEST(Combiner, LimitsOfZeroOrLessTurnItOff) {
  for (std::string_view passes :
       {"all-reduce-combiner{bytes=0}", "all-reduce-combiner{bytes=-1}",
        "all-reduce-combiner{count=0}", "all-reduce-combiner{count=-5}"}) {
    Module module = Entry(kTwo);
    EXPECT_FALSE(RunPasses(module, passes).changed) << passes;
  }
}

/// Two all-reduces that differ in one thing.
bool Combines(std::string_view first, std::string_view second, std::string_view passes) {
  std::string body = "  p = f32[8]{0} parameter(0)\n";
  body += "  a = f32[8]{0} all-reduce(p)" + std::string(first) + "\n";
  body += "  b = f32[8]{0} all-reduce(p)" + std::string(second) + "\n";
  Module module = Entry(body + "  ROOT t = (f32[8]{0}, f32[8]{0}) tuple(a, b)\n");
  RunOutcome outcome = RunPasses(module, passes);
  EXPECT_EQ(outcome.error, "");
  return outcome.changed;
}

TEST(Combiner, KeyOfAllReduce) {
  for (std::string_view passes : {"all-reduce-combiner", "all-reduce-combiner{key=stock}"}) {
    auto combines = [&](std::string_view a, std::string_view b) { return Combines(a, b, passes); };
    EXPECT_TRUE(combines(", replica_groups={{0,1},{2,3}}, to_apply=add",
                         ", replica_groups={{0,1},{2,3}}, to_apply=add2"));
    EXPECT_FALSE(
        combines(", replica_groups={}, to_apply=add", ", replica_groups={}, to_apply=max"));
    EXPECT_FALSE(
        combines(", replica_groups={}, to_apply=weird", ", replica_groups={}, to_apply=weird"));
    EXPECT_FALSE(combines(", replica_groups={{0,1},{2,3}}, to_apply=add",
                          ", replica_groups={{2,3},{0,1}}, to_apply=add"));
    EXPECT_TRUE(combines(", replica_groups={{0,1},{2,3}}, to_apply=add",
                         ", replica_groups=[2,2]<=[4], to_apply=add"));
    EXPECT_TRUE(combines(", channel_id=1, replica_groups={}, to_apply=add",
                         ", channel_id=2, replica_groups={}, to_apply=add"));
    EXPECT_FALSE(combines(", channel_id=1, replica_groups={}, to_apply=add",
                          ", replica_groups={}, to_apply=add"));
    EXPECT_FALSE(combines(", replica_groups={}, to_apply=add",
                          ", replica_groups={}, to_apply=add, control-predecessors={p}"));
    EXPECT_FALSE(combines(
        ", replica_groups={}, to_apply=add, frontend_attributes={_scheduling_group_id=\"1\"}",
        ", replica_groups={}, to_apply=add"));
  }
}

TEST(Combiner, OneConstrainedAllReduceStopsThePass) {
  EXPECT_FALSE(Combines(", replica_groups={}, constrain_layout=true, to_apply=add",
                        ", replica_groups={}, to_apply=add", "all-reduce-combiner"));
  // A constrained all-gather does not stop the all-reduce combiner.
  Module module = Entry(R"(
  p = f32[8]{0} parameter(0)
  g = f32[16]{0} all-gather(p), replica_groups={{0,1},{2,3}}, constrain_layout=true, dimensions={0}
  a = f32[8]{0} all-reduce(p), replica_groups={}, to_apply=add
  b = f32[8]{0} all-reduce(p), replica_groups={}, to_apply=add
  ROOT t = (f32[16]{0}, f32[8]{0}, f32[8]{0}) tuple(g, a, b)
)");
  EXPECT_TRUE(RunPasses(module, "all-reduce-combiner").changed);
}

constexpr std::string_view kGathers = R"(
  p = f32[4,4]{1,0} parameter(0)
  q = bf16[4,4]{1,0} parameter(1)
  a = f32[8,4]{1,0} all-gather(p), replica_groups={{0,1},{2,3}}, dimensions={0}
  b = f32[8,4]{1,0} all-gather(p), replica_groups={{0,1},{2,3}}, dimensions={0}
  c = f32[4,8]{1,0} all-gather(p), replica_groups={{0,1},{2,3}}, dimensions={1}
  d = bf16[8,4]{1,0} all-gather(q), replica_groups={{0,1},{2,3}}, dimensions={0}
  ROOT t = (f32[8,4]{1,0}, f32[8,4]{1,0}, f32[4,8]{1,0}, bf16[8,4]{1,0}) tuple(a, b, c, d)
)";

TEST(Combiner, NeuronAllGatherKeySeparatesElementTypesAndDimensions) {
  Module module = Entry(kGathers);
  RunPasses(module, "all-gather-combiner");
  EXPECT_EQ(Line(module, "all-gather"),
            "%all-gather = (f32[8,4]{1,0}, f32[8,4]{1,0}) all-gather(%p, %p), "
            "replica_groups={{0,1},{2,3}}, "
            "dimensions={0}");
  EXPECT_TRUE(module.FindInstruction("c").valid());
  EXPECT_TRUE(module.FindInstruction("d").valid());
}

TEST(Combiner, StockAllGatherKeyMixesElementTypes) {
  Module module = Entry(kGathers);
  RunPasses(module, "all-gather-combiner{key=stock}");
  EXPECT_FALSE(module.FindInstruction("d").valid());
  EXPECT_TRUE(module.FindInstruction("c").valid());
}

TEST(Combiner, AnyDimensionGoesThroughBitcasts) {
  Module module = Entry(kGathers);
  RunPasses(module, "all-gather-combiner{by-dim=false}");
  // Dimension 0 is the most frequent; c is renumbered, its bytes stay where they are.
  EXPECT_EQ(Line(module, "bitcast"), "%bitcast = f32[4,4]{0,1} bitcast(%p)");
  EXPECT_EQ(
      Line(module, "all-gather"),
      "%all-gather = (f32[8,4]{1,0}, f32[8,4]{1,0}, f32[8,4]{0,1}) all-gather(%p, %p, %bitcast), "
      "replica_groups={{0,1},{2,3}}, dimensions={0}");
  EXPECT_EQ(Line(module, "bitcast.1"), "%bitcast.1 = f32[4,8]{1,0} bitcast(%get-tuple-element.2)");
}

TEST(Combiner, DimensionBeyondTheSmallestRankBecomesZero) {
  Module module = Entry(R"(
  p = f32[4,4]{1,0} parameter(0)
  q = f32[4]{0} parameter(1)
  a = f32[4,8]{1,0} all-gather(p), replica_groups={{0,1},{2,3}}, dimensions={1}
  b = f32[4,8]{1,0} all-gather(p), replica_groups={{0,1},{2,3}}, dimensions={1}
  c = f32[8]{0} all-gather(q), replica_groups={{0,1},{2,3}}, dimensions={0}
  ROOT t = (f32[4,8]{1,0}, f32[4,8]{1,0}, f32[8]{0}) tuple(a, b, c)
)");
  RunPasses(module, "all-gather-combiner{by-dim=false}");
  EXPECT_NE(Line(module, "all-gather").find("dimensions={0}"), std::string::npos);
}

TEST(Combiner, ReduceScatterNeedsARecognisedReduction) {
  constexpr std::string_view kScatters = R"(
  p = f32[8]{0} parameter(0)
  a = f32[4]{0} reduce-scatter(p), replica_groups={{0,1},{2,3}}, dimensions={0}, to_apply=max
  b = f32[4]{0} reduce-scatter(p), replica_groups={{0,1},{2,3}}, dimensions={0}, to_apply=max
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(a, b)
)";
  Module module = Entry(kScatters);
  EXPECT_TRUE(RunPasses(module, "reduce-scatter-combiner").changed);
  std::string text(kScatters);
  for (size_t at; (at = text.find("=max")) != std::string::npos;) text.replace(at, 4, "=weird");
  module = Entry(text);
  EXPECT_FALSE(RunPasses(module, "reduce-scatter-combiner").changed);
}

TEST(Combiner, UnverifiedDimensionsAreLeftAlone) {
  Module module = Entry(R"(
  p = f32[2]{0} parameter(0)
  a = f32[2]{0} all-gather(p), replica_groups={}, dimensions={5}
  b = f32[2]{0} all-gather(p), replica_groups={}, dimensions={6}
  ROOT t = (f32[2]{0}, f32[2]{0}) tuple(a, b)
)");
  EXPECT_FALSE(RunPasses(module, "all-gather-combiner{by-dim=false}").changed);
}

TEST(Combiner, FsdpLeavesWhileBodiesAlone) {
  std::string text(kReducers);
  text += R"(
body {
  s = (s32[], f32[4]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  w = f32[4]{0} get-tuple-element(s), index=1
  a = f32[8]{0} all-gather(w), replica_groups={{0,1},{2,3}}, dimensions={0}
  b = f32[8]{0} all-gather(w), replica_groups={{0,1},{2,3}}, dimensions={0}
  u = f32[8]{0} add(a, b)
  v = f32[4]{0} slice(u), slice={[0:4]}
  ROOT o = (s32[], f32[4]{0}) tuple(i, v)
}
cond {
  s = (s32[], f32[4]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  ROOT c = pred[] compare(i, i), direction=LT
}
ENTRY main {
  p = (s32[], f32[4]{0}) parameter(0)
  ROOT l = (s32[], f32[4]{0}) while(p), condition=cond, body=body
}
)";
  Module module = MustRead(text);
  EXPECT_FALSE(RunPasses(module, "all-gather-combiner{neuron-fsdp=true}").changed);
  EXPECT_TRUE(RunPasses(module, "all-gather-combiner").changed);
}

TEST(Combiner, GroupsOptionRestricts) {
  EXPECT_FALSE(Combines(", replica_groups={{0,1},{2,3}}, to_apply=add",
                        ", replica_groups={{0,1},{2,3}}, to_apply=add",
                        "all-reduce-combiner{groups={{0,2},{1,3}}}"));
  EXPECT_TRUE(Combines(", replica_groups={{0,1},{2,3}}, to_apply=add",
                       ", replica_groups={{0,1},{2,3}}, to_apply=add",
                       "all-reduce-combiner{groups=[2,2]<=[4]}"));
}

TEST(Combiner, MetadataAndFrontendAttributesAreMerged) {
  Module module = Entry(R"(
  p = f32[8]{0} parameter(0)
  a = f32[8]{0} all-reduce(p), replica_groups={}, to_apply=add, frontend_attributes={k="b"}, metadata={op_type="psum" op_name="m/l1/psum" source_file="x.py" source_line=3}
  b = f32[8]{0} all-reduce(p), replica_groups={}, to_apply=add, frontend_attributes={k="a"}, metadata={op_name="m/l2/psum" source_file="y.py" source_line=4}
  ROOT t = (f32[8]{0}, f32[8]{0}) tuple(a, b)
)");
  RunPasses(module, "all-reduce-combiner");
  EXPECT_EQ(
      Line(module, "all-reduce"),
      "%all-reduce = (f32[8]{0}, f32[8]{0}) all-reduce(%p, %p), replica_groups={}, to_apply=%add, "
      "frontend_attributes={k=\"a,b\"}, metadata={op_type=\"psum\" op_name=\"m/(l1/psum:l2/psum)\" "
      "source_file=\"x.py:3,y.py:4\"}");
}

TEST(ReplicaGroupsKey, FormsOfTheSameGroups) {
  EXPECT_EQ(ReplicaGroupsKey("{{0,1},{2,3}}"), "0,1;2,3;");
  EXPECT_EQ(ReplicaGroupsKey("[2,2]<=[4]"), "0,1;2,3;");
  EXPECT_EQ(ReplicaGroupsKey("[2,2]<=[2,2]T(1,0)"), "0,2;1,3;");
  EXPECT_EQ(ReplicaGroupsKey("{}"), "");
  EXPECT_EQ(ReplicaGroupsKey("[1000000,1000000]<=[1000000000000]"),
            "[1000000,1000000]<=[1000000000000]");
}

}  // namespace
}  // namespace hlokit
