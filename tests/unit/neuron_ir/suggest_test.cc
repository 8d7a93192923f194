// Are the transposes that save work found, measured, and none else?
#include "src/neuron_ir/suggest.h"

#include <gtest/gtest.h>

#include "hlokit/reader.h"

namespace hlokit {
namespace {

Suggestions Suggest(const std::string& text, std::vector<size_t> weights = {}) {
  Result<Module> module = ReadText(text);
  EXPECT_TRUE(module.has_value()) << FormatError(module.error());
  Result<Suggestions> suggestions = SuggestIoTransposes(*module, {.weights = std::move(weights)});
  EXPECT_TRUE(suggestions.has_value()) << FormatError(suggestions.error());
  return std::move(*suggestions);
}

// The custom call wants its operand column-major, the header says row-major: one copy of 24 bytes.
constexpr char kCopy[] = R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}

ENTRY e {
  w = f32[2,3]{1,0} parameter(0), frontend_attributes={neff_input_names="input0"}
  ROOT c = f32[2]{0} custom-call(w), custom_call_target="x", operand_layout_constraints={f32[2,3]{0,1}}
}
)";

TEST(Suggest, CopyAtAPinnedParameter) {
  Suggestions suggestions = Suggest(kCopy);
  EXPECT_EQ(suggestions.copy_bytes_before, 24);
  EXPECT_EQ(suggestions.copy_bytes_after, 0);
  ASSERT_EQ(suggestions.found.size(), 1u);
  const Suggestion& one = suggestions.found[0];
  EXPECT_TRUE(one.from_copies);
  EXPECT_EQ(one.bytes_saved, 24);
  EXPECT_EQ(one.ops_saved, 1u);
  EXPECT_EQ(one.spec.input_name, "input0");
  // Column-major bytes of [2,3] are the row-major bytes of its transpose [3,2].
  EXPECT_EQ(one.spec.reshape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(one.spec.transpose, (std::vector<int64_t>{1, 0}));
}

TEST(Suggest, OnlyTheWeightsAskedFor) {
  Result<Module> module = ReadText(kCopy);
  ASSERT_TRUE(module.has_value());
  Result<Suggestions> wrong = SuggestIoTransposes(*module, {.weights = {1}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().exit_code, ExitCode::kUsage);
  std::string two = R"(HloModule m

ENTRY e {
  a = f32[2,3]{1,0} parameter(0)
  b = f32[2,3]{1,0} parameter(1)
  s = f32[3,2]{1,0} transpose(a), dimensions={1,0}
  t = f32[3,2]{1,0} transpose(b), dimensions={1,0}
  ROOT r = f32[3,2]{1,0} add(s, t)
}
)";
  Suggestions suggestions = Suggest(two, {1});
  ASSERT_EQ(suggestions.found.size(), 1u);
  EXPECT_EQ(suggestions.found[0].parameter, 1u);
  EXPECT_EQ(Suggest(two).found.size(), 2u);
}

TEST(Suggest, TransposeBehindAReshape) {
  Suggestions suggestions = Suggest(R"(HloModule m

ENTRY e {
  w = bf16[6,4]{1,0} parameter(0)
  r = bf16[3,2,4]{2,1,0} reshape(w)
  ROOT t = bf16[4,3,2]{2,1,0} transpose(r), dimensions={2,0,1}
}
)");
  ASSERT_EQ(suggestions.found.size(), 1u);
  EXPECT_EQ(suggestions.found[0].spec.reshape, (std::vector<int64_t>{3, 2, 4}));
  EXPECT_EQ(suggestions.found[0].spec.transpose, (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(suggestions.found[0].bytes_saved, 48);
  EXPECT_FALSE(suggestions.found[0].from_copies);
}

TEST(Suggest, NotWhenTheParameterIsAlsoUsedAsItIs) {
  Suggestions suggestions = Suggest(R"(HloModule m

ENTRY e {
  w = f32[3,3]{1,0} parameter(0)
  t = f32[3,3]{1,0} transpose(w), dimensions={1,0}
  ROOT s = f32[3,3]{1,0} add(t, w)
}
)");
  EXPECT_TRUE(suggestions.found.empty());
  suggestions = Suggest(R"(HloModule m

ENTRY e {
  w = f32[3,3,3]{2,1,0} parameter(0)
  t = f32[3,3,3]{2,1,0} transpose(w), dimensions={1,0,2}
  u = f32[3,3,3]{2,1,0} transpose(w), dimensions={2,0,1}
  ROOT s = f32[3,3,3]{2,1,0} add(t, u)
}
)");
  // No transpose replaces both; but each of the two needs a copy of its own in front, and one of
  // them goes when the parameter arrives as that transpose reads it.
  ASSERT_EQ(suggestions.found.size(), 1u);
  EXPECT_TRUE(suggestions.found[0].from_copies);
  EXPECT_EQ(suggestions.copy_bytes_before, 216);
  EXPECT_EQ(suggestions.copy_bytes_after, 108);
  ASSERT_FALSE(suggestions.notes.empty());
  EXPECT_EQ(suggestions.notes[0],
            "%w: transposed in different ways: no single transpose replaces them");
}

TEST(Suggest, NothingToSuggest) {
  Suggestions suggestions = Suggest(
      "HloModule m\n\nENTRY e {\n  p = f32[2,2]{1,0} parameter(0)\n  ROOT n = f32[2,2]{1,0} "
      "negate(p)\n}\n");
  EXPECT_TRUE(suggestions.found.empty());
  EXPECT_EQ(suggestions.copy_bytes_before, 0);
}

}  // namespace
}  // namespace hlokit
