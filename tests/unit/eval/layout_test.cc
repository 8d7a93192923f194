// Values lie in memory as their layouts say: wrong layouts give wrong numbers.
#include <cstring>

#include "src/eval/physical.h"
#include "tests/unit/eval/eval_test_util.h"

namespace hlokit {
namespace {

/// Positions of all elements, row-major.
std::vector<int64_t> Positions(const std::string& shape) {
  Module module;
  Result<ShapeId> id = ReadShape(shape, module);
  EXPECT_TRUE(id);
  std::optional<eval::PhysicalOrder> order = eval::OrderOf(module.shapes(), *id);
  EXPECT_TRUE(order) << shape;
  if (!order) return {};
  const size_t bytes = static_cast<size_t>(module.shapes().ElementCount(*id)) * 4;
  std::vector<std::byte> logical(bytes), physical(order->bytes);
  for (size_t i = 0; i < bytes / 4; ++i) {
    const int32_t number = static_cast<int32_t>(i) + 1;
    std::memcpy(logical.data() + 4 * i, &number, 4);
  }
  eval::Pack(module.shapes(), *id, *order, logical.data(), physical.data());
  std::vector<int64_t> out(bytes / 4, -1);
  for (size_t at = 0; at + 4 <= physical.size(); at += 4) {
    int32_t number = 0;
    std::memcpy(&number, physical.data() + at, 4);
    if (number > 0) out[static_cast<size_t>(number) - 1] = static_cast<int64_t>(at / 4);
  }
  std::vector<std::byte> back(bytes);
  eval::Unpack(module.shapes(), *id, *order, physical.data(), back.data());
  EXPECT_EQ(back, logical);
  return out;
}

TEST(Physical, OrderAndTiles) {
  EXPECT_EQ(Positions("s32[2,3]{1,0}"), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(Positions("s32[2,3]{0,1}"), (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
  // The published example: [3,5] in tiles of 2 by 2 takes 2 by 3 tiles.
  EXPECT_EQ(Positions("s32[3,5]{1,0:T(2,2)}"),
            (std::vector<int64_t>{0, 1, 4, 5, 8, 2, 3, 6, 7, 10, 12, 13, 16, 17, 20}));
  // Tiles in tiles: rows of a tile of 4 are paired.
  EXPECT_EQ(Positions("s32[4,2]{1,0:T(4,2)(2,1)}"), (std::vector<int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
  // The major dimensions are joined before they are tiled.
  EXPECT_EQ(Positions("s32[2,3]{1,0:T(*,4)}"), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Physical, PackedElements) {
  Module module;
  const ShapeId shape = *ReadShape("s4[3]{0:E(4)}", module);
  const std::optional<eval::PhysicalOrder> order = eval::OrderOf(module.shapes(), shape);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->bytes, 2u);
  const int8_t logical[3] = {-8, 7, -1};
  uint8_t physical[2] = {};
  eval::Pack(module.shapes(), shape, *order, reinterpret_cast<const std::byte*>(logical),
             reinterpret_cast<std::byte*>(physical));
  EXPECT_EQ(physical[0], 0x78);  // the first element in the low half
  EXPECT_EQ(physical[1], 0x0f);
  int8_t back[3] = {};
  eval::Unpack(module.shapes(), shape, *order, reinterpret_cast<const std::byte*>(physical),
               reinterpret_cast<std::byte*>(back));
  EXPECT_EQ(std::vector<int>(back, back + 3), (std::vector<int>{-8, 7, -1}));
}

TEST(Layouts, BitcastReinterpretsAndCopyMoves) {
  const std::string x = "x = s32[2,3]{0,1} constant({ {1, 2, 3}, {4, 5, 6} })\n";
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[3,2]{1,0} bitcast(x)\n"), "{} s32[3,2] 1 4 2 5 3 6\n");
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[2,3]{1,0} bitcast(x)\n"), "{} s32[2,3] 1 4 2 5 3 6\n");
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[2,3]{1,0} copy(x)\n"), "{} s32[2,3] 1 2 3 4 5 6\n");
}

TEST(Layouts, StrictReadsWhatLooseRepairs) {
  // The tuple says {1,0} of a value that is stored {0,1}.
  const std::string body =
      "x = s32[2,2]{0,1} constant({ {1, 2}, {3, 4} })\n"
      "t = (s32[2,2]{1,0}) tuple(x)\nROOT r = s32[2,2]{1,0} get-tuple-element(t), index=0\n";
  EXPECT_EQ(RunEntry(body), "{} s32[2,2] 1 2 3 4\n");
  EvalOptions strict;
  strict.strict_layouts = true;
  EXPECT_EQ(RunEntry(body, "", strict), "{} s32[2,2] 1 3 2 4\n");
}

TEST(Layouts, StrictEntryLayout) {
  const std::string text =
      "HloModule m, entry_computation_layout={(s32[2,2]{0,1})->s32[2,2]{1,0}}\n"
      "ENTRY e { ROOT p = s32[2,2]{1,0} parameter(0) }\n";
  EvalOptions strict;
  strict.strict_layouts = true;
  const std::string loose = RunText(text), exact = RunText(text, strict);
  EXPECT_NE(loose, exact);
}

}  // namespace
}  // namespace hlokit
