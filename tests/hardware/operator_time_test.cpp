// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/operator_time.hpp>

#include <hyperparallel/hardware/gpu_variant_presets.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace hp = hyperparallel;

namespace {

using hp::product_pass;

constexpr hp::operator_rates h100 = hp::detail::rates_of(hp::h100::device);
constexpr product_pass passes[] = {product_pass::forward, product_pass::of_input, product_pass::of_weight};
constexpr std::int64_t sides[] = {1,    16,   96,   128,  300,   512,   768,   1024,
                                  2048, 3000, 4096, 8192, 14336, 28672, 65536, 152064};

std::int64_t product(std::int64_t tokens, std::int64_t inner, std::int64_t columns, product_pass pass,
                     const hp::operator_rates& r = h100) {
  const hp::time_cost t = hp::measured_product_time(r, tokens, inner, columns, pass);
  EXPECT_TRUE(t.ok());
  return t.picoseconds;
}

// Logarithms are those of the library, to a part of a doubling.
TEST(OperatorTime, DoublingsAreLogarithms) {
  for (std::int64_t x = 1; x < (std::int64_t{1} << 40); x = x + x / 3 + 1) {
    const double exact = 64 * std::log2(static_cast<double>(x));
    EXPECT_LE(static_cast<double>(hp::detail::doublings(x)), exact + 1e-4) << x;
    EXPECT_GE(static_cast<double>(hp::detail::doublings(x)), exact - 1.01) << x;
  }
}

// Operations by the peak and bytes by the bandwidth, both of the data sheet, are never beaten; twice a side takes no less.
TEST(OperatorTime, ProductsKeepTheRooflineAndRise) {
  for (const product_pass pass : passes)
    for (const std::int64_t m : sides)
      for (const std::int64_t k : sides)
        for (const std::int64_t n : sides) {
          const std::int64_t time = product(m, k, n, pass);
          EXPECT_GE(time, hp::work_time(2 * m * k, n, 1, h100.matrix).picoseconds);
          EXPECT_GE(time, hp::work_time(2 * (m * k + k * n + m * n), 1, 1, h100.memory).picoseconds);
          EXPECT_GE(product(2 * m, k, n, pass), time) << m << " " << k << " " << n;
          EXPECT_GE(product(m, 2 * k, n, pass), time) << m << " " << k << " " << n;
          EXPECT_GE(product(m, k, 2 * n, pass), time) << m << " " << k << " " << n;
        }
}

// At the shapes of the table the share is that of the table, but for its neighbours' and for what lasts.
TEST(OperatorTime, MeasuredShapesComeBack) {
  double sum = 0;
  int count = 0;
  for (const hp::detail::measured_products& m : hp::detail::h100_products)
    for (int i = 0; i < 6; ++i) {
      if (m.forward[i] == 0) continue;
      const std::int64_t told =
          hp::detail::product_share(hp::detail::forward_tokens[i], m.inner, m.columns, product_pass::forward)
              .parts_per_million /
          100;
      const std::int64_t lasting = std::min(m.forward[i], hp::detail::sustained_product_share);
      sum += std::abs(static_cast<double>(told) / static_cast<double>(lasting) - 1);
      ++count;
      EXPECT_LE(told, hp::detail::sustained_product_share);
    }
  EXPECT_LE(sum / count, 0.03);
}

// Likewise of attention and of grouped products.
TEST(OperatorTime, AttentionAndGroupsKeepTheRooflineAndRise) {
  for (const bool backward : {false, true})
    for (const std::int64_t heads : {1, 4, 8, 32, 64, 128, 512})
      for (std::int64_t sequence = 128; sequence <= 131'072; sequence *= 2)
        for (const std::int64_t dim : {64, 96, 128, 256}) {
          const std::int64_t time = hp::attention_time(h100, heads, sequence, dim, backward).picoseconds;
          EXPECT_GE(time,
                    hp::work_time((backward ? 5 : 2) * heads * sequence * dim, sequence, 1, h100.matrix).picoseconds);
          EXPECT_GE(hp::attention_time(h100, heads, 2 * sequence, dim, backward).picoseconds, time);
          EXPECT_GE(hp::attention_time(h100, 2 * heads, sequence, dim, backward).picoseconds, time);
        }
  for (const std::int64_t groups : {1, 8, 32, 128})
    for (std::int64_t slots = 1024; slots <= 262'144; slots *= 2)
      for (const std::int64_t inner : {768, 2048, 7168})
        for (const std::int64_t columns : {768, 2048, 14336}) {
          const std::int64_t time = hp::grouped_time(h100, groups, slots, inner, columns).picoseconds;
          EXPECT_GE(time, hp::work_time(2 * slots * inner, columns, 1, h100.matrix).picoseconds);
          EXPECT_GE(hp::grouped_time(h100, groups, 2 * slots, inner, columns).picoseconds, time);
        }
}

// Rows of add and silu·mul that were measured: bytes of all kernels of the operator, seconds.
TEST(OperatorTime, PassesAreThoseMeasured) {
  const auto far = [](double told, double measured) { return std::abs(told / measured - 1); };
  const auto seconds = [](std::int64_t bytes) {
    return static_cast<double>(hp::streamed_time(h100, bytes).picoseconds) / 1e12;
  };
  for (const auto& [elements, add, silu_mul] :
       {std::array{16'777'216.0, 3.66792e-5, 6.27515e-5}, std::array{67'108'864.0, 1.3585e-4, 2.29581e-4}}) {
    const auto n = static_cast<std::int64_t>(elements);
    EXPECT_LE(far(seconds(6 * n), add), 0.02);
    EXPECT_LE(far(seconds(4 * n) + seconds(6 * n), silu_mul), 0.02);
  }
  EXPECT_EQ(hp::streamed_time(h100, 0), hp::time_cost{});
}

// Another device: the same shares of its own peaks, and it is not called measured.
TEST(OperatorTime, OtherDevicesScale) {
  EXPECT_TRUE(h100.measured);
  hp::device_value twice = hp::h100::device;
  twice.matrix_flops[0] *= 2;
  twice.tier[0].bandwidth *= 2;
  twice.gmm_cold = hp::full_efficiency;
  const hp::operator_rates r = hp::detail::rates_of(twice);
  EXPECT_FALSE(r.measured);
  EXPECT_FALSE(hp::detail::rates_of(hp::a100::device).measured);
  EXPECT_NEAR(static_cast<double>(product(8192, 8192, 8192, product_pass::forward, r)) * 2,
              static_cast<double>(product(8192, 8192, 8192, product_pass::forward)), 2);
  // No more than the device's products reach.
  hp::device_value limited = hp::h100_96gb::device;
  limited.gmm_cold = hp::per_mille(250);
  const hp::operator_rates slow = hp::detail::rates_of(limited);
  EXPECT_EQ(product(8192, 8192, 8192, product_pass::forward, slow),
            hp::work_time(2 * 8192 * 8192, 8192, 1, slow.matrix, hp::per_mille(250)).picoseconds);
  EXPECT_EQ(hp::attention_time(slow, 64, 32768, 128, false).picoseconds,
            hp::work_time(2 * 64 * 32768 * 128, 32768, 1, slow.matrix, hp::per_mille(250)).picoseconds);
}

constexpr hp::time_cost constant = hp::measured_product_time(h100, 4096, 4096, 14336, product_pass::of_weight);
constexpr hp::time_cost constant_attention = hp::attention_time(h100, 32, 8192, 128, true);

TEST(OperatorTime, ConstantsAreThoseOfRunTime) {
  EXPECT_EQ(hp::measured_product_time(h100, 4096, 4096, 14336, product_pass::of_weight), constant);
  EXPECT_EQ(hp::attention_time(h100, 32, 8192, 128, true), constant_attention);
}

}  // namespace
