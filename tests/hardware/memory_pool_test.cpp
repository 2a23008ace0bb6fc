// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/memory_pool.hpp>
#include <hyperparallel/hardware/presets.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

constexpr const hp::memory_pool& pool = hp::matrix384::pool;
constexpr const hp::device_value& die = hp::matrix384::device;

/// The measured range of 16 dies that copy at once holds for a whole supernode, to a tenth.
constexpr std::int64_t of_all = hp::detail::shared_bandwidth(pool, die.tier[1].bandwidth, 768);
static_assert(of_all >= hp::matrix384::contended_dram_lowest &&
              of_all <= hp::matrix384::contended_dram_highest * 11 / 10);

TEST(MemoryPool, SharersGetNoMoreThanThereIs) {
  std::int64_t before = die.tier[1].bandwidth;
  for (int sharers = 1; sharers <= 2000; ++sharers) {
    const hp::device_value d = hp::with_pool(die, pool, sharers);
    EXPECT_LE(d.tier[1].bandwidth, before) << "no faster with more of them";
    EXPECT_LE(d.tier[1].bandwidth * sharers, pool.cpus * pool.bandwidth_per_cpu);
    EXPECT_LE(d.tier[1].bytes * sharers, hp::detail::capacity_of(pool));
    EXPECT_EQ(d.tier[0], die.tier[0]);
    EXPECT_EQ(hp::check(d), hp::device_status{});
    before = d.tier[1].bandwidth;
  }
  EXPECT_EQ(hp::with_pool(die, pool, 1).tier[1].bandwidth, die.tier[1].bandwidth) << "one alone does not saturate it";
}

TEST(MemoryPool, ADeviceWithoutDramIsUnchanged) {
  hp::device_value d = die;
  d.tier_count = 1;
  EXPECT_EQ(hp::with_pool(d, pool, 8), d);
  d.tier[0].kind = hp::dram;  // of its own: not behind the fabric
  EXPECT_EQ(hp::with_pool(d, pool, 8), d);
}

}  // namespace
