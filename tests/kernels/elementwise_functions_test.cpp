// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/kernels/elementwise_functions.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>

#include <hyperparallel/kernels/swiglu.hpp>

namespace {

namespace fn = hyperparallel::kernels::functions;

static_assert(fn::neg::of(3) == -3 && fn::abs::of(-3) == 3 && fn::square::of(-3) == 9 && fn::relu::of(-2) == 0);
static_assert(fn::logical_not::of(0) && !fn::logical_not::of(2) && fn::logical_and::of(1, 2) &&
              !fn::logical_or::of(0, 0));
static_assert(fn::equal::of(1, 1) && fn::not_equal::of(1, 2) && fn::less_equal::of(1, 1) && fn::greater::of(2, 1));
static_assert(fn::less::of(1, 2) && !fn::greater_equal::of(1, 2) && fn::where::of(true, 1, 2) == 1);
static_assert(fn::masked_fill::of(1, true, 2) == 2);

// In float and in double, within a few units in the last place of 1 or of the result, whichever is larger.
template <class Function, class Definition>
void check(double from, double to, Definition definition) {
  for (int i = 0; i <= 200; ++i) {
    const float x = static_cast<float>(from + (to - from) * i / 200);
    const double exact = definition(static_cast<double>(x));
    ASSERT_LE(std::abs(static_cast<double>(Function::of(x)) - exact), 1e-6 * (1 + std::abs(exact))) << x;
    ASSERT_LE(std::abs(Function::of(static_cast<double>(x)) - exact), 4e-15 * (1 + std::abs(exact))) << x;
  }
}

TEST(ElementwiseFunctions, AgreeWithTheirDefinitions) {
  check<fn::identity>(-3, 3, [](double x) { return x; });
  check<fn::neg>(-3, 3, [](double x) { return -x; });
  check<fn::abs>(-3, 3, [](double x) { return std::sqrt(x * x); });
  check<fn::square>(-3, 3, [](double x) { return x * x; });
  check<fn::exp>(-3, 3, [](double x) { return std::exp(x); });
  check<fn::log>(0.1, 9, [](double x) { return std::log(x); });
  check<fn::sqrt>(0, 9, [](double x) { return std::sqrt(x); });
  check<fn::rsqrt>(0.1, 9, [](double x) { return std::pow(x, -0.5); });
  check<fn::sin>(-3, 3, [](double x) { return std::sin(x); });
  check<fn::cos>(-3, 3, [](double x) { return std::cos(x); });
  check<fn::tanh>(-3, 3, [](double x) { return std::tanh(x); });
  check<fn::sigmoid>(-9, 9, [](double x) { return 0.5 + 0.5 * std::tanh(x / 2); });
  check<fn::silu>(-9, 9, [](double x) { return x * (0.5 + 0.5 * std::tanh(x / 2)); });
  check<fn::relu>(-3, 3, [](double x) { return std::fmax(x, 0); });
  check<fn::gelu>(-4, 4, [](double x) { return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); });
  check<fn::gelu_tanh>(-4, 4, [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3))));
  });
}

TEST(ElementwiseFunctions, SlopeOfGeluByTanhIsItsDifferenceQuotient) {
  for (int i = -60; i <= 60; ++i) {
    const double x = i / 10.0, h = 1e-5;
    const double quotient = (fn::gelu_tanh::of(x + h) - fn::gelu_tanh::of(x - h)) / (2 * h);
    EXPECT_NEAR(fn::gelu_tanh_gradient::of(3.0, x), 3 * quotient, 1e-9) << x;
  }
}

TEST(ElementwiseFunctions, SiluHasTheBitsOfSwiglu) {
  for (int i = -300; i <= 300; ++i) {
    const float in[2] = {static_cast<float>(i) / 7, 1.0F};
    float out = 0;
    hyperparallel::swiglu(1, 1, in, 2, &out, 1);
    ASSERT_EQ(fn::silu::of(in[0]), out);
  }
}

// q = ⌊a / b⌋ and r = a − q·b, for every small pair, of integers and of floats that are integers.
TEST(ElementwiseFunctions, DivisionRoundsDown) {
  for (int a = -20; a <= 20; ++a)
    for (int b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      int q = 100;  // the largest with q ≤ a / b, said without dividing
      while (b > 0 ? q * b > a : q * b < a) --q;
      ASSERT_EQ(fn::floor_div::of(a, b), q) << a << "/" << b;
      ASSERT_EQ(fn::mod::of(a, b), a - q * b) << a << "/" << b;
      const float fa = static_cast<float>(a), fb = static_cast<float>(b);
      ASSERT_EQ(fn::floor_div::of(fa, fb), static_cast<float>(q));
      ASSERT_EQ(fn::mod::of(fa, fb), static_cast<float>(a - q * b));
      ASSERT_EQ(fn::div::of(a, b), a / b);
    }
  EXPECT_EQ(fn::floor_div::of(7.5, -2.0), -4.0);
  EXPECT_EQ(fn::mod::of(7.5, -2.0), -0.5);
  EXPECT_EQ(fn::mod::of(std::int8_t{-7}, std::int8_t{4}), 1);
}

TEST(ElementwiseFunctions, IntegerPowersAreRepeatedProducts) {
  for (std::int64_t x = -5; x <= 5; ++x) {
    std::int64_t product = 1;
    for (std::int64_t n = 0; n <= 20; ++n, product *= x) ASSERT_EQ(fn::pow::of(x, n), product) << x << "^" << n;
  }
  EXPECT_EQ(fn::pow::of(2, 30), 1 << 30);
  EXPECT_EQ(fn::pow::of(2.0, -2.0), 0.25);
}

TEST(ElementwiseFunctions, TheLargerAndTheSmallerHandOnANan) {
  for (const float a : {-1.0F, 2.0F, NAN})
    for (const float b : {-1.0F, 2.0F, NAN}) {
      const bool known = a == a && b == b;
      ASSERT_EQ(std::isnan(fn::maximum::of(a, b)), !known);
      ASSERT_EQ(std::isnan(fn::minimum::of(a, b)), !known);
      if (!known) continue;
      ASSERT_EQ(fn::maximum::of(a, b), std::fmax(a, b));
      ASSERT_EQ(fn::minimum::of(a, b), std::fmin(a, b));
    }
  EXPECT_EQ(fn::add::of(2, 3), 5);
  EXPECT_EQ(fn::sub::of(2, 3), -1);
  EXPECT_EQ(fn::mul::of(2, 3), 6);
}

}  // namespace
