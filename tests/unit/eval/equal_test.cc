// Do two modules compute the same, and where do they part?
#include "hlokit/equal.h"

#include "tests/unit/eval/eval_test_util.h"

namespace hlokit {
namespace {

EqualReport Compare(const std::string& left, const std::string& right, EqualOptions options = {}) {
  Result<EqualReport> report = CompareModules(Read(left), Read(right), options);
  EXPECT_TRUE(report) << FormatError(report.error());
  return report ? *report : EqualReport();
}

std::string Entry(const std::string& body) { return "HloModule m\nENTRY e {\n" + body + "}\n"; }

TEST(Equal, SquareTransposesAreTold) {
  const std::string straight = Entry("p = f32[3,3] parameter(0)\nROOT c = f32[3,3] copy(p)\n");
  const std::string turned =
      Entry("p = f32[3,3] parameter(0)\nROOT c = f32[3,3] transpose(p), dimensions={1,0}\n");
  EXPECT_TRUE(Compare(straight, straight).bit_equal);
  const EqualReport report = Compare(straight, turned);
  ASSERT_FALSE(report.equal);
  EXPECT_EQ(report.mismatches[0].element, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(report.mismatches[0].rule, InputRule::kDistinct);
}

TEST(Equal, NamesTheFirstInstructionThatParts) {
  const std::string left = Entry(
      "p = f32[4] parameter(0)\na = f32[4] negate(p)\nb = f32[4] add(a, p)\n"
      "ROOT c = f32[4] multiply(b, a)\n");
  const std::string right = Entry(
      "p = f32[4] parameter(0)\na = f32[4] negate(p)\nb = f32[4] add(a, a)\n"
      "ROOT c = f32[4] multiply(b, a)\n");
  const EqualReport report = Compare(left, right);
  ASSERT_FALSE(report.equal);
  EXPECT_EQ(report.mismatches[0].right_instruction, "b");
  EXPECT_EQ(report.mismatches[0].matched_by, "name");
  // Without common names the position decides.
  const std::string renamed = Entry(
      "q = f32[4] parameter(0)\nx = f32[4] negate(q)\ny = f32[4] add(x, x)\n"
      "ROOT z = f32[4] multiply(y, x)\n");
  const EqualReport by_position = Compare(left, renamed);
  ASSERT_FALSE(by_position.equal);
  EXPECT_EQ(by_position.mismatches[0].right_instruction, "y");
  EXPECT_EQ(by_position.mismatches[0].left_instruction, "b");
  EXPECT_EQ(by_position.mismatches[0].matched_by, "position");
}

TEST(Equal, MovesMustKeepBits) {
  // Adding zero turns -0 into 0 and nothing else.
  const std::string moved = Entry("p = f32[64] parameter(0)\nROOT c = f32[64] copy(p)\n");
  const std::string added = Entry(
      "p = f32[64] parameter(0)\nz = f32[] constant(0)\nb = f32[64] broadcast(z), dimensions={}\n"
      "ROOT c = f32[64] add(p, b)\n");
  const EqualReport report = Compare(moved, added);
  EXPECT_TRUE(report.equal);
  EXPECT_FALSE(report.bit_equal);
  EqualOptions exact;
  exact.ulps = 0;
  EXPECT_FALSE(Compare(moved, added, exact).equal);
}

TEST(Equal, OutfeedsCount) {
  const auto feed = [](const std::string& value) {
    return Entry(
        "p = f32[3,3] parameter(0)\nt = f32[3,3] transpose(p), dimensions={1,0}\n"
        "k = token[] after-all()\nROOT o = token[] outfeed(" +
        value + ", k), outfeed_shape=f32[3,3]{1,0}\n");
  };
  EXPECT_TRUE(Compare(feed("p"), feed("p")).equal);
  const EqualReport report = Compare(feed("p"), feed("t"));
  ASSERT_FALSE(report.equal);
  EXPECT_EQ(report.mismatches[0].difference.leaf, -1);
}

TEST(Equal, OtherParametersAreRefused) {
  const Result<EqualReport> report = CompareModules(Read(Entry("ROOT p = f32[4] parameter(0)\n")),
                                                    Read(Entry("ROOT p = f32[5] parameter(0)\n")));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().diagnostics[0].id, DiagId::kNotComparable);
}

}  // namespace
}  // namespace hlokit
