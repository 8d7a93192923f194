// dce, tuple-simplifier, call-inliner, flatten-call-graph and layout-normalization on small
// modules.
#include "pass_test_util.h"

namespace hlokit {
namespace {

TEST(Dce, KeepsEffectsParametersAndControlEdges) {
  Module module = MustRead(R"(HloModule m
unused {
  q = f32[] parameter(0)
  ROOT n = f32[] negate(q)
}
ENTRY main {
  p = f32[2]{0} parameter(0)
  unusedp = f32[2]{0} parameter(1)
  d = f32[2]{0} negate(p)
  e = f32[2]{0} abs(d)
  k = f32[2]{0} custom-call(p), custom_call_target="x", custom_call_has_side_effect=true
  c = f32[2]{0} sine(p)
  ROOT r = f32[2]{0} abs(p), control-predecessors={c}
}
)");
  EXPECT_TRUE(RunPasses(module, "dce").changed);
  EXPECT_FALSE(module.FindInstruction("d").valid());
  EXPECT_FALSE(module.FindInstruction("e").valid());
  EXPECT_TRUE(module.FindInstruction("k").valid());
  EXPECT_TRUE(module.FindInstruction("c").valid());
  EXPECT_TRUE(module.FindInstruction("unusedp").valid());
  EXPECT_FALSE(module.FindComputation("unused").valid());
  EXPECT_FALSE(RunPasses(module, "dce").changed);
}

TEST(TupleSimplifier, ElementOfTupleAndWholeTuple) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = (f32[2]{0}, f32[3]{0}) parameter(0)
  a = f32[2]{0} get-tuple-element(p), index=0
  b = f32[3]{0} get-tuple-element(p), index=1
  t = (f32[2]{0}, f32[3]{0}) tuple(a, b)
  x = f32[3]{0} get-tuple-element(t), index=1
  n = f32[3]{0} negate(x)
  ROOT r = ((f32[2]{0}, f32[3]{0}), f32[3]{0}) tuple(t, n)
}
)");
  EXPECT_TRUE(RunPasses(module, "tuple-simplifier").changed);
  EXPECT_EQ(RootLine(module), "%r = ((f32[2]{0}, f32[3]{0}), f32[3]{0}) tuple(%p, %n)");
}

TEST(TupleSimplifier, OrderAndCountMatter) {
  constexpr std::string_view kText = R"(HloModule m
ENTRY main {
  p = (f32[2]{0}, f32[2]{0}) parameter(0)
  a = f32[2]{0} get-tuple-element(p), index=0
  b = f32[2]{0} get-tuple-element(p), index=1
  ROOT t = (f32[2]{0}, f32[2]{0}) tuple(b, a)
}
)";
  Module module = MustRead(kText);
  EXPECT_FALSE(RunPasses(module, "tuple-simplifier").changed);
}

TEST(TupleSimplifier, CanLeaveTheEntryAlone) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2]{0} parameter(0)
  t = (f32[2]{0}) tuple(p)
  ROOT a = f32[2]{0} get-tuple-element(t), index=0
}
)");
  EXPECT_FALSE(RunPasses(module, "tuple-simplifier{exclude-entry=true}").changed);
  EXPECT_TRUE(RunPasses(module, "tuple-simplifier").changed);
}

constexpr std::string_view kCalls = R"(HloModule m
inner {
  q = f32[2]{0} parameter(0)
  k = f32[2]{0} parameter(1)
  s = f32[2]{0} subtract(q, k)
  ROOT n = f32[2]{0} negate(s)
}
outer {
  u = f32[2]{0} parameter(0)
  ROOT c = f32[2]{0} call(u, u), to_apply=inner
}
ENTRY main {
  p = f32[2]{0} parameter(0)
  a = f32[2]{0} call(p), to_apply=outer
  ROOT b = f32[2]{0} call(a), to_apply=outer
}
)";

TEST(CallInliner, InlinesNestedCallsAndDropsCallees) {
  Module module = MustRead(kCalls);
  EXPECT_TRUE(RunPasses(module, "call-inliner").changed);
  EXPECT_EQ(CountOpcode(module, Opcode::kCall), 0);
  EXPECT_EQ(CountOpcode(module, Opcode::kSubtract), 2);
  EXPECT_EQ(module.computation_order().size(), 1u);
  InstId root = module.computation(module.entry()).root;
  EXPECT_EQ(module.opcode(root), Opcode::kNegate);
  InstId subtract = module.operand(root, 0);
  EXPECT_EQ(module.operand(subtract, 0), module.operand(subtract, 1));
  EXPECT_EQ(module.opcode(module.operand(subtract, 0)), Opcode::kNegate);
}

TEST(CallInliner, CalleeThatReturnsAParameter) {
  Module module = MustRead(R"(HloModule m
id {
  ROOT q = f32[2]{0} parameter(0)
}
ENTRY main {
  p = f32[2]{0} parameter(0)
  c = f32[2]{0} call(p), to_apply=id
  ROOT n = f32[2]{0} negate(c)
}
)");
  EXPECT_TRUE(RunPasses(module, "call-inliner").changed);
  EXPECT_EQ(RootLine(module), "%n = f32[2]{0} negate(%p)");
}

TEST(FlattenCallGraph, EveryCallSiteGetsItsOwn) {
  Module module = MustRead(kCalls);
  EXPECT_TRUE(RunPasses(module, "flatten-call-graph").changed);
  EXPECT_EQ(Line(module, "a"), "%a = f32[2]{0} call(%p), to_apply=%outer");
  EXPECT_EQ(Line(module, "b"), "%b = f32[2]{0} call(%a), to_apply=%outer.clone");
  EXPECT_TRUE(module.FindComputation("inner.clone").valid());
}

TEST(FlattenCallGraph, RefusesToExplode) {
  std::string text =
      "HloModule m\nlevel0 {\n  q = f32[] parameter(0)\n  ROOT n = f32[] negate(q)\n}\n";
  for (int i = 1; i < 60; ++i) {
    std::string name = "level" + std::to_string(i), callee = "level" + std::to_string(i - 1);
    text += name + " {\n  q = f32[] parameter(0)\n  a = f32[] call(q), to_apply=" + callee +
            "\n  ROOT b = f32[] call(a), to_apply=" + callee + "\n}\n";
  }
  text += "ENTRY main {\n  p = f32[] parameter(0)\n  ROOT r = f32[] call(p), to_apply=level59\n}\n";
  for (std::string_view pass : {"flatten-call-graph", "call-inliner"}) {
    Module module = MustRead(text);
    RunOutcome outcome = RunPasses(module, pass);
    EXPECT_NE(outcome.error.find("larger than"), std::string::npos) << pass;
    EXPECT_EQ(outcome.exit_code, ExitCode::kUnsupported);
  }
}

/// The root of the entry and what it reads, after layout-normalization.
Module Normalized(std::string_view body) {
  Module module = MustRead(
      "HloModule m\nadd { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) "
      "}\n"
      "ENTRY main {\n" +
      std::string(body) + "}\n");
  RunOutcome outcome = RunPasses(module, "layout-normalization");
  EXPECT_EQ(outcome.error, "");
  return module;
}

TEST(LayoutNormalization, DescendingModulesStay) {
  Module module = MustRead(
      "HloModule m\nENTRY main {\n  p = f32[2,3]{1,0} parameter(0)\n  ROOT a = f32[2,3]{1,0} "
      "add(p, p)\n}\n");
  EXPECT_FALSE(RunPasses(module, "layout-normalization").changed);
}

TEST(LayoutNormalization, ElementwiseWorksOnPhysicalDimensions) {
  Module module =
      Normalized("  p = f32[2,3]{0,1} parameter(0)\n  ROOT a = f32[2,3]{0,1} add(p, p)\n");
  EXPECT_EQ(Line(module, "bitcast"), "%bitcast = f32[3,2]{1,0} bitcast(%p)");
  EXPECT_EQ(Line(module, "add"), "%add = f32[3,2]{1,0} add(%bitcast, %bitcast)");
  EXPECT_TRUE(RootLine(module).find(" = f32[2,3]{0,1} bitcast(%add)") != std::string::npos)
      << RootLine(module);
}

TEST(LayoutNormalization, CopyBecomesTranspose) {
  Module module =
      Normalized("  p = f32[2,3]{1,0} parameter(0)\n  ROOT c = f32[2,3]{0,1} copy(p)\n");
  EXPECT_EQ(Line(module, "transpose"),
            "%transpose = f32[3,2]{1,0} transpose(%p), dimensions={1,0}");
}

TEST(LayoutNormalization, AttributesAreRenumbered) {
  // p of {0,1} = (1,0).
  struct Case {
    std::string_view body, name, line;
  };
  constexpr Case kCases[] = {
      {"  v = f32[3]{0} parameter(0)\n  ROOT b = f32[2,3]{0,1} broadcast(v), dimensions={1}\n",
       "broadcast", "%broadcast = f32[3,2]{1,0} broadcast(%v), dimensions={0}"},
      {"  ROOT i = s32[4,5]{0,1} iota(), iota_dimension=0\n", "iota",
       "%iota = s32[5,4]{1,0} iota(), iota_dimension=1"},
      {"  p = f32[2,3]{0,1} parameter(0)\n  ROOT s = f32[1,2]{0,1} slice(p), slice={[0:1], "
       "[1:3]}\n",
       "slice", "%slice = f32[2,1]{1,0} slice(%bitcast), slice={[1:3], [0:1]}"},
      {"  p = f32[2,3]{0,1} parameter(0)\n  z = f32[] constant(0)\n  ROOT s = f32[3,7]{0,1} pad(p, "
       "z), padding=1_0x2_2\n",
       "pad", "%pad = f32[7,3]{1,0} pad(%bitcast, %z), padding=2_2x1_0"},
      {"  p = f32[2,3]{0,1} parameter(0)\n  ROOT s = f32[2,3]{0,1} reverse(p), dimensions={0}\n",
       "reverse", "%reverse = f32[3,2]{1,0} reverse(%bitcast), dimensions={1}"},
      {"  p = f32[2,3]{0,1} parameter(0)\n  ROOT s = f32[4,3]{0,1} concatenate(p, p), "
       "dimensions={0}\n",
       "concatenate",
       "%concatenate = f32[3,4]{1,0} concatenate(%bitcast, %bitcast), dimensions={1}"},
      {"  p = f32[4,6]{0,1} parameter(0)\n  z = f32[] constant(0)\n"
       "  ROOT w = f32[2,6]{0,1} reduce-window(p, z), window={size=2x1 stride=2x1}, to_apply=add\n",
       "reduce-window",
       "%reduce-window = f32[6,2]{1,0} reduce-window(%bitcast, %z), window={size=1x2 stride=1x2}, "
       "to_apply=%add"},
  };
  for (const Case& test : kCases) {
    Module module = Normalized(test.body);
    EXPECT_EQ(Line(module, test.name), test.line);
  }
}

TEST(LayoutNormalization, TransposeThatMovesNothingIsABitcast) {
  Module module = Normalized(
      "  p = f32[2,3]{0,1} parameter(0)\n  ROOT t = f32[3,2]{1,0} transpose(p), "
      "dimensions={1,0}\n");
  EXPECT_EQ(CountOpcode(module, Opcode::kTranspose), 0);
}

TEST(LayoutNormalization, ConstantKeepsItsBytes) {
  Module module = Normalized("  ROOT c = f32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } })\n");
  EXPECT_EQ(Line(module, "c"), "%c = f32[3,2]{1,0} constant({ { 1, 4 }, { 2, 5 }, { 3, 6 } })");
  EXPECT_EQ(RootLine(module), "%bitcast = f32[2,3]{0,1} bitcast(%c)");
}

TEST(LayoutNormalization, UnverifiedTextIsRefused) {
  for (std::string_view line :
       {"f32[2,3]{0,1} reverse(p), dimensions={7}", "f32[3,2]{1,0} transpose(p), dimensions={5,9}",
        "f32[3,2]{1,0} transpose(p), dimensions={}", "f32[3,2]{1,0} transpose(p), dimensions={0,0}",
        "f32[3,2]{0,1} iota(), iota_dimension=9", "f32[2,3]{0,1} broadcast(p), dimensions={0}",
        "f32[2,3]{0,1} broadcast(p), dimensions={0,7}", "f32[6]{0} copy(p)",
        "f32[2,3]{0,1} slice(p), slice={[0:2]}", "f32[2,3]{0,0} abs(p)", "f32[2,3]{7,9} abs(p)"}) {
    Module module =
        MustRead("HloModule m\nENTRY main {\n  p = f32[2,3]{0,1} parameter(0)\n  ROOT r = " +
                 std::string(line) + "\n}\n");
    EXPECT_NE(RunPasses(module, "layout-normalization").error, "") << line;
  }
}

TEST(CallInliner, LeavesWrappedComputationsAlone) {
  Module module = MustRead(R"(HloModule m
f {
  q = f32[2]{0} parameter(0)
  ROOT n = f32[2]{0} negate(q)
}
wrapped {
  q = f32[2]{0} parameter(0)
  ROOT c = f32[2]{0} call(q), to_apply=f
}
ENTRY main {
  p = f32[2]{0} parameter(0)
  s = ((f32[2]{0}), f32[2]{0}, u32[]) async-start(p), calls=wrapped
  ROOT d = f32[2]{0} async-done(s)
}
)");
  EXPECT_FALSE(RunPasses(module, "call-inliner").changed);
  EXPECT_EQ(CountOpcode(module, Opcode::kCall), 1);
}

TEST(CallInliner, CallThatDoesNotFitIsRefused) {
  Module module = MustRead(R"(HloModule m
f {
  q = f32[] parameter(0)
  w = f32[] parameter(1)
  ROOT a = f32[] add(q, w)
}
ENTRY main {
  p = f32[] parameter(0)
  ROOT r = f32[] call(p), to_apply=f
}
)");
  EXPECT_NE(RunPasses(module, "call-inliner").error.find("2 parameters"), std::string::npos);
}

TEST(Dce, FusionsLoseOutputsAndOperandsThatNobodyReads) {
  Module module = MustRead(R"(HloModule m
fused {
  a = f32[2]{0} parameter(0)
  b = f32[3]{0} parameter(1)
  x = f32[2]{0} negate(a)
  y = f32[3]{0} negate(b)
  ROOT t = (f32[2]{0}, f32[3]{0}) tuple(x, y)
}
ENTRY main {
  p = f32[2]{0} parameter(0)
  q = f32[3]{0} parameter(1)
  f = (f32[2]{0}, f32[3]{0}) fusion(p, q), kind=kLoop, calls=fused
  g = f32[2]{0} get-tuple-element(f), index=0
  ROOT h = f32[3]{0} get-tuple-element(f), index=1
}
)");
  EXPECT_TRUE(RunPasses(module, "dce").changed);
  EXPECT_EQ(RootLine(module), "%f = f32[3]{0} fusion(%q), kind=kLoop, calls=%fused");
  EXPECT_EQ(Line(module, "y"), "%y = f32[3]{0} negate(%param_0)");
}

TEST(LayoutNormalization, MovingReshapeIsRefused) {
  Module module = MustRead(
      "HloModule m\nENTRY main {\n  p = f32[2,3]{0,1} parameter(0)\n  ROOT r = f32[6]{0} "
      "reshape(p)\n}\n");
  RunOutcome outcome = RunPasses(module, "layout-normalization");
  EXPECT_NE(outcome.error.find("cannot handle reshape r"), std::string::npos);
}

/// All places at once, and the lists of users follow.
TEST(Edit, ReplaceOperandReplacesEveryPlace) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} parameter(1)
  t = (f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(a, b, a)
  ROOT u = (f32[4]{0}, f32[4]{0}) tuple(a, a)
})");
  const InstId a = module.FindInstruction("a"), b = module.FindInstruction("b");
  const InstId t = module.FindInstruction("t"), u = module.FindInstruction("u");
  const auto users = [&](InstId id) {
    return std::vector<InstId>(module.users(id).begin(), module.users(id).end());
  };
  ASSERT_EQ(users(a), (std::vector<InstId>{t, u}));
  module.ReplaceOperand(t, a, b);
  EXPECT_EQ(Line(module, "t"), "%t = (f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(%b, %b, %b)");
  EXPECT_EQ(users(a), std::vector<InstId>{u});
  EXPECT_EQ(users(b), std::vector<InstId>{t});  // it was one already
  module.ReplaceOperand(u, a, b);
  EXPECT_TRUE(users(a).empty());
  EXPECT_EQ(users(b), (std::vector<InstId>{t, u}));
  module.ReplaceOperand(u, a, b);  // nothing left to replace
  EXPECT_EQ(users(b), (std::vector<InstId>{t, u}));
}

}  // namespace
}  // namespace hlokit
