// What do the shape rules refuse, and do they say why? One line per rule.
#include "gtest/gtest.h"
#include "tests/unit/analysis/infer_line.h"

namespace hlokit {
namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Case {
  const char* line;
  const char* why;
};

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, SaysWhy) {
  EXPECT_PRED2(Contains, Infer(GetParam().line, true), GetParam().why) << GetParam().line;
}

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Refused,
    testing::Values(
        Case{"r = f32[2] add(f32[2] a, f32[3] b)", "differ in sizes"},
        Case{"r = f32[2] add(f32[2] a, s32[2] b)", "different types"},
        Case{"r = pred[2] subtract(pred[2] a, pred[2] b)", "does not take operands of type pred"},
        Case{"r = f32[2] and(f32[2] a, f32[2] b)", "does not take operands of type f32"},
        Case{"r = s32[2] atan2(s32[2] a, s32[2] b)", "does not take"},
        Case{"r = s32[2] exponential(s32[2] a)", "floating or complex"},
        Case{"r = c64[2] floor(c64[2] a)", "a floating type"},
        Case{"r = u8[2] abs(u8[2] a)", "a signed"},
        Case{"r = pred[2] negate(pred[2] a)", "takes an integral"},
        Case{"r = f32[2] not(f32[2] a)", "pred or an integral"},
        Case{"r = f32[2] popcnt(f32[2] a)", "an integral type"},
        Case{"r = c64[2] complex(f16[2] a, f16[2] b)", "takes f32 or f64"},
        Case{"r = f32[2] select(s32[2] p, f32[2] a, f32[2] b)", "must be of type pred"},
        Case{"r = f32[2] select(pred[2] p, f32[2] a, f32[3] b)", "values of select differ"},
        Case{"r = f32[2] select(pred[3] p, f32[2] a, f32[2] b)", "predicate of select"},
        Case{"r = f32[2] clamp(s32[] l, f32[2] a, f32[] h)", "bounds of clamp"},
        Case{"r = f32[2] clamp(f32[3] l, f32[2] a, f32[2] h)", "must be scalars"},
        Case{"r = f32[2] convert(c64[2] a)", "imaginary"},
        Case{"r = c64[2] bitcast-convert(f64[2] a)", "complex"},
        Case{"r = f32[2] bitcast-convert(u8[2,3] a)", "last dimension of size 4"},
        Case{"r = f32[2] stochastic-convert(f32[2] a, u16[2] b)", "random bits"},
        Case{"r = f32[2] reduce-precision(f32[2] a), exponent_bits=0, mantissa_bits=3",
             "at least 1"},
        Case{"r = f32[2] reduce-precision(f32[2] a), exponent_bits=3, mantissa_bits=-1",
             "negative"}));

INSTANTIATE_TEST_SUITE_P(
    Movement, Refused,
    testing::Values(
        Case{"r = f32[2,6] broadcast(f32[6] a), dimensions={}", "maps 0 dimensions"},
        Case{"r = f32[2,6] broadcast(f32[6] a), dimensions={0}", "another size"},
        Case{"r = f32[2,6] broadcast(f32[6] a), dimensions={2}", "names dimension 2"},
        Case{"r = f32[5] reshape(f32[6] a)", "number of elements"},
        Case{"r = f32[6] dynamic-reshape(f32[6] a, s64[] n)", "must be s32[]"},
        Case{"r = f32[6] dynamic-reshape(f32[6] a)", "0 sizes for 1"},
        Case{"r = f32[2,3] transpose(f32[3,2] a), dimensions={1,1}", "twice"},
        Case{"r = f32[2,3] transpose(f32[3,2] a), dimensions={1}", "lists 1 dimensions"},
        Case{"r = f32[2] reverse(f32[2] a), dimensions={1}", "names dimension 1"},
        Case{"r = f32[2] slice(f32[2] a), slice={[0:3]}", "does not fit"},
        Case{"r = f32[2] slice(f32[2] a), slice={[2:1]}", "does not fit"},
        Case{"r = f32[2] slice(f32[2] a), slice={[0:1:0]}", "stride 0"},
        Case{"r = f32[2] slice(f32[2] a), slice={}", "0 ranges"},
        Case{"r = f32[3] dynamic-slice(f32[2] a, s32[] i), dynamic_slice_sizes={3}",
             "does not fit"},
        Case{"r = f32[1] dynamic-slice(f32[2] a, f32[] i), dynamic_slice_sizes={1}",
             "integer scalar"},
        Case{"r = f32[1,1] dynamic-slice(f32[2,2] a, s32[] i, s64[] j), dynamic_slice_sizes={1,1}",
             "different types"},
        Case{"r = f32[2] dynamic-update-slice(f32[2] a, f32[3] u, s32[] i)", "does not fit"},
        Case{"r = f32[2] dynamic-update-slice(f32[2] a, s32[1] u, s32[] i)", "must have the type"},
        Case{"r = f32[2,4] concatenate(f32[2,2] a, f32[3,2] b), dimensions={1}",
             "differ in dimension 0"},
        Case{"r = f32[4] concatenate(f32[2] a, s32[2] b), dimensions={0}", "differ in type"},
        Case{"r = f32[4] concatenate(f32[2] a), dimensions={1}", "out of range"},
        Case{"r = f32[2] pad(f32[2] a, s32[] z), padding=0_0", "padding value"},
        Case{"r = f32[2] pad(f32[2] a, f32[] z), padding=-2_-1", "negative size"},
        Case{"r = f32[] iota(), iota_dimension=0", "no scalars"},
        Case{"r = f32[3] iota(), iota_dimension=1", "out of range"},
        Case{"r = pred[3] iota(), iota_dimension=0", "iota gives"},
        Case{"r = s32[] get-dimension-size(f32[3000000000] a), dimensions={0}", "does not fit s32"},
        Case{"r = f32[3] set-dimension-size(f32[3] a, s64[] n), dimensions={0}", "must be s32[]"},
        Case{"r = (f32[4], s32[4]) topk(f32[3] a), k=4", "smaller"}));

INSTANTIATE_TEST_SUITE_P(
    Contraction, Refused,
    testing::Values(
        Case{"r = f32[2] dot(f32[2,3] a, f32[4] b), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}",
             "does not fit"},
        Case{"r = f32[2] dot(f32[2,3] a, f32[3] b), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={}",
             "1 and 0"},
        Case{"r = f32[2] dot(f32[2,3] a, f32[3] b), lhs_contracting_dims={2}, "
             "rhs_contracting_dims={0}",
             "names dimension 2"},
        Case{"r = f32[2,2] dot(f32[2,3] a, f32[2,3] b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
             "lhs_contracting_dims={0}, "
             "rhs_contracting_dims={0}",
             "twice"},
        Case{"r = f32[8,5] ragged-dot(f32[8,4] a, f32[3,4,5] b, s32[2] g), "
             "lhs_contracting_dims={1}, "
             "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
             "group dimension"},
        Case{"r = f32[8,5] ragged-dot(f32[8,4] a, f32[4,5] b, s32[2] g), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}, lhs_ragged_dims={0}",
             "needs 1 rhs_group_dims"},
        Case{"r = f32[8,5] ragged-dot(f32[8,4] a, f32[4,5] b, s32[2] g), lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}",
             "exactly one ragged"},
        Case{"r = f32[8,8] scaled-dot(f32[8,4] a, f32[4,8] b, f32[8,3] s, f32[1,8] t), "
             "lhs_contracting_dims={1}, "
             "rhs_contracting_dims={0}",
             "does not divide"},
        Case{"r = f32[2,2] convolution(f32[2,3] a, f32[4,2] k), dim_labels=bf_io->bf",
             "input features"},
        Case{"r = f32[2,2] convolution(f32[2,3] a, f32[3,2] k), dim_labels=bf_io->bf, "
             "feature_group_count=0",
             "positive"},
        Case{"r = f32[2,4] convolution(f32[2,4] a, f32[2,4] k), dim_labels=bf_io->bf, "
             "feature_group_count=2, "
             "batch_group_count=2",
             "both be more than 1"},
        Case{"r = f32[1,1,1] convolution(f32[1,4,1] a, f32[2,1,1] k), window={size=3}, "
             "dim_labels=b0f_0io->b0f",
             "the kernel 2"},
        Case{"r = f32[2,2] convolution(f32[2,3,1] a, f32[3,2] k), dim_labels=bf_io->bf",
             "has 3 dimensions"}));

INSTANTIATE_TEST_SUITE_P(
    Indexing, Refused,
    testing::Values(Case{"r = f32[6,20] gather(f32[10,20] a, f32[6] i), offset_dims={1}, "
                         "collapsed_slice_dims={0}, "
                         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,20}",
                         "must be integers"},
                    Case{"r = f32[6,20] gather(f32[10,20] a, s32[6] i), offset_dims={1}, "
                         "collapsed_slice_dims={0}, "
                         "start_index_map={0}, index_vector_dim=2, slice_sizes={1,20}",
                         "index_vector_dim"},
                    Case{"r = f32[6,20] gather(f32[10,20] a, s32[6] i), offset_dims={1}, "
                         "collapsed_slice_dims={0}, "
                         "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,20}",
                         "start_index_map has 2"},
                    Case{"r = f32[6,20] gather(f32[10,20] a, s32[6] i), offset_dims={1}, "
                         "collapsed_slice_dims={0}, "
                         "start_index_map={0}, index_vector_dim=1, slice_sizes={2,20}",
                         "not 1"},
                    Case{"r = f32[6,20] gather(f32[10,20] a, s32[6] i), offset_dims={1}, "
                         "collapsed_slice_dims={0}, "
                         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,21}",
                         "does not fit"},
                    Case{"r = f32[6,20] gather(f32[10,20] a, s32[6] i), offset_dims={1}, "
                         "collapsed_slice_dims={}, "
                         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,20}",
                         "2 slice sizes for 1 offset"},
                    Case{"r = f32[6,20] gather(f32[10,20] a, s32[6] i), offset_dims={2}, "
                         "collapsed_slice_dims={0}, "
                         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,20}",
                         "offset_dims names dimension 2"},
                    Case{"r = f32[6,10,20] gather(f32[10,20] a, s32[6] i), offset_dims={2,1}, "
                         "collapsed_slice_dims={}, "
                         "start_index_map={0}, index_vector_dim=1, slice_sizes={10,20}",
                         "ascending"}));

INSTANTIATE_TEST_SUITE_P(
    Algebra, Refused,
    testing::Values(
        Case{"r = f32[4,5] batch-norm-inference(f32[4,5] a, f32[4] s, f32[5] o, f32[5] m, f32[5] "
             "v), epsilon=0.1, "
             "feature_index=1",
             "one value for each"},
        Case{"r = f32[4,5] batch-norm-inference(f32[4,5] a, f32[5] s, f32[5] o, f32[5] m, f32[5] "
             "v), epsilon=0.1, "
             "feature_index=2",
             "out of range"},
        Case{"r = c64[4] fft(c64[4] a), fft_type=FFT, fft_length={4,4}", "fft_length"},
        Case{"r = c64[4] fft(f32[4] a), fft_type=FFT, fft_length={4}", "complex"},
        Case{"r = c64[3] fft(f32[4] a), fft_type=RFFT, fft_length={5}", "must have size 5"},
        Case{"r = f32[8] fft(c64[4] a), fft_type=IRFFT, fft_length={8}", "must have size 5"},
        Case{"r = f32[3,4] cholesky(f32[3,4] a)", "square"},
        Case{"r = s32[3,3] cholesky(s32[3,3] a)", "floating or complex"},
        Case{"r = f32[3,5] triangular-solve(f32[3,3] a, f32[3,5] b), left_side=true",
             "transpose_a"},
        Case{"r = f32[3,5] triangular-solve(f32[3,3] a, f32[3,5] b), left_side=false, "
             "transpose_a=TRANSPOSE",
             "shared dimension"},
        Case{"r = f32[3,5] triangular-solve(f64[3,3] a, f32[3,5] b), left_side=true, "
             "transpose_a=TRANSPOSE",
             "one type"},
        Case{"r = f32[2] rng(f32[1] a, f32[] b), distribution=rng_uniform", "scalars"},
        Case{"r = s32[2] rng(s32[] a, s32[] b), distribution=rng_normal", "does not give s32"},
        Case{"r = u32[2] rng-bit-generator(u64[3] s), algorithm=rng_default", "(state, bits)"}));

INSTANTIATE_TEST_SUITE_P(
    ControlAndCollectives, Refused,
    testing::Values(Case{"r = f32[] get-tuple-element((f32[]) t), index=1", "out of range"},
                    Case{"r = f32[] get-tuple-element(f32[] t), index=0", "needs a tuple"},
                    Case{"r = token[] after-all(f32[] t)", "must be a token"},
                    Case{"r = f32[] add-dependency(f32[] a, f32[] t)", "must be a token"},
                    Case{"r = f32[] copy-done((f32[], f32[2], u32[]) t)", "differ"},
                    Case{"r = f32[8,2] all-gather(f32[2] a), dimensions={0}",
                         "number of dimensions"},
                    Case{"r = f32[8] all-gather(f32[2] a), dimensions={1}", "out of range"},
                    Case{"r = (f32[2], s32[2]) all-to-all(f32[2] a, s32[2] b)", "differ"},
                    Case{"r = f32[8] all-gather-done(f32[8] a)", "must be (inputs, outputs"},
                    Case{"r = f32[8,2] ragged-all-to-all(f32[4,2] a, f32[8,2] o, s64[4] s, s64[4] "
                         "t, s64[5] u, s64[4] v), "
                         "replica_groups={{0,1}}",
                         "one shape"}));

TEST(NotInferable, NeedsADeclaredShape) {
  EXPECT_PRED2(Contains, Infer("r = f32[2] reshape(f32[2] a)"), "cannot be left out");
  EXPECT_PRED2(Contains, Infer("r = f32[2] opt-barrier(f32[2] a)"), "cannot be left out");
  EXPECT_EQ(Infer("r = f32[2]{0} opt-barrier(f32[2] a)", true), "f32[2]{0}");
}

TEST(Reducers, AreChecked) {
  auto reduce = [](const std::string& reducer) {
    return Infer(reducer +
                 "ENTRY e {\n x = f32[2,3] parameter(0)\n z = f32[] constant(0)\n"
                 " ROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=red\n}");
  };
  EXPECT_EQ(reduce(Reducer("f32")), "f32[2]{0}");
  EXPECT_PRED2(Contains, reduce(Reducer("s32")), "initial value 0 is f32[]");
  EXPECT_PRED2(Contains, reduce("red {\n ROOT a = f32[] parameter(0)\n}\n"),
               "must have 2 parameters");
  EXPECT_PRED2(Contains,
               reduce("red {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT t = (f32[], "
                      "f32[]) tuple(a, b)\n}\n"),
               "must give a scalar");
  EXPECT_PRED2(Contains,
               reduce("red {\n a = bf16[] parameter(0)\n b = f32[] parameter(1)\n ROOT t = f32[] "
                      "add(a, b)\n}\n"),
               "parameter 0 of red is bf16[]");
}

}  // namespace
}  // namespace hlokit
