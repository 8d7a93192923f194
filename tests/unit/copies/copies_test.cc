// The decision table of copy-insertion.md, part B, and copies in disguise, part C.
#include "hlokit/copies.h"

#include <tuple>

#include "gtest/gtest.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

Module MustRead(std::string_view text) {
  Result<Module> module = ReadText(std::string(text));
  if (!module) {
    ADD_FAILURE() << FormatError(module.error());
    return Module();
  }
  return std::move(*module);
}

const ClassifiedCopy* Find(const Module& module, const CopyReport& report, std::string_view name) {
  for (const ClassifiedCopy& copy : report.copies) {
    if (module.name(copy.inst) == name) return &copy;
  }
  ADD_FAILURE() << "no copy " << name;
  static const ClassifiedCopy none;
  return &none;
}

bool HasRule(const ClassifiedCopy& copy, std::string_view rule) {
  for (const CopyEvidence& evidence : copy.evidence) {
    if (evidence.rule == rule) return true;
  }
  return false;
}

struct Row {
  std::string_view rule;
  CopyClass copy_class;
  Confidence confidence;
  std::string_view body;  ///< of an entry in which the copy is %c
};

class DecisionTable : public testing::TestWithParam<Row> {};

TEST_P(DecisionTable, Verdict) {
  Module module = MustRead("HloModule m\nENTRY main {\n" + std::string(GetParam().body) + "\n}\n");
  CopyReport report = ClassifyCopies(module);
  const ClassifiedCopy* copy = Find(module, report, "c");
  EXPECT_EQ(CopyClassName(copy->copy_class), CopyClassName(GetParam().copy_class));
  EXPECT_EQ(ConfidenceName(copy->confidence), ConfidenceName(GetParam().confidence));
  EXPECT_TRUE(HasRule(*copy, GetParam().rule)) << copy->evidence.front().rule;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DecisionTable,
    testing::Values(
        Row{"1", CopyClass::kMemorySpace, Confidence::kCertain,
            "p = f32[4]{0} parameter(0)\n ROOT c = f32[4]{0:S(5)} copy(p)"},
        Row{"1", CopyClass::kMemorySpace, Confidence::kCertain,
            "p = f32[4]{0} parameter(0)\n"
            "c = (f32[4]{0:S(1)}, f32[4]{0}, u32[]) copy-start(p)\n"
            "ROOT d = f32[4]{0:S(1)} copy-done(c)"},
        Row{"2", CopyClass::kMemorySpace, Confidence::kCertain,
            "p = f32[4,5]{1,0} parameter(0)\n ROOT c = f32[4,5]{0,1:S(5)} copy(p)"},
        Row{"3a", CopyClass::kLayout, Confidence::kCertain,
            "p = f32[4,5]{1,0} parameter(0), metadata={op_name=\"x\"}\n"
            "ROOT c = f32[4,5]{0,1} copy(p), metadata={op_name=\"x\"}"},
        Row{"3b", CopyClass::kLayout, Confidence::kCertain,
            "p = f32[4,5]{1,0} parameter(0)\n c = f32[4,5]{0,1} copy(p)\n"
            "ROOT b = f32[20]{0} bitcast(c)"},
        Row{"3c", CopyClass::kLayout, Confidence::kCertain,
            "p = f32[4,5]{1,0} parameter(0)\n n = f32[4,5]{1,0} negate(p), "
            "metadata={op_name=\"x\"}\n"
            "c = f32[4,5]{0,1} copy(n), metadata={op_name=\"x\"}\n"
            "ROOT a = f32[4,5]{0,1} abs(c)"},
        Row{"4", CopyClass::kLayout, Confidence::kCertain,
            "p = f32[4,1]{1,0} parameter(0)\n ROOT c = f32[4,1]{0,1} copy(p)"},
        Row{"5", CopyClass::kLayout, Confidence::kCertain,
            "p = f32[4,5]{1,0} parameter(0)\n ROOT c = f32[4,5]{1,0:T(8,128)} copy(p)"},
        Row{"7", CopyClass::kLifetime, Confidence::kHigh,
            "p = f32[4]{0} parameter(0)\n ROOT c = f32[4]{0} copy(p)"},
        Row{"7", CopyClass::kLifetime, Confidence::kHigh,
            "p = f32[4]{0} parameter(0)\n n = f32[4]{0} negate(p)\n c = f32[4]{0} copy(n)\n"
            "ROOT t = (f32[4]{0}, f32[4]{0}) tuple(n, c)"},
        Row{"8", CopyClass::kLifetime, Confidence::kHigh,
            "p = f32[4]{0} parameter(0)\n u = f32[1]{0} parameter(1)\n z = s32[] constant(0)\n"
            "c = f32[4]{0} copy(p)\n ROOT d = f32[4]{0} dynamic-update-slice(c, u, z)"},
        Row{"11", CopyClass::kUser, Confidence::kMedium,
            "p = f32[4]{0} parameter(0)\n"
            "c = f32[4]{0} copy(p), metadata={op_name=\"jit(f)/copy\"}\n"
            "ROOT n = f32[4]{0} negate(c)"},
        Row{"12", CopyClass::kUnknown, Confidence::kLow,
            "p = f32[4]{0} parameter(0), metadata={op_name=\"x\"}\n"
            "c = f32[4]{0} copy(p), metadata={op_name=\"x\"}\n ROOT n = f32[4]{0} negate(c)"},
        Row{"13", CopyClass::kLifetime, Confidence::kMedium,
            "p = f32[4]{0} parameter(0)\n c = f32[4]{0} copy(p)\n ROOT n = f32[4]{0} negate(c)"}));

TEST(Copies, BeforeDumpTellsTheUsersOwn) {
  std::string_view text =
      "HloModule m\nENTRY main {\n p = f32[4]{0} parameter(0)\n"
      "c = f32[4]{0} copy(p), metadata={op_name=\"mine\"}\n ROOT n = f32[4]{0} negate(c)\n}\n";
  Module before = MustRead(text);
  Module module = MustRead(text);
  CopyReport report = ClassifyCopies(module, {.before = &before});
  const ClassifiedCopy* copy = Find(module, report, "c");
  EXPECT_EQ(copy->copy_class, CopyClass::kUser);
  EXPECT_EQ(copy->confidence, Confidence::kHigh);
}

TEST(Copies, SaysWhoDisagrees) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[4,5]{1,0} parameter(0)
  q = f32[4,6]{0,1} parameter(1)
  n = f32[4,5]{1,0} negate(p)
  c = f32[4,5]{0,1} copy(n)
  ROOT d = f32[5,6]{1,0} dot(c, q), lhs_contracting_dims={0}, rhs_contracting_dims={0}
})");
  CopyReport report = ClassifyCopies(module);
  const ClassifiedCopy* copy = Find(module, report, "c");
  EXPECT_EQ(copy->has, "the entry layout of parameter 0 (%p)");
  EXPECT_EQ(copy->wants, "operand 0 of %d (dot), whose kernel reads in this order");
  ASSERT_EQ(copy->upstream.size(), 2u);
  EXPECT_EQ(module.name(copy->upstream[0]), "n");
  EXPECT_EQ(copy->permutation, (std::vector<uint32_t>{1, 0}));
}

TEST(Copies, TransposeThatLayoutNormalisationLeft) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[4,5]{1,0} parameter(0)
  t = f32[5,4]{1,0} transpose(p), dimensions={1,0}
  ROOT b = f32[4,5]{0,1} bitcast(t)
})");
  CopyReport report = ClassifyCopies(module);
  const ClassifiedCopy* copy = Find(module, report, "t");
  EXPECT_EQ(copy->form, CopyForm::kTranspose);
  EXPECT_EQ(copy->copy_class, CopyClass::kLayout);
  EXPECT_EQ(report.free_bitcasts, 1u);
}

/// A tuple of other layouts is taken apart, and its parts are copied with the metadata of the tuple
/// (creator L5).
TEST(Copies, PartOfATupleHasTheMetadataOfTheTuple) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[4,5]{1,0} parameter(0), metadata={op_name="x"}
  n = f32[4,5]{1,0} negate(p), metadata={op_name="n"}
  c = f32[4,5]{0,1} copy(n), metadata={op_name="t"}
  ROOT t = (f32[4,5]{0,1}) tuple(c), metadata={op_name="t"}
})");
  CopyReport report = ClassifyCopies(module);
  const ClassifiedCopy* copy = Find(module, report, "c");
  EXPECT_EQ(copy->origin, "layout assignment");
  EXPECT_TRUE(HasRule(*copy, "3a"));
}

/// Nobody views %t by a bitcast, and no earlier stage is at hand: what the metadata says counts.
TEST(Copies, MetadataTellsWhoseATransposeIs) {
  auto classify = [](std::string_view operand, std::string_view transpose) {
    Module module = MustRead(
        "HloModule m\nENTRY main {\n p = f32[4,5]{1,0} parameter(0)\n" +
        ("b = f32[4,5]{1,0} bitcast(p)\n n = f32[4,5]{1,0} negate(b)" + std::string(operand)) +
        "\n t = f32[5,4]{1,0} transpose(n), dimensions={1,0}" + std::string(transpose) +
        "\n ROOT a = f32[5,4]{1,0} abs(t)\n}\n");
    CopyReport report = ClassifyCopies(module);
    const ClassifiedCopy* copy = Find(module, report, "t");
    return std::make_tuple(copy->copy_class, copy->confidence, HasRule(*copy, "3a"));
  };
  // Layout assignment gives a copy the metadata of its operand, and normalisation keeps it.
  EXPECT_EQ(classify(", metadata={op_name=\"f/neg\"}", ", metadata={op_name=\"f/neg\"}"),
            std::make_tuple(CopyClass::kLayout, Confidence::kHigh, true));
  EXPECT_EQ(classify(", metadata={op_name=\"f/neg\"}", ", metadata={op_name=\"f/transpose\"}"),
            std::make_tuple(CopyClass::kUser, Confidence::kMedium, false));
  EXPECT_EQ(classify("", ""), std::make_tuple(CopyClass::kLayout, Confidence::kMedium, false));
}

TEST(Copies, EmptyArraysDoNotMove) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[4,0,5]{2,1,0} parameter(0)
  ROOT c = f32[4,0,5]{0,1,2} copy(p)
})");
  CopyReport report = ClassifyCopies(module);
  EXPECT_EQ(Find(module, report, "c")->copy_class, CopyClass::kLayout);
  EXPECT_FALSE(Find(module, report, "c")->moves);
}

bool SourceWith(std::string_view body) {
  return LooksUnoptimised(MustRead("HloModule m\nENTRY main {\n" + std::string(body) + "\n}\n"));
}

/// What tells a module in front of layout assignment from one behind it.
TEST(Copies, ModuleBeforeOptimisation) {
  EXPECT_TRUE(SourceWith("p = f32[4,5]{0,1} parameter(0)\n ROOT n = f32[4,5]{1,0} negate(p)"));
  EXPECT_TRUE(
      SourceWith("p = f32[4,5]{1,0} parameter(0)\n"
                 "c = f32[4,5]{0,1} copy(p), metadata={op_name=\"mine\"}\n"
                 "ROOT t = (f32[4,5]{0,1}) tuple(c)"));
  EXPECT_FALSE(
      SourceWith("p = f32[4,5]{1,0} parameter(0), metadata={op_name=\"x\"}\n"
                 "c = f32[4,5]{0,1} copy(p), metadata={op_name=\"x\"}\n"
                 "ROOT t = (f32[4,5]{0,1}) tuple(c)"));
  EXPECT_FALSE(
      SourceWith("p = f32[4,5]{1,0} parameter(0)\n copy.1 = f32[4,5]{0,1} copy(p)\n"
                 "ROOT t = (f32[4,5]{0,1}) tuple(copy.1)"));
  EXPECT_FALSE(SourceWith("p = f32[4,5]{0,1} parameter(0)\n ROOT n = f32[4,5]{0,1} negate(p)"));
  EXPECT_FALSE(SourceWith("p = f32[4,5]{1,0} parameter(0)\n ROOT b = f32[20]{0} bitcast(p)"));
}

TEST(Copies, TransposesOfASourceAreNotListed) {
  Module module = MustRead(R"(HloModule m
ENTRY main {
  p = f32[4,5]{1,0} parameter(0)
  ROOT t = f32[5,4]{1,0} transpose(p), dimensions={1,0}
})");
  CopyReport report = ClassifyCopies(module);
  EXPECT_TRUE(report.copies.empty());
  EXPECT_EQ(report.user_transposes, 1u);
}

TEST(Copies, FusionThatTransposes) {
  Module module = MustRead(R"(HloModule m
wrapped_transpose_computation {
  q = f32[4,5]{1,0} parameter(0)
  e = f32[4,5]{1,0} exponential(q)
  ROOT t = f32[5,4]{1,0} transpose(e), dimensions={1,0}
}
ENTRY main {
  p = f32[4,5]{1,0} parameter(0)
  ROOT wrapped_transpose = f32[5,4]{1,0} fusion(p), kind=kInput, calls=wrapped_transpose_computation
})");
  CopyReport report = ClassifyCopies(module);
  const ClassifiedCopy* copy = Find(module, report, "wrapped_transpose");
  EXPECT_EQ(copy->form, CopyForm::kFusedLayout);
  EXPECT_EQ(copy->copy_class, CopyClass::kLayout);
  EXPECT_EQ(copy->confidence, Confidence::kHigh);
  ASSERT_EQ(copy->arithmetic.size(), 1u);
  EXPECT_EQ(module.name(copy->arithmetic[0]), "e");
  EXPECT_EQ(copy->permutation, (std::vector<uint32_t>{1, 0}));
}

TEST(Copies, FusionThatGivesOutOneValueTwice) {
  Module module = MustRead(R"(HloModule m
fused_copy {
  q = f32[4]{0} parameter(0)
  e = f32[4]{0} exponential(q)
  k = f32[4]{0} copy(e)
  ROOT t = (f32[4]{0}, f32[4]{0}) tuple(e, k)
}
ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT f = (f32[4]{0}, f32[4]{0}) fusion(p), kind=kLoop, calls=fused_copy
})");
  CopyReport report = ClassifyCopies(module);
  const ClassifiedCopy* copy = Find(module, report, "f");
  EXPECT_EQ(copy->form, CopyForm::kFusedCopy);
  EXPECT_EQ(copy->copy_class, CopyClass::kLifetime);
  EXPECT_EQ(copy->bytes, 16);
}

TEST(Copies, FusionsThatComputeAreNoCopies) {
  Module module = MustRead(R"(HloModule m
fused {
  q = f32[4]{0} parameter(0)
  ROOT e = f32[4]{0} exponential(q)
}
ENTRY main {
  p = f32[4]{0} parameter(0)
  ROOT f = f32[4]{0} fusion(p), kind=kLoop, calls=fused
})");
  EXPECT_TRUE(ClassifyCopies(module).copies.empty());
}

TEST(CopyHistory, FollowsCopiesByNameAndByWhatTheyAre) {
  CopyHistory history;
  history.AddStage(
      "before_optimizations", "",
      MustRead("HloModule m\nENTRY main {\n p = f32[4,5]{1,0} parameter(0)\n"
               "mine = f32[4,5]{1,0} copy(p)\n ROOT n = f32[4,5]{1,0} negate(mine)\n}\n"));
  history.AddStage("after_layout-assignment", "layout-assignment",
                   MustRead("HloModule m\nENTRY main {\n p = f32[4,5]{1,0} parameter(0)\n"
                            "mine = f32[4,5]{1,0} copy(p)\n c = f32[4,5]{0,1} copy(mine)\n"
                            "ROOT n = f32[4,5]{0,1} negate(c)\n}\n"));
  history.AddStage("after_layout-normalization", "layout-normalization",
                   MustRead("HloModule m\nENTRY main {\n p = f32[4,5]{1,0} parameter(0)\n"
                            "other = f32[4,5]{1,0} copy(p)\n"
                            "t = f32[5,4]{1,0} transpose(other), dimensions={1,0}\n"
                            "b = f32[4,5]{0,1} bitcast(t)\n"
                            "ROOT n = f32[4,5]{0,1} negate(b)\n}\n"));
  ASSERT_EQ(history.tracks().size(), 3u);
  EXPECT_EQ(history.tracks()[0].name, "other");  // renamed, but the same copy of the same value
  EXPECT_EQ(history.tracks()[0].last_stage, 2);
  EXPECT_EQ(history.tracks()[1].name, "c");
  EXPECT_EQ(history.tracks()[1].first_stage, 1);
  EXPECT_EQ(history.tracks()[1].last_stage, 1);
  EXPECT_EQ(history.tracks()[1].became, 2);
  EXPECT_EQ(history.tracks()[2].name, "t");
}

}  // namespace
}  // namespace hlokit
