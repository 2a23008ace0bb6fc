// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiers/session_tier.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <hyperparallel/hardware/presets.hpp>

namespace {

namespace hp = hyperparallel;

TEST(SessionTier, TiersOfADeviceHaveItsLinks) {
  constexpr hp::device_value device = hp::matrix384::device;
  const std::vector<hp::session_tier> tiers = hp::session_tiers(device);
  ASSERT_EQ(static_cast<int>(tiers.size()), device.tier_count);
  EXPECT_EQ(tiers[0].name, "hbm");
  for (int t = 1; t < device.tier_count; ++t)
    EXPECT_EQ(hp::link_copy_time(tiers[static_cast<std::size_t>(t)].in, hp::GiB),
              hp::copy_time(device.tier[t], device.tier[0], hp::GiB).picoseconds);
}

}  // namespace
