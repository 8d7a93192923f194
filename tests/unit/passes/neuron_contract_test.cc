// Each test stands for a sentence of the contract of the three Neuron layout passes;
// docs/neuron-contract.md lists which. The modules are written by hand from those sentences.
#include "pass_test_util.h"

namespace hlokit {
namespace {

constexpr std::string_view kIo = "io-layout-normalization";
constexpr std::string_view kRoot = "aws_neuron_ensure_descending_layout_in_root";
constexpr std::string_view kRelax = "aws_neuron_relax_collectives_layout_constraint";

// ---- io-layout-normalization ----

constexpr std::string_view kConstantModule =
    R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}

ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  c = f32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } }), metadata={op_name="weights"}
  ROOT sum = f32[2,3]{1,0} add(p, c)
}
)";

TEST(IoLayoutNormalization, ConstantMovesToDescendingStorage) {
  Module module = MustRead(kConstantModule);
  EXPECT_TRUE(RunPasses(module, kIo).changed);
  // {0,1} stores columns: physical dimensions [3,2], same bytes 1 4 2 5 3 6.
  EXPECT_EQ(Line(module, "constant"),
            "%constant = f32[3,2]{1,0} constant({ { 1, 4 }, { 2, 5 }, { 3, 6 } }), "
            "metadata={op_name=\"weights\"}");
}

TEST(IoLayoutNormalization, TransposeGivesBackTheLogicalView) {
  Module module = MustRead(kConstantModule);
  RunPasses(module, kIo);
  EXPECT_EQ(Line(module, "transpose"),
            "%transpose = f32[2,3]{1,0} transpose(%constant), dimensions={1,0}, "
            "metadata={op_name=\"weights\"}");
  EXPECT_EQ(Line(module, "sum"), "%sum = f32[2,3]{1,0} add(%p, %transpose)");
}

TEST(IoLayoutNormalization, PermutationIsLogicalToPhysical) {
  // {1,0,2}: physical order (slowest first) 2,0,1; logical dimension 0 sits at physical place 1, 1
  // at 2, 2 at 0.
  Module module = MustRead(R"(HloModule m
ENTRY main {
  ROOT c = f32[2,1,3]{1,0,2} constant({ { { 1, 2, 3 } }, { { 4, 5, 6 } } })
}
)");
  EXPECT_TRUE(RunPasses(module, kIo).changed);
  EXPECT_EQ(Line(module, "constant"),
            "%constant = f32[3,2,1]{2,1,0} constant({ { {1}, {4} }, { {2}, {5} }, { {3}, {6} } })");
  EXPECT_EQ(RootLine(module),
            "%transpose = f32[2,1,3]{2,1,0} transpose(%constant), dimensions={1,2,0}");
}

TEST(IoLayoutNormalization, OldConstantStaysUnused) {
  Module module = MustRead(kConstantModule);
  RunPasses(module, kIo);
  InstId old = module.FindInstruction("c");
  ASSERT_TRUE(old.valid());
  EXPECT_TRUE(module.users(old).empty());
}

TEST(IoLayoutNormalization, DescendingConstantIsLeftAlone) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  ROOT c = f32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4 } })
}
)");
  EXPECT_FALSE(RunPasses(module, kIo).changed);
  EXPECT_EQ(CountOpcode(module, Opcode::kTranspose), 0);
}

TEST(IoLayoutNormalization, ElidedConstantKeepsNoValue) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  ROOT c = f32[2,3]{0,1} constant({...})
}
)");
  EXPECT_TRUE(RunPasses(module, kIo).changed);
  EXPECT_EQ(Line(module, "constant"), "%constant = f32[3,2]{1,0} constant({...})");
}

TEST(IoLayoutNormalization, StampsEveryShapeTuplesLeafByLeaf) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = (f32[2,3]{0,1}, (f32[4,5]{0,1}, token[])) parameter(0)
  e = f32[2,3]{0,1} get-tuple-element(p), index=0
  n = f32[2,3]{0,1:T(2,1)S(5)} negate(e)
  ROOT t = (f32[2,3]{0,1}) tuple(n)
}
)");
  RunPasses(module, kIo);
  EXPECT_EQ(Line(module, "p"), "%p = (f32[2,3]{1,0}, (f32[4,5]{1,0}, token[])) parameter(0)");
  EXPECT_EQ(Line(module, "n"), "%n = f32[2,3]{1,0} negate(%e)");
  EXPECT_EQ(Line(module, "t"), "%t = (f32[2,3]{1,0}) tuple(%n)");
}

TEST(IoLayoutNormalization, StampingAloneIsNotReported) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{0,1} parameter(0)
  ROOT n = f32[2,3]{0,1} negate(p)
}
)");
  EXPECT_FALSE(RunPasses(module, kIo).changed);
  EXPECT_EQ(Line(module, "n"), "%n = f32[2,3]{1,0} negate(%p)");
}

TEST(IoLayoutNormalization, OnlyTheEntryIsTouched) {
  Module module = MustRead(R"(HloModule m
callee {
  q = f32[2,3]{0,1} parameter(0)
  c = f32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } })
  ROOT s = f32[2,3]{0,1} add(q, c)
}
ENTRY main {
  p = f32[2,3]{0,1} parameter(0)
  ROOT r = f32[2,3]{0,1} call(p), to_apply=callee
}
)");
  EXPECT_FALSE(RunPasses(module, kIo).changed);
  EXPECT_EQ(Line(module, "s"), "%s = f32[2,3]{0,1} add(%q, %c)");
}

TEST(IoLayoutNormalization, MissingEntryLayoutIsFatal) {
  Module module = MustRead(kConstantModule);
  module.config().entry_computation_layout.reset();
  RunOutcome outcome = RunPasses(module, kIo);
  EXPECT_NE(outcome.error.find("Check failed: entry_computation_layout_.has_value()"),
            std::string::npos);
}

TEST(IoLayoutNormalization, EntryLayoutOfTheModuleStays) {
  Module module = MustRead(R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
ENTRY main {
  p = f32[2,3]{0,1} parameter(0)
  ROOT n = f32[2,3]{0,1} negate(p)
}
)");
  RunOutcome outcome = RunPasses(module, kIo);
  EXPECT_TRUE(outcome.Warned(DiagId::kStampedEntryLayout));
  EXPECT_EQ(module.shapes().Text(module.config().entry_computation_layout->result),
            "f32[2,3]{0,1}");
}

TEST(IoLayoutNormalization, WarnsAboutBitcastsBetweenOrders) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{0,1} parameter(0)
  ROOT b = f32[3,2]{1,0} bitcast(p)
}
)");
  EXPECT_TRUE(RunPasses(module, kIo).Warned(DiagId::kStampedBitcast));
}

TEST(IoLayoutNormalization, WarnsWhenDetailsOfLayoutsGo) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{1,0:S(5)} parameter(0)
  ROOT n = f32[2,3]{1,0} negate(p)
}
)");
  EXPECT_TRUE(RunPasses(module, kIo).Warned(DiagId::kStampedDetails));
}

TEST(IoLayoutNormalization, PlainModulesGiveNoWarning) {
  Module module = MustRead(kConstantModule);
  EXPECT_TRUE(RunPasses(module, kIo).warnings.empty());
}

// ---- aws_neuron_ensure_descending_layout_in_root ----

TEST(EnsureDescendingLayoutInRoot, ParametersAreValidated) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{0,1} parameter(0)
  ROOT t = (f32[2,3]{0,1}) tuple(p)
}
)");
  RunOutcome outcome = RunPasses(module, kRoot);
  EXPECT_NE(outcome.error.find("layout of parameter p is not MonotonicWithDim0Major"),
            std::string::npos);
}

TEST(EnsureDescendingLayoutInRoot, ParametersAreCheckedBeforeTheShortCircuit) {
  Module module =
      MustRead(R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->(f32[2,3]{1,0})}
ENTRY main {
  p = f32[2,3]{0,1} parameter(0)
  ROOT t = (f32[2,3]{0,1}) tuple(p)
}
)");
  EXPECT_NE(RunPasses(module, kRoot).error, "");
}

TEST(EnsureDescendingLayoutInRoot, TupleParametersAreNotChecked) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = (f32[2,3]{0,1}) parameter(0)
  e = f32[2,3]{0,1} get-tuple-element(p), index=0
  ROOT t = (f32[2,3]{0,1}) tuple(e)
}
)");
  EXPECT_EQ(RunPasses(module, kRoot).error, "");
}

TEST(EnsureDescendingLayoutInRoot, DefaultEntryLayoutIsANoOp) {
  Module module =
      MustRead(R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->(f32[2,3]{1,0})}
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{0,1} negate(p)
  ROOT t = (f32[2,3]{0,1}) tuple(n)
}
)");
  EXPECT_FALSE(RunPasses(module, kRoot).changed);
  EXPECT_EQ(CountOpcode(module, Opcode::kCopy), 0);
}

TEST(EnsureDescendingLayoutInRoot, AbsentEntryLayoutGoesOn) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{0,1} negate(p)
  ROOT t = (f32[2,3]{0,1}) tuple(n)
}
)");
  module.config().entry_computation_layout.reset();
  EXPECT_TRUE(RunPasses(module, kRoot).changed);
}

TEST(EnsureDescendingLayoutInRoot, RootMustBeATuple) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  ROOT n = f32[2,3]{0,1} negate(p)
}
)");
  EXPECT_NE(RunPasses(module, kRoot).error.find("root of computation main is not a tuple"),
            std::string::npos);
}

TEST(EnsureDescendingLayoutInRoot, RootMustBeFlat) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{0,1} negate(p)
  i = (f32[2,3]{0,1}) tuple(n)
  ROOT t = (f32[2,3]{0,1}, (f32[2,3]{0,1})) tuple(n, i)
}
)");
  EXPECT_NE(RunPasses(module, kRoot).error.find("root of computation main contains nested tuple"),
            std::string::npos);
}

constexpr std::string_view kTwice = R"(HloModule m
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{0,1} negate(p)
  ROOT t = (f32[2,3]{0,1}, f32[2,3]{1,0}, f32[2,3]{0,1}) tuple(n, p, n)
}
)";

TEST(EnsureDescendingLayoutInRoot, CopiesWhatIsNotDescending) {
  Module module = MustRead(kTwice);
  EXPECT_TRUE(RunPasses(module, kRoot).changed);
  EXPECT_EQ(Line(module, "copy"), "%copy = f32[2,3]{1,0} copy(%n)");
}

TEST(EnsureDescendingLayoutInRoot, OneCopyPerDistinctOperand) {
  Module module = MustRead(kTwice);
  RunPasses(module, kRoot);
  EXPECT_EQ(CountOpcode(module, Opcode::kCopy), 1);
  EXPECT_EQ(Line(module, "t"),
            "%t = (f32[2,3]{1,0}, f32[2,3]{1,0}, f32[2,3]{1,0}) tuple(%copy, %p, %copy)");
}

TEST(EnsureDescendingLayoutInRoot, OtherUsersKeepTheOriginal) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{0,1} negate(p)
  a = f32[2,3]{0,1} abs(n)
  ROOT t = (f32[2,3]{0,1}) tuple(n)
}
)");
  RunPasses(module, kRoot);
  EXPECT_EQ(Line(module, "a"), "%a = f32[2,3]{0,1} abs(%n)");  // and the dead abs stays: no DCE
}

TEST(EnsureDescendingLayoutInRoot, TilesCountAsADifference) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{1,0:T(2,1)} negate(p)
  ROOT t = (f32[2,3]{1,0:T(2,1)}) tuple(n)
}
)");
  RunPasses(module, kRoot);
  EXPECT_EQ(Line(module, "copy"), "%copy = f32[2,3]{1,0} copy(%n)");
}

TEST(EnsureDescendingLayoutInRoot, NothingToCopyIsNoChange) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = (f32[2,3]{0,1}) parameter(0)
  c = f32[] constant(1)
  ROOT t = (f32[]) tuple(c)
}
)");
  EXPECT_FALSE(RunPasses(module, kRoot).changed);
}

// ---- aws_neuron_relax_collectives_layout_constraint ----

constexpr std::string_view kConstrained = R"(HloModule m, replica_count=2
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y)
}
ENTRY main {
  p = f32[4]{0} parameter(0)
  a = f32[4]{0} all-reduce(p), channel_id=3, replica_groups={{0,1}}, constrain_layout=true, use_global_device_ids=true, to_apply=add, metadata={op_name="psum"}
  b = f32[4]{0} all-reduce(p), channel_id=4, replica_groups={{0,1}}, constrain_layout=true, use_global_device_ids=true, to_apply=add
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(a, b)
}
)";

TEST(RelaxCollectivesLayoutConstraint, FlipsOneBitAndKeepsTheRest) {
  Module module = MustRead(kConstrained);
  EXPECT_TRUE(RunPasses(module, kRelax).changed);
  EXPECT_EQ(Line(module, "a"),
            "%a = f32[4]{0} all-reduce(%p), channel_id=3, replica_groups={{0,1}}, "
            "use_global_device_ids=true, "
            "to_apply=%add, metadata={op_name=\"psum\"}");
}

TEST(RelaxCollectivesLayoutConstraint, NothingConstrainedIsNoChange) {
  Module module = MustRead(kConstrained);
  RunPasses(module, kRelax);
  EXPECT_FALSE(RunPasses(module, kRelax).changed);
}

TEST(RelaxCollectivesLayoutConstraint, AllReduceOnly) {
  Module module = MustRead(R"(HloModule m, replica_count=2
ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT g = f32[8]{0} all-gather(p), replica_groups={{0,1}}, constrain_layout=true, dimensions={0}
}
)");
  EXPECT_FALSE(RunPasses(module, kRelax).changed);
  EXPECT_NE(RootLine(module).find("constrain_layout=true"), std::string::npos);
}

TEST(RelaxCollectivesLayoutConstraint, ReachesEveryComputation) {
  std::string text(kConstrained);
  text.replace(text.find("ENTRY main"), 10, "inner");
  text +=
      "ENTRY outer {\n  q = f32[4]{0} parameter(0)\n"
      "  ROOT c = (f32[4]{0}, f32[4]{0}) call(q), to_apply=inner\n}\n";
  Module module = MustRead(text);
  EXPECT_TRUE(RunPasses(module, kRelax).changed);
  EXPECT_EQ(Line(module, "b").find("constrain_layout"), std::string::npos);
}

// ---- together ----

TEST(NeuronLayout, CombinerWaitsForTheRelaxPass) {
  Module module = MustRead(kConstrained);
  EXPECT_FALSE(RunPasses(module, "all-reduce-combiner").changed);
  EXPECT_EQ(CountOpcode(module, Opcode::kAllReduce), 2);
  EXPECT_TRUE(RunPasses(module, std::string(kRelax) + ",all-reduce-combiner").changed);
  EXPECT_EQ(CountOpcode(module, Opcode::kAllReduce), 1);
}

TEST(NeuronLayout, PipelineRunsInTheOrderOfTheSeed) {
  Result<Pipeline> pipeline = ParsePipeline("neuron-layout");
  ASSERT_TRUE(pipeline.has_value());
  EXPECT_EQ(
      pipeline->ToText(),
      "io-layout-normalization,aws_neuron_ensure_descending_layout_in_root,"
      "aws_neuron_relax_collectives_layout_constraint,all-gather-combiner,reduce-scatter-combiner,"
      "all-reduce-combiner");
}

TEST(NeuronLayout, PipelineDoesItAll) {
  Module module = MustRead(kConstrained);
  EXPECT_TRUE(RunPasses(module, "neuron-layout").changed);
  EXPECT_EQ(RootLine(module),
            "%t = (f32[4]{0}, f32[4]{0}) tuple(%get-tuple-element, %get-tuple-element.1)");
}

}  // namespace
}  // namespace hlokit
