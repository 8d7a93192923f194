// Shapes that do not follow, mixed precision, and what single opcodes ask for.
#include "gtest/gtest.h"
#include "tests/unit/verify/findings.h"

namespace hlokit {
namespace {

TEST(Shapes, RuleBroken) {
  EXPECT_EQ(
      Codes(Entry("a = f32[2] parameter(0)\nb = f32[3] parameter(1)\nROOT r = f32[2] add(a, b)")),
      "V001");
}

TEST(Shapes, DeclaredShapeDiffers) {
  EXPECT_EQ(Codes(Entry("a = f32[2] parameter(0)\nROOT r = f32[3] negate(a)")), "V002");
  EXPECT_EQ(Codes(Entry("a = f32[2] parameter(0)\nROOT r = s32[2] negate(a)")), "V002");
  EXPECT_EQ(Codes(Entry("a = f32[2] parameter(0)\nROOT r = (f32[2], f32[3]) tuple(a, a)")), "V002");
}

TEST(Shapes, DynamicFlagsAreNotCompared) {
  EXPECT_EQ(Codes(Entry("a = f32[<=2] parameter(0)\nROOT r = f32[2] negate(a)")), "");
}

TEST(Shapes, FloatPrecisionMayDifferExceptInTuplesAndTheLike) {
  EXPECT_EQ(Codes(Entry("a = f32[2] parameter(0)\nROOT r = bf16[2] negate(a)")), "");
  EXPECT_EQ(Codes(Entry("a = f32[2] parameter(0)\nROOT r = (bf16[2]) tuple(a)")), "V002");
  EXPECT_EQ(
      Codes(Entry("t = (f32[2]) parameter(0)\nROOT r = bf16[2] get-tuple-element(t), index=0")),
      "V002");
  EXPECT_EQ(Codes(Entry("a = f32[2] parameter(0)\nROOT r = bf16[2] negate(a)"),
                  {.allow_mixed_precision = false}),
            "V002");
}

TEST(Shapes, ImplicitBroadcast) {
  EXPECT_EQ(
      Codes(Entry("a = f32[2] parameter(0)\nb = f32[] constant(1)\nROOT r = f32[2] add(a, b)")),
      "V003");
  EXPECT_EQ(Codes(Entry(
                "a = f32[2] parameter(0)\nb = f32[] constant(1)\nROOT r = f32[2] clamp(b, a, b)")),
            "V003");
  EXPECT_EQ(
      Codes(Entry(
          "a = f32[2] parameter(0)\np = pred[] constant(true)\nROOT r = f32[2] select(p, a, a)")),
      "V003");
}

TEST(Shapes, MixedPrecision) {
  std::string text =
      Entry("a = f32[2] parameter(0)\nb = bf16[2] parameter(1)\nROOT r = f32[2] add(a, b)");
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, {.allow_mixed_precision = false}), "V004");
  // Dots and tuples may mix.
  EXPECT_EQ(
      Codes(Entry("a = f32[2] parameter(0)\nb = bf16[2] parameter(1)\nROOT r = f32[] dot(a, b), "
                  "lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
            {.allow_mixed_precision = false}),
      "");
}

TEST(Shapes, ReducersTakeTheTypesOfTheOperandsWithoutMixedPrecision) {
  std::string text =
      "red {\n a = f32[] parameter(0)\n b = bf16[] parameter(1)\n c = f32[] convert(b)\n ROOT d = "
      "f32[] add(a, c)\n}\n"
      "ENTRY e {\n x = f32[2] parameter(0)\n z = f32[] constant(0)\n"
      " ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=red\n}\n";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, {.allow_mixed_precision = false}), "V004");
}

TEST(Shapes, UnboundedDimensions) {
  std::string text = Entry("a = f32[?] parameter(0)\nROOT r = f32[?] negate(a)");
  EXPECT_EQ(Codes(text), "V005 V005");
  EXPECT_EQ(Codes(text, {.allow_unbounded_dynamism = true}), "");
}

TEST(Shapes, LayoutRank) {
  Result<Module> module = ReadText(Entry("ROOT a = f32[2,3] parameter(0)"));
  ASSERT_TRUE(module);
  ShapePool& shapes = module->shapes();
  InstId a = module->FindInstruction("a");
  const int64_t order[] = {0};
  module->set_shape(a, shapes.WithLayout(module->shape(a), shapes.Layout(order)));
  EXPECT_EQ(CodesOf(*module), "V006");
}

TEST(Instructions, ComparisonType) {
  EXPECT_EQ(
      Codes(Entry(
          "a = s32[2] parameter(0)\nROOT r = pred[2] compare(a, a), direction=LT, type=FLOAT")),
      "V007");
  EXPECT_EQ(Codes(Entry("a = f32[2] parameter(0)\nROOT r = pred[2] compare(a, a), direction=LT, "
                        "type=TOTALORDER")),
            "");
  EXPECT_EQ(
      Codes(Entry(
          "a = u8[2] parameter(0)\nROOT r = pred[2] compare(a, a), direction=LT, type=UNSIGNED")),
      "");
}

TEST(Instructions, BroadcastOrder) {
  std::string text =
      Entry("a = f32[2,3] parameter(0)\nROOT r = f32[3,2] broadcast(a), dimensions={1,0}");
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, {.broadcast_dimensions_sorted = true}), "V008");
}

TEST(Instructions, ResultAccuracy) {
  Result<Module> module =
      ReadText(Entry("a = f32[2] parameter(0)\nb = f32[2] exponential(a), "
                     "result_accuracy={mode=highest}\nROOT r = f32[2] floor(b)"));
  ASSERT_TRUE(module);
  EXPECT_EQ(CodesOf(*module), "");
  module->SetAttr(module->FindInstruction("r"),
                  module->TextAttribute(AttrKind::kResultAccuracy, "{mode=highest}"));
  EXPECT_EQ(CodesOf(*module), "V009");
}

TEST(Instructions, RngSeed) {
  EXPECT_EQ(Codes(Entry("ROOT r = u64[] custom-call(), custom_call_target=\"GetRngSeed\"")), "");
  EXPECT_EQ(Codes(Entry("ROOT r = u32[] custom-call(), custom_call_target=\"GetRngSeed\"")),
            "V035");
}

TEST(Instructions, OriginFollowsTheShape) {
  std::string lines = "a = f32[2] parameter(0)\nROOT t = (f32[2], (f32[2])) tuple(a, u)";
  auto with = [](const std::string& origin) {
    return Entry(
        "a = f32[2] parameter(0)\nu = (f32[2]) tuple(a)\n"
        "ROOT t = (f32[2], (f32[2])) tuple(a, u), origin=" +
        origin);
  };
  EXPECT_EQ(Codes(with("{({\"x\"}, ({\"y\" {1,0}}))}")), "");
  EXPECT_EQ(Codes(with("{({\"x\"}, {\"y\"})}")), "V092");
  EXPECT_EQ(Codes(with("{[synthetic_call]}")), "");
}

TEST(Instructions, Sharding) {
  auto with = [](const std::string& sharding, const std::string& header = "HloModule m") {
    return Entry("ROOT a = f32[4,4] parameter(0), sharding=" + sharding, header);
  };
  EXPECT_EQ(Codes(with("{devices=[2,1]0,1}")), "");
  EXPECT_EQ(Codes(with("{devices=[2]0,1}")), "V090");  // one dimension of two
  EXPECT_EQ(Codes(with("{devices=[2,1,2]<=[4] last_tile_dim_replicate}")), "");
  EXPECT_EQ(Codes(with("{devices=[2,1]0,5}", "HloModule m, num_partitions=2")),
            "V090");  // no device 5
  EXPECT_EQ(Codes(with("{maximal device=2}", "HloModule m, num_partitions=2")), "V090");
  EXPECT_EQ(Codes(with("{maximal device=2}", "HloModule m, num_partitions=2"),
                  {.sharding_device_numbers = false}),
            "");
  EXPECT_EQ(Codes(with("{devices=[2,1]0,0}")), "V090");
}

TEST(Instructions, ShardingOfTuples) {
  std::string lines = "a = f32[4] parameter(0)\nROOT t = (f32[4], f32[4]) tuple(a, a), sharding=";
  EXPECT_EQ(Codes(Entry(lines + "{{replicated}, {devices=[2]0,1}}")), "");
  EXPECT_EQ(Codes(Entry(lines + "{{replicated}}")), "V090");
}

}  // namespace
}  // namespace hlokit
