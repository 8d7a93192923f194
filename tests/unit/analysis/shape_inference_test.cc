// Which shapes come out? Expected values are worked out from hlo-verifier.md section 3 by hand.
#include "gtest/gtest.h"
#include "tests/unit/analysis/infer_line.h"

namespace hlokit {
namespace {

TEST(InferElementwise, KeepsTheLayoutOfTheOperand) {
  EXPECT_EQ(Infer("r = f32[] negate(f32[2,3]{0,1} a)"), "f32[2,3]{0,1}");
  EXPECT_EQ(Infer("r = f32[] add(f32[2,3]{0,1} a, f32[2,3]{1,0} b)"), "f32[2,3]{0,1}");
  EXPECT_EQ(Infer("r = f32[] compare(s8[2,3]{0,1} a, s8[2,3] b), direction=LT"), "pred[2,3]{0,1}");
  EXPECT_EQ(Infer("r = f32[] is-finite(bf16[5] a)"), "pred[5]{0}");
  EXPECT_EQ(Infer("r = f32[] select(pred[2,3] p, s8[2,3]{0,1} a, s8[2,3] b)"), "s8[2,3]{0,1}");
  EXPECT_EQ(Infer("r = f32[] clamp(f32[] l, f32[4] a, f32[] h)"), "f32[4]{0}");
}

TEST(InferElementwise, Types) {
  EXPECT_EQ(Infer("r = f32[] abs(c64[2] a)"), "f32[2]{0}");
  EXPECT_EQ(Infer("r = f32[] real(c128[2] a)"), "f64[2]{0}");
  EXPECT_EQ(Infer("r = f32[] imag(f32[2] a)"), "f32[2]{0}");
  EXPECT_EQ(Infer("r = f32[] complex(f64[2] a, f64[2] b)"), "c128[2]{0}");
  EXPECT_EQ(Infer("r = f32[] add(bf16[2] a, f32[2] b)"), "f32[2]{0}");
  EXPECT_EQ(Infer("r = f32[] add(f16[2] a, bf16[2] b)"), "bf16[2]{0}");
  EXPECT_EQ(Infer("r = s8[2] convert(f32[2] a)", true), "s8[2]{0}");
  EXPECT_EQ(
      Infer("r = bf16[7] reduce-precision(bf16[7] a), exponent_bits=5, mantissa_bits=3", true),
      "bf16[7]{0}");
  EXPECT_EQ(Infer("r = s16[3] stochastic-convert(f32[3] a, u32[3] b)", true), "s16[3]{0}");
}

TEST(InferElementwise, BitcastConvertAddsOrDropsADimension) {
  EXPECT_EQ(Infer("r = s8[] bitcast-convert(f32[5] a)", true), "s8[5,4]{1,0}");
  EXPECT_EQ(Infer("r = f32[] bitcast-convert(u8[5,4] a)", true), "f32[5]{0}");
  EXPECT_EQ(Infer("r = u32[] bitcast-convert(f32[5,2]{0,1} a)", true), "u32[5,2]{0,1}");
}

TEST(InferElementwise, DynamicDimensions) {
  EXPECT_EQ(Infer("r = f32[] add(f32[4,<=3] a, f32[<=4,3] b)"), "f32[<=4,<=3]{1,0}");
  EXPECT_EQ(Infer("r = f32[] transpose(f32[<=4,3] a), dimensions={1,0}"), "f32[3,<=4]{1,0}");
}

TEST(InferMovement, Shapes) {
  EXPECT_EQ(Infer("r = f32[2,6] broadcast(f32[6] a), dimensions={1}", true), "f32[2,6]{1,0}");
  EXPECT_EQ(Infer("r = f32[] broadcast(f32[6] a), dimensions={2,3}"), "f32[2,3,6]{2,1,0}");
  EXPECT_EQ(Infer("r = f32[3,4] reshape(f32[12] a)", true), "f32[3,4]{1,0}");
  EXPECT_EQ(Infer("r = f32[] transpose(f32[2,3,5]{0,1,2} a), dimensions={2,0,1}"),
            "f32[5,2,3]{2,1,0}");
  EXPECT_EQ(Infer("r = f32[] reverse(f32[2,3]{0,1} a), dimensions={1}"), "f32[2,3]{0,1}");
  EXPECT_EQ(Infer("r = f32[3] slice(f32[10] a), slice={[2:9:3]}", true), "f32[3]{0}");
  EXPECT_EQ(
      Infer("r = f32[2,1] dynamic-slice(f32[5,4] a, s32[] i, s32[] j), dynamic_slice_sizes={2,1}",
            true),
      "f32[2,1]{1,0}");
  EXPECT_EQ(
      Infer("r = f32[5,4] dynamic-update-slice(f32[5,4]{0,1} a, f32[2,2] u, s32[] i, s32[] j)",
            true),
      "f32[5,4]{0,1}");
  EXPECT_EQ(Infer("r = f32[] concatenate(f32[2,3] a, f32[2,5] b), dimensions={1}"),
            "f32[2,8]{1,0}");
  EXPECT_EQ(Infer("r = f32[] pad(f32[3,4] a, f32[] z), padding=1_2_1x-1_0"), "f32[8,3]{1,0}");
  EXPECT_EQ(Infer("r = f32[] get-dimension-size(f32[3,<=4] a), dimensions={1}"), "s32[]");
  EXPECT_EQ(Infer("r = f32[] set-dimension-size(f32[3,4]{0,1} a, s32[] n), dimensions={1}"),
            "f32[3,<=4]{0,1}");
  EXPECT_EQ(Infer("r = f32[] topk(bf16[3,9] a), k=4, largest=true"),
            "(bf16[3,4]{1,0}, s32[3,4]{1,0})");
  EXPECT_EQ(Infer("r = s32[7,2] iota(), iota_dimension=1", true), "s32[7,2]{1,0}");
}

TEST(InferContraction, Dot) {
  EXPECT_EQ(
      Infer("r = f32[] dot(f32[2,3,4] a, f32[2,4,5] b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
            "lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
      "f32[2,3,5]{2,1,0}");
  EXPECT_EQ(
      Infer(
          "r = s32[3] dot(s8[3,4] a, s8[4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
          true),
      "s32[3]{0}");
}

TEST(InferContraction, RaggedDotByTheClassOfTheRaggedDimension) {
  // Free: [m,k].[g,k,n] -> [m,n].
  EXPECT_EQ(
      Infer("r = f32[] ragged-dot(f32[8,4] a, f32[3,4,5] b, s32[3] g), lhs_contracting_dims={1}, "
            "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"),
      "f32[8,5]{1,0}");
  // Contracting: [m,k].[k,n] -> [g,m,n].
  EXPECT_EQ(
      Infer("r = f32[] ragged-dot(f32[8,4] a, f32[4,5] b, s32[3] g), lhs_contracting_dims={1}, "
            "rhs_contracting_dims={0}, lhs_ragged_dims={1}"),
      "f32[3,8,5]{2,1,0}");
  // Batch: [b,m,k].[b,k,n] -> [b,m,n].
  EXPECT_EQ(Infer("r = f32[] ragged-dot(f32[6,8,4] a, f32[6,4,5] b, s32[3] g), lhs_batch_dims={0}, "
                  "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, "
                  "lhs_ragged_dims={0}"),
            "f32[6,8,5]{2,1,0}");
}

TEST(InferContraction, ScaledDotUsesLhsAndRhs) {
  EXPECT_EQ(Infer("r = f32[] scaled-dot(f8e4m3fn[8,32] a, f8e4m3fn[32,16] b, f8e8m0fnu[8,1] s, "
                  "f8e8m0fnu[1,16] t), "
                  "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "f8e4m3fn[8,16]{1,0}");
}

TEST(InferConvolution, WindowAndLabels) {
  // Spatial: (1+6+0-3)/2+1 = 3 and (0+5+0-5)/1+1 = 1.
  EXPECT_EQ(Infer("r = f32[] convolution(f32[2,6,5,4] a, f32[3,5,4,7] k), window={size=3x5 "
                  "stride=2x1 pad=1_0x0_0}, "
                  "dim_labels=b01f_01io->b01f"),
            "f32[2,3,1,7]{3,2,1,0}");
  EXPECT_EQ(Infer("r = f32[] convolution(f32[6,8] a, f32[1,8] k), dim_labels=bf_io->bf, "
                  "feature_group_count=8"),
            "f32[6,8]{1,0}");
  EXPECT_EQ(Infer("r = f32[] convolution(f32[6,8] a, f32[8,4] k), dim_labels=bf_io->fb, "
                  "batch_group_count=2"),
            "f32[4,3]{1,0}");
}

TEST(InferReduction, Shapes) {
  std::string entry = Reducer("f32") +
                      "ENTRY e {\n x = f32[2,3,4] parameter(0)\n z = f32[] constant(0)\n ROOT r = ";
  EXPECT_EQ(Infer(entry + "f32[] reduce(x, z), dimensions={0,2}, to_apply=red\n}"), "f32[3]{0}");
  EXPECT_EQ(Infer(entry + "f32[] reduce-window(x, z), window={size=1x2x3 stride=1x1x2 "
                          "pad=0_0x0_1x0_0}, to_apply=red\n}"),
            "f32[2,3,1]{2,1,0}");
  EXPECT_EQ(
      Infer(
          entry +
          "f32[] map(x), dimensions={0,1,2}, to_apply={\n p = f32[] parameter(0)\n ROOT q = pred[] "
          "compare(p, p), direction=EQ\n }\n}"),
      "pred[2,3,4]{2,1,0}");
  EXPECT_EQ(Infer(entry +
                  "f32[] sort(x), dimensions={1}, to_apply={\n p = f32[] parameter(0)\n q = f32[] "
                  "parameter(1)\n ROOT l = pred[] compare(p, q), direction=LT\n }\n}"),
            "f32[2,3,4]{2,1,0}");
}

TEST(InferReduction, AWindowThatFindsNothingGivesNothing) {
  // -3 + 2 + 0 = -1 is less than the window.
  EXPECT_EQ(Infer(Reducer("f32") +
                  "ENTRY e {\n x = f32[2] parameter(0)\n z = f32[] constant(0)\n"
                  " ROOT r = f32[] reduce-window(x, z), window={size=2 pad=-3_0}, to_apply=red\n}"),
            "f32[0]{0}");
}

TEST(InferReduction, VariadicReduceGivesATuple) {
  EXPECT_EQ(
      Infer("red {\n a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n"
            " j = s32[] parameter(3)\n ROOT t = (f32[], s32[]) tuple(a, j)\n}\n"
            "ENTRY e {\n x = f32[2,3] parameter(0)\n y = s32[2,3] parameter(1)\n z = f32[] "
            "constant(0)\n"
            " w = s32[] constant(0)\n ROOT r = f32[] reduce(x, y, z, w), dimensions={1}, "
            "to_apply=red\n}"),
      "(f32[2]{0}, s32[2]{0})");
}

TEST(InferReduction, SelectAndScatterAndScan) {
  EXPECT_EQ(Infer(Reducer("f32") +
                  "ge {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] "
                  "compare(a, b), direction=GE\n}\n"
                  "ENTRY e {\n x = f32[4,6]{0,1} parameter(0)\n s = f32[2,3] parameter(1)\n z = "
                  "f32[] constant(0)\n"
                  " ROOT r = f32[] select-and-scatter(x, s, z), window={size=2x2 stride=2x2}, "
                  "select=ge, scatter=red\n}"),
            "f32[4,6]{0,1}");
  EXPECT_EQ(
      Infer("step {\n e = f32[3] parameter(0)\n q = f32[3] parameter(1)\n s = f32[3] add(e, q)\n"
            " ROOT t = (f32[3], f32[3]) tuple(s, s)\n}\n"
            "ENTRY m {\n x = f32[5,3] parameter(0)\n i = f32[3] parameter(1)\n ROOT r = f32[] "
            "scan(x, i), "
            "dimensions={0}, num_carries=1, to_apply=step\n}"),
      "(f32[5,3]{1,0}, f32[3]{0})");
}

TEST(InferIndexing, Gather) {
  // Batch dimensions 0 and 1 of the indices; offset dimensions 1 and 3 of the result.
  EXPECT_EQ(Infer("r = f32[] gather(f32[10,20,30] a, s32[4,5,1] i), offset_dims={1,3}, "
                  "collapsed_slice_dims={0}, "
                  "start_index_map={0}, index_vector_dim=2, slice_sizes={1,7,8}"),
            "f32[4,7,5,8]{3,2,1,0}");
  EXPECT_EQ(
      Infer("r = f32[] gather(f32[10,20] a, s32[6] i), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,20}"),
      "f32[6,20]{1,0}");
  EXPECT_EQ(
      Infer("r = f32[] gather(f32[3,10] a, s32[3,2] i), offset_dims={}, collapsed_slice_dims={1}, "
            "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
            "index_vector_dim=2, slice_sizes={1,1}"),
      "f32[3,2]{1,0}");
}

TEST(InferIndexing, ScatterHasTheShapeOfItsInputs) {
  EXPECT_EQ(Infer(Reducer("f32") +
                  "ENTRY e {\n x = f32[10,20]{0,1} parameter(0)\n i = s32[6,1] parameter(1)\n u = "
                  "f32[6,20] "
                  "parameter(2)\n ROOT r = f32[] scatter(x, i, u), update_window_dims={1}, "
                  "inserted_window_dims={0}, "
                  "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=red\n}"),
            "f32[10,20]{0,1}");
}

TEST(InferAlgebra, Shapes) {
  EXPECT_EQ(Infer("r = f32[] batch-norm-training(f32[4,5] a, f32[5] s, f32[5] o), epsilon=0.1, "
                  "feature_index=1"),
            "(f32[4,5]{1,0}, f32[5]{0}, f32[5]{0})");
  EXPECT_EQ(Infer("r = f32[] batch-norm-inference(f32[4,5]{0,1} a, f32[5] s, f32[5] o, f32[5] m, "
                  "f32[5] v), "
                  "epsilon=0.1, feature_index=1"),
            "f32[4,5]{0,1}");
  EXPECT_EQ(Infer("r = f32[] batch-norm-grad(f32[4,5] a, f32[4] s, f32[4] m, f32[4] v, f32[4,5] "
                  "g), epsilon=0.1, "
                  "feature_index=0"),
            "(f32[4,5]{1,0}, f32[4]{0}, f32[4]{0})");
  EXPECT_EQ(Infer("r = f32[] fft(f32[3,8] a), fft_type=RFFT, fft_length={8}"), "c64[3,5]{1,0}");
  EXPECT_EQ(Infer("r = f32[] fft(c64[3,5] a), fft_type=IRFFT, fft_length={8}"), "f32[3,8]{1,0}");
  EXPECT_EQ(Infer("r = f32[] fft(c128[3,5] a), fft_type=FFT, fft_length={3,5}"), "c128[3,5]{1,0}");
  EXPECT_EQ(Infer("r = f32[] cholesky(f32[2,3,3] a), lower=true"), "f32[2,3,3]{2,1,0}");
  EXPECT_EQ(Infer("r = f32[] triangular-solve(f32[3,3] a, f32[3,5]{0,1} b), left_side=true, "
                  "transpose_a=TRANSPOSE"),
            "f32[3,5]{0,1}");
  EXPECT_EQ(Infer("r = u32[2,2] rng(u32[] a, u32[] b), distribution=rng_uniform", true),
            "u32[2,2]{1,0}");
  EXPECT_EQ(Infer("r = (u64[3], u8[5]) rng-bit-generator(u64[3] s), algorithm=rng_default", true),
            "(u64[3]{0}, u8[5]{0})");
  EXPECT_EQ(Infer("r = u64[9] rng-get-and-update-state(), delta=1", true), "u64[2]{0}");
}

TEST(InferControl, TuplesCallsAndLoops) {
  EXPECT_EQ(Infer("r = (f32[2], s8[3,4]) tuple(f32[2]{0} a, s8[3,4]{0,1} b)"),
            "(f32[2]{0}, s8[3,4]{0,1})");
  EXPECT_EQ(Infer("r = f32[] get-tuple-element((f32[2], s8[3,4]{0,1}) t), index=1"),
            "s8[3,4]{0,1}");
  EXPECT_EQ(Infer("r = f32[] after-all(token[] t)"), "token[]");
  EXPECT_EQ(Infer("r = f32[] add-dependency(f32[2,2]{0,1} a, token[] t)"), "f32[2,2]{0,1}");
  EXPECT_EQ(Infer("r = u32[] partition-id()"), "u32[]");
  EXPECT_EQ(
      Infer("f {\n p = f32[3] parameter(0)\n ROOT q = pred[3]{0} compare(p, p), direction=EQ\n}\n"
            "ENTRY e {\n x = f32[3] parameter(0)\n ROOT r = f32[] call(x), to_apply=f\n}"),
      "pred[3]{0}");
}

TEST(InferCollective, ShardsFollowFromTheDeclaredShape) {
  EXPECT_EQ(Infer("r = f32[8,2] all-gather(f32[2,2] a), dimensions={0}", true), "f32[8,2]{1,0}");
  EXPECT_EQ(Infer("r = (f32[2,2], f32[8,2]) all-gather-start(f32[2,2] a), dimensions={0}", true),
            "(f32[2,2]{1,0}, f32[8,2]{1,0})");
  EXPECT_EQ(Infer("r = (s8[6], s8[9]) all-gather(s8[2] a, s8[3] b), dimensions={0}", true),
            "(s8[6]{0}, s8[9]{0})");
  EXPECT_EQ(
      Infer(Reducer("f32") +
                "ENTRY e {\n x = f32[8,2] parameter(0)\n ROOT r = f32[2,2] reduce-scatter(x), "
                "dimensions={0}, to_apply=red\n}",
            true),
      "f32[2,2]{1,0}");
  EXPECT_EQ(Infer("r = f32[8] all-to-all(f32[8] a), dimensions={0}", true), "f32[8]{0}");
  EXPECT_EQ(Infer("r = (f32[8], f32[8]) all-to-all(f32[8] a, f32[8] b)", true),
            "(f32[8]{0}, f32[8]{0})");
  EXPECT_EQ(Infer("r = (f32[8], f32[8], u32[]) collective-permute-start(f32[8] a), "
                  "source_target_pairs={{0,1}}",
                  true),
            "(f32[8]{0}, f32[8]{0}, u32[])");
  EXPECT_EQ(Infer("r = f32[8,2] ragged-all-to-all(f32[4,2] a, f32[8,2] o, s64[4] s, s64[4] t, "
                  "s64[4] u, s64[4] v), "
                  "replica_groups={{0,1}}",
                  true),
            "f32[8,2]{1,0}");
}

}  // namespace
}  // namespace hlokit
