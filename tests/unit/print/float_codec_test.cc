// Do all bit patterns of the small floating types stand for the right numbers, and is every number
// rounded to the nearest pattern? The second opinion here is written from the definition of the
// formats (sign, exponent, mantissa as std::ldexp) and from a search over all values.
#include "hlokit/float_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace hlokit {
namespace {

using E = ElementType;

/// One small format in plain words: widths, bias, and which codes are special.
struct Plain {
  E type;
  int sign, exponent, mantissa, bias;
  bool has_inf, has_nan_block, nan_all_ones, nan_minus_zero, has_zero;
  double largest;
};

const Plain kPlain[] = {
    {E::kF16, 1, 5, 10, 15, true, true, false, false, true, 65504},
    {E::kBf16, 1, 8, 7, 127, true, true, false, false, true, 3.3895313892515355e38},
    {E::kF8e5m2, 1, 5, 2, 15, true, true, false, false, true, 57344},
    {E::kF8e4m3, 1, 4, 3, 7, true, true, false, false, true, 240},
    {E::kF8e3m4, 1, 3, 4, 3, true, true, false, false, true, 15.5},
    {E::kF8e4m3fn, 1, 4, 3, 7, false, false, true, false, true, 448},
    {E::kF8e4m3b11fnuz, 1, 4, 3, 11, false, false, false, true, true, 30},
    {E::kF8e4m3fnuz, 1, 4, 3, 8, false, false, false, true, true, 240},
    {E::kF8e5m2fnuz, 1, 5, 2, 16, false, false, false, true, true, 57344},
    {E::kF8e8m0fnu, 0, 8, 0, 127, false, false, true, false, false, 1.7014118346046923e38},
    {E::kF4e2m1fn, 1, 2, 1, 1, false, false, false, false, true, 6},
    {E::kF6e3m2fn, 1, 3, 2, 3, false, false, false, false, true, 28},
    {E::kF6e2m3fn, 1, 2, 3, 1, false, false, false, false, true, 7.5},
};

std::string Name(const testing::TestParamInfo<Plain>& info) {
  return std::string(Info(info.param.type).text);
}

class SmallFloat : public testing::TestWithParam<Plain> {
 protected:
  const Plain& p = GetParam();
  int width() const { return p.sign + p.exponent + p.mantissa; }
  uint64_t codes() const { return uint64_t{1} << width(); }
  uint64_t sign_bit() const { return p.sign == 0 ? 0 : codes() / 2; }

  double Formula(uint64_t code) const {
    const bool negative = (code & sign_bit()) != 0;
    const uint64_t magnitude = code & ~sign_bit();
    const uint64_t all_ones = (p.sign == 0 ? codes() : codes() / 2) - 1;
    const int e = static_cast<int>(magnitude >> p.mantissa);
    const double m = static_cast<double>(magnitude & ((uint64_t{1} << p.mantissa) - 1));
    if (p.nan_minus_zero && negative && magnitude == 0) return std::nan("");
    if (p.nan_all_ones && magnitude == all_ones) return std::nan("");
    double value;
    if (p.has_inf && e == (1 << p.exponent) - 1) {
      value = m == 0 ? INFINITY : std::nan("");
    } else if (e == 0 && p.has_zero) {
      value = std::ldexp(m, 1 - p.bias - p.mantissa);
    } else {
      value = std::ldexp(1 + std::ldexp(m, -p.mantissa), e - p.bias);
    }
    return negative ? -value : value;
  }
};

TEST_P(SmallFloat, DecodesEveryPattern) {
  double largest = 0;
  for (uint64_t code = 0; code < codes(); ++code) {
    const double want = Formula(code);
    const double got = DecodeFloat(p.type, code);
    ASSERT_EQ(std::isnan(want), std::isnan(got)) << code;
    ASSERT_EQ(std::isnan(want), IsNan(p.type, code)) << code;
    if (std::isnan(want)) continue;
    ASSERT_EQ(want, got) << code;
    ASSERT_EQ(std::signbit(want), std::signbit(got)) << code;
    if (std::isfinite(want)) largest = std::max(largest, want);
  }
  EXPECT_EQ(LargestFinite(p.type), p.largest);
  EXPECT_EQ(LargestFinite(p.type), largest);
}

TEST_P(SmallFloat, EncodesItsOwnValues) {
  for (uint64_t code = 0; code < codes(); ++code) {
    if (IsNan(p.type, code)) continue;
    ASSERT_EQ(EncodeFloat(p.type, DecodeFloat(p.type, code)), code);
  }
}

/// Between two neighbours: below the middle the lower one, above it the upper one, in the middle
/// the even one (the upper one for f8e8m0fnu).
TEST_P(SmallFloat, RoundsBetweenNeighbours) {
  const uint64_t magnitudes = p.sign == 0 ? codes() : codes() / 2;
  for (uint64_t code = 0; code + 1 < magnitudes; ++code) {
    const double low = Formula(code), high = Formula(code + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const double middle = low + (high - low) / 2;  // exact in double
    const uint64_t even = p.has_zero ? code + (code & 1) : code + 1;
    ASSERT_EQ(EncodeFloat(p.type, std::nextafter(middle, low)), code);
    ASSERT_EQ(EncodeFloat(p.type, middle), even);
    ASSERT_EQ(EncodeFloat(p.type, std::nextafter(middle, high)), code + 1);
    if (p.sign == 0) continue;
    const uint64_t minus_zero = p.nan_minus_zero ? 0 : sign_bit();
    ASSERT_EQ(EncodeFloat(p.type, -middle), even == 0 ? minus_zero : (even | sign_bit()));
    ASSERT_EQ(EncodeFloat(p.type, -std::nextafter(middle, high)), (code + 1) | sign_bit());
  }
}

TEST_P(SmallFloat, OverflowsAsTheFormatSays) {
  // The next number that the format would have with one more exponent.
  const uint64_t top = EncodeFloat(p.type, p.largest);
  const double step = p.mantissa == 0 ? p.largest : p.largest - Formula(top - 1);
  const double limit = p.largest + step / 2;
  EXPECT_EQ(EncodeFloat(p.type, std::nextafter(limit, 0)), top);
  for (double value : {std::nextafter(limit, INFINITY), p.largest * 4, 1e300, double{INFINITY}}) {
    const uint64_t code = EncodeFloat(p.type, value);
    if (p.has_inf) {
      EXPECT_EQ(DecodeFloat(p.type, code), INFINITY) << value;
    } else if (p.nan_all_ones || p.nan_minus_zero) {
      EXPECT_TRUE(IsNan(p.type, code)) << value;
    } else {
      EXPECT_EQ(code, top) << value;
    }
    if (p.has_inf) {
      EXPECT_EQ(DecodeFloat(p.type, EncodeFloat(p.type, -value)), -INFINITY);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallFloat, testing::ValuesIn(kPlain), Name);

// What the ml_dtypes package of Python (0.6.0) makes of double 0.0, -0.0, inf, nan, -nan, 1e30,
// 1e-30, -1.
TEST(FloatCodec, SpecialValuesAgreeWithMlDtypes) {
  struct Row {
    E type;
    uint64_t zero, minus_zero, inf, nan, minus_nan, huge, tiny, minus_one;
  };
  const Row rows[] = {
      {E::kF8e5m2, 0x00, 0x80, 0x7c, 0x7e, 0xfe, 0x7c, 0x00, 0xbc},
      {E::kF8e4m3, 0x00, 0x80, 0x78, 0x7c, 0xfc, 0x78, 0x00, 0xb8},
      {E::kF8e4m3fn, 0x00, 0x80, 0x7f, 0x7f, 0xff, 0x7f, 0x00, 0xb8},
      {E::kF8e4m3b11fnuz, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80, 0x00, 0xd8},
      {E::kF8e3m4, 0x00, 0x80, 0x70, 0x78, 0xf8, 0x70, 0x00, 0xb0},
      {E::kF8e5m2fnuz, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80, 0x00, 0xc0},
      {E::kF8e4m3fnuz, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80, 0x00, 0xc0},
      {E::kF8e8m0fnu, 0xff, 0xff, 0xff, 0xff, 0xff, 0xe3, 0x1b, 0xff},
      {E::kF4e2m1fn, 0x00, 0x08, 0x07, 0x08, 0x00, 0x07, 0x00, 0x0a},
      {E::kF6e3m2fn, 0x00, 0x20, 0x1f, 0x20, 0x00, 0x1f, 0x00, 0x2c},
      {E::kF6e2m3fn, 0x00, 0x20, 0x1f, 0x20, 0x00, 0x1f, 0x00, 0x28},
      {E::kBf16, 0x0000, 0x8000, 0x7f80, 0x7fc0, 0xffc0, 0x714a, 0x0da2, 0xbf80},
  };
  const double nan = std::nan("");
  for (const Row& r : rows) {
    SCOPED_TRACE(Info(r.type).text);
    EXPECT_EQ(EncodeFloat(r.type, 0.0), r.zero);
    EXPECT_EQ(EncodeFloat(r.type, -0.0), r.minus_zero);
    EXPECT_EQ(EncodeFloat(r.type, INFINITY), r.inf);
    EXPECT_EQ(EncodeFloat(r.type, nan), r.nan);
    EXPECT_EQ(EncodeFloat(r.type, std::copysign(nan, -1)), r.minus_nan);
    EXPECT_EQ(EncodeFloat(r.type, 1e30), r.huge);
    EXPECT_EQ(EncodeFloat(r.type, 1e-30), r.tiny);
    EXPECT_EQ(EncodeFloat(r.type, -1), r.minus_one);
  }
}

TEST(FloatCodec, NanPayloads) {
  EXPECT_EQ(NanPayloadBits(E::kF64), 52);
  EXPECT_EQ(NanPayloadBits(E::kF32), 23);
  EXPECT_EQ(NanPayloadBits(E::kF16), 10);
  EXPECT_EQ(NanPayloadBits(E::kBf16), 7);
  EXPECT_EQ(NanPayloadBits(E::kF8e3m4), 4);
  EXPECT_EQ(NanPayloadBits(E::kF8e4m3), 3);
  EXPECT_EQ(NanPayloadBits(E::kF8e5m2), 2);
  EXPECT_EQ(NanPayloadBits(E::kF8e4m3fn), 0);
  EXPECT_EQ(NanPayloadBits(E::kS32), 0);
  EXPECT_EQ(DefaultNan(E::kF32), 0x7fc00000u);
  EXPECT_EQ(DefaultNan(E::kF32, true), 0xffc00000u);
  EXPECT_EQ(DefaultNan(E::kF64), 0x7ff8000000000000u);
  EXPECT_EQ(MakeNan(E::kF32, false, 0x12345), 0x7f812345u);
  EXPECT_EQ(NanPayload(E::kF32, 0x7f812345u), 0x12345u);
  EXPECT_EQ(DefaultNan(E::kF8e4m3fnuz, true), 0x80u);
  EXPECT_EQ(DefaultNan(E::kF8e4m3fn, true), 0xffu);
}

TEST(FloatCodec, LargeTypesAreTheMachinesOwn) {
  EXPECT_EQ(EncodeFloat(E::kF32, 0.1), 0x3dcccccdu);
  EXPECT_EQ(DecodeFloat(E::kF32, 0x3dcccccdu), 0.1f);
  EXPECT_EQ(EncodeFloat(E::kF64, -2.0), 0xc000000000000000u);
  EXPECT_EQ(LargestFinite(E::kF32), 3.4028234663852886e38);
  EXPECT_EQ(LargestFinite(E::kF64), 1.7976931348623157e308);
  EXPECT_TRUE(std::signbit(DecodeFloat(E::kF32, 0xffc00001u)));
  EXPECT_EQ(LargestFinite(E::kS32), 0);
  EXPECT_FALSE(IsNan(E::kS32, 0xffffffffu));
}

}  // namespace
}  // namespace hlokit
