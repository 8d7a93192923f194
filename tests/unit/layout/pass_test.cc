// What comes out of the pass? Small modules whose results follow from the specification by hand;
// the reference results are compared elsewhere (tests/golden).
#include <algorithm>

#include "tests/unit/layout/layout_test_util.h"

namespace hlokit {
namespace {

using layout_test::Assign;
using layout_test::Find;
using layout_test::Layouts;
using layout_test::Operands;
using layout_test::Outcome;

int CountCopies(const Module& m) {
  int count = 0;
  for (CompId c : m.computation_order()) {
    for (InstId i : m.computation(c).instructions) count += m.opcode(i) == Opcode::kCopy;
  }
  return count;
}

// Section 9: ids go to dead ends first, the root last; in each, operands before users.
TEST(Defaults, DeadEndsAreServedFirst) {
  // The dead end d reads a constant with layout {0,1}: it is served before the root's operands, and
  // its layout spreads through y to x.
  Outcome out = Assign(R"(HloModule m, entry_computation_layout={(f32[2,3])->f32[2,3]}
ENTRY e {
  x = f32[2,3] parameter(0)
  n = f32[2,3] negate(x)
  c = f32[2,3]{0,1} constant({{1,2,3},{4,5,6}})
  d = f32[2,3] add(c, x)
  ROOT r = f32[2,3] abs(n)
})");
  EXPECT_EQ(Layouts(out.module, "c"), "{0,1}");
  EXPECT_EQ(Layouts(out.module, "x"), "{0,1}");
  EXPECT_EQ(Layouts(out.module, "r"), "{0,1}");
  EXPECT_EQ(CountCopies(out.module), 0);
}

// Section 10.8: the body of a fusion takes the layouts of its operands, and a bitcast inside reads
// other elements then. The second one is read as before.
TEST(Fusions, ChangedBitcastsAreReported) {
  Outcome out = Assign(
      R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1}, f32[2,3]{1,0})->(f32[6]{0}, f32[6]{0})}
f {
  p = f32[2,3]{1,0} parameter(0)
  ROOT changed = f32[6]{0} bitcast(p)
}
g {
  q = f32[2,3]{1,0} parameter(0)
  ROOT kept = f32[6]{0} bitcast(q)
}
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  y = f32[2,3]{1,0} parameter(1)
  a = f32[6]{0} fusion(x), kind=kLoop, calls=f
  b = f32[6]{0} fusion(y), kind=kLoop, calls=g
  ROOT r = (f32[6]{0}, f32[6]{0}) tuple(a, b)
})");
  ASSERT_EQ(out.report.changed_bitcasts.size(), 1u);
  EXPECT_EQ(out.module.name(out.report.changed_bitcasts[0]), "changed");
  EXPECT_EQ(Warnings(out.module, out.report).size(), 1u);
}

// Section 5.2: what a broadcast asks of its operand is mandatory but waits at the end of the
// worklist: the parameter reaches n first, and the operand of the broadcast has to be copied.
TEST(Propagation, BroadcastDemandsItsOperand) {
  Outcome out = Assign(R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->f32[4,9,6]{0,2,1}}
ENTRY e {
  x = f32[4,6] parameter(0)
  n = f32[4,6] negate(x)
  ROOT b = f32[4,9,6] broadcast(n), dimensions={0,2}
})");
  EXPECT_EQ(Layouts(out.module, "n"), "{1,0}");
  EXPECT_EQ(Operands(out.module, "b"), "copy");
  EXPECT_EQ(Layouts(out.module, "copy"), "{0,1}");
  EXPECT_EQ(CountCopies(out.module), 1);
}

// Section 5.3 step 8.1: the largest operand of a concatenation decides.
TEST(Propagation, SmallerPartOfAConcatenationIsSilent) {
  Outcome out =
      Assign(R"(HloModule m, entry_computation_layout={(f32[9,3]{1,0}, f32[2,3]{0,1})->f32[11,3]}
ENTRY e {
  x = f32[9,3] parameter(0)
  y = f32[2,3] parameter(1)
  ROOT c = f32[11,3] concatenate(x, y), dimensions={0}
})");
  EXPECT_EQ(Layouts(out.module, "c"), "{1,0}");
  EXPECT_EQ(Operands(out.module, "c"), "x, copy");
}

// Section 5.3: reduce passes nothing from its operand to its output, only with the hook back.
TEST(Propagation, ReduceIsABarrier) {
  const char* text = R"(HloModule m, entry_computation_layout={(f32[4,6,9,2])->f32[4,9]{0,1}}
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4,6,9,2] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[4,9] reduce(x, z), dimensions={1,3}, to_apply=add
})";
  EXPECT_EQ(Layouts(Assign(text).module, "x"), "{3,2,1,0}");
  EXPECT_EQ(Layouts(Assign(text, {.row_reduction = true}).module, "x"), "{3,1,0,2}");
}

// Section 5.2 step 3: a loop with an array state asks its parameter for what it returns.
TEST(Propagation, BackEdge) {
  Outcome out = Assign(R"(HloModule m, entry_computation_layout={(f32[2,3])->f32[2,3]}
c { p = (f32[2,3], f32[2,3]) parameter(0) ROOT t = pred[] constant(true) }
b {
  p = (f32[2,3], f32[2,3]) parameter(0)
  g = f32[2,3] get-tuple-element(p), index=0
  h = f32[2,3] get-tuple-element(p), index=1
  k = f32[2,3]{0,1} custom-call(g), custom_call_target="step", operand_layout_constraints={f32[2,3]{1,0}}
  ROOT r = (f32[2,3], f32[2,3]) tuple(h, k)
}
ENTRY e {
  x = f32[2,3] parameter(0)
  t = (f32[2,3], f32[2,3]) tuple(x, x)
  w = (f32[2,3], f32[2,3]) while(t), condition=c, body=b
  ROOT o = f32[2,3] get-tuple-element(w), index=0
})");
  // k is {0,1} and returned as element 1: the back-edge asks p[1] for {0,1}.
  bool found = false;
  for (EventId id = 0; id < out.trace.size(); ++id) {
    TraceEvent e = out.trace[id];
    if (e.rule != TraceRule::kBackEdge || e.round != 0) continue;
    EXPECT_EQ(e.instruction(),
              out.module.computation(out.module.FindComputation("b")).parameters[0]);
    if (e.target_index == 2) {
      found = true;
      EXPECT_EQ(out.module.shapes().LayoutText(e.layout()), "{0,1}");
      EXPECT_FALSE(e.mandatory);
      EXPECT_TRUE(e.dfs);
    }
  }
  EXPECT_TRUE(found);
}

// The same for an element of a tuple that is an element of the state: index (slot, element).
TEST(Propagation, BackEdgeOfANestedElement) {
  Outcome out = Assign(R"(HloModule m
less { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT }
c { p = (s32[], (f32[2,3], f32[2,3])) parameter(0) ROOT t = pred[] constant(false) }
b {
  p = (s32[], (f32[2,3], f32[2,3])) parameter(0)
  n = s32[] get-tuple-element(p), index=0
  k = f32[2,3]{0,1} custom-call(), custom_call_target="make", operand_layout_constraints={}
  s = (f32[2,3], f32[2,3]) sort(k, k), dimensions={0}, to_apply=less
  ROOT r = (s32[], (f32[2,3], f32[2,3])) tuple(n, s)
}
ENTRY e {
  x = (s32[], (f32[2,3], f32[2,3])) parameter(0)
  ROOT w = (s32[], (f32[2,3], f32[2,3])) while(x), condition=c, body=b
})");
  // Pre-order numbers in the state: 1 the counter, 2 the inner tuple, 3 and 4 its elements.
  std::vector<uint32_t> places;
  for (EventId id = 0; id < out.trace.size(); ++id) {
    TraceEvent e = out.trace[id];
    if (e.rule != TraceRule::kBackEdge || e.round != 0 || e.target_index == 1) continue;
    places.push_back(e.target_index);
    EXPECT_EQ(out.module.shapes().LayoutText(e.layout()), "{0,1}");
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  EXPECT_EQ(places, (std::vector<uint32_t>{3, 4}));
}

// Sections 2.3 step 7 and 5.3 step 3: an output that shares memory with an operand.
TEST(Propagation, CustomCallAliasingWorksBothWays) {
  Outcome down = Assign(R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{0,1}}
ENTRY e {
  x = f32[2,3] parameter(0)
  ROOT k = f32[2,3] custom-call(x), custom_call_target="inplace", output_to_operand_aliasing={{}: (0, {})}
})");
  EXPECT_EQ(Layouts(down.module, "k"), "{0,1}");
  EXPECT_EQ(Operands(down.module, "k"), "copy");
  EXPECT_EQ(Layouts(down.module, "copy"), "{0,1}");
  Outcome up = Assign(R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]}
ENTRY e {
  x = f32[2,3] parameter(0)
  ROOT k = f32[2,3] custom-call(x), custom_call_target="inplace", output_to_operand_aliasing={{}: (0, {})}
})");
  EXPECT_EQ(Layouts(up.module, "k"), "{0,1}");
  EXPECT_EQ(CountCopies(up.module), 0);
}

// Section 3.1 step 2.
TEST(Copies, PreparatoryCopyOfASentValue) {
  Outcome out = Assign(R"(HloModule m
ENTRY e {
  x = f32[2,3] parameter(0)
  t = token[] after-all()
  s = (f32[2,3], u32[], token[]) send(x, t), channel_id=1
  ROOT d = token[] send-done(s), channel_id=1
})");
  ASSERT_FALSE(out.report.copies.empty());
  EXPECT_EQ(out.report.copies[0].reason, CopyReason::kPreparatory);
  EXPECT_EQ(Operands(out.module, "s"), "copy, t");
  EXPECT_EQ(out.report.PartsOf(out.report.copies[0]).size(), 1u);
}

// Section 10.4: a tuple is taken apart; elements that fit are used as they are.
TEST(Copies, RootTupleElementwise) {
  Outcome out = Assign(
      R"(HloModule m, entry_computation_layout={((f32[2,3]{1,0}, f32[4,5]{1,0}))->(f32[2,3]{1,0}, f32[4,5]{0,1})}
ENTRY e {
  ROOT p = (f32[2,3], f32[4,5]) parameter(0), sharding={{maximal device=3}, {replicated}}, frontend_attributes={a="b"}
})");
  ASSERT_EQ(out.report.copies.size(), 1u);
  const AddedCopy& copy = out.report.copies[0];
  const Module& m = out.module;
  EXPECT_EQ(copy.reason, CopyReason::kRoot);
  EXPECT_EQ(m.opcode(copy.top), Opcode::kTuple);
  EXPECT_TRUE(m.IsRoot(copy.top));
  ASSERT_EQ(out.report.PartsOf(copy).size(), 1u);
  const AddedArrayCopy& part = out.report.PartsOf(copy)[0];
  EXPECT_EQ(part.leaf, 2u);
  EXPECT_EQ(m.shapes().LayoutText(part.to), "{0,1}");
  // The copied element takes sharding and attributes of its place, the other element takes nothing.
  InstId element = m.operand(part.copy, 0);
  EXPECT_EQ(m.TextAttr(element, AttrKind::kSharding), "{replicated}");
  EXPECT_EQ(m.TextAttr(part.copy, AttrKind::kSharding), "{replicated}");
  EXPECT_EQ(m.TextAttr(part.copy, AttrKind::kFrontendAttributes), "{a=\"b\"}");
  InstId other = m.operand(copy.top, 0);
  EXPECT_EQ(m.opcode(other), Opcode::kGetTupleElement);
  EXPECT_EQ(m.TextAttr(other, AttrKind::kSharding), "");
  EXPECT_EQ(m.TextAttr(other, AttrKind::kFrontendAttributes), "");
  EXPECT_EQ(m.TextAttr(copy.top, AttrKind::kSharding), "{{maximal device=3}, {replicated}}");
}

TEST(Copies, SingleDeviceShardingIsDropped) {
  Outcome out = Assign(R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{0,1}}
ENTRY e {
  ROOT p = f32[2,3] parameter(0), sharding={maximal device=3}
})");
  EXPECT_EQ(out.module.TextAttr(Find(out.module, "copy"), AttrKind::kSharding), "");
}

// Section 10.3: the operand of a conditional with one user is copied inside the branch.
TEST(Copies, IntoTheBranch) {
  Outcome out = Assign(
      R"(HloModule m, entry_computation_layout={(pred[], f32[2,3]{1,0}, f32[2,3]{1,0})->f32[2,3]{1,0}}
left { p = f32[2,3] parameter(0) ROOT n = f32[2,3]{0,1} custom-call(p), custom_call_target="f", operand_layout_constraints={f32[2,3]{0,1}} }
right { p = f32[2,3] parameter(0) a = f32[2,3] abs(p) ROOT n = f32[2,3] negate(a) }
ENTRY e {
  b = pred[] parameter(0)
  x = f32[2,3] parameter(1)
  y = f32[2,3] parameter(2)
  ROOT c = f32[2,3] conditional(b, x, y), true_computation=left, false_computation=right
})");
  auto branch = std::find_if(out.report.copies.begin(), out.report.copies.end(),
                             [](const AddedCopy& c) { return c.reason == CopyReason::kBranch; });
  ASSERT_NE(branch, out.report.copies.end());
  const Module& m = out.module;
  EXPECT_EQ(m.name(branch->consumer), "c");
  EXPECT_EQ(branch->operand, 1u);
  EXPECT_EQ(m.name(m.computation_of(branch->top)), "left");
  EXPECT_EQ(Operands(m, "c"), "b, x, y");
}

TEST(Clones, EachConditionalGetsBranchesOfItsOwn) {
  Outcome out = Assign(R"(HloModule m
br { p = f32[2,3] parameter(0) ROOT n = f32[2,3] negate(p) }
other { p = f32[2,3] parameter(0) ROOT n = f32[2,3] abs(p) }
ENTRY e {
  b = pred[] parameter(0)
  x = f32[2,3] parameter(1)
  c1 = f32[2,3] conditional(b, x, x), true_computation=br, false_computation=other
  c2 = f32[2,3] conditional(b, c1, c1), true_computation=br, false_computation=br
  ROOT r = f32[2,3] call(c2), to_apply=br
})");
  // Three callers, two of them conditionals: two clones, and the call keeps the original.
  const Module& m = out.module;
  ASSERT_EQ(out.report.clones.size(), 2u);
  EXPECT_EQ(m.name(out.report.clones[0].conditional), "c1");
  EXPECT_EQ(m.name(out.report.clones[1].conditional), "c2");
  EXPECT_EQ(m.to_apply(Find(m, "r")), m.FindComputation("br"));
  std::span<const CompId> branches = m.called_computations(Find(m, "c2"));
  EXPECT_EQ(branches[0], out.report.clones[1].clone);
  EXPECT_EQ(branches[1], out.report.clones[1].clone);
}

// Section 3.5.
TEST(EntryLayout, AliasTakesTheSideThatWasGiven) {
  Outcome out = Assign(
      R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }, entry_computation_layout={(f32[2,3]{0,1}, f32[2,3]{1,0})->f32[2,3]}
ENTRY e {
  x = f32[2,3] parameter(0)
  y = f32[2,3] parameter(1)
  ROOT r = f32[2,3] add(x, y)
})");
  const ComputationLayout& entry = *out.module.config().entry_computation_layout;
  EXPECT_EQ(Layouts(out.module, entry.parameters[0]), "{0,1}");
  EXPECT_EQ(Layouts(out.module, entry.result), "{0,1}");
  EXPECT_GE(out.report.rounds, 2u);
}

TEST(EntryLayout, WhatIsFreeIsFilledIn) {
  Outcome out = Assign(R"(HloModule m, entry_computation_layout={(f32[2,3], f32[])->f32[3,2]{0,1}}
ENTRY e {
  x = f32[2,3] parameter(0)
  s = f32[] parameter(1)
  ROOT t = f32[3,2] transpose(x), dimensions={1,0}
})");
  const ComputationLayout& entry = *out.module.config().entry_computation_layout;
  EXPECT_EQ(Layouts(out.module, entry.parameters[0]), "{1,0}");
  EXPECT_EQ(Layouts(out.module, entry.result), "{0,1}");
  EXPECT_EQ(CountCopies(out.module), 0);
}

// Wide instructions skip sweeps whose requests would all be refused; the result must not show it.
TEST(Wide, ManyOperandsLikeFew) {
  for (int count : {4, 15, 16, 17, 40}) {
    SCOPED_TRACE(count);
    std::string parameters;
    std::string operands;
    std::string layouts;
    for (int i = 0; i < count; ++i) {
      std::string n = std::to_string(i);
      parameters += "  v" + n + " = f32[2,3] parameter(" + n + ")\n";
      operands += (i ? ", v" : "v") + n;
      layouts += std::string(i ? ", " : "") + (i % 3 == 0 ? "f32[2,3]{0,1}" : "f32[2,3]{1,0}");
    }
    std::string shape = "f32[" + std::to_string(2 * count) + ",3]";
    Outcome out = Assign("HloModule m, entry_computation_layout={(" + layouts + ")->" + shape +
                         "{0,1}}\nENTRY e {\n" + parameters + "  ROOT c = " + shape +
                         " concatenate(" + operands + "), dimensions={0}\n}");
    // The result speaks first: every operand that is {1,0} needs a copy.
    EXPECT_EQ(CountCopies(out.module), count - (count + 2) / 3);
    EXPECT_EQ(Layouts(out.module, "c"), "{0,1}");
  }
}

/// A variadic sort of `count` arrays; returns the number of requests.
uint64_t SortRequests(int count) {
  std::string scalars;
  std::string parameters;
  std::string operands;
  std::string shape;
  for (int i = 0; i < 2 * count; ++i) {
    scalars += "  p" + std::to_string(i) + " = f32[] parameter(" + std::to_string(i) + ")\n";
  }
  for (int i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    parameters += "  v" + n + " = f32[2,3] parameter(" + n + ")\n";
    operands += (i ? ", v" : "v") + n;
    shape += i ? ", f32[2,3]" : "f32[2,3]";
  }
  Outcome out =
      Assign("HloModule m\nless {\n" + scalars +
             "  ROOT l = pred[] compare(p0, p1), direction=LT\n}\nENTRY e {\n" + parameters +
             "  ROOT s = (" + shape + ") sort(" + operands + "), dimensions={0}, to_apply=less\n}");
  return out.report.requests;
}

TEST(Wide, WorkGrowsWithTheNumberOfOperands) {
  uint64_t small = SortRequests(100);
  uint64_t large = SortRequests(400);
  EXPECT_LT(large, 5 * small);
}

TEST(Scale, LongChainsNeedNoRecursion) {
  std::string text =
      "HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{0,1}}\nENTRY e {\n"
      "  v0 = f32[2,3] parameter(0)\n";
  const int length = 200000;
  for (int i = 1; i < length; ++i) {
    text += "  v" + std::to_string(i) + " = f32[2,3] negate(v" + std::to_string(i - 1) + ")\n";
  }
  text += "  ROOT r = f32[2,3] negate(v" + std::to_string(length - 1) + ")\n}\n";
  Module module = layout_test::Read(text);
  Result<LayoutAssignmentReport> report = AssignLayouts(module, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->copies.size(), 1u);
  EXPECT_LT(report->requests, uint64_t{20} * length);
}

}  // namespace
}  // namespace hlokit
