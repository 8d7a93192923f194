// Layout-sensitive and strict mode; the seeds of hlo-verifier.md section 6 among them.
#include "gtest/gtest.h"
#include "tests/unit/verify/findings.h"

namespace hlokit {
namespace {

TEST(Layouts, OnlyWhereAnOpcodeCannotChangeThem) {
  std::string tuple = Entry("a = f32[2,3]{0,1} parameter(0)\nROOT t = (f32[2,3]{1,0}) tuple(a)");
  EXPECT_EQ(Codes(tuple), "");
  EXPECT_EQ(Codes(tuple, Sensitive()), "V002");
  std::string add = Entry("a = f32[2,3]{0,1} parameter(0)\nROOT t = f32[2,3]{1,0} add(a, a)");
  EXPECT_EQ(Codes(add, Sensitive()), "");
  EXPECT_EQ(Codes(add, {.layout_sensitive = true, .opcodes_keep_layouts = true}), "V052");
}

TEST(Layouts, TilesAndMemorySpacesAreNoChange) {
  VerifierOptions keep = {.layout_sensitive = true, .opcodes_keep_layouts = true};
  EXPECT_EQ(
      Codes(Entry("a = f32[2,3]{1,0:T(8,128)S(1)} parameter(0)\nROOT t = f32[2,3]{1,0} add(a, a)"),
            keep),
      "");
  EXPECT_EQ(
      Codes(Entry("a = s4[2,3]{1,0:E(4)} parameter(0)\nROOT t = s4[2,3]{1,0} add(a, a)"), keep),
      "V052");
  EXPECT_EQ(
      Codes(Entry("a = s4[2,3]{1,0:E(4)} parameter(0)\nROOT t = f32[2,3]{1,0} convert(a)"), keep),
      "");
  // Operands of another rank are not compared.
  EXPECT_EQ(Codes(Entry("a = f32[2,3]{0,1} parameter(0)\nROOT t = f32[6]{0} reshape(a)"), keep),
            "");
}

TEST(Layouts, SlicesCannotMoveEverywhere) {
  VerifierOptions keep = {.layout_sensitive = true, .opcodes_keep_layouts = true};
  auto slice = [](const std::string& from, const std::string& to) {
    return Entry("a = f32[4]{0" + from +
                 "} parameter(0)\ni = s32[] parameter(1)\n"
                 "ROOT t = f32[2]{0" +
                 to + "} dynamic-slice(a, i), dynamic_slice_sizes={2}");
  };
  EXPECT_EQ(Codes(slice(":S(5)", ""), keep), "");
  EXPECT_EQ(Codes(slice("", ":S(5)"), keep), "V053");
  EXPECT_EQ(Codes(slice("", ":S(1)"), keep), "V053");
}

TEST(Layouts, BitcastSize) {
  std::string text = Entry("a = f32[2,3] parameter(0)\nROOT t = f32[2,4] bitcast(a)");
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, Sensitive()), "V050");
  EXPECT_EQ(
      Codes(Entry("a = s4[2,3]{1,0:E(4)} parameter(0)\nROOT t = s4[6]{0} bitcast(a)"), Sensitive()),
      "V050");
  EXPECT_EQ(Codes(Entry("a = s4[2,3]{1,0:E(4)} parameter(0)\nROOT t = s4[6]{0} bitcast(a)"),
                  {.layout_sensitive = true, .allow_bitcast_to_have_different_size = true}),
            "");
}

TEST(Layouts, BitcastBetweenHostAndDevice) {
  EXPECT_EQ(Codes(Entry("a = f32[6]{0:S(5)} parameter(0)\nROOT t = f32[2,3]{1,0} bitcast(a)"),
                  Sensitive()),
            "V051");
  EXPECT_EQ(Codes(Entry("a = f32[2]{0:S(5)} constant({1,2})\nROOT t = f32[2]{0} bitcast(a)"),
                  Sensitive()),
            "");
}

TEST(Layouts, StrictBitcasts) {
  VerifierOptions strict = {.strict_layouts = true};
  EXPECT_EQ(
      Codes(Entry("a = f32[2,3]{1,0} parameter(0)\nROOT t = f32[3,2]{1,0} bitcast(a)"), strict),
      "");
  std::string moves = Entry("a = f32[2,3]{1,0} parameter(0)\nROOT t = f32[2,3]{0,1} bitcast(a)");
  EXPECT_EQ(Codes(moves, Sensitive()), "");
  EXPECT_EQ(Codes(moves, strict), "V059");
  EXPECT_EQ(
      Codes(Entry("a = f32[2,3]{1,0} parameter(0)\nROOT t = f32[3,2]{0,1} bitcast(a)"), strict),
      "");
}

TEST(Layouts, StrictOrdersAndCopies) {
  std::string text = Entry("a = f32[2,3]{0,0} parameter(0)\nROOT t = f32[2,3]{1,0} copy(a)");
  EXPECT_EQ(Codes(text, Sensitive()), "");
  EXPECT_EQ(Codes(text, {.strict_layouts = true}), "V058");
  std::string useless = Entry("a = f32[2,3]{0,1} parameter(0)\nROOT t = f32[2,3]{0,1} copy(a)");
  EXPECT_EQ(Codes(useless, {.strict_layouts = true}), "V060");
  EXPECT_TRUE(VerifyModule(*ReadText(useless), {.strict_layouts = true}));  // only a warning
}

TEST(Layouts, CopiesToAndFromTheHost) {
  // To the host a copy may transpose, from the host it may not.
  EXPECT_EQ(Codes(Entry("a = f32[2,3]{1,0} parameter(0)\nROOT t = f32[2,3]{0,1:S(5)} copy(a)"),
                  Sensitive()),
            "");
  EXPECT_EQ(Codes(Entry("a = f32[2,3]{1,0:S(5)} parameter(0)\nROOT t = f32[2,3]{0,1} copy(a)"),
                  Sensitive()),
            "V002");
  EXPECT_EQ(Codes(Entry("a = f32[2,3]{1,0:S(5)} parameter(0)\nROOT t = f32[2,3]{1,0} copy(a)"),
                  Sensitive()),
            "");
}

TEST(Layouts, HostMemory) {
  std::string text = Entry("ROOT a = f32[2]{0:S(5)} parameter(0)");
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, {.no_host_memory_space = true}), "V054");
}

TEST(Layouts, ReshapeIsBitcast) {
  VerifierOptions options = {.layout_sensitive = true, .reshape_is_bitcast = true};
  EXPECT_EQ(Codes(Entry("a = f32[2,3]{1,0} parameter(0)\nROOT t = f32[6]{0} reshape(a)"), options),
            "");
  EXPECT_EQ(Codes(Entry("a = f32[2,3]{0,1} parameter(0)\nROOT t = f32[6]{0} reshape(a)"), options),
            "V055");
  EXPECT_EQ(
      Codes(Entry("a = f32[2,3]{0,1} parameter(0)\nROOT t = f32[6]{0} reshape(a)"), Sensitive()),
      "");
}

TEST(Layouts, ElementSize) {
  std::string text = Entry("ROOT a = s8[2]{0:E(8)} parameter(0)");
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, {.natural_element_sizes = true}), "V056");
  EXPECT_EQ(Codes(Entry("ROOT a = s4[2]{0:E(4)} parameter(0)"), {.natural_element_sizes = true}),
            "");
}

TEST(Layouts, ScanMustBeExpanded) {
  std::string text =
      "step {\n e = f32[3] parameter(0)\n q = f32[3] parameter(1)\n s = f32[3] add(e, q)\n"
      " ROOT t = (f32[3], f32[3]) tuple(s, s)\n}\n"
      "ENTRY m {\n x = f32[5,3] parameter(0)\n i = f32[3] parameter(1)\n ROOT r = (f32[5,3], "
      "f32[3]) scan(x, i), "
      "dimensions={0}, num_carries=1, to_apply=step\n}\n";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, Sensitive()), "V057");
}

TEST(Layouts, WhileBodyMustGiveTheLayoutThatItTakes) {
  std::string text =
      "body {\n p = f32[2,3]{1,0} parameter(0)\n ROOT c = f32[2,3]{0,1} copy(p)\n}\n"
      "cond {\n q = f32[2,3]{1,0} parameter(0)\n ROOT t = pred[] constant(false)\n}\n"
      "ENTRY e {\n x = f32[2,3]{1,0} parameter(0)\n ROOT w = f32[2,3]{1,0} while(x), "
      "condition=cond, body=body\n}\n";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, Sensitive()), "V002");
}

TEST(Layouts, CallOperandsHaveTheLayoutOfTheParameters) {
  std::string text =
      "f {\n p = f32[2,3]{0,1} parameter(0)\n ROOT c = f32[2,3]{0,1} negate(p)\n}\n"
      "ENTRY e {\n x = f32[2,3]{1,0} parameter(0)\n ROOT w = f32[2,3]{0,1} call(x), "
      "to_apply=f\n}\n";
  EXPECT_EQ(Codes(text), "");
  EXPECT_EQ(Codes(text, Sensitive()), "V030");
}

TEST(Layouts, UpdatesInFusionsMayChangeTiles) {
  auto text = [](const std::string& call) {
    return "f {\n p = f32[4]{0:T(2)} parameter(0)\n u = f32[2]{0} parameter(1)\n i = s32[] "
           "parameter(2)\n"
           " ROOT c = f32[4]{0} dynamic-update-slice(p, u, i)\n}\n"
           "ENTRY e {\n x = f32[4]{0:T(2)} parameter(0)\n y = f32[2]{0} parameter(1)\n j = s32[] "
           "parameter(2)\n"
           " ROOT w = f32[4]{0} " +
           call + "\n}\n";
  };
  EXPECT_EQ(Codes(text("fusion(x, y, j), kind=kLoop, calls=f"), Sensitive()), "");
  EXPECT_EQ(Codes(text("call(x, y, j), to_apply=f"), Sensitive()), "V002");
}

}  // namespace
}  // namespace hlokit
