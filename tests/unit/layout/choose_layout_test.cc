// Which layouts do the base rules choose? Examples of sections 6 and 8, worked out by hand.
#include "tests/unit/layout/layout_test_util.h"

namespace hlokit {
namespace {

using layout_test::Find;
using layout_test::Read;

class ChooseLayout : public testing::Test {
 protected:
  std::string Operand(const Module& module, std::string_view name, std::vector<int64_t> order,
                      const LayoutRules& rules = LayoutRules(), uint32_t operand = 0) {
    LayoutId layout = module.mutable_shapes().Layout(order);
    return module.shapes().LayoutText(
        rules.ChooseOperandLayout(module, layout, Find(module, name), operand));
  }
  std::string Output(const Module& module, std::string_view name, std::vector<int64_t> order) {
    LayoutId layout = module.mutable_shapes().Layout(order);
    return module.shapes().LayoutText(
        LayoutRules().ChooseOutputLayout(module, layout, Find(module, name), 0));
  }
};

TEST_F(ChooseLayout, Transpose) {
  Module m = Read(R"(HloModule m
ENTRY e {
  x = f32[3,5,7] parameter(0)
  ROOT t = f32[7,3,5] transpose(x), dimensions={2,0,1}
})");
  EXPECT_EQ(Output(m, "t", {1, 2, 0}), "{2,0,1}");
  EXPECT_EQ(Operand(m, "t", {2, 1, 0}), "{1,0,2}");
}

TEST_F(ChooseLayout, Reshape) {
  Module m = Read(R"(HloModule m
ENTRY e {
  x = f32[6,20] parameter(0)
  r = f32[6,4,5] reshape(x)
  y = f32[7,1] parameter(1)
  s = f32[1,7] reshape(y)
  ROOT t = (f32[6,4,5], f32[1,7]) tuple(r, s)
})");
  EXPECT_EQ(Output(m, "r", {0, 1}), "{0,2,1}");
  EXPECT_EQ(Operand(m, "r", {0, 2, 1}), "{0,1}");
  EXPECT_EQ(Operand(m, "r", {1, 2, 0}), "unset");
  // Both sides have one dimension that is not 1: no opinion.
  EXPECT_EQ(Output(m, "s", {1, 0}), "unset");
}

TEST_F(ChooseLayout, RowReduction) {
  Module m = Read(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4,6,9,2] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[4,9] reduce(x, z), dimensions={1,3}, to_apply=add
})");
  EXPECT_EQ(Operand(m, "r", {0, 1}), "unset");
  EXPECT_EQ(Operand(m, "r", {0, 1}, LayoutRules({.row_reduction = true})), "{3,1,0,2}");
}

TEST_F(ChooseLayout, TupleReduceDeletesTheReducedDimensions) {
  Module m = Read(R"(HloModule m
f {
  a = f32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = s32[] parameter(3)
  ROOT t = (f32[], s32[]) tuple(a, b)
}
ENTRY e {
  x = f32[4,6,9] parameter(0)
  y = s32[4,6,9] parameter(1)
  z = f32[] constant(0)
  w = s32[] constant(0)
  ROOT r = (f32[4,9], s32[4,9]) reduce(x, y, z, w), dimensions={1}, to_apply=f
})");
  EXPECT_EQ(Output(m, "r", {1, 0, 2}), "{0,1}");
}

TEST_F(ChooseLayout, KeepDimensions) {
  Module m;
  ShapePool& shapes = m.shapes();
  auto keep = [&](LayoutId layout, std::vector<int64_t> kept) {
    return shapes.LayoutText(KeepDimensions(shapes, layout, kept));
  };
  // The example of section 6.4: output {0,2,1}, dimensions {0,2}.
  EXPECT_EQ(keep(shapes.Layout(std::vector<int64_t>{0, 2, 1}), {0, 2}), "{0,1}");
  EXPECT_EQ(keep(shapes.Layout(std::vector<int64_t>{3, 1, 0, 2}), {1, 2, 3}), "{2,0,1}");
  EXPECT_EQ(keep(shapes.Layout(std::vector<int64_t>{1, 0}), {}), "{}");
  // Tiles and memory space stay; a split on the place of a deleted dimension goes, later ones move.
  LayoutExtras extras;
  extras.tiles = {{8, 128}};
  extras.memory_space = 5;
  extras.splits = {{0, {2}}, {2, {3}}};  // physical 0 = dimension 1, physical 2 = dimension 0
  LayoutId layout = shapes.Layout(std::vector<int64_t>{0, 2, 1}, extras);
  EXPECT_EQ(keep(layout, {0, 2}), "{0,1:T(8,128)S(5)SC(1:3)}");
}

TEST_F(ChooseLayout, PoliciesOfSection8) {
  Module m = Read(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4,6] parameter(0)
  n = f32[4,6] negate(x)
  t = f32[6,4] transpose(x), dimensions={1,0}
  z = f32[] constant(0)
  r = f32[4] reduce(x, z), dimensions={1}, to_apply=add
  c = f32[4,6] custom-call(x), custom_call_target="LayoutConstraint"
  d = f32[4,6] custom-call(x), custom_call_target="Other"
  q = f32[24] reshape(x)
  ROOT k = f32[4,4] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  LayoutRules rules;
  struct Row {
    const char* name;
    bool may_change, forward, siblings, to_operands;
  };
  const Row rows[] = {
      {"n", false, true, true, true},   {"t", true, true, false, false},
      {"r", true, true, true, false},   {"c", false, true, true, true},
      {"d", true, false, false, false}, {"q", true, false, false, false},
      {"k", true, false, false, false},
  };
  for (const Row& row : rows) {
    InstId id = Find(m, row.name);
    EXPECT_EQ(rules.MayChangeLayout(m, id), row.may_change) << row.name;
    EXPECT_EQ(rules.OperandAlwaysPropagatesForward(m, id), row.forward) << row.name;
    EXPECT_EQ(rules.OperandAlwaysPropagatesToSiblings(m, id), row.siblings) << row.name;
    EXPECT_EQ(rules.OutputAlwaysPropagatesToOperands(m, id), row.to_operands) << row.name;
  }
  // The 88 opcodes that keep layouts, the 44 that do not, and the one that depends.
  int keeps = 0;
  int depends = 0;
  for (int i = 0; i < kOpcodeCount; ++i) {
    keeps += kOpcodes[i].layout_rule == LayoutRule::kKeeps;
    depends += kOpcodes[i].layout_rule == LayoutRule::kDepends;
  }
  EXPECT_EQ(keeps, 88);
  EXPECT_EQ(depends, 1);
}

}  // namespace
}  // namespace hlokit
