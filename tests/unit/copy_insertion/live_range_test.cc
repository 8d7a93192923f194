// Copies that must not go: removing them would change what the module computes.
#include "tests/unit/passes/pass_test_util.h"

namespace hlokit {
namespace {

Module After(std::string_view text) {
  Module module = MustRead(text);
  EXPECT_EQ(RunPasses(module, "flatten-call-graph,copy-insertion").error, "");
  return module;
}

/// %x goes round a loop unchanged. A branch inside the body updates a copy of it: in place, the
/// next round would see the update.
TEST(LiveRanges, LoopInvariantThatABranchUpdates) {
  Module module = After(R"(HloModule m
update {
  t = (f32[4]{0}, f32[1]{0}) parameter(0)
  x0 = f32[4]{0} get-tuple-element(t), index=0
  u0 = f32[1]{0} get-tuple-element(t), index=1
  z = s32[] constant(0)
  ROOT d = f32[4]{0} dynamic-update-slice(x0, u0, z)
}
other {
  t1 = (f32[4]{0}, f32[1]{0}) parameter(0)
  x1 = f32[4]{0} get-tuple-element(t1), index=0
  ROOT n = f32[4]{0} negate(x1)
}
body {
  p = (f32[4]{0}, f32[4]{0}, pred[], f32[1]{0}) parameter(0)
  x = f32[4]{0} get-tuple-element(p), index=0
  c = pred[] get-tuple-element(p), index=2
  u = f32[1]{0} get-tuple-element(p), index=3
  arg = (f32[4]{0}, f32[1]{0}) tuple(x, u)
  r = f32[4]{0} conditional(c, arg, arg), true_computation=update, false_computation=other
  nc = pred[] not(c)
  ROOT out = (f32[4]{0}, f32[4]{0}, pred[], f32[1]{0}) tuple(x, r, nc, u)
}
cond {
  q = (f32[4]{0}, f32[4]{0}, pred[], f32[1]{0}) parameter(0)
  ROOT k = pred[] get-tuple-element(q), index=2
}
ENTRY main {
  a = f32[4]{0} parameter(0)
  w = f32[1]{0} parameter(1)
  f = pred[] parameter(2)
  x2 = f32[4]{0} add(a, a)
  y = f32[4]{0} multiply(a, a)
  init = (f32[4]{0}, f32[4]{0}, pred[], f32[1]{0}) tuple(x2, y, f, w)
  ROOT wh = (f32[4]{0}, f32[4]{0}, pred[], f32[1]{0}) while(init), condition=cond, body=body
})");
  InstId updated = module.operand(module.FindInstruction("d"), 0);
  EXPECT_EQ(module.opcode(updated), Opcode::kCopy) << Line(module, "d");
}

/// The copy in the result goes first; then %x is the result, and must not be updated in place.
TEST(LiveRanges, ResultOfARemovedCopyLivesOn) {
  Module module = After(R"(HloModule m
ENTRY main {
  a = f32[4]{0} parameter(0)
  w = f32[1]{0} parameter(1)
  x = f32[4]{0} add(a, a)
  c = f32[4]{0} copy(x)
  c2 = f32[4]{0} copy(x)
  zero = s32[] constant(0)
  y = f32[4]{0} dynamic-update-slice(c2, w, zero)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(c, y)
})");
  InstId updated = module.operand(module.FindInstruction("y"), 0);
  EXPECT_EQ(module.opcode(updated), Opcode::kCopy) << Line(module, "y");
}

/// A called computation updates its parameter, which the caller needs afterwards.
TEST(LiveRanges, CalleeUpdatesWhatTheCallerReturns) {
  Module module = After(R"(HloModule m
f {
  p = f32[4]{0} parameter(0)
  u = f32[1]{0} parameter(1)
  z = s32[] constant(0)
  ROOT d = f32[4]{0} dynamic-update-slice(p, u, z)
}
ENTRY main {
  a = f32[4]{0} parameter(0)
  w = f32[1]{0} parameter(1)
  x = f32[4]{0} negate(a)
  y = f32[4]{0} call(x, w), to_apply=f
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(x, y)
})");
  InstId updated = module.operand(module.FindInstruction("d"), 0);
  EXPECT_EQ(module.opcode(updated), Opcode::kCopy) << Line(module, "d");
}

}  // namespace
}  // namespace hlokit
