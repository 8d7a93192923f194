// Instructions that say that they write other parts of an operand than they read.
#include "fmt/format.h"
#include "tests/unit/passes/pass_test_util.h"

namespace hlokit {
namespace {

/// %n is read and updated by %c; `more` may be a further reader.
int Copies(std::string_view attributes, std::string_view options, std::string_view more = "") {
  Module module = MustRead(fmt::format(R"(HloModule m
ENTRY main {{
  a = f32[4]{{0}} parameter(0)
  n = f32[4]{{0}} negate(a)
  c = f32[4]{{0}} custom-call(n, n), custom_call_target="shift", output_to_operand_aliasing={{{{}}: (0, {{}})}}{}
  {}
  ROOT r = f32[4]{{0}} abs(c)
}})",
                                       attributes, more));
  EXPECT_EQ(RunPasses(module, fmt::format("copy-insertion{}", options)).error, "");
  return CountOpcode(module, Opcode::kCopy);
}

constexpr std::string_view kAttribute = ", frontend_attributes={disjoint=\"true\"}";
constexpr std::string_view kOption = "{disjoint-attribute=disjoint}";

TEST(DisjointRegions, CopyOnlyWithoutAttributeAndOption) {
  EXPECT_EQ(Copies("", ""), 1);
  EXPECT_EQ(Copies(kAttribute, ""), 1);
  EXPECT_EQ(Copies("", kOption), 1);
  EXPECT_EQ(Copies(kAttribute, "{disjoint-attribute=other}"), 1);
  EXPECT_EQ(Copies(kAttribute, kOption), 0);
}

/// Another reader needs the old value.
TEST(DisjointRegions, CopyWhenSomebodyElseReads) {
  EXPECT_EQ(Copies(kAttribute, kOption, "s = f32[4]{0} sine(n), control-predecessors={c}"), 1);
}

}  // namespace
}  // namespace hlokit
