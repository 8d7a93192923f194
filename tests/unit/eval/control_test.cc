// Loops, branches, calls, limits and errors.
#include "tests/unit/eval/eval_test_util.h"

namespace hlokit {
namespace {

TEST(Control, WhileCounts) {
  EXPECT_EQ(
      RunEntry("z = s32[] constant(0)\nt = (s32[], s32[]) tuple(z, z)\n"
               "ROOT w = (s32[], s32[]) while(t), condition=c, body=b\n",
               "b { p = (s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
               " s = s32[] get-tuple-element(p), index=1\n one = s32[] constant(1)\n"
               " j = s32[] add(i, one)\n u = s32[] add(s, j)\n"
               " ROOT r = (s32[], s32[]) tuple(j, u) }\n"
               "c { p = (s32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
               " n = s32[] constant(4)\n ROOT r = pred[] compare(i, n), direction=LT }\n"),
      "{0} s32[] 4\n{1} s32[] 10\n");
}

std::string Branch(const std::string& index) {
  return RunEntry("i = s32[] constant(" + index +
                      ")\nx = s32[] constant(5)\nROOT r = s32[] conditional(i, x, x), "
                      "branch_computations={f, g}\n",
                  "f { p = s32[] parameter(0)\n ROOT r = s32[] negate(p) }\n"
                  "g { p = s32[] parameter(0)\n ROOT r = s32[] add(p, p) }\n");
}

TEST(Control, BranchesOutOfRangeTakeTheLast) {
  EXPECT_EQ(Branch("0"), "{} s32[] -5\n");
  EXPECT_EQ(Branch("1"), "{} s32[] 10\n");
  EXPECT_EQ(Branch("2"), "{} s32[] 10\n");
  EXPECT_EQ(Branch("-1"), "{} s32[] 10\n");
}

TEST(Control, Scan) {
  EXPECT_EQ(RunEntry("x = s32[3] constant({1, 2, 3})\nz = s32[] constant(10)\n"
                     "ROOT r = (s32[3], s32[]) scan(x, z), dimensions={0}, num_carries=1, "
                     "is_reverse=true, to_apply=step\n",
                     "step { x = s32[] parameter(0)\n c = s32[] parameter(1)\n"
                     " s = s32[] add(c, x)\n ROOT r = (s32[], s32[]) tuple(s, s) }\n"),
            "{0} s32[3] 16 15 13\n{1} s32[] 16\n");
}

TEST(Limits, NameTheInstruction) {
  EvalOptions small;
  small.max_bytes = 1000;
  EXPECT_EQ(RunEntry("ROOT big = f32[1000] iota(), iota_dimension=0\n", "", small),
            "big (iota): needs 4000 bytes more while 0 are in use, and 1000 are allowed");
  EvalOptions lazy;
  lazy.max_work = 1000;
  const std::string endless =
      RunEntry("z = s32[] constant(0)\nROOT w = s32[] while(z), condition=c, body=b\n",
               "b { ROOT p = s32[] parameter(0) }\n"
               "c { p = s32[] parameter(0)\n ROOT r = pred[] constant(true) }\n",
               lazy);
  EXPECT_TRUE(endless.ends_with("gave up after 1000 computed elements")) << endless;
  EXPECT_EQ(RunEntry("ROOT c = f32[100] constant({...})\n"),
            "c (constant): its value was elided ({...})");
}

TEST(StandIns, DependOnLogicalInputsOnly) {
  const auto run = [](const std::string& layout) {
    return RunEntry("x = s32[2,3]" + layout +
                    " constant({ {1, 2, 3}, {4, 5, 6} })\n"
                    "ROOT r = f32[2] custom-call(x), custom_call_target=\"f\"\n");
  };
  EXPECT_EQ(run("{1,0}"), run("{0,1}"));
  std::vector<std::string> notes;
  EvalOptions options;
  options.stand_ins = &notes;
  RunEntry("ROOT r = f32[2] custom-call(), custom_call_target=\"f\"\n", "", options);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].substr(0, 2), "r ");
}

}  // namespace
}  // namespace hlokit
