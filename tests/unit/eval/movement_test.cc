// Where elements go: moves, slices by value, reductions, sorting, products.
#include "tests/unit/eval/eval_test_util.h"

namespace hlokit {
namespace {

constexpr char kAdd[] =
    "add { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a, b) }\n";

TEST(Movement, TransposeReverseSlicePad) {
  const std::string x = "x = s32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\n";
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[3,2] transpose(x), dimensions={1,0}\n"),
            "{} s32[3,2] 1 4 2 5 3 6\n");
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[2,3] reverse(x), dimensions={0,1}\n"),
            "{} s32[2,3] 6 5 4 3 2 1\n");
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[1,2] slice(x), slice={[1:2:1], [0:3:2]}\n"),
            "{} s32[1,2] 4 6\n");
  EXPECT_EQ(RunEntry(x + "z = s32[] constant(9)\n"
                         "ROOT r = s32[1,5] pad(x, z), padding=-1_0x0_0_1\n"),
            "{} s32[1,5] 4 9 5 9 6\n");
}

TEST(Movement, ConcatenateBroadcastIota) {
  EXPECT_EQ(RunEntry("x = s32[2,1] constant({ {1}, {2} })\ny = s32[2,2] iota(), iota_dimension=1\n"
                     "ROOT r = s32[2,3] concatenate(x, y), dimensions={1}\n"),
            "{} s32[2,3] 1 0 1 2 0 1\n");
  EXPECT_EQ(RunEntry("x = s32[2] constant({1, 2})\n"
                     "ROOT r = s32[2,3] broadcast(x), dimensions={0}\n"),
            "{} s32[2,3] 1 1 1 2 2 2\n");
}

TEST(Movement, DynamicReshapeToTheBounds) {
  const std::string x =
      "x = s32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\ntwo = s32[] constant(2)\n"
      "three = s32[] constant(3)\nfive = s32[] constant(5)\nsix = s32[] constant(6)\n";
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[3,2] dynamic-reshape(x, three, two)\n"),
            "{} s32[3,2] 1 2 3 4 5 6\n");
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[<=6] dynamic-reshape(x, six)\n"),
            "{} s32[<=6] 1 2 3 4 5 6\n");
  EXPECT_EQ(RunEntry(x + "ROOT r = s32[<=6] dynamic-reshape(x, five)\n"),
            "r (dynamic-reshape): arrays that are not full are not simulated");
}

TEST(Indexing, StartsAreClamped) {
  const std::string x = "x = s32[4] constant({1, 2, 3, 4})\n";
  EXPECT_EQ(RunEntry(x + "i = s32[] constant(9)\n"
                         "ROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}\n"),
            "{} s32[2] 3 4\n");
  EXPECT_EQ(RunEntry(x + "i = s32[] constant(-3)\nu = s32[2] constant({8, 9})\n"
                         "ROOT r = s32[4] dynamic-update-slice(x, u, i)\n"),
            "{} s32[4] 8 9 3 4\n");
  EXPECT_EQ(RunEntry(x + "i = s32[2,1] constant({ {3}, {1} })\n"
                         "ROOT r = s32[2,2] gather(x, i), offset_dims={1}, "
                         "collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, "
                         "slice_sizes={2}\n"),
            "{} s32[2,2] 3 4 2 3\n");
}

TEST(Indexing, ScatterLeavesOutWhatDoesNotFit) {
  EXPECT_EQ(RunEntry("x = s32[4] constant({1, 2, 3, 4})\ni = s32[3,1] constant({ {0}, {3}, {2} })\n"
                     "u = s32[3,2] constant({ {10, 20}, {30, 40}, {50, 60} })\n"
                     "ROOT r = s32[4] scatter(x, i, u), update_window_dims={1}, "
                     "inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
                     "index_vector_dim=1, to_apply=add\n",
                     kAdd),
            "{} s32[4] 11 22 53 64\n");
}

TEST(Reduce, OrderAndRounding) {
  EXPECT_EQ(RunEntry("x = s32[2,3] constant({ {1, 2, 3}, {4, 5, 6} })\nz = s32[] constant(100)\n"
                     "ROOT r = s32[3] reduce(x, z), dimensions={0}, to_apply=add\n",
                     kAdd),
            "{} s32[3] 105 107 109\n");
  // 256 + 1 + 1 is 258 when it is rounded once, 256 when it is rounded at every step.
  EXPECT_EQ(RunEntry("x = bf16[3] constant({256, 1, 1})\nz = bf16[] constant(0)\n"
                     "ROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=f\n",
                     "f { a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n"
                     " ROOT r = bf16[] add(a, b) }\n"),
            "{} bf16[] 0x1.02p+8\n");
}

TEST(Reduce, SeveralInputs) {
  EXPECT_EQ(
      RunEntry("x = s32[3] constant({4, 9, 2})\ni = s32[3] iota(), iota_dimension=0\n"
               "z = s32[] constant(-5)\nn = s32[] constant(-1)\n"
               "ROOT r = (s32[], s32[]) reduce(x, i, z, n), dimensions={0}, to_apply=best\n",
               "best { a = s32[] parameter(0)\n p = s32[] parameter(1)\n b = s32[] parameter(2)\n"
               " q = s32[] parameter(3)\n c = pred[] compare(a, b), direction=GE\n"
               " v = s32[] select(c, a, b)\n w = s32[] select(c, p, q)\n"
               " ROOT r = (s32[], s32[]) tuple(v, w) }\n"),
      "{0} s32[] 9\n{1} s32[] 1\n");
}

TEST(Windows, ReduceAndSelect) {
  EXPECT_EQ(RunEntry("x = s32[4] constant({1, 2, 3, 4})\nz = s32[] constant(0)\n"
                     "ROOT r = s32[3] reduce-window(x, z), window={size=2 stride=2 pad=1_1}, "
                     "to_apply=add\n",
                     kAdd),
            "{} s32[3] 1 5 4\n");
  EXPECT_EQ(RunEntry("x = s32[4] constant({1, 5, 3, 4})\nu = s32[2] constant({10, 20})\n"
                     "z = s32[] constant(7)\nROOT r = s32[4] select-and-scatter(x, u, z), "
                     "window={size=2 stride=2}, select=ge, scatter=add\n",
                     std::string(kAdd) + "ge { a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
                                         " ROOT r = pred[] compare(a, b), direction=GE }\n"),
            "{} s32[4] 7 17 7 27\n");
}

TEST(Sort, IsStable) {
  EXPECT_EQ(
      RunEntry("k = s32[4] constant({2, 1, 2, 1})\ni = s32[4] iota(), iota_dimension=0\n"
               "ROOT r = (s32[4], s32[4]) sort(k, i), dimensions={0}, to_apply=lt\n",
               "lt { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] parameter(2)\n"
               " d = s32[] parameter(3)\n ROOT r = pred[] compare(a, b), direction=LT }\n"),
      "{0} s32[4] 1 1 2 2\n{1} s32[4] 1 3 0 2\n");
}

TEST(Contraction, Dots) {
  EXPECT_EQ(RunEntry("x = s8[1,2] constant({ {100, 100} })\ny = s8[2,1] constant({ {1}, {1} })\n"
                     "ROOT r = s8[1,1] dot(x, y), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}\n"),
            "{} s8[1,1] -56\n");
  EXPECT_EQ(
      RunEntry("x = f32[2,2] constant({ {1, 2}, {3, 4} })\ny = f32[2,2] constant({ {5, 6}, {7, 8} "
               "})\nROOT r = f32[2] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={1}, "
               "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
      "{} f32[2] 0x1.3p+4 0x1.9p+5\n");  // 1*5+2*7, 3*6+4*8
}

TEST(Contraction, RaggedRows) {
  EXPECT_EQ(
      RunEntry("x = f32[3,1] constant({ {1}, {2}, {3} })\n"
               "y = f32[2,1,1] constant({ { {10} }, { {100} } })\ng = s32[2] constant({1, 1})\n"
               "ROOT r = f32[3,1] ragged-dot(x, y, g), lhs_contracting_dims={1}, "
               "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}\n"),
      "{} f32[3,1] 0x1.4p+3 0x1.9p+7 0x0p+0\n");
}

std::string RaggedDot(const std::string& lhs, const std::string& rhs, const std::string& sizes,
                      const std::string& result) {
  return RunEntry("x = " + lhs + "\ny = " + rhs + "\ng = " + sizes + "\nROOT r = " + result + "\n");
}

TEST(Contraction, RaggedRowsOfBatches) {
  const std::string x = "s32[2,3,1] constant({ { {1}, {2}, {3} }, { {4}, {5}, {6} } })";
  const std::string y =
      "s32[2,2,1,1] constant({ { { {10} }, { {20} } }, { { {100} }, { {200} } } })";
  const std::string dot =
      "s32[2,3,1] ragged-dot(x, y, g), lhs_batch_dims={0}, rhs_batch_dims={1}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={0}";
  EXPECT_EQ(RaggedDot(x, y, "s32[2] constant({1, 2})", dot),
            "{} s32[2,3,1] 10 200 300 80 1000 1200\n");
  EXPECT_EQ(RaggedDot(x, y, "s32[2,2] constant({ {2, 1}, {0, 2} })", dot),
            "{} s32[2,3,1] 10 20 300 800 1000 0\n");
}

TEST(Contraction, RaggedRowsBesideOtherRows) {
  const std::string x = "s32[2,2,1] constant({ { {1}, {2} }, { {3}, {4} } })";
  const std::string y = "s32[2,1,1] constant({ { {10} }, { {100} } })";
  const std::string dot =
      "s32[2,2,1] ragged-dot(x, y, g), lhs_contracting_dims={2}, rhs_contracting_dims={1}, "
      "rhs_group_dims={0}, lhs_ragged_dims=";
  EXPECT_EQ(RaggedDot(x, y, "s32[2] constant({1, 1})", dot + "{0}"),
            "{} s32[2,2,1] 10 20 300 400\n");
  EXPECT_EQ(RaggedDot(x, y, "s32[2] constant({1, 1})", dot + "{1}"),
            "{} s32[2,2,1] 10 200 30 400\n");
  EXPECT_EQ(RaggedDot(x, y, "s32[2,2] constant({ {2, 0}, {0, 1} })", dot + "{1}"),
            "{} s32[2,2,1] 10 20 300 0\n");
}

TEST(Contraction, RaggedSumsOfBatches) {
  const std::string x = "s32[2,1,3] constant({ { {1, 2, 3} }, { {4, 5, 6} } })";
  const std::string y = "s32[2,3,1] constant({ { {1}, {10}, {100} }, { {1}, {10}, {100} } })";
  const std::string dot =
      "s32[2,2,1,1] ragged-dot(x, y, g), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={2}";
  EXPECT_EQ(RaggedDot(x, y, "s32[2] constant({1, 2})", dot), "{} s32[2,2,1,1] 1 4 320 650\n");
  EXPECT_EQ(RaggedDot(x, y, "s32[2] constant({1, 1})", dot), "{} s32[2,2,1,1] 1 4 20 50\n");
  EXPECT_EQ(RaggedDot(x, y, "s32[2,2] constant({ {1, 2}, {2, 1} })", dot),
            "{} s32[2,2,1,1] 1 54 320 600\n");
}

TEST(Contraction, RaggedSumsBesideOtherSums) {
  const std::string x = "s32[2,2] constant({ {1, 2}, {3, 4} })";
  const std::string y = "s32[2,2,1] constant({ { {1}, {10} }, { {100}, {1000} } })";
  const std::string dot =
      "s32[2,1] ragged-dot(x, y, g), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}, "
      "lhs_ragged_dims=";
  EXPECT_EQ(RaggedDot(x, y, "s32[2] constant({1, 1})", dot + "{0}"), "{} s32[2,1] 21 4300\n");
  EXPECT_EQ(RaggedDot(x, y, "s32[2] constant({1, 1})", dot + "{1}"), "{} s32[2,1] 301 4020\n");
}

TEST(Contraction, RaggedBatches) {
  EXPECT_EQ(RaggedDot("s32[2,1,1] constant({ { {2} }, { {3} } })",
                      "s32[2,1,1] constant({ { {5} }, { {7} } })", "s32[2] constant({1, 1})",
                      "s32[2,1,1] ragged-dot(x, y, g), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                      "lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}"),
            "{} s32[2,1,1] 10 21\n");
}

TEST(Contraction, IntegerConvolutionsSaturate) {
  EXPECT_EQ(RunEntry("x = s8[1,1,3] constant({ { {100, 1, 2} } })\n"
                     "k = s8[1,1,2] constant({ { {1, 1} } })\n"
                     "ROOT r = s8[1,1,2] convolution(x, k), window={size=2}, "
                     "dim_labels=bf0_oi0->bf0\n"),
            "{} s8[1,1,2] 101 3\n");
  EXPECT_EQ(RunEntry("x = s8[1,1,2] constant({ { {100, 100} } })\n"
                     "k = s8[1,1,2] constant({ { {1, 1} } })\n"
                     "ROOT r = s8[1,1,1] convolution(x, k), window={size=2}, "
                     "dim_labels=bf0_oi0->bf0\n"),
            "{} s8[1,1,1] 127\n");
}

TEST(Contraction, ReversedKernel) {
  EXPECT_EQ(RunEntry("x = f32[1,1,2] constant({ { {1, 10} } })\n"
                     "k = f32[1,1,2] constant({ { {2, 3} } })\n"
                     "ROOT r = f32[1,1,1] convolution(x, k), window={size=2 rhs_reversal=1}, "
                     "dim_labels=bf0_oi0->bf0\n"),
            "{} f32[1,1,1] 0x1.7p+4\n");  // 1*3 + 10*2
}

TEST(Algebra, CholeskyAndSolve) {
  EXPECT_EQ(RunEntry("x = f32[2,2] constant({ {4, 2}, {2, 5} })\n"
                     "ROOT r = f32[2,2] cholesky(x), lower=true\n"),
            "{} f32[2,2] 0x1p+1 0x0p+0 0x1p+0 0x1p+1\n");
  EXPECT_EQ(
      RunEntry("a = f32[2,2] constant({ {2, 9}, {1, 4} })\nb = f32[2,1] constant({ {6}, {11} })\n"
               "ROOT r = f32[2,1] triangular-solve(a, b), left_side=true, lower=true, "
               "unit_diagonal=false, transpose_a=NO_TRANSPOSE\n"),
      "{} f32[2,1] 0x1.8p+1 0x1p+1\n");
}

TEST(Fft, DefinitionOfTheSum) {
  EXPECT_EQ(RunEntry("x = f32[2] constant({3, 1})\n"
                     "ROOT r = c64[2] fft(x), fft_type=RFFT, fft_length={2}\n"),
            "{} c64[2] 0x1p+2,0x0p+0 0x1p+1,0x0p+0\n");
}

TEST(Random, PublishedTestVectors) {
  // Known answers of the Random123 distribution for zero key and counter.
  EXPECT_EQ(RunEntry("s = u64[2] constant({0, 0})\nr = (u64[2], u32[2]) rng-bit-generator(s), "
                     "algorithm=rng_three_fry\nROOT b = u32[2] get-tuple-element(r), index=1\n"),
            "{} u32[2] 1797259609 2579123966\n");  // 6b200159 99ba4efe
  EXPECT_EQ(RunEntry("s = u64[3] constant({0, 0, 0})\nr = (u64[3], u32[4]) rng-bit-generator(s), "
                     "algorithm=rng_philox\nROOT b = u32[4] get-tuple-element(r), index=1\n"),
            "{} u32[4] 1713891541 3781805453 3159862348 2600524760\n");  // 6627e8d5 e169c58d …
}

}  // namespace
}  // namespace hlokit
