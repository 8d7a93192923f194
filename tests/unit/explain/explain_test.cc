// Origins, causes, prices and ways out of the copies in small modules whose answer follows from the
// rules by hand.
#include "hlokit/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "hlokit/reader.h"

namespace hlokit {
namespace {

struct Recorded {
  Module module;
  LayoutTrace trace;
  LayoutAssignmentReport report;
  Explanation explanation;
};

Recorded ExplainText(const std::string& text) {
  Result<Module> module = ReadText(text);
  EXPECT_TRUE(module) << (module ? "" : FormatError(module.error()));
  Recorded run{.module = std::move(*module)};
  LayoutAssignmentOptions options;
  options.trace = &run.trace;
  Result<LayoutAssignmentReport> report = AssignLayouts(run.module, options);
  EXPECT_TRUE(report) << (report ? "" : FormatError(report.error()));
  run.report = std::move(*report);
  run.explanation = Explain(run.module, run.report, run.trace, 0);
  return run;
}

// Parameter and result are pinned to different layouts: the root is copied.
constexpr char kPinnedBothEnds[] =
    R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->f32[4,6]{0,1}}

ENTRY main {
  x = f32[4,6] parameter(0), metadata={op_name="input" source_file="model.py" source_line=3}
  ROOT y = f32[4,6] negate(x), metadata={op_name="minus" source_file="model.py" source_line=7}
}
)";

TEST(Explain, EntryPinsAtBothEnds) {
  Recorded run = ExplainText(kPinnedBothEnds);
  ASSERT_EQ(run.explanation.copies.size(), 1u);
  ASSERT_EQ(run.explanation.causes.size(), 1u);
  const Cause& cause = run.explanation.causes[0];
  EXPECT_EQ(cause.id, "C1");
  // The result pin propagates first (section 5.6) and reaches the operand of negate; the parameter
  // keeps its own.
  EXPECT_EQ(cause.winning.kind, OriginKind::kEntryResult);
  EXPECT_EQ(cause.losing.kind, OriginKind::kEntryParameter);
  EXPECT_EQ(cause.losing.parameter, 0);
  // 24 floats.
  EXPECT_EQ(cause.logical_bytes, 96);
  EXPECT_EQ(cause.padded_bytes, 96);
  EXPECT_EQ(run.explanation.parameter_bytes, 96);
  EXPECT_EQ(cause.flags, (std::vector<std::string>{"--unpin", "0"}));
}

TEST(Explain, ChainsStartAtTheOriginAndEndAtTheDemand) {
  Recorded run = ExplainText(kPinnedBothEnds);
  const AddedArrayCopy& part = run.report.parts[run.explanation.copies[0].part];
  std::vector<HopText> winning = DescribeChain(run.module, run.trace, part.winning);
  ASSERT_GE(winning.size(), 2u);
  EXPECT_EQ(winning.front().rule, "entry-pin");
  EXPECT_EQ(winning.front().constraint, "result of %main");
  EXPECT_EQ(winning.back().constraint, "operand 0 of %y");
  EXPECT_EQ(winning.back().layout, "{0,1}");
  EXPECT_EQ(winning.back().rule, "same-layout-operand");
  EXPECT_EQ(winning.back().source, "model.py:7");
  EXPECT_EQ(winning.back().op_name, "minus");
  std::vector<HopText> losing = DescribeChain(run.module, run.trace, part.losing);
  ASSERT_GE(losing.size(), 2u);
  EXPECT_EQ(losing.front().constraint, "parameter 0 of %main");
  EXPECT_EQ(losing.back().constraint, "buffer of %x");
  EXPECT_EQ(losing.back().layout, "{1,0}");
}

TEST(Explain, CustomCallAgainstEntry) {
  Recorded run = ExplainText(R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->f32[4]{0}}

ENTRY main {
  x = f32[4,6] parameter(0)
  ROOT y = f32[4]{0} custom-call(x), custom_call_target="kernel", operand_layout_constraints={f32[4,6]{0,1}}
}
)");
  ASSERT_EQ(run.explanation.causes.size(), 1u);
  const Cause& cause = run.explanation.causes[0];
  EXPECT_EQ(cause.winning.kind, OriginKind::kCustomCall);
  EXPECT_EQ(run.module.name(cause.winning.instruction), "y");
  EXPECT_EQ(cause.losing.kind, OriginKind::kEntryParameter);
  // The user's own pin is the change that is offered, not the foreign kernel.
  EXPECT_EQ(cause.flags, (std::vector<std::string>{"--unpin", "0"}));
}

TEST(Explain, OneCauseForSeveralCopies) {
  Recorded run =
      ExplainText(R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->(f32[4]{0}, f32[4]{0})}

ENTRY main {
  x = f32[4,6] parameter(0)
  y = f32[4]{0} custom-call(x, x), custom_call_target="kernel", operand_layout_constraints={f32[4,6]{0,1}, f32[4,6]{0,1}}
  ROOT t = (f32[4], f32[4]) tuple(y, y)
}
)");
  // No sharing of copies (section 10.3): one per operand, but one row.
  ASSERT_EQ(run.explanation.copies.size(), 2u);
  ASSERT_EQ(run.explanation.causes.size(), 1u);
  EXPECT_EQ(run.explanation.causes[0].copies.size(), 2u);
  EXPECT_EQ(run.explanation.causes[0].logical_bytes, 2 * 96);
}

TEST(Explain, CopiesInALoopCountOncePerTrip) {
  Recorded run =
      ExplainText(R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->(s32[], f32[4,6]{1,0})}

body {
  state = (s32[], f32[4,6]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[4,6] get-tuple-element(state), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4,6]{1,0} custom-call(x), custom_call_target="kernel", operand_layout_constraints={f32[4,6]{0,1}}
  ROOT out = (s32[], f32[4,6]) tuple(next, y)
}

condition {
  state = (s32[], f32[4,6]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  limit = s32[] constant(10)
  ROOT less = pred[] compare(i, limit), direction=LT
}

ENTRY main {
  x = f32[4,6] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4,6]) tuple(zero, x)
  ROOT loop = (s32[], f32[4,6]) while(init), condition=condition, body=body
}
)");
  int64_t in_body = 0;
  for (const Cause& cause : run.explanation.causes) {
    for (uint32_t copy : cause.copies) {
      const AddedCopy& added = run.report.copies[run.explanation.copies[copy].added];
      if (run.module.name(added.computation) == "body") {
        ++in_body;
        EXPECT_EQ(cause.multiplier, 10);
      }
    }
  }
  ASSERT_GE(in_body, 1);
  // Bytes per run: 96 for each copy outside, 960 for each copy in the body.
  int64_t outside = static_cast<int64_t>(run.explanation.copies.size()) - in_body;
  EXPECT_EQ(run.explanation.logical_bytes, 960 * in_body + 96 * outside);
}

TEST(Explain, CausesAreSortedByBytes) {
  Recorded run = ExplainText(
      R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0}, f32[40,60]{1,0})->(f32[4,6]{0,1}, f32[40,60]{0,1})}

ENTRY main {
  a = f32[4,6] parameter(0)
  b = f32[40,60] parameter(1)
  c = f32[4,6] negate(a)
  d = f32[40,60] negate(b)
  ROOT t = (f32[4,6], f32[40,60]) tuple(c, d)
}
)");
  ASSERT_EQ(run.explanation.causes.size(), 2u);
  EXPECT_EQ(run.explanation.causes[0].logical_bytes, 9600);
  EXPECT_EQ(run.explanation.causes[1].logical_bytes, 96);
  EXPECT_EQ(run.explanation.causes[0].losing.parameter, 1);
}

TEST(Explain, PaddingOfTilesIsPriced) {
  Recorded run =
      ExplainText(R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->f32[4,6]{0,1:T(8,128)}}

ENTRY main {
  x = f32[4,6] parameter(0)
  ROOT y = f32[4,6] negate(x)
}
)");
  ASSERT_EQ(run.explanation.causes.size(), 1u);
  EXPECT_EQ(run.explanation.causes[0].logical_bytes, 96);
  // One tile of 8 x 128 floats.
  EXPECT_EQ(run.explanation.causes[0].padded_bytes, 8 * 128 * 4);
}

TEST(RootFinder, EndsWhereTheWholeChainEnds) {
  Recorded run = ExplainText(kPinnedBothEnds);
  RootFinder finder(run.trace);
  size_t chains = 0;
  for (EventId id = 0; id < run.trace.size(); ++id) {
    if (!run.trace[id].IsRequest()) continue;
    std::vector<CauseHop> chain = run.trace.CauseChain({id, 0});
    CauseHop root = finder.Root({id, 0});
    EXPECT_EQ(root.event, chain.back().event);
    EXPECT_EQ(root.leaf, chain.back().leaf);
    chains += chain.size() > 1;
  }
  EXPECT_GT(chains, 0u);
}

TEST(Explain, NoCopiesNoCauses) {
  Recorded run =
      ExplainText(R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->f32[4,6]{1,0}}

ENTRY main {
  x = f32[4,6] parameter(0)
  ROOT y = f32[4,6] negate(x)
}
)");
  EXPECT_TRUE(run.explanation.copies.empty());
  EXPECT_TRUE(run.explanation.causes.empty());
}

TEST(SourceOf, StackFramesAreFollowed) {
  Result<Module> module = ReadText(R"(HloModule m

FileNames
1 "layer.py"

FunctionNames
1 "forward"

FileLocations
1 {file_name_id=1 function_name_id=1 line=42 end_line=42 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY main {
  ROOT x = f32[] parameter(0), metadata={op_name="x" stack_frame_id=1}
}
)");
  ASSERT_TRUE(module) << FormatError(module.error());
  EXPECT_EQ(SourceOf(*module, module->FindInstruction("x")), "layer.py:42");
}

}  // namespace
}  // namespace hlokit
