// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/narrow_float.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace {

namespace hp = hyperparallel;

static_assert(hp::detail::to_bf16(1.0F).bits == 0x3f80 && hp::detail::to_f16(1.0F).bits == 0x3c00);
static_assert(hp::detail::to_float(hp::bf16_bits{0x4049}) == 3.140625F &&
              hp::detail::to_float(hp::f16_bits{0x4248}) == 3.140625F);

/// One of the two formats, for tests that hold for both.
template <class Bits, int Fraction, int Bias>
struct format {
  using bits = Bits;
  static constexpr int infinity = ((1 << (15 - Fraction)) - 1) << Fraction;

  /// The definition: sign, exponent, fraction.
  static double value(int pattern) {
    const int exponent = (pattern & 0x7fff) >> Fraction, fraction = pattern & ((1 << Fraction) - 1);
    const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - Bias - Fraction)
                                           : std::ldexp(fraction + (1 << Fraction), exponent - Bias - Fraction);
    return (pattern & 0x8000) != 0 ? -magnitude : magnitude;
  }
};
using bf16_format = format<hp::bf16_bits, 7, 127>;
using f16_format = format<hp::f16_bits, 10, 15>;

template <class X>
int rounded(bf16_format, X x) {
  return hp::detail::to_bf16(x).bits;
}
template <class X>
int rounded(f16_format, X x) {
  return hp::detail::to_f16(x).bits;
}

template <class Format>
class NarrowFloat : public testing::Test {};
using formats = testing::Types<bf16_format, f16_format>;
TYPED_TEST_SUITE(NarrowFloat, formats);

TYPED_TEST(NarrowFloat, EveryNumberIsWhatItsBitsSayAndComesBack) {
  for (int pattern = 0; pattern < 0x10000; ++pattern) {
    const float x = hp::detail::to_float(typename TypeParam::bits{static_cast<std::uint16_t>(pattern)});
    const int magnitude = pattern & 0x7fff;
    if (magnitude > TypeParam::infinity) {
      ASSERT_TRUE(std::isnan(x)) << pattern;
      const int back = rounded(TypeParam{}, x);
      ASSERT_GT(back & 0x7fff, TypeParam::infinity) << pattern;
      ASSERT_EQ(back & 0x8000, pattern & 0x8000);
      continue;
    }
    if (magnitude == TypeParam::infinity)
      ASSERT_EQ(x, (pattern & 0x8000) != 0 ? -INFINITY : INFINITY);
    else
      ASSERT_EQ(static_cast<double>(x), TypeParam::value(pattern)) << pattern;
    ASSERT_EQ(std::signbit(x), (pattern & 0x8000) != 0);
    ASSERT_EQ(rounded(TypeParam{}, x), pattern);
    ASSERT_EQ(rounded(TypeParam{}, static_cast<double>(x)), pattern);
  }
}

// Between every two neighbours: the middle goes to the even one, what is next to the middle to the nearer one, also
// where only a double can be that near. The last gap ends at the power of two that stands for infinity.
TYPED_TEST(NarrowFloat, RoundsToNearestTiesToEven) {
  for (int low = 0; low < TypeParam::infinity; ++low)
    for (const int sign : {0, 0x8000}) {
      const double a = TypeParam::value(low | sign), b = TypeParam::value((low + 1) | sign), middle = a + (b - a) / 2;
      const int even = low % 2 == 0 ? low : low + 1;
      ASSERT_EQ(rounded(TypeParam{}, middle), even | sign) << low;
      ASSERT_EQ(rounded(TypeParam{}, std::nextafter(middle, a)), low | sign) << low;
      ASSERT_EQ(rounded(TypeParam{}, std::nextafter(middle, b)), (low + 1) | sign) << low;
      const float narrow = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(narrow), middle);
      ASSERT_EQ(rounded(TypeParam{}, narrow), even | sign) << low;
      ASSERT_EQ(rounded(TypeParam{}, std::nextafter(narrow, static_cast<float>(a))), low | sign) << low;
      ASSERT_EQ(rounded(TypeParam{}, std::nextafter(narrow, static_cast<float>(b))), (low + 1) | sign) << low;
    }
}

TYPED_TEST(NarrowFloat, IntegersAreRoundedOnce) {
  for (int low = 0; low < TypeParam::infinity; ++low) {
    const double a = TypeParam::value(low), b = TypeParam::value(low + 1), middle = a + (b - a) / 2;
    if (middle < 2 || b >= 0x1p63 || middle != std::floor(middle) || (b - a) / 2 < 1) continue;
    const auto i = static_cast<std::int64_t>(middle);
    const int even = low % 2 == 0 ? low : low + 1;
    for (const int sign : {1, -1}) {
      const int bit = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(rounded(TypeParam{}, sign * i), even | bit) << i;
      ASSERT_EQ(rounded(TypeParam{}, sign * (i - 1)), low | bit) << i;
      ASSERT_EQ(rounded(TypeParam{}, sign * (i + 1)), (low + 1) | bit) << i;
    }
  }
  EXPECT_EQ(rounded(TypeParam{}, std::int8_t{-3}), rounded(TypeParam{}, -3.0F));
  EXPECT_EQ(rounded(TypeParam{}, true), rounded(TypeParam{}, 1.0F));
  EXPECT_EQ(rounded(TypeParam{}, std::numeric_limits<std::int64_t>::min()), rounded(TypeParam{}, -0x1p63));
}

TYPED_TEST(NarrowFloat, TheEndsOfTheRange) {
  for (const int sign : {1, -1}) {
    const int bit = sign < 0 ? 0x8000 : 0;
    EXPECT_EQ(rounded(TypeParam{}, sign * std::numeric_limits<double>::max()), TypeParam::infinity | bit);
    EXPECT_EQ(rounded(TypeParam{}, static_cast<float>(sign) * std::numeric_limits<float>::max()),
              TypeParam::infinity | bit);
    EXPECT_EQ(rounded(TypeParam{}, sign * std::numeric_limits<double>::denorm_min()), bit);
    EXPECT_EQ(rounded(TypeParam{}, static_cast<double>(sign) * INFINITY), TypeParam::infinity | bit);
  }
  EXPECT_GT(rounded(TypeParam{}, std::numeric_limits<double>::quiet_NaN()) & 0x7fff, TypeParam::infinity);
}

}  // namespace
