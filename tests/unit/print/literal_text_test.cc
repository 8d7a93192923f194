// Are numbers, strings and literals written as the reference writes them? Expected texts come from
// the recorded results in hlo-text-cases.md (case numbers are given) and from C's printf.
#include "src/print/literal_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "hlokit/float_codec.h"
#include "src/print/value_text.h"
#include "tests/unit/print/module_builder.h"

namespace hlokit {
namespace {

using E = ElementType;

std::string FloatText(E type, uint64_t bits) {
  TextBuffer out(8);
  AppendFloat(type, bits, &out);
  return out.Take();
}

std::string Text(const ModuleBuilder& b, LiteralId id) {
  TextBuffer out(8);
  AppendLiteral(b.module, id, LiteralShapes::kNone, &out);
  return out.Take();
}

template <typename T>
std::string Text(E type, std::vector<int64_t> sizes, std::vector<T> values) {
  ModuleBuilder b;
  return Text(b, b.Literal(b.Array(type, sizes), values));
}

std::string EncodedText(E type, std::vector<double> values) {
  ModuleBuilder b;
  std::vector<uint8_t> bytes;
  for (double value : values) {
    const uint64_t bits = EncodeFloat(type, value);
    for (int i = 0; i < StorageBytes(type); ++i)
      bytes.push_back(static_cast<uint8_t>(bits >> (8 * i)));
  }
  const int64_t count = static_cast<int64_t>(values.size());
  return Text(b, b.Literal(b.Array(type, {count}), bytes));
}

/// The rule of section 5.1 with the C library: digits, then more digits when strtof/strtod differ.
std::string ByPrintf(double value, int digits, int long_digits, bool single) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  const bool same = single ? std::strtof(text, nullptr) == static_cast<float>(value)
                           : std::strtod(text, nullptr) == value;
  if (!same) std::snprintf(text, sizeof text, "%.*g", long_digits, value);
  return text;
}

TEST(FloatText, AgreesWithPrintf) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const uint64_t bits = random();
    const double d = std::bit_cast<double>(bits);
    if (std::isfinite(d)) {
      ASSERT_EQ(FloatText(E::kF64, bits), ByPrintf(d, 15, 17, false));
    }
    const uint32_t low = static_cast<uint32_t>(bits);
    const float f = std::bit_cast<float>(low);
    if (std::isfinite(f)) {
      ASSERT_EQ(FloatText(E::kF32, low), ByPrintf(f, 6, 9, true));
    }
  }
  // Short decimals, where the first try should do.
  for (int i = -5000; i < 5000; ++i) {
    const double d = i / 100.0;
    ASSERT_EQ(FloatText(E::kF64, std::bit_cast<uint64_t>(d)), ByPrintf(d, 15, 17, false));
  }
}

TEST(FloatText, SmallTypesUseTheirDigits) {
  const struct {
    E type;
    int bits, digits;
  } rows[] = {{E::kF16, 16, 5},       {E::kBf16, 16, 4},      {E::kF8e5m2, 8, 2},
              {E::kF8e4m3, 8, 3},     {E::kF8e4m3fn, 8, 3},   {E::kF8e4m3b11fnuz, 8, 3},
              {E::kF8e4m3fnuz, 8, 3}, {E::kF8e5m2fnuz, 8, 2}, {E::kF8e3m4, 8, 3},
              {E::kF8e8m0fnu, 8, 2},  {E::kF4e2m1fn, 4, 2},   {E::kF6e3m2fn, 6, 2},
              {E::kF6e2m3fn, 6, 3}};
  for (const auto& row : rows) {
    for (uint64_t bits = 0; bits < uint64_t{1} << row.bits; ++bits) {
      const double value = DecodeFloat(row.type, bits);
      if (!std::isfinite(value)) continue;
      char text[64];
      std::snprintf(text, sizeof text, "%.*g", row.digits, value);
      ASSERT_EQ(FloatText(row.type, bits), text) << Info(row.type).text;
    }
  }
}

TEST(FloatText, RecordedResults) {
  // C04
  EXPECT_EQ(EncodedText(E::kF32, {0, -0.0, 1, 0.1, 3.14159274, 1e10, 1.5e-42, 16777217}),
            "{0, -0, 1, 0.1, 3.14159274, 1e+10, 1.49939e-42, 16777216}");
  EXPECT_EQ(EncodedText(E::kF64, {0.1, 1e300, 0.30000000000000004, -2.5}),
            "{0.1, 1e+300, 0.30000000000000004, -2.5}");
  EXPECT_EQ(EncodedText(E::kBf16, {1.5, 3.140625, 1e38}), "{1.5, 3.141, 9.969e+37}");
  EXPECT_EQ(EncodedText(E::kF16, {65504, 0.333, 6e-8}), "{65504, 0.33301, 5.9605e-08}");
  // C10
  EXPECT_EQ(EncodedText(E::kF8e4m3fn, {448, -0.001953125, NAN, 1.1}), "{448, -0.00195, nan, 1.12}");
  EXPECT_EQ(EncodedText(E::kF8e5m2, {57344, 0.1}), "{5.7e+04, 0.094}");
  EXPECT_EQ(EncodedText(E::kF8e8m0fnu, {0.5, 128}), "{0.5, 1.3e+02}");
  EXPECT_EQ(EncodedText(E::kF4e2m1fn, {6, -0.5, 1.5, 0}), "{6, -0.5, 1.5, 0}");
  // C42, H38
  EXPECT_EQ(EncodedText(E::kF32, {8388608, 123456.7f, 1234567, 0.000001f}),
            "{8388608, 123456.703, 1234567, 1e-06}");
  EXPECT_EQ(EncodedText(E::kF6e3m2fn, {28, 0.3}), "{28, 0.31}");
  EXPECT_EQ(EncodedText(E::kF6e2m3fn, {7.5, 0.3}), "{7.5, 0.25}");
}

TEST(FloatText, InfinitiesAndNans) {  // C05, C06, H37
  EXPECT_EQ(EncodedText(E::kF32, {INFINITY, -INFINITY, NAN}), "{inf, -inf, nan}");
  EXPECT_EQ(FloatText(E::kF32, 0x7f800001u), "nan(0x1)");
  EXPECT_EQ(FloatText(E::kF32, 0xffffffffu), "-nan(0x7fffff)");
  EXPECT_EQ(FloatText(E::kF32, 0xffc00000u), "-nan");
  EXPECT_EQ(FloatText(E::kF16, 0x7fff), "nan(0x3ff)");
  EXPECT_EQ(FloatText(E::kF16, 0xfe00), "-nan");
  EXPECT_EQ(FloatText(E::kF64, 0x7fffffffffffffffu), "nan(0xfffffffffffff)");
  EXPECT_EQ(FloatText(E::kF64, 0xfff0000000000001u), "-nan(0x1)");
  EXPECT_EQ(FloatText(E::kBf16, 0x7fc0), "nan");
  EXPECT_EQ(FloatText(E::kF8e5m2, 0x7c), "inf");
  EXPECT_EQ(FloatText(E::kF8e5m2, 0x7e), "nan");
}

TEST(LiteralText, Integers) {
  EXPECT_EQ(Text<int8_t>(E::kS8, {}, {-128}), "-128");  // C01
  EXPECT_EQ(Text<uint8_t>(E::kU8, {}, {255}), "255");
  EXPECT_EQ(Text<int64_t>(E::kS64, {}, {INT64_MIN}), "-9223372036854775808");
  EXPECT_EQ(Text<uint64_t>(E::kU64, {}, {UINT64_MAX}), "18446744073709551615");
  EXPECT_EQ(Text<int8_t>(E::kS4, {3}, {-8, 7, 0}), "{-8, 7, 0}");  // C02
  EXPECT_EQ(Text<uint8_t>(E::kU4, {2}, {15, 0}), "{15, 0}");
  EXPECT_EQ(Text<int8_t>(E::kS2, {2}, {-2, 1}), "{-2, 1}");
  EXPECT_EQ(Text<int8_t>(E::kS1, {2}, {-1, 0}), "{-1, 0}");  // C02b
  EXPECT_EQ(Text<uint8_t>(E::kU1, {2}, {1, 0}), "{1, 0}");
}

TEST(LiteralText, PredicatesAndComplex) {  // C03, C11
  EXPECT_EQ(Text<uint8_t>(E::kPred, {}, {1}), "true");
  EXPECT_EQ(Text<uint8_t>(E::kPred, {}, {0}), "false");
  EXPECT_EQ(Text<uint8_t>(E::kPred, {4}, {1, 0, 1, 1}), "{1, 0, 1, 1}");
  EXPECT_EQ(Text<float>(E::kC64, {2}, {1, -2.5, INFINITY, 0}), "{(1, -2.5), (inf, 0)}");
  EXPECT_EQ(Text<double>(E::kC128, {}, {0.1, 1e-300}), "(0.1, 1e-300)");
}

TEST(LiteralText, Braces) {  // C14, C15, H33
  EXPECT_EQ(Text<int32_t>(E::kS32, {2, 2}, {1, 2, 3, 4}), "{ { 1, 2 }, { 3, 4 } }");
  EXPECT_EQ(Text<int32_t>(E::kS32, {2, 1}, {1, 2}), "{ {1}, {2} }");
  EXPECT_EQ(Text<int32_t>(E::kS32, {1, 2, 2}, {1, 2, 3, 4}), "{ { { 1, 2 }, { 3, 4 } } }");
  EXPECT_EQ(Text<int32_t>(E::kS32, {2, 1, 1, 2}, {1, 2, 3, 4}),
            "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 } } }, { /*i0=1*/ { /*i1=0*/ { 3, 4 } } } }");
  EXPECT_EQ(Text<float>(E::kF32, {0}, {}), "{}");
  EXPECT_EQ(Text<float>(E::kF32, {2, 0}, {}), "{ {}, {} }");
  EXPECT_EQ(Text<float>(E::kF32, {0, 2}, {}), "{  }");
  EXPECT_EQ(Text<float>(E::kF32, {2, 0, 1}, {}), "{ {  }, {  } }");
  EXPECT_EQ(Text<float>(E::kF32, {1, 0, 2, 2}, {}), "{ { /*i0=0*/ } }");
  EXPECT_EQ(Text<float>(E::kF32, {1, 1}, {5}), "{ {5} }");
  EXPECT_EQ(Text<float>(E::kF32, {3, 1, 1}, {1, 2, 3}), "{ { {1} }, { {2} }, { {3} } }");
}

TEST(LiteralText, TuplesAndSizes) {  // C16, C21, C22
  ModuleBuilder b;
  const LiteralId one = b.Literal<int32_t>(b.S32(), {1});
  const LiteralId two = b.Literal<float>(b.F32({2}), {2, 3});
  const LiteralId yes = b.Literal<uint8_t>(b.Array(E::kPred, {}), {1});
  const ShapeId inner_shape = b.Tuple({b.Array(E::kPred, {})});
  const LiteralId inner = b.module.AddLiteral({.shape = inner_shape, .elements = {yes}});
  const LiteralId outer = b.module.AddLiteral(
      {.shape = b.Tuple({b.S32(), b.F32({2}), inner_shape}), .elements = {one, two, inner}});
  EXPECT_EQ(Text(b, outer), "( 1, {2, 3}, ( true ) )");
  EXPECT_FALSE(IsSmallConstant(b.module, outer));
  EXPECT_TRUE(IsSmallConstant(b.module, b.Literal<int32_t>(b.S32({10}), std::vector<int32_t>(10))));
  EXPECT_FALSE(
      IsSmallConstant(b.module, b.Literal<int32_t>(b.S32({11}), std::vector<int32_t>(11))));
  TextBuffer out(8);
  AppendLiteral(b.module, two, LiteralShapes::kOnLeaves, &out);
  EXPECT_EQ(out.Take(), "f32[2]{0} {2, 3}");
}

TEST(LiteralText, UnknownValues) {
  ModuleBuilder b;
  EXPECT_EQ(Text(b, b.module.AddLiteral({.shape = b.S32({4, 3}), .elided = true})), "{...}");
  // Fewer bytes than the shape asks for.
  EXPECT_EQ(Text(b, b.Literal<int32_t>(b.S32({3}), {1, 2})), "{...}");
  // Braces without end, no elements.
  EXPECT_EQ(Text(b, b.Literal<float>(b.F32({int64_t{1} << 40, 0}), {})), "{...}");
}

TEST(Strings, Escapes) {
  TextBuffer out(1);
  AppendEscaped(std::string_view("a\n\r\t\"'\\\x01\x7f\xc3\xa9\0z", 13), &out);
  EXPECT_EQ(out.Take(), "a\\n\\r\\t\\\"\\'\\\\\\001\\177\\303\\251\\000z");
}

TEST(Strings, BareBraces) {
  EXPECT_TRUE(IsBareBraces("{}"));
  EXPECT_TRUE(IsBareBraces(R"({"a": "}", b})"));
  EXPECT_TRUE(IsBareBraces(R"({"a\"}": {1}} )"));
  EXPECT_FALSE(IsBareBraces(""));
  EXPECT_FALSE(IsBareBraces("plain"));
  EXPECT_FALSE(IsBareBraces("{"));
  EXPECT_FALSE(IsBareBraces("{}}"));
  EXPECT_FALSE(IsBareBraces("{} // x"));
  EXPECT_FALSE(IsBareBraces("{\"}"));
}

}  // namespace
}  // namespace hlokit
