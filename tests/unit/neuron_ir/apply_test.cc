// Do users of a moved parameter see the value that they saw before?
#include "src/neuron_ir/apply.h"

#include <gtest/gtest.h>

#include <numeric>

#include "hlokit/permute.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"
#include "hlokit/verifier.h"

namespace hlokit {
namespace {

IoTranspose Spec(std::string name, std::vector<int64_t> reshape, std::vector<int64_t> transpose) {
  return {.input_name = std::move(name),
          .reshape = std::move(reshape),
          .transpose = std::move(transpose)};
}

std::vector<int32_t> Permuted(const std::vector<int32_t>& in, std::span<const int64_t> dims,
                              std::span<const int64_t> axes) {
  std::vector<int32_t> out(in.size());
  PermuteSpec spec{.dims = {dims.begin(), dims.end()}, .permutation = {axes.begin(), axes.end()}};
  EXPECT_TRUE(PermuteNaive(spec, in.data(), out.data()));
  return out;
}

constexpr char kModule[] =
    R"(HloModule m, entry_computation_layout={(s32[6,4]{1,0}, s32[6,4]{1,0})->s32[6,4]{1,0}}

ENTRY e {
  a = s32[6,4]{1,0} parameter(0)
  w = s32[6,4]{1,0} parameter(1), frontend_attributes={neff_input_names="input1"}
  b = s32[6,4]{1,0} add(a, w)
  ROOT c = s32[6,4]{1,0} add(w, b)
}
)";

TEST(Apply, UsersSeeTheSameValue) {
  const std::pair<std::vector<int64_t>, std::vector<int64_t>> cases[] = {
      {{6, 4}, {1, 0}},       {{6, 4}, {0, 1}}, {{3, 2, 2, 2}, {1, 3, 0, 2}},
      {{2, 3, 4}, {1, 2, 0}}, {{24}, {0}},      {{1, 24}, {1, 0}}};
  for (const auto& [reshape, axes] : cases) {
    Module module = *ReadText(kModule);
    Status status = ApplyIoTransposes(module, std::vector{Spec("input1", reshape, axes)});
    ASSERT_TRUE(status) << FormatError(status.error());
    ASSERT_TRUE(VerifyModule(module)) << PrintModule(module);
    EXPECT_TRUE(ReadText(PrintModule(module)).has_value());
    // What arrives is what the host makes of 0, 1, 2, …; follow it to a user.
    std::vector<int32_t> value(24);
    std::iota(value.begin(), value.end(), 0);
    const std::vector<int32_t> original = value;
    value = Permuted(value, reshape, axes);
    std::vector<InstId> way;
    for (InstId at = module.operand(module.FindInstruction("c"), 0);
         module.opcode(at) != Opcode::kParameter; at = module.operand(at, 0)) {
      way.insert(way.begin(), at);
    }
    for (InstId at : way) {
      if (module.opcode(at) != Opcode::kTranspose) continue;
      value = Permuted(value, module.shapes().sizes(module.shape(module.operand(at, 0))),
                       module.dimensions(at));
    }
    EXPECT_EQ(value, original);
    EXPECT_EQ(module.operand(module.FindInstruction("b"), 1),
              module.operand(module.FindInstruction("c"), 0));
  }
}

TEST(Apply, TheWholeModule) {
  Module module = *ReadText(kModule);
  ASSERT_TRUE(ApplyIoTransposes(
      module, std::vector{Spec("w", {3, 2, 4}, {2, 0, 1}), Spec("a", {6, 4}, {1, 0})}));
  EXPECT_EQ(
      PrintModule(module, PrintOptions::Short()),
      R"(HloModule m, entry_computation_layout={(s32[4,6]{1,0}, s32[4,3,2]{2,1,0})->s32[6,4]{1,0}}

ENTRY e {
  w = s32[4,3,2]{2,1,0} parameter(1), frontend_attributes={neff_input_names="input1"}
  transpose = s32[3,2,4]{2,1,0} transpose(w), dimensions={1,2,0}
  reshape = s32[6,4]{1,0} reshape(transpose)
  a = s32[4,6]{1,0} parameter(0)
  transpose.1 = s32[6,4]{1,0} transpose(a), dimensions={1,0}
  b = s32[6,4]{1,0} add(transpose.1, reshape)
  ROOT c = s32[6,4]{1,0} add(reshape, b)
}

)");
}

TEST(Apply, TheRootIsAUserToo) {
  Module module = *ReadText("HloModule m\n\nENTRY e {\n  ROOT p = s32[2,3]{1,0} parameter(0)\n}\n");
  ASSERT_TRUE(ApplyIoTransposes(module, std::vector{Spec("p", {2, 3}, {1, 0})}));
  ASSERT_TRUE(VerifyModule(module));
  EXPECT_EQ(module.opcode(module.computation(module.entry()).root), Opcode::kTranspose);
}

TEST(Apply, Refusals) {
  struct Case {
    std::string header, attribute;
    std::vector<IoTranspose> specs;
    ExitCode exit_code;
  } cases[] = {
      {", is_scheduled=true", "", {Spec("p", {3, 2}, {1, 0})}, ExitCode::kUnsupported},
      {", input_output_alias={ {}: (0, {}, may-alias) }",
       "",
       {Spec("p", {3, 2}, {1, 0})},
       ExitCode::kUnsupported},
      {", buffer_donor={ (0, {}) }", "", {Spec("p", {3, 2}, {1, 0})}, ExitCode::kUnsupported},
      {"", ", sharding={devices=[2,1]0,1}", {Spec("p", {3, 2}, {1, 0})}, ExitCode::kUnsupported},
      {"", "", {Spec("q", {3, 2}, {1, 0})}, ExitCode::kCheckFailed},
      {"", "", {Spec("p", {3, 3}, {1, 0})}, ExitCode::kCheckFailed},
      {"", "", {Spec("p", {3, 2}, {1, 0}), Spec("p", {3, 2}, {1, 0})}, ExitCode::kCheckFailed},
  };
  for (const Case& one : cases) {
    Result<Module> module =
        ReadText("HloModule m" + one.header + "\n\nENTRY e {\n  p = s32[2,3]{1,0} parameter(0)" +
                 one.attribute + "\n  ROOT n = s32[2,3]{1,0} negate(p)\n}\n");
    ASSERT_TRUE(module.has_value()) << FormatError(module.error());
    const std::string before = PrintModule(*module);
    Status status = ApplyIoTransposes(*module, one.specs);
    ASSERT_FALSE(status) << before;
    EXPECT_EQ(status.error().exit_code, one.exit_code) << FormatError(status.error());
    EXPECT_EQ(PrintModule(*module), before);
  }
}

}  // namespace
}  // namespace hlokit
