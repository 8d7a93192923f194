// Explanations name the rule of the backend, and keep memory spaces apart from layouts.
#include <gtest/gtest.h>

#include <algorithm>

#include "fmt/format.h"
#include "hlokit/explain.h"
#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

using backend_test::DeviceNamed;
using backend_test::DeviceRun;
using backend_test::RunOn;

constexpr std::string_view kConvolution =
    R"(HloModule m, entry_computation_layout={(f16[8,32,32,16]{3,2,1,0}, f16[3,3,16,16]{3,2,1,0})->f16[8,32,32,16]{3,2,1,0}}
ENTRY main {
  x = f16[8,32,32,16] parameter(0)
  f = f16[3,3,16,16] parameter(1)
  c = (f16[8,32,32,16], u8[0]) custom-call(x, f), custom_call_target="__cudnn$convForward", window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  ROOT r = f16[8,32,32,16] get-tuple-element(c), index=0
}
)";

TEST(ExplainBackend, NamesTheRule) {
  DeviceRun run = RunOn(DeviceNamed("sm_80"), kConvolution);
  Explanation explanation = Explain(run.module, run.report, run.trace, 0);
  ASSERT_EQ(explanation.causes.size(), 1u);  // the filter
  const Origin& winning = explanation.causes[0].winning;
  EXPECT_EQ(winning.kind, OriginKind::kBackend);
  EXPECT_EQ(winning.rule, "gpu.conv.nhwc");
  EXPECT_NE(winning.description.find("cuDNN on sm_80 reads f16 convolutions as NHWC"),
            std::string::npos)
      << winning.description;
  EXPECT_NE(winning.description.find(": rule gpu.conv.nhwc"), std::string::npos);
  EXPECT_EQ(explanation.causes[0].losing.kind, OriginKind::kEntryParameter);
  HopText hop = DescribeHop(run.module, run.trace, winning.hop);
  EXPECT_EQ(hop.backend_rule, "gpu.conv.nhwc");
  EXPECT_EQ(hop.link, "docs/reference/backends.md#gpu.conv.nhwc");
}

// The rule books outlive the rules: reports are written when the run is long over.
TEST(ExplainBackend, OneRuleIsOneCause) {
  DeviceRun run =
      RunOn(DeviceNamed("cpu"),
            R"(HloModule m, entry_computation_layout={(f32[4,6]{0,1}, f32[4,6]{0,1})->f32[]}
ENTRY main {
  x = f32[4,6]{0,1} parameter(0)
  y = f32[4,6]{0,1} parameter(1)
  a = f32[4,6] exponential(x)
  b = f32[4,6] negate(x)
  s = f32[4,6] slice(y), slice={[0:4], [0:6]}
  ROOT z = f32[] constant(0)
})");
  Explanation explanation = Explain(run.module, run.report, run.trace, 0);
  EXPECT_EQ(explanation.copies.size(), 3u);
  // Two parameters refuse, one rule demands.
  EXPECT_EQ(explanation.causes.size(), 2u);
  for (const Cause& cause : explanation.causes) EXPECT_EQ(cause.winning.rule, "cpu.row-major");
}

/// The rule names on the way of the demand that made the first copy, "" where no rule of the
/// backend decided.
std::vector<std::string> RulesOfFirstCopy(std::string_view device, std::string_view text) {
  DeviceRun run = RunOn(DeviceNamed(device), text);
  Explanation explanation = Explain(run.module, run.report, run.trace, 0);
  std::vector<std::string> rules;
  if (explanation.copies.empty()) return rules;
  const CauseHop winning = run.report.parts[explanation.copies[0].part].winning;
  for (const HopText& hop : DescribeChain(run.module, run.trace, winning)) {
    rules.push_back(hop.backend_rule);
  }
  return rules;
}

int Count(const std::vector<std::string>& rules, std::string_view rule) {
  return static_cast<int>(std::count(rules.begin(), rules.end(), rule));
}

/// backend-hooks.md section 1.4: yes from 32 reduced elements on.
TEST(ExplainBackend, NamesTheRuleThatChoseTheOperandOfAReduction) {
  auto reduce = [](int size) {
    return fmt::format(
        R"(HloModule m, entry_computation_layout={{(f32[4,{0},8]{{2,1,0}})->f32[4,8]{{1,0}}}}
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}
ENTRY main {{
  x = f32[4,{0},8] parameter(0)
  n = f32[4,{0},8] negate(x)
  z = f32[] constant(0)
  ROOT r = f32[4,8] reduce(n, z), dimensions={{1}}, to_apply=add
}})",
        size);
  };
  EXPECT_EQ(Count(RulesOfFirstCopy("sm_80", reduce(32)), "gpu.reduce.rows"), 1);
  EXPECT_TRUE(RulesOfFirstCopy("sm_80", reduce(31)).empty());
  EXPECT_TRUE(RulesOfFirstCopy("generic", reduce(32)).empty());
}

/// backend-hooks.md section 4.9. The base rules would put the dimension of size 1 last.
TEST(ExplainBackend, NamesTheRuleThatChoseTheOtherSideOfAReshape) {
  constexpr std::string_view kToOperand =
      R"(HloModule m, entry_computation_layout={(f32[4,6,1]{2,1,0})->f32[4,6]{0,1}}
ENTRY main {
  x = f32[4,6,1] parameter(0)
  n = f32[4,6,1] negate(x)
  ROOT r = f32[4,6] reshape(n)
})";
  EXPECT_EQ(Count(RulesOfFirstCopy("sm_80", kToOperand), "gpu.reshape.unit-dims"), 1);
  EXPECT_EQ(Count(RulesOfFirstCopy("generic", kToOperand), "gpu.reshape.unit-dims"), 0);
  EXPECT_FALSE(RulesOfFirstCopy("generic", kToOperand).empty());
  // Without dimensions of size 1 the base rules decide.
  constexpr std::string_view kWithout =
      R"(HloModule m, entry_computation_layout={(f32[4,2,3]{2,1,0})->f32[4,6]{0,1}}
ENTRY main {
  x = f32[4,2,3] parameter(0)
  n = f32[4,2,3] negate(x)
  ROOT r = f32[4,6] reshape(n)
})";
  EXPECT_EQ(Count(RulesOfFirstCopy("sm_80", kWithout), "gpu.reshape.unit-dims"), 0);
  EXPECT_FALSE(RulesOfFirstCopy("sm_80", kWithout).empty());
}

/// The same from the operand to the result: %n gets its layout from the parameter.
TEST(ExplainBackend, NamesTheRuleThatChoseTheResultOfAReshape) {
  constexpr std::string_view kToResult =
      R"(HloModule m, entry_computation_layout={(f32[4,6]{0,1})->f32[]}
ENTRY main {
  x = f32[4,6] parameter(0)
  r = f32[4,6,1] reshape(x)
  n = f32[4,6,1] negate(r)
  ROOT z = f32[] constant(0)
})";
  auto rules = [&](std::string_view device) {
    DeviceRun run = RunOn(DeviceNamed(device), kToResult);
    std::vector<std::string> found;
    for (EventId id = 0; id < run.trace.size(); ++id) {
      if (!run.trace[id].IsRequest() || run.trace[id].rule != TraceRule::kReshapeOutput) continue;
      found.push_back(DescribeHop(run.module, run.trace, {id, 0}).backend_rule);
    }
    return found;
  };
  EXPECT_GE(Count(rules("sm_80"), "gpu.reshape.unit-dims"), 1);
  EXPECT_EQ(Count(rules("generic"), "gpu.reshape.unit-dims"), 0);
  EXPECT_FALSE(rules("generic").empty());
}

constexpr std::string_view kOffload =
    R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0:S(5)}, f32[4,6]{1,0})->(f32[4,6]{1,0}, f32[4,6]{1,0:S(5)})}
ENTRY main {
  w = f32[4,6]{1,0:S(5)} parameter(0)
  x = f32[4,6]{1,0} parameter(1)
  d = f32[4,6]{1,0} copy(w)
  e = f32[4,6]{0,1} copy(d)
  h = f32[4,6]{0,1} copy(w)
  s = f32[4,6] add(d, x)
  m = f32[4,6] custom-call(s), custom_call_target="MoveToHost"
  ROOT t = (f32[4,6], f32[4,6]) tuple(s, m)
}
)";

TEST(ExplainBackend, MemorySpaces) {
  Module module = layout_test::Read(kOffload);
  MemorySpaces spaces = FindMemorySpaces(module);
  ASSERT_EQ(spaces.entry.size(), 2u);
  EXPECT_EQ(spaces.entry[0].parameter, 0);
  EXPECT_EQ(spaces.entry[0].space, 5);
  EXPECT_EQ(spaces.entry[1].parameter, -1);
  EXPECT_EQ(spaces.entry[1].leaf, 2u);
  // %e changes the layout only and is not listed.
  ASSERT_EQ(spaces.transfers.size(), 3u);
  EXPECT_EQ(module.name(spaces.transfers[0].instruction), "d");
  EXPECT_EQ(spaces.transfers[0].from, 5);
  EXPECT_EQ(spaces.transfers[0].to, 0);
  EXPECT_EQ(spaces.transfers[0].bytes, 96);
  EXPECT_FALSE(spaces.transfers[0].reorders);
  EXPECT_EQ(module.name(spaces.transfers[1].instruction), "h");
  EXPECT_TRUE(spaces.transfers[1].reorders);
  EXPECT_EQ(module.name(spaces.transfers[2].instruction), "m");
  EXPECT_EQ(spaces.transfers[2].to, 5);
}

// Entry layouts keep their memory space through the pass (layout-assignment.md section 10.6).
TEST(ExplainBackend, EntryKeepsItsMemorySpaces) {
  DeviceRun run = RunOn(DeviceNamed("sm_80"), kOffload);
  const ComputationLayout& entry = *run.module.config().entry_computation_layout;
  EXPECT_EQ(layout_test::Layouts(run.module, entry.parameters[0]), "{1,0:S(5)}");
  EXPECT_EQ(layout_test::Layouts(run.module, entry.result), "({1,0}, {1,0:S(5)})");
}

// The custom call writes on-chip memory into its layout; the result wants another order.
TEST(ExplainBackend, CopiesThatChangeBothAreAClassOfTheirOwn) {
  DeviceRun run = RunOn(
      DeviceNamed("generic"),
      R"(HloModule m, entry_computation_layout={(f32[4,6]{1,0})->(f32[4,6]{1,0}, f32[4,6]{1,0})}
ENTRY main {
  x = f32[4,6] parameter(0)
  c = f32[4,6]{0,1:S(1)} custom-call(x), custom_call_target="a", operand_layout_constraints={f32[4,6]{1,0}}
  d = f32[4,6]{0,1} custom-call(x), custom_call_target="b", operand_layout_constraints={f32[4,6]{1,0}}
  ROOT t = (f32[4,6], f32[4,6]) tuple(c, d)
})");
  Explanation explanation = Explain(run.module, run.report, run.trace, 0);
  std::vector<CopyChange> classes;
  for (const ExplainedCopy& copy : explanation.copies) {
    classes.push_back(explanation.causes[copy.cause].copy_class);
  }
  EXPECT_EQ(classes, (std::vector<CopyChange>{CopyChange::kBoth, CopyChange::kLayout}));
}

TEST(ExplainBackend, SpaceNames) {
  EXPECT_EQ(MemorySpaceName(0), "device");
  EXPECT_EQ(MemorySpaceName(5), "host");
  EXPECT_EQ(MemorySpaceName(7), "memory space 7");
}

}  // namespace
}  // namespace hlokit
