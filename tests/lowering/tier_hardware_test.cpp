// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/tier_hardware.hpp>

#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

TEST(TierHardware, EverySlowerTierHasALinkEachWay) {
  hp::device_value three = hp::generic_host::device;
  three.tier[three.tier_count++] = {hp::memory_kind::storage, 64 * hp::GiB, hp::gigabyte, hp::per_mille(500), 5};
  for (const hp::device_value& d : {hp::generic_host::device, hp::matrix384::device, three}) {
    const hp::tier_hardware h = hp::tiers_of(d, 1234);
    ASSERT_EQ(h.tier.size, d.tier_count);
    ASSERT_EQ(h.link.size, 2 * (d.tier_count - 1));
    EXPECT_EQ(h.tier[0].capacity, 1234);
    for (int t = 1; t < d.tier_count; ++t) {
      EXPECT_EQ(h.tier[t].capacity, d.tier[t].bytes);
      EXPECT_NE(h.tier[t].in_link, h.tier[t].out_link);
      for (const int l : {h.tier[t].in_link, h.tier[t].out_link})
        for (const hp::extent_t bytes : {hp::extent_t{1}, hp::MiB, hp::GiB + 7}) {
          const hp::extent_t there = hp::copy_time(d.tier[t], bytes).picoseconds;
          EXPECT_NEAR(static_cast<double>(hp::link_copy_time(h.link[l], bytes)), static_cast<double>(there),
                      1.0 + static_cast<double>(there) * 1e-9);
        }
    }
  }
}

}  // namespace
