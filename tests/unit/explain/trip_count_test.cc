// Loop multipliers: how often does a computation run?
#include <gtest/gtest.h>

#include <string>

#include "hlokit/explain.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

/// A loop over a counter; the pieces that the tests vary are passed in.
std::string Loop(const std::string& start, const std::string& step, const std::string& limit,
                 const std::string& direction, const std::string& while_attributes = "") {
  return R"(HloModule m

body {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[8] get-tuple-element(state), index=1
  step = s32[] constant()" +
         step + R"()
  next = s32[] add(i, step)
  y = f32[8] negate(x)
  ROOT out = (s32[], f32[8]) tuple(next, y)
}

condition {
  state = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  limit = s32[] constant()" +
         limit + R"()
  ROOT less = pred[] compare(i, limit), direction=)" +
         direction + R"(
}

ENTRY main {
  x = f32[8] parameter(0)
  start = s32[] constant()" +
         start + R"()
  init = (s32[], f32[8]) tuple(start, x)
  ROOT loop = (s32[], f32[8]) while(init), condition=condition, body=body)" +
         while_attributes + R"(
}
)";
}

Executions OfBody(const std::string& text) {
  Result<Module> module = ReadText(text);
  EXPECT_TRUE(module) << (module ? "" : FormatError(module.error()));
  if (!module) return {};
  return CountExecutions(*module)[module->FindComputation("body").value];
}

TEST(CountExecutions, CounterBelowALimit) {
  Executions runs = OfBody(Loop("0", "1", "12", "LT"));
  EXPECT_EQ(runs.count, 12);
  EXPECT_TRUE(runs.known);
}

TEST(CountExecutions, InclusiveLimitAndStep) {
  // 2, 5, 8, 11: four trips up to and including 11.
  EXPECT_EQ(OfBody(Loop("2", "3", "11", "LE")).count, 4);
  // 2, 5, 8: three trips below 11.
  EXPECT_EQ(OfBody(Loop("2", "3", "11", "LT")).count, 3);
}

TEST(CountExecutions, NegativeStartIsReadAsSigned) {
  EXPECT_EQ(OfBody(Loop("-3", "1", "2", "LT")).count, 5);
}

TEST(CountExecutions, LoopThatNeverRuns) { EXPECT_EQ(OfBody(Loop("5", "1", "2", "LT")).count, 0); }

TEST(CountExecutions, CountingDownIsUnknown) {
  Executions runs = OfBody(Loop("9", "-1", "0", "GT"));
  EXPECT_EQ(runs.count, 1);
  EXPECT_FALSE(runs.known);
}

TEST(CountExecutions, KnownTripCountWins) {
  Executions runs = OfBody(
      Loop("0", "1", "12", "LT", R"(, backend_config={"known_trip_count":{"n":"7"},"other":1})"));
  EXPECT_EQ(runs.count, 7);
  EXPECT_TRUE(runs.known);
}

TEST(CountExecutions, CallsAddUp) {
  Result<Module> module = ReadText(R"(HloModule m

f {
  ROOT a = f32[8] parameter(0)
}

g {
  b = f32[8] parameter(0)
  ROOT c = f32[8] call(b), to_apply=f
}

unused {
  ROOT d = f32[8] parameter(0)
}

ENTRY main {
  x = f32[8] parameter(0)
  y = f32[8] call(x), to_apply=f
  ROOT z = f32[8] call(y), to_apply=g
}
)");
  ASSERT_TRUE(module);
  std::vector<Executions> runs = CountExecutions(*module);
  EXPECT_EQ(runs[module->FindComputation("f").value].count, 2);
  EXPECT_EQ(runs[module->FindComputation("g").value].count, 1);
  EXPECT_EQ(runs[module->FindComputation("unused").value].count, 0);
}

}  // namespace
}  // namespace hlokit
