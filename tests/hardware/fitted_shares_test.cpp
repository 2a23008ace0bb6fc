// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/fitted_shares.hpp>

#include <hyperparallel/hardware/gpu_variant_presets.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

// The presets that are named have what was fitted, and those that differ in memory or links alone the same.
TEST(FittedShares, AreThoseOfThePresets) {
  EXPECT_EQ(hp::a100::device.gmm_cold, hp::detail::fitted_share_of("a100"));
  EXPECT_EQ(hp::a100_40gb::device.gmm_cold, hp::detail::fitted_share_of("a100"));
  EXPECT_EQ(hp::h100::device.gmm_cold, hp::detail::fitted_share_of("h100"));
  EXPECT_EQ(hp::h200::device.gmm_cold, hp::detail::fitted_share_of("h100"));
  EXPECT_EQ(hp::h100_96gb::device.gmm_cold, hp::detail::fitted_share_of("h100_96gb"));
  EXPECT_EQ(hp::gb200::device.gmm_cold, hp::detail::fitted_share_of("gb200"));
  EXPECT_EQ(hp::b200::device.gmm_cold, hp::detail::fitted_share_of("gb200"));
}

// Few, each a share, each of some run.
TEST(FittedShares, AreFewAndOfRuns) {
  EXPECT_LE(std::size(hp::fitted_shares), 30u);
  for (const hp::fitted_share& f : hp::fitted_shares) {
    EXPECT_GT(f.runs, 0) << f.preset;
    EXPECT_GT(f.share.parts_per_million, 200'000) << f.preset;
    EXPECT_LT(f.share.parts_per_million, 900'000) << f.preset;
  }
}

}  // namespace
