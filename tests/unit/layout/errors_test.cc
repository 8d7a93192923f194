// Does every error of section 11 and every hazard of section 17 end in a diagnostic that names the
// instruction?
#include "tests/unit/layout/layout_test_util.h"

namespace hlokit {
namespace {

struct Failure {
  std::string code;
  ExitCode exit_code = ExitCode::kOk;
  std::string message, help;
};

Failure Fails(std::string_view text, LayoutAssignmentOptions options = {},
              const ReadOptions& read = {}) {
  Module module = layout_test::Read(text, read);
  Result<LayoutAssignmentReport> report = AssignLayouts(module, options);
  if (report.has_value()) {
    ADD_FAILURE() << "the pass did not fail";
    return {};
  }
  const Diagnostic& d = report.error().diagnostics[0];
  return {std::string(DiagCode(d.id)), report.error().exit_code, d.message, d.help};
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(LayoutErrors, Bitcast) {
  Failure f = Fails(R"(HloModule m
ENTRY e { x = f32[2,3] parameter(0) ROOT b = f32[3,2] bitcast(x) })");
  EXPECT_EQ(f.code, "L001");
  EXPECT_EQ(f.exit_code, ExitCode::kUnsupported);
  EXPECT_HAS(f.message, "'b' (bitcast)");
  EXPECT_HAS(f.help, "before the layout passes");
}

TEST(LayoutErrors, EntryLayoutThatDoesNotFit) {
  LayoutAssignmentOptions options;
  options.entry_layout.emplace();
  Failure f = Fails(R"(HloModule m
ENTRY e { ROOT x = f32[2,3] parameter(0) })",
                    options);
  EXPECT_EQ(f.code, "L006");
  EXPECT_EQ(f.exit_code, ExitCode::kCannotParse);
}

TEST(LayoutErrors, ChannelWithoutTable) {
  const char* text = R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e { x = f32[2,3] parameter(0) ROOT r = f32[2,3] all-reduce(x), channel_id=7, replica_groups={}, to_apply=add })";
  Failure f = Fails(text, {.channel_table = false});
  EXPECT_EQ(f.code, "L010");
  EXPECT_HAS(f.message, "'r' (all-reduce) has channel 7");
}

TEST(LayoutErrors, ChannelOfSeveralArrays) {
  Failure f = Fails(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e { x = f32[2,3] parameter(0) ROOT r = (f32[2,3], f32[2,3]) all-reduce(x, x), channel_id=7, replica_groups={}, to_apply=add })");
  EXPECT_EQ(f.code, "L009");
}

TEST(LayoutErrors, SplitThatSpreadsToASmallerShape) {
  // The split at 5 fits the 8 rows of x, not the 4 rows of the slice.
  Failure f = Fails(R"(HloModule m, entry_computation_layout={(f32[8,8]{1,0:SC(0:5)})->f32[4,8]}
ENTRY e {
  x = f32[8,8] parameter(0)
  ROOT s = f32[4,8] slice(x), slice={[0:4], [0:8]}
})");
  EXPECT_EQ(f.code, "L004");
  EXPECT_HAS(f.help, "SC(");
}

TEST(LayoutErrors, AliasThatNeverSettles) {
  // The parameter is given {1,0}; the result is free, but a custom call forces {0,1} inside.
  Failure f = Fails(
      R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }, entry_computation_layout={(f32[2,3]{1,0})->(f32[2,3], f32[2,3])}
ENTRY e {
  x = f32[2,3] parameter(0)
  k = f32[2,3]{0,1} custom-call(), custom_call_target="f", operand_layout_constraints={}
  ROOT t = (f32[2,3], f32[2,3]) tuple(k, x)
})");
  EXPECT_EQ(f.code, "L015");
  EXPECT_HAS(f.message, "input_output_alias");
  EXPECT_HAS(f.message, "{1,0}");
  EXPECT_HAS(f.message, "{0,1}");
}

TEST(LayoutErrors, BranchThatWouldNeedTwoResults) {
  // Both small branches are one computation, and the large one returns another layout.
  Failure f = Fails(R"(HloModule m
small { p = f32[2,3] parameter(0) ROOT n = f32[2,3] negate(p) }
large {
  p = f32[2,3] parameter(0)
  k = f32[2,3]{0,1} custom-call(p), custom_call_target="f", operand_layout_constraints={f32[2,3]{0,1}}
  a = f32[2,3] abs(k)
  ROOT n = f32[2,3] negate(a)
}
ENTRY e {
  i = s32[] parameter(0)
  x = f32[2,3] parameter(1)
  ROOT c = f32[2,3] conditional(i, x, x, x), branch_computations={small, small, large}
})");
  EXPECT_EQ(f.code, "L016");
  EXPECT_HAS(f.message, "'small'");
}

TEST(LayoutErrors, ReverseOrderWithALoop) {
  Failure f = Fails(R"(HloModule m
c { p = (f32[2,3], s32[]) parameter(0) ROOT t = pred[] constant(false) }
b { ROOT p = (f32[2,3], s32[]) parameter(0) }
ENTRY e { p = (f32[2,3], s32[]) parameter(0) ROOT w = (f32[2,3], s32[]) while(p), condition=c, body=b })",
                    {.reverse_order = true});
  EXPECT_EQ(f.code, "L017");
  EXPECT_HAS(f.help, "reverse order does not work for loops");
}

TEST(LayoutErrors, OutfeedWithoutLayout) {
  Failure f = Fails(R"(HloModule m
ENTRY e {
  x = f32[2,3] parameter(0)
  t = token[] after-all()
  ROOT o = token[] outfeed(x, t), outfeed_shape=f32[2,3]
})",
                    {}, {.fill_missing_layouts = false});
  EXPECT_EQ(f.code, "L013");
  EXPECT_HAS(f.message, "'o' (outfeed)");
}

TEST(LayoutErrors, TooManyTupleElements) {
  // Twenty tuples of two tuples each: a million places by doubling, eight of them too many.
  std::string text = "HloModule m\nENTRY e {\n  v0 = f32[] parameter(0)\n";
  for (int i = 1; i < 28; ++i) {
    std::string before = std::to_string(i - 1);
    text += "  v" + std::to_string(i) + " = tuple(v" + before + ", v" + before + ")\n";
  }
  text += "  ROOT r = f32[] negate(v0)\n}\n";
  Result<Module> module = ReadText(text);
  if (!module) return;  // the reader may refuse such a shape by itself
  Result<LayoutAssignmentReport> report = AssignLayouts(*module, {});
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(DiagCode(report.error().diagnostics[0].id), "L019");
}

}  // namespace
}  // namespace hlokit
