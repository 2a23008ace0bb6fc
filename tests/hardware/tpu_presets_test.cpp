// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/tpu_presets.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

// Published: 2400, 1600 and 4800 Gb/s a chip and direction over six, four and six links, of which two are used at a time.
static_assert(3 * hp::tpu_v4::topology.level[0].bandwidth == 2400 * hp::gigabit_per_second);
static_assert(2 * hp::tpu_v5e::topology.level[0].bandwidth == 1600 * hp::gigabit_per_second);
static_assert(3 * hp::tpu_v5p::topology.level[0].bandwidth == 4800 * hp::gigabit_per_second);

TEST(TpuPresets, PodsEndWhereTheDataCenterBegins) {
  EXPECT_EQ(hp::level_between(hp::tpu_v4::topology, 0, 4095), 0);
  EXPECT_EQ(hp::level_between(hp::tpu_v4::topology, 0, 4096), 1);
  EXPECT_EQ(hp::level_between(hp::tpu_v5e::topology, 0, 256), 1);
  EXPECT_EQ(hp::level_between(hp::tpu_v5p::topology, 0, 8959), 0);
}

TEST(TpuPresets, Float16IsNotMultiplied) {
  EXPECT_EQ(hp::matrix_peak(hp::tpu_v5p::device, hp::number_format::float16), 0);
  EXPECT_EQ(hp::check(hp::tpu_v5p::device), hp::device_status{});
}

}  // namespace
