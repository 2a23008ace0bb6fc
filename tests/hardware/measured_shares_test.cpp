// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/measured_shares.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

bool is_share(std::int64_t share) { return share > 0 && share < 10'000; }

// Nothing that was measured is faster than the data sheet; what is 0 is too short to be measured.
TEST(MeasuredShares, AreBelowThePeak) {
  for (const hp::detail::measured_products& m : hp::detail::h100_products) {
    for (int i = 0; i < 6; ++i) {
      const bool is_short = 2 * hp::detail::forward_tokens[i] * m.inner * m.columns < 20'000'000'000;
      EXPECT_TRUE(is_share(m.forward[i]) || is_short || m.columns > 100'000) << m.inner << " " << m.columns;
    }
    for (const auto* of : {m.of_input, m.of_weight})
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(of[i] < 10'000);
  }
  for (const hp::detail::measured_attention& m : hp::detail::h100_attention)
    EXPECT_TRUE(is_share(m.forward) && is_share(m.backward));
  for (const hp::detail::measured_group& m : hp::detail::h100_groups) EXPECT_TRUE(is_share(m.share));
  for (const std::int64_t share :
       {hp::detail::pass_share, hp::detail::row_pass_share, hp::detail::loss_share, hp::detail::update_share})
    EXPECT_TRUE(is_share(share));
}

// The largest product is that of 16384 tokens by 8192 x 28672; what lasts is its mean over the passes.
TEST(MeasuredShares, TheLargestProductLasts) {
  for (const hp::detail::measured_products& m : hp::detail::h100_products)
    if (m.inner == 8192 && m.columns == 28'672) {
      EXPECT_EQ((m.forward[5] + m.of_input[2] + m.of_weight[2]) / 3, hp::detail::sustained_product_share);
    }
}

}  // namespace
