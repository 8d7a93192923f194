// Are modules found in the output of a program?
#include <gtest/gtest.h>

#include "hlokit/input.h"
#include "src/input/log_lines.h"

namespace hlokit {
namespace {

TEST(Log, Prefixes) {
  EXPECT_EQ(LogPrefixLength("I0521 12:04:45.883483    1509 service.cc:186] HloModule m"), 46u);
  EXPECT_EQ(LogPrefixLength("W20260521 12:04:45.883483 1509 a/b.cc:1] "), 41u);
  EXPECT_EQ(LogPrefixLength("2026-05-21 12:04:45.883483: I xla/dump.cc:186] x"), 47u);
  EXPECT_EQ(LogPrefixLength("I0521 12:04:45.883483    1509 service.cc:186]"), 45u);
  EXPECT_EQ(LogPrefixLength("HloModule m, x=[1] "), 0u);
  EXPECT_EQ(LogPrefixLength("  %a = f32[2]{0} add(%b, %c), metadata={op_name=\"x:1] \"}"), 0u);
  EXPECT_EQ(LogPrefixLength("I0521 12:04:45.883483 1509 no place] x"), 0u);
  EXPECT_EQ(LogPrefixLength(""), 0u);
}

TEST(Log, Blocks) {
  std::vector<LogBlock> blocks = ExtractLogBlocks(
      "start\nI0521 12:04:45.883483    1509 dump.cc:1] *** Begin a.txt ***\n"
      "I0521 12:04:45.883483    1509 dump.cc:1] HloModule a\n\nplain\n*** End a.txt ***\nnoise\n"
      "*** Begin b.txt ***\nHloModule b\n");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].name, "a.txt");
  EXPECT_EQ(blocks[0].contents, "HloModule a\n\nplain\n");
  EXPECT_EQ(blocks[1].name, "b.txt");  // the log ends inside
  EXPECT_EQ(blocks[1].contents, "HloModule b\n");
}

TEST(Log, PastedModules) {
  std::string module =
      "HloModule a\n\nf {\n  ROOT x = f32[] parameter(0)\n}\n\nENTRY e {\n  ROOT p = f32[] "
      "parameter(0)\n}\n\n";
  std::vector<LogBlock> blocks =
      ExtractLogBlocks("compiling:\n" + module +
                       "done in 3 s\nHloModule b\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].contents, module);
  EXPECT_EQ(blocks[1].contents, "HloModule b\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n");
}

TEST(Log, PrefixedModule) {
  std::string prefix = "I0521 12:04:45.883483    1509 service.cc:186] ";
  std::vector<LogBlock> blocks = ExtractLogBlocks(
      prefix + "HloModule a\n" + prefix + "\n" + prefix + "ENTRY e {\n" + prefix +
      "  ROOT p = f32[] parameter(0)\n" + prefix + "}\n" + prefix + "next message\n");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].contents, "HloModule a\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n");
}

TEST(Log, NothingInIt) { EXPECT_TRUE(ExtractLogBlocks("just\nsome lines\n").empty()); }

}  // namespace
}  // namespace hlokit
