// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/preset_parts.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

constexpr hp::topology_value two = hp::topology_of(hp::link_level{"near", 4, 10, 1}, hp::link_level{"far", 8, 5, 2});
static_assert(two.level_count == 2 && two.level[1].group == 8 && hp::check(two) == hp::topology_status{});

TEST(PresetParts, WhatIsAssumedMakesADataSheetADevice) {
  hp::device_value sheet;
  sheet.aic = sheet.aiv = 10;
  sheet.matrix_flops[0] = sheet.vector_flops = hp::teraflops;
  sheet.tier_count = 1;
  sheet.tier[0] = {hp::hbm, hp::GiB, hp::gigabyte, {}, 0};
  EXPECT_NE(hp::check(sheet), hp::device_status{});
  EXPECT_EQ(hp::check(hp::detail::with_assumed_shares(sheet)), hp::device_status{});
  EXPECT_EQ(hp::detail::with_assumed_shares(sheet).tier[1], hp::memory_tier{}) << "there is none";
}

}  // namespace
