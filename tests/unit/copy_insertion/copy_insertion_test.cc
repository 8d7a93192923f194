// Copy insertion on the cases of the specification (copy-insertion.md, part D).
#include "hlokit/copy_insertion.h"

#include "tests/unit/passes/pass_test_util.h"

namespace hlokit {
namespace {

/// The module after the pass; the call graph is flattened first.
Module After(std::string_view text) {
  Module module = MustRead(text);
  RunOutcome outcome = RunPasses(module, "flatten-call-graph,copy-insertion");
  EXPECT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.changed);
  return module;
}

int Copies(const Module& module) { return CountOpcode(module, Opcode::kCopy); }

constexpr std::string_view kCondition = R"(
cond {
  q = (s32[], f32[4]{0}) parameter(0)
  i = s32[] get-tuple-element(q), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}
)";

TEST(CopyInsertion, LoopStateThatPassesThroughNeedsNoCopy) {
  Module module = After(std::string("HloModule m\n") + R"(
body {
  p = (s32[], f32[4]{0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4]{0} get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[4]{0}) tuple(j, x)
}
)" + std::string(kCondition) +
                        R"(
ENTRY main {
  a = f32[4]{0} parameter(0)
  k = s32[] parameter(1)
  y = f32[4]{0} negate(a)
  l = s32[] negate(k)
  init = (s32[], f32[4]{0}) tuple(l, y)
  ROOT w = (s32[], f32[4]{0}) while(init), condition=cond, body=body
})");
  EXPECT_EQ(Copies(module), 0);
}

TEST(CopyInsertion, ConstantAsInitialStateIsCopied) {
  Module module = After(std::string("HloModule m\n") + R"(
body {
  p = (s32[], f32[4]{0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[4]{0} get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[4]{0}) tuple(j, x)
}
)" + std::string(kCondition) +
                        R"(
ENTRY main {
  a = f32[4]{0} parameter(0)
  y = f32[4]{0} negate(a)
  zero = s32[] constant(0)
  init = (s32[], f32[4]{0}) tuple(zero, y)
  ROOT w = (s32[], f32[4]{0}) while(init), condition=cond, body=body
})");
  // Only the counter: its initial value is a constant, and the body adds to it in place.
  EXPECT_EQ(Copies(module), 1);
  EXPECT_EQ(Line(module, "copy.3"), "%copy.3 = s32[] copy(%zero)");
}

TEST(CopyInsertion, SwappedStateKeepsItsCopies) {
  Module module = After(R"(HloModule m
body {
  p = (f32[4]{0}, f32[4]{0}) parameter(0)
  x = f32[4]{0} get-tuple-element(p), index=0
  y = f32[4]{0} get-tuple-element(p), index=1
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(y, x)
}
cond {
  q = (f32[4]{0}, f32[4]{0}) parameter(0)
  ROOT no = pred[] constant(false)
}
ENTRY main {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} negate(a)
  c = f32[4]{0} abs(a)
  init = (f32[4]{0}, f32[4]{0}) tuple(b, c)
  ROOT w = (f32[4]{0}, f32[4]{0}) while(init), condition=cond, body=body
})");
  CompId body = module.FindComputation("body");
  int copies = 0;
  for (InstId inst : module.computation(body).instructions) {
    copies += module.opcode(inst) == Opcode::kCopy;
  }
  // Each element is copied as the body gets it and as the body leaves it. Nothing orders the copies
  // of one element against those of the other, so none of the four can go: three would be enough
  // with an order between them, which only region analysis would add.
  EXPECT_EQ(copies, 4);
}

constexpr std::string_view kUpdateTail = R"(
  u = f32[1]{0} parameter(1)
  zero = s32[] constant(0)
)";

TEST(CopyInsertion, UpdateOfParameterTakesOneCopy) {
  Module module =
      After("HloModule m\nENTRY main {\n  a = f32[4]{0} parameter(0)" + std::string(kUpdateTail) +
            "  ROOT d = f32[4]{0} dynamic-update-slice(a, u, zero)\n}\n");
  EXPECT_EQ(Copies(module), 1);
  EXPECT_EQ(module.opcode(module.operand(module.FindInstruction("d"), 0)), Opcode::kCopy);
}

TEST(CopyInsertion, UpdateOfDeadValueTakesNone) {
  Module module =
      After("HloModule m\nENTRY main {\n  a = f32[4]{0} parameter(0)" + std::string(kUpdateTail) +
            "  n = f32[4]{0} negate(a)\n"
            "  ROOT d = f32[4]{0} dynamic-update-slice(n, u, zero)\n}\n");
  EXPECT_EQ(Copies(module), 0);
}

TEST(CopyInsertion, UpdateOfLiveValueTakesOne) {
  Module module =
      After("HloModule m\nENTRY main {\n  a = f32[4]{0} parameter(0)" + std::string(kUpdateTail) +
            "  n = f32[4]{0} negate(a)\n"
            "  d = f32[4]{0} dynamic-update-slice(n, u, zero)\n"
            "  ROOT s = f32[4]{0} add(d, n)\n}\n");
  EXPECT_EQ(Copies(module), 1);
}

TEST(CopyInsertion, ResultOfParameterTwice) {
  Module module = After(R"(HloModule m
ENTRY main {
  a = f32[4]{0} parameter(0)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(a, a)
})");
  EXPECT_EQ(RootLine(module), "%tuple = (f32[4]{0}, f32[4]{0}) tuple(%copy, %copy.1)");
}

TEST(CopyInsertion, ResultOfComputedValueTwice) {
  Module module = After(R"(HloModule m
ENTRY main {
  a = f32[4]{0} parameter(0)
  n = f32[4]{0} negate(a)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(n, n)
})");
  EXPECT_EQ(RootLine(module), "%tuple = (f32[4]{0}, f32[4]{0}) tuple(%n, %copy)");
}

TEST(CopyInsertion, ConstantResult) {
  Module module = After("HloModule m\nENTRY main {\n  ROOT c = f32[] constant(1)\n}\n");
  EXPECT_EQ(RootLine(module), "%copy = f32[] copy(%c)");
}

TEST(CopyInsertion, AliasedUpdateNeedsNoCopy) {
  Module module = After(R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY main {
  a = f32[4]{0} parameter(0)
  u = f32[1]{0} parameter(1)
  zero = s32[] constant(0)
  ROOT d = f32[4]{0} dynamic-update-slice(a, u, zero)
})");
  EXPECT_EQ(Copies(module), 0);
}

// Here the copy at the output goes first, then the one at the parameter from which it was made.
TEST(CopyInsertion, AliasedParameterAsBothResults) {
  Module module = After(R"(HloModule m, input_output_alias={ {1}: (0, {}) }
ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(p, p)
})");
  // The output that is aliased stays, the other one gets memory of its own.
  EXPECT_EQ(Copies(module), 1);
  EXPECT_EQ(Line(module, "tuple.1"), "%tuple.1 = (f32[4]{0}, f32[4]{0}) tuple(%copy.2, %p)");
}

/// Both copies of the parameter go: that of the result first, then the one it was a copy of.
TEST(CopyInsertion, AliasedParameterThatIsTheResultNeedsNoCopy) {
  Module module = After(R"(HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }
ENTRY main {
  a = f32[4]{0} parameter(0)
  n = f32[4]{0} tanh(a)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(n, a)
})");
  EXPECT_EQ(Copies(module), 0);
}

TEST(CopyInsertion, SwappedAliasesNeedCopies) {
  Module module =
      After(R"(HloModule m, input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, may-alias) }
ENTRY main {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} parameter(1)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(a, b)
})");
  EXPECT_GE(Copies(module), 2);
}

TEST(CopyInsertion, LayoutChangeStays) {
  Module module = After(R"(HloModule m
ENTRY main {
  a = f32[4,5]{1,0} parameter(0)
  c = f32[4,5]{0,1} copy(a)
  ROOT n = f32[4,5]{0,1} negate(c)
})");
  EXPECT_EQ(Line(module, "c"), "%c = f32[4,5]{0,1} copy(%a)");
}

TEST(CopyInsertion, CopyThatNobodyNeedsGoesWithItsControlEdges) {
  Module module = After(R"(HloModule m
ENTRY main {
  a = f32[4]{0} parameter(0)
  m = f32[4]{0} abs(a)
  c = f32[4]{0} copy(m), control-predecessors={a}
  ROOT n = f32[4]{0} negate(c), control-predecessors={c}
})");
  EXPECT_EQ(Copies(module), 0);
  EXPECT_EQ(RootLine(module), "%n = f32[4]{0} negate(%m)");
}

TEST(CopyInsertion, NeedsFlatCallGraph) {
  Module module = MustRead(R"(HloModule m
f {
  p = f32[4]{0} parameter(0)
  ROOT n = f32[4]{0} negate(p)
}
ENTRY main {
  a = f32[4]{0} parameter(0)
  x = f32[4]{0} call(a), to_apply=f
  ROOT y = f32[4]{0} call(x), to_apply=f
})");
  RunOutcome outcome = RunPasses(module, "copy-insertion");
  EXPECT_NE(outcome.error.find("flat"), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.exit_code, ExitCode::kUnsupported);
}

TEST(CopyInsertion, SaysWhyEachCopyIsThere) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  a = f32[4]{0} parameter(0)
  u = f32[1]{0} parameter(1)
  zero = s32[] constant(0)
  n = f32[4]{0} negate(a)
  d = f32[4]{0} dynamic-update-slice(n, u, zero)
  s = f32[4]{0} add(d, n)
  ROOT t = (f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(s, s, a)
})");
  std::vector<LifetimeCopy> reasons;
  ASSERT_TRUE(InsertCopies(module, {.reasons = &reasons}));
  ASSERT_EQ(reasons.size(), 3u);
  EXPECT_EQ(reasons[0].cause, LifetimeCause::kInPlaceOperand);
  EXPECT_EQ(module.name(reasons[0].subject), "d");
  EXPECT_EQ(reasons[0].overlap, OverlapKind::kUsedLater);
  EXPECT_EQ(module.name(reasons[0].first), "n");
  EXPECT_EQ(module.name(reasons[0].use), "s");
  EXPECT_EQ(reasons[1].cause, LifetimeCause::kRepeatedResult);
  EXPECT_EQ(reasons[2].cause, LifetimeCause::kReadOnlyResult);
  EXPECT_EQ(module.name(reasons[2].subject), "a");
}

TEST(CopyInsertion, ScheduleStaysComplete) {
  Module module = MustRead(R"(HloModule m, is_scheduled=true
ENTRY main {
  a = f32[4]{0} parameter(0)
  u = f32[1]{0} parameter(1)
  zero = s32[] constant(0)
  d = f32[4]{0} dynamic-update-slice(a, u, zero)
  ROOT s = f32[4]{0} add(d, a)
})");
  EXPECT_EQ(RunPasses(module, "copy-insertion").error, "");
  std::vector<uint8_t> seen(module.instruction_count(), 0);
  for (InstId inst : module.computation(module.entry()).instructions) {
    for (InstId operand : module.operands(inst)) EXPECT_TRUE(seen[operand.value]);
    seen[inst.value] = 1;
  }
  EXPECT_EQ(Copies(module), 1);
  EXPECT_TRUE(VerifyForPasses(module));
}

}  // namespace
}  // namespace hlokit
