// Elementwise instructions at their edges; expected values by hand from the rules of
// docs/reference/run.md.
#include "tests/unit/eval/eval_test_util.h"

namespace hlokit {
namespace {

std::string Binary(const std::string& type, const std::string& x, const std::string& y,
                   const std::string& opcode) {
  const std::string out =
      RunEntry("x = " + type + " constant(" + x + ")\ny = " + type + " constant(" + y +
               ")\nROOT r = " + type + " " + opcode + "(x, y)\n");
  const size_t at = out.find("] ");
  return at == std::string::npos ? out : out.substr(at + 2, out.size() - at - 3);
}

std::string Unary(const std::string& from, const std::string& x, const std::string& to,
                  const std::string& opcode) {
  const std::string out =
      RunEntry("x = " + from + " constant(" + x + ")\nROOT r = " + to + " " + opcode + "\n");
  const size_t at = out.find("] ");
  return at == std::string::npos ? out : out.substr(at + 2, out.size() - at - 3);
}

TEST(Integers, DivisionAndRemainder) {
  EXPECT_EQ(Binary("s32[4]", "{7, 7, -7, -2147483648}", "{0, 2, 2, -1}", "divide"),
            "-1 3 -3 -2147483648");
  EXPECT_EQ(Binary("s32[4]", "{7, 7, -7, -2147483648}", "{0, 2, 2, -1}", "remainder"), "7 1 -1 0");
  EXPECT_EQ(Binary("u8[2]", "{7, 200}", "{0, 7}", "divide"), "255 28");
  EXPECT_EQ(Binary("u4[2]", "{7, 15}", "{0, 4}", "divide"), "15 3");
}

TEST(Integers, Wrap) {
  EXPECT_EQ(Binary("s8[2]", "{127, -128}", "{1, -1}", "add"), "-128 127");
  EXPECT_EQ(Binary("s4[3]", "{7, -8, 3}", "{1, 1, 5}", "subtract"), "6 7 -2");
  EXPECT_EQ(Binary("u2[2]", "{3, 2}", "{3, 3}", "multiply"), "1 2");
  EXPECT_EQ(Binary("s64[1]", "{9223372036854775807}", "{1}", "add"), "-9223372036854775808");
}

TEST(Integers, HighHalfOfProducts) {
  EXPECT_EQ(Binary("s32[2]", "{-1, 65536}", "{5, 65536}", "mulhi"), "-1 1");
  EXPECT_EQ(Binary("u64[1]", "{18446744073709551615}", "{3}", "mulhi"), "2");
  EXPECT_EQ(Binary("u2[1]", "{3}", "{3}", "mulhi"), "2");  // 9 = 10 01
}

TEST(Integers, Shifts) {
  EXPECT_EQ(Binary("s32[3]", "{1, 1, -8}", "{31, 32, 1}", "shift-left"), "-2147483648 0 -16");
  EXPECT_EQ(Binary("s32[3]", "{-1, -8, -8}", "{40, 1, 32}", "shift-right-arithmetic"), "-1 -4 -1");
  EXPECT_EQ(Binary("s8[2]", "{-1, -1}", "{1, 8}", "shift-right-logical"), "127 0");
  EXPECT_EQ(Binary("s4[2]", "{-8, 1}", "{3, 4}", "shift-right-logical"), "1 0");
}

TEST(Integers, Powers) {
  EXPECT_EQ(Binary("s32[5]", "{2, 1, -1, 3, 0}", "{-1, -5, -2, 4, 0}", "power"), "0 1 0 81 1");
}

TEST(Integers, Bits) {
  EXPECT_EQ(Unary("s8[3]", "{-1, 1, 0}", "s8[3]", "count-leading-zeros(x)"), "0 7 8");
  EXPECT_EQ(Unary("s4[2]", "{-1, 1}", "s4[2]", "popcnt(x)"), "4 1");
  EXPECT_EQ(Unary("u4[1]", "{5}", "u4[1]", "not(x)"), "10");
  EXPECT_EQ(Unary("s8[2]", "{-128, 5}", "s8[2]", "abs(x)"), "-128 5");
}

TEST(Convert, FloatsToIntegersSaturate) {
  EXPECT_EQ(Unary("f32[5]", "{1e10, -1e10, nan, 2.9, -2.9}", "s32[5]", "convert(x)"),
            "2147483647 -2147483648 0 2 -2");
  EXPECT_EQ(Unary("f32[4]", "{-3, 300, nan, inf}", "u8[4]", "convert(x)"), "0 255 0 255");
  EXPECT_EQ(Unary("f32[2]", "{9.5, -9.5}", "s4[2]", "convert(x)"), "7 -8");
}

TEST(Convert, IntegersWrapAndRoundOnce) {
  EXPECT_EQ(Unary("s32[2]", "{257, 130}", "s8[2]", "convert(x)"), "1 -126");
  EXPECT_EQ(Unary("s32[2]", "{9, -9}", "s4[2]", "convert(x)"), "-7 7");
  // 2^53 + 2^45 + 1 is just above the middle of two bf16 numbers.
  EXPECT_EQ(Unary("s64[1]", "{9042383626829825}", "bf16[1]", "convert(x)"), "0x1.02p+53");
  EXPECT_EQ(Unary("f32[3]", "{0, 0.5, nan}", "pred[3]", "convert(x)"), "0 1 1");
}

TEST(Convert, LowFloats) {
  EXPECT_EQ(Unary("f32[3]", "{1.00390625, 1.01171875, 448}", "bf16[3]", "convert(x)"),
            "0x1p+0 0x1.04p+0 0x1.cp+8");
  EXPECT_EQ(Unary("f32[3]", "{1000, 448, 0.3}", "f8e4m3fn[3]", "convert(x)"),
            "nan 0x1.cp+8 0x1.4p-2");
}

TEST(Floats, LimitsPassNansOn) {
  EXPECT_EQ(Binary("f32[3]", "{nan, 1, 2}", "{1, nan, 3}", "maximum"), "nan nan 0x1.8p+1");
  EXPECT_EQ(Binary("bf16[2]", "{nan, 1}", "{1, 2}", "minimum"), "nan 0x1p+0");
  EXPECT_EQ(RunEntry("l = f32[3] constant({0, 0, 0})\nh = f32[3] constant({1, 1, 1})\n"
                     "x = f32[3] constant({nan, -5, 5})\nROOT r = f32[3] clamp(l, x, h)\n"),
            "{} f32[3] nan 0x0p+0 0x1p+0\n");
}

TEST(Floats, ReducePrecision) {
  EXPECT_EQ(Unary("f32[4]", "{1.5, 1.25, 1e10, 1e-10}", "f32[4]",
                  "reduce-precision(x), exponent_bits=5, mantissa_bits=1"),
            "0x1.8p+0 0x1p+0 inf 0x0p+0");
}

TEST(Floats, Rounding) {
  EXPECT_EQ(Unary("f32[4]", "{0.5, 1.5, -2.5, 2.4}", "f32[4]", "round-nearest-even(x)"),
            "0x0p+0 0x1p+1 -0x1p+1 0x1p+1");
  EXPECT_EQ(Unary("f32[3]", "{0.5, -2.5, 2.4}", "f32[3]", "round-nearest-afz(x)"),
            "0x1p+0 -0x1.8p+1 0x1p+1");
}

TEST(Compare, TotalOrder) {
  const auto compare = [](const std::string& type) {
    return RunEntry(
        "x = f32[4] constant({-nan, -0.0, 0, nan})\ny = f32[4] constant({-inf, 0, -0.0, inf})\n"
        "ROOT r = pred[4] compare(x, y), direction=LT" +
        type + "\n");
  };
  EXPECT_EQ(compare(", type=TOTALORDER"), "{} pred[4] 1 1 0 0\n");
  EXPECT_EQ(compare(""), "{} pred[4] 0 0 0 0\n");
}

TEST(Complex, Arithmetic) {
  EXPECT_EQ(Binary("c64[1]", "{(1, 2)}", "{(3, -1)}", "multiply"), "0x1.4p+2,0x1.4p+2");
  EXPECT_EQ(Unary("c64[1]", "{(3, 4)}", "f32[1]", "abs(x)"), "0x1.4p+2");
  EXPECT_EQ(Unary("c64[1]", "{(3, 4)}", "f32[1]", "imag(x)"), "0x1p+2");
}

TEST(BitcastConvert, PacksTheMinorDimension) {
  EXPECT_EQ(Unary("u8[2,2]", "{ {1, 2}, {3, 4} }", "u16[2]", "bitcast-convert(x)"), "513 1027");
  EXPECT_EQ(Unary("u8[1]", "{33}", "u4[1,2]", "bitcast-convert(x)"), "1 2");
}

}  // namespace
}  // namespace hlokit
