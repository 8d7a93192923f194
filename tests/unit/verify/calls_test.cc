// Callers and callees, fusions, custom calls, buffers, asynchronous pairs.
#include "gtest/gtest.h"
#include "tests/unit/verify/findings.h"

namespace hlokit {
namespace {

TEST(Calls, OperandsFitTheParameters) {
  EXPECT_EQ(Codes("f {\n p = f32[3] parameter(0)\n ROOT n = f32[3] negate(p)\n}\n"
                  "ENTRY e {\n x = f32[2] parameter(0)\n ROOT c = f32[3] call(x), to_apply=f\n}\n"),
            "V001");
}

TEST(Calls, WhileConditionGivesPred) {
  EXPECT_EQ(
      Codes("body {\n ROOT p = f32[] parameter(0)\n}\ncond {\n ROOT q = f32[] parameter(0)\n}\n"
            "ENTRY e {\n x = f32[] parameter(0)\n ROOT w = f32[] while(x), condition=cond, "
            "body=body\n}\n"),
      "V001");
}

TEST(Calls, BranchesGiveOneShape) {
  auto text = [](const std::string& second, const std::string& layout) {
    return "t {\n p = f32[2,2]{1,0} parameter(0)\n ROOT n = f32[2,2]{1,0} negate(p)\n}\n"
           "f {\n q = f32[2,2]{1,0} parameter(0)\n ROOT m = " +
           second +
           "\n}\n"
           "ENTRY e {\n c = pred[] parameter(0)\n x = f32[2,2]{1,0} parameter(1)\n"
           " ROOT r = f32[2,2]" +
           layout + " conditional(c, x, x), true_computation=t, false_computation=f\n}\n";
  };
  EXPECT_EQ(Codes(text("f32[2,2]{0,1} negate(q)", "{1,0}")), "");
  EXPECT_EQ(Codes(text("f32[2,2]{0,1} negate(q)", "{1,0}"), Sensitive()), "V030");
  EXPECT_EQ(Codes(text("f32[2,2]{1,0} negate(q)", "{0,1}"), Sensitive()), "V002 V030");
  EXPECT_EQ(Codes(text("s32[2,2] convert(q)", "{1,0}")), "V001");
}

TEST(Calls, FusionBodiesHaveNoDeadInstructions) {
  auto text = [](const std::string& lines) {
    return "f {\n p = f32[2] parameter(0)\n" + lines +
           "\n}\n"
           "ENTRY e {\n x = f32[2] parameter(0)\n ROOT r = f32[2] fusion(x), kind=kLoop, "
           "calls=f\n}\n";
  };
  EXPECT_EQ(Codes(text(" ROOT n = f32[2] negate(p)")), "");
  EXPECT_EQ(Codes(text(" d = f32[2] abs(p)\n ROOT n = f32[2] negate(p)")), "V031");
  EXPECT_EQ(Codes(text(" ROOT n = f32[2] negate(p)\n d = f32[2] abs(n)")), "V031 V031");
}

TEST(Calls, LayoutConstraintsFit) {
  Result<Module> module = ReadText(Entry(
      "x = f32[2,3] parameter(0)\nROOT r = f32[2,3]{1,0} custom-call(x), custom_call_target=\"t\", "
      "operand_layout_constraints={f32[2,3]{1,0}}"));
  ASSERT_TRUE(module) << FormatError(module.error());
  EXPECT_EQ(CodesOf(*module), "");
  InstId r = module->FindInstruction("r");
  ShapePool& shapes = module->shapes();
  ShapeId other =
      shapes.Array(ElementType::kF32, std::vector<int64_t>{3, 3}, shapes.DescendingLayout(2));
  uint32_t wrong[] = {other.value};
  module->SetAttr(r, module->RefsAttribute(AttrKind::kOperandLayoutConstraints, wrong));
  EXPECT_EQ(CodesOf(*module), "V032");
  uint32_t bare[] = {shapes.ClearLayouts(module->shape(r)).value};
  module->SetAttr(r, module->RefsAttribute(AttrKind::kOperandLayoutConstraints, bare));
  EXPECT_EQ(CodesOf(*module), "V032");
  module->SetAttr(r, module->RefsAttribute(AttrKind::kOperandLayoutConstraints, {}));
  EXPECT_EQ(CodesOf(*module), "V032");
}

TEST(Calls, OperandAliasing) {
  auto text = [](const std::string& pair, const std::string& shape = "(f32[2,3], f32[2,3])") {
    return Entry("x = f32[2,3]{1,0} parameter(0)\nROOT r = " + shape +
                 " custom-call(x), custom_call_target=\"t\", "
                 "output_to_operand_aliasing={" +
                 pair + "}");
  };
  EXPECT_EQ(Codes(text("{0}: (0, {})")), "");
  EXPECT_EQ(Codes(text("{2}: (0, {})")), "V033");
  EXPECT_EQ(Codes(text("{0}: (1, {})")), "V033");
  EXPECT_EQ(Codes(text("{0}: (0, {1})")), "V033");
  EXPECT_EQ(Codes(text("{}: (0, {})")), "V033");
  EXPECT_EQ(Codes(text("{0}: (0, {})", "(f32[2,3]{0,1})")), "");
  EXPECT_EQ(Codes(text("{0}: (0, {})", "(f32[2,3]{0,1})"), Sensitive()), "V033");
}

TEST(Calls, Composite) {
  auto text = [](const std::string& attributes) {
    return "f {\n p = f32[2] parameter(0)\n ROOT n = f32[2] negate(p)\n}\nENTRY e {\n x = f32[2] "
           "parameter(0)\n"
           " ROOT r = f32[2] call(x), to_apply=f, is_composite=true, frontend_attributes={" +
           attributes + "}\n}\n";
  };
  EXPECT_EQ(Codes(text("composite.name=\"a.b\",composite.version=\"1\"")), "");
  EXPECT_EQ(Codes(text("composite.name=\"\",composite.version=\"1\"")), "V034");
  EXPECT_EQ(Codes(text("composite.name=\"a\",composite.version=\"-1\"")), "V034");
  EXPECT_EQ(Codes(text("composite.name=\"a\",composite.version=\"x\"")), "V034");
  EXPECT_EQ(Codes(text("composite.name=\"a\",composite.version=\"0\",composite.attributes=\"\"")),
            "V034");
}

TEST(Calls, Threads) {
  std::string text =
      "f {\n p = f32[2] parameter(0)\n ROOT n = f32[2] negate(p)\n}, execution_thread=\"other\"\n"
      "ENTRY e {\n x = f32[2] parameter(0)\n ROOT r = f32[2] call(x), to_apply=f\n}\n";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, {.call_thread_names = true}), "V023");
}

TEST(Calls, ShardingsOfALoopAgree) {
  auto text = [](const std::string& body, const std::string& loop) {
    return "body {\n p = f32[4] parameter(0), sharding=" + body +
           "\n ROOT n = f32[4] negate(p)\n}\n"
           "cond {\n q = f32[4] parameter(0)\n ROOT t = pred[] constant(false)\n}\n"
           "ENTRY e {\n x = f32[4] parameter(0)\n ROOT w = f32[4] while(x), condition=cond, "
           "body=body, sharding=" +
           loop + "\n}\n";
  };
  EXPECT_EQ(Codes(text("{replicated}", "{replicated}")), "");
  EXPECT_EQ(Codes(text("{devices=[2]0,1}", "{devices=[2]<=[2]}")),
            "");  // the same devices in another form
  EXPECT_EQ(Codes(text("{replicated}", "{devices=[2]<=[2]}")), "V091");
}

TEST(Async, PairsBelongTogether) {
  std::string red =
      "red {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n";
  auto text = [&](const std::string& rest) {
    return red +
           "ENTRY e {\n x = f32[2] parameter(0)\n s = f32[2] all-reduce-start(x), to_apply=red\n" +
           rest + "\n}\n";
  };
  EXPECT_EQ(Codes(text("ROOT d = f32[2] all-reduce-done(s)")), "");
  EXPECT_EQ(Codes(text("d = f32[2] all-reduce-done(s)\nROOT g = f32[2] all-reduce-done(s)")),
            "V020");
  EXPECT_EQ(Codes(text("ROOT d = f32[2] negate(s)")), "V020");
  EXPECT_EQ(Codes(text("d = f32[2] all-reduce-done(s)\nROOT g = f32[2] all-reduce-done(x)")),
            "V021");
}

TEST(Async, CopyStartWithTwoUsers) {
  EXPECT_EQ(Codes(Entry("x = f32[2] parameter(0)\ns = (f32[2], f32[2], u32[]) copy-start(x)\n"
                        "d = f32[2] copy-done(s)\nROOT f = f32[2] copy-done(s)")),
            "V020");
}

TEST(Async, Computations) {
  auto text = [](const std::string& more, const std::string& thread) {
    return "w {\n p = f32[2] parameter(0)\n" + more + " ROOT n = f32[2] negate(p)\n}" + thread +
           "\n"
           "ENTRY e {\n x = f32[2] parameter(0)\n s = ((f32[2]), f32[2], s32[]) async-start(x), "
           "calls=w\n"
           " ROOT d = f32[2] async-done(s)\n}\n";
  };
  EXPECT_EQ(Codes(text("", "")), "");
  EXPECT_EQ(Codes(text(" a = f32[2] abs(p)\n", "")), "V022");
}

TEST(Async, ThreadOfTheComputation) {
  Result<Module> module = ReadText(
      "w {\n p = f32[2] parameter(0)\n ROOT n = f32[2] negate(p)\n}\n"
      "ENTRY e {\n x = f32[2] parameter(0)\n s = ((f32[2]), f32[2], s32[]) async-start(x), "
      "calls=w\n"
      " ROOT d = f32[2] async-done(s)\n}\n");
  ASSERT_TRUE(module);
  module->computation(module->FindComputation("w")).execution_thread =
      module->text().Append("other");
  EXPECT_EQ(CodesOf(*module), "V023");
}

TEST(Buffers, Places) {
  EXPECT_EQ(Codes(Entry("ROOT a = b(f32[2]) parameter(0)")), "V080");
  EXPECT_EQ(
      Codes(Entry(
          "x = f32[2] parameter(0)\np = b(f32[2]) custom-call(x), custom_call_target=\"Pin\", "
          "output_to_operand_aliasing={{}: (0, {})}\nc = b(f32[2]) copy(p)\n"
          "ROOT u = f32[2] custom-call(c), custom_call_target=\"Unpin\"")),
      "V080");
}

TEST(Buffers, PinUpdateUnpin) {
  auto text = [](const std::string& pin_alias) {
    return Entry(
        "x = f32[4] parameter(0)\ny = f32[2] parameter(1)\ni = s32[] parameter(2)\n"
        "p = b(f32[4]) custom-call(x), custom_call_target=\"Pin\"" +
        pin_alias +
        "\n"
        "w = b(f32[4]) dynamic-update-slice(p, y, i)\n"
        "ROOT u = f32[4] custom-call(w), custom_call_target=\"Unpin\", "
        "output_to_operand_aliasing={{}: (0, {})}");
  };
  EXPECT_EQ(Codes(text(", output_to_operand_aliasing={{}: (0, {})}")), "");
  EXPECT_EQ(Codes(text("")), "V081");
}

TEST(Buffers, OtherCallsAliasEachBufferOnce) {
  auto text = [](const std::string& aliases) {
    return Entry(
        "c = b(f32[4]) custom-call(), custom_call_target=\"CreateBuffer\"\n"
        "w = b(f32[4]) custom-call(c), custom_call_target=\"write\"" +
        aliases +
        "\n"
        "ROOT u = f32[4] custom-call(w), custom_call_target=\"Unpin\"");
  };
  EXPECT_EQ(Codes(text(", output_to_operand_aliasing={{}: (0, {})}")), "");
  EXPECT_EQ(Codes(text("")), "V081 V081");  // the result and the operand
}

TEST(Buffers, OneWriter) {
  EXPECT_EQ(Codes(Entry("c = b(f32[4]) custom-call(), custom_call_target=\"CreateBuffer\"\ny = "
                        "f32[2] parameter(0)\n"
                        "i = s32[] parameter(1)\nv = b(f32[4]) dynamic-update-slice(c, y, i)\n"
                        "w = b(f32[4]) dynamic-update-slice(c, y, i)\n"
                        "ROOT u = f32[4] custom-call(w), custom_call_target=\"Unpin\"")),
            "V082");
}

}  // namespace
}  // namespace hlokit
