// The header, aliases, donors, schedules, names.
#include "gtest/gtest.h"
#include "tests/unit/verify/findings.h"

namespace hlokit {
namespace {

TEST(EntryLayout, FitsTheEntry) {
  auto text = [](const std::string& layout) {
    return Entry("a = f32[2,3]{1,0} parameter(0)\nROOT r = f32[2,3]{1,0} negate(a)",
                 "HloModule m, entry_computation_layout={" + layout + "}");
  };
  EXPECT_EQ(Codes(text("(f32[2,3]{1,0})->f32[2,3]{1,0}")), "");
  EXPECT_EQ(Codes(text("(f32[2,3]{0,1})->f32[2,3]{1,0}")), "");
  EXPECT_EQ(Codes(text("(f32[2,3]{0,1})->f32[2,3]{1,0}"), Sensitive()), "V070");
  EXPECT_EQ(Codes(text("(f32[2,3]{1,0})->f32[2,3]{0,1}"), Sensitive()), "V070");
  EXPECT_EQ(Codes(text("(f32[2,3]{1,0:T(8,128)S(1)})->f32[2,3]{1,0}"), Sensitive()), "");
  EXPECT_EQ(Codes(text("(f32[2,4]{1,0})->f32[2,3]{1,0}")), "V070");
  EXPECT_EQ(Codes(text("(f32[2,3], f32[2])->f32[2,3]{1,0}")), "V070");
  EXPECT_EQ(Codes(text("(f32[2,3])->f32[2,3]"), Sensitive()), "");  // not given: free
}

TEST(EntryLayout, DynamicFlagsAreNoLayout) {
  EXPECT_EQ(Codes(Entry("ROOT a = f32[<=2,3]{1,0} parameter(0)",
                        "HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}"),
                  Sensitive()),
            "");
}

std::string Aliased(const std::string& alias,
                    const std::string& layout = "(f32[2]{0}, f32[3]{0})->(f32[2]{0}, f32[3]{0})") {
  return Entry(
      "a = f32[2] parameter(0)\nb = f32[3] parameter(1)\nROOT r = (f32[2], f32[3]) tuple(a, b)",
      "HloModule m, input_output_alias={ " + alias + " }, entry_computation_layout={" + layout +
          "}");
}

TEST(Aliases, MustAliasesHaveOneShape) {
  EXPECT_EQ(Codes(Aliased("{0}: (0, {}, must-alias)")), "");
  EXPECT_EQ(Codes(Aliased("{0}: (0, {}, must-alias)",
                          "(f32[2]{0}, f32[3]{0})->(f32[2]{0:S(5)}, f32[3]{0})")),
            "V071");
  EXPECT_EQ(Codes(Aliased("{0}: (0, {}, may-alias)",
                          "(f32[2]{0}, f32[3]{0})->(f32[2]{0:S(5)}, f32[3]{0})")),
            "");
}

TEST(Aliases, NameWhatExists) {
  EXPECT_EQ(Codes(Aliased("{0}: (0, {}), {1}: (1, {})")), "");
  EXPECT_EQ(Codes(Aliased("{0}: (2, {})")), "V072");
  EXPECT_EQ(Codes(Aliased("{0}: (0, {1})")), "V072");
  EXPECT_EQ(Codes(Aliased("{0}: (0, {}), {1}: (0, {})")), "V072");
  EXPECT_EQ(Codes(Aliased("{1}: (0, {})"), Sensitive()), "V072");  // sizes differ
}

TEST(Aliases, DonorsExistAndAreNotAliased) {
  auto text = [](const std::string& donor) {
    return Entry(
        "a = f32[2] parameter(0)\nb = f32[3] parameter(1)\nROOT r = (f32[2], f32[3]) tuple(a, b)",
        "HloModule m, input_output_alias={ {0}: (0, {}) }, buffer_donor={ " + donor + " }");
  };
  EXPECT_EQ(Codes(text("(1, {})")), "");
  EXPECT_EQ(Codes(text("(0, {})")), "V073");
  EXPECT_EQ(Codes(text("(2, {})")), "V073");
  EXPECT_EQ(Codes(text("(1, {0})")), "V073");
}

TEST(Schedule, NeedsComeFirst) {
  Result<Module> module =
      ReadText(Entry("a = f32[2] parameter(0)\nb = f32[2] abs(a)\nROOT r = f32[2] negate(b)",
                     "HloModule m, is_scheduled=true"));
  ASSERT_TRUE(module);
  EXPECT_EQ(CodesOf(*module), "");
  std::vector<InstId>& list = module->computation(module->entry()).instructions;
  std::swap(list[1], list[2]);
  EXPECT_EQ(CodesOf(*module), "V074");
  module->config().is_scheduled = false;
  EXPECT_EQ(CodesOf(*module), "");
}

std::string Transfers(const std::string& middle, const std::string& send_pairs = "{{0,1}}") {
  return Entry(
      "x = f32[4] parameter(0)\nt = token[] after-all()\n"
      "s = (f32[4], u32[], token[]) send(x, t), channel_id=1, "
      "frontend_attributes={_xla_send_recv_source_target_pairs=" +
          send_pairs + "}\n" + middle +
          "sd = token[] send-done(s), channel_id=1\n"
          "ROOT d = token[] after-all(sd)",
      "HloModule m, is_scheduled=true");
}

constexpr const char* kRecv =
    "v = (f32[4], u32[], token[]) recv(t), channel_id=1, "
    "frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}\n"
    "vd = (f32[4], token[]) recv-done(v), channel_id=1\n";

TEST(Deadlocks, SendAndRecvMeet) {
  VerifierOptions options = {.no_collective_deadlocks = true};
  EXPECT_EQ(Codes(Transfers(kRecv), options), "");
  EXPECT_EQ(Codes(Transfers("")), "");
  EXPECT_EQ(Codes(Transfers(""), options), "V075");  // nobody receives
  std::string permute = "c = f32[4] collective-permute(x), source_target_pairs={{0,1}}\n";
  EXPECT_EQ(Codes(Transfers(permute + kRecv), options), "V075");
  EXPECT_EQ(Codes(Transfers(kRecv + permute), options), "");
}

TEST(Deadlocks, TwoSendsInARow) {
  VerifierOptions options = {.no_collective_deadlocks = true};
  auto second = [](const std::string& pairs) {
    return "send2 = (f32[4], u32[], token[]) send(x, t), channel_id=2, "
           "frontend_attributes={_xla_send_recv_source_target_pairs=" +
           pairs +
           "}\n"
           "done2 = token[] send-done(send2), channel_id=2\n" +
           kRecv;
  };
  EXPECT_EQ(Codes(Transfers(second("{{1,2}}")), options), "");
  EXPECT_EQ(Codes(Transfers(second("{{1,0}}")), options), "V075");  // a circle
  EXPECT_EQ(Codes(Transfers(second("{{0,2}}")), options), "V075");  // 0 sends twice
}

TEST(Names, AreThoseThatTheScheduleRecorded) {
  auto text = [](const std::string& name) {
    return Entry("ROOT " + name + " = f32[2] parameter(0), metadata={scheduling_name=\"wanted\"}");
  };
  VerifierOptions options = {.names_unchanged = true};
  EXPECT_EQ(Codes(text("wanted"), options), "");
  EXPECT_EQ(Codes(text("wanted.remat2"), options), "");
  EXPECT_EQ(Codes(text("wanted.clone.3"), options), "");
  EXPECT_EQ(Codes(text("other")), "");
  EXPECT_EQ(Codes(text("other"), options), "V076");
}

}  // namespace
}  // namespace hlokit
