// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/hardware/vector_split.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace hp = hyperparallel;

namespace {

constexpr hp::device_value die = hp::ascend_910c_die::device;
constexpr std::int64_t fabric = 196 * hp::gigabyte;
constexpr hp::vector_saturation half{24, 24};

constexpr hp::device_value cores(int aiv) {
  hp::device_value d = die;
  d.aiv = aiv;
  return d;
}

/// Every n, the first of the best.
hp::vector_split search(const hp::device_value& d, const hp::vector_saturation& at, const hp::vector_load& load) {
  const bool sends = load.sent != 0, computes = load.moved != 0 || load.operations != 0;
  hp::vector_split best{-1, -1, {hp::cost_code::ok, INT64_MAX}};
  for (int n = sends ? 1 : 0; n <= d.aiv - (computes ? 1 : 0); ++n)
    if (const hp::time_cost t = hp::split_time(d, fabric, at, load, n); t.picoseconds < best.time.picoseconds)
      best = {n, d.aiv - n, t};
  return best;
}

// The published saturation: half of the cores reach what all reach; below, the rate is proportional.
static_assert(hp::fabric_time(fabric, half, hp::GiB, 24) == hp::fabric_time(fabric, half, hp::GiB, 48));
static_assert(hp::fabric_time(fabric, half, 24 * fabric, 1).picoseconds == 24 * 24 * hp::second);
static_assert(hp::fabric_time(fabric, half, 24 * fabric, 12).picoseconds == 2 * 24 * hp::second);

// SwiGLU of the published layer beside its dispatch: the fabric is the slower side, and gets its 24 cores.
constexpr hp::vector_load published{std::int64_t{4096} * 8 * 7168 * 2 * 7 / 8, std::int64_t{4096} * 8 * 2048 * 3 * 2,
                                    0};
static_assert(hp::choose_vector_split(die, fabric, half, published).communication == 24);
// One side alone: all cores to the work, or as many as the fabric needs.
static_assert(hp::choose_vector_split(die, fabric, half, {0, hp::GiB, 0}).communication == 0);
static_assert(hp::choose_vector_split(die, fabric, half, {hp::GiB, 0, 0}).communication == 24);
static_assert(hp::choose_vector_split(die, fabric, half, {}) == hp::vector_split{0, 48, {}});

TEST(VectorSplit, EqualsTheSearchOverAll) {
  for (int aiv = 2; aiv <= 12; ++aiv)
    for (int sat_fabric = 1; sat_fabric <= 13; sat_fabric += 3)
      for (int sat_memory = 1; sat_memory <= 13; sat_memory += 3)
        for (std::int64_t sent = 0; sent <= 4; ++sent)
          for (std::int64_t moved = 0; moved <= 16; moved += 2)
            for (std::int64_t operations = 0; operations <= 64; operations += 16) {
              const hp::device_value d = cores(aiv);
              const hp::vector_saturation at{sat_fabric, sat_memory};
              const hp::vector_load load{sent * hp::MiB, moved * hp::MiB, operations * 1'000'000};
              ASSERT_EQ(hp::choose_vector_split(d, fabric, at, load), search(d, at, load))
                  << aiv << " " << sat_fabric << " " << sat_memory << " " << sent << " " << moved << " " << operations;
            }
}

TEST(VectorSplit, EqualsTheSearchOverAllAtRandom) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20'000; ++round) {
    const hp::device_value d = cores(2 + static_cast<int>(random() % 95));
    const hp::vector_saturation at{1 + static_cast<int>(random() % 60), 1 + static_cast<int>(random() % 60)};
    const hp::vector_load load{static_cast<std::int64_t>(random() % (1u << 30)),
                               static_cast<std::int64_t>(random() % (1u << 31)),
                               static_cast<std::int64_t>(random() % (1u << 31))};
    ASSERT_EQ(hp::choose_vector_split(d, fabric, at, load), search(d, at, load));
  }
}

// More cores never make a side slower, and beyond saturation no faster.
TEST(VectorSplit, SidesAreMonotone) {
  for (int sat = 1; sat <= 48; ++sat)
    for (int n = 1; n < 48; ++n) {
      const hp::vector_saturation at{sat, sat};
      const hp::time_cost send = hp::fabric_time(fabric, at, hp::GiB, n),
                          more = hp::fabric_time(fabric, at, hp::GiB, n + 1);
      const hp::time_cost work = hp::vector_work_time(die, at, published, n);
      const hp::time_cost wide = hp::vector_work_time(die, at, published, n + 1);
      EXPECT_EQ(more.picoseconds < send.picoseconds, n < sat);
      EXPECT_EQ(wide.picoseconds < work.picoseconds, n < sat);
      EXPECT_LE(more.picoseconds, send.picoseconds);
      EXPECT_LE(wide.picoseconds, work.picoseconds);
    }
}

TEST(VectorSplit, NamesWhatIsWrong) {
  const hp::vector_load both{1, 1, 1};
  EXPECT_EQ(hp::choose_vector_split(cores(1), fabric, half, both).time.code, hp::cost_code::count_exceeds_the_device);
  EXPECT_EQ(hp::choose_vector_split(die, 0, half, both).time.code, hp::cost_code::rate_is_not_positive);
  EXPECT_EQ(hp::choose_vector_split(die, fabric, half, {-1, 1, 0}).time.code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::choose_vector_split(die, fabric, half, {1, 0, -1}).time.code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::choose_vector_split(die, fabric, {0, 24}, both).time.code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::choose_vector_split(die, fabric, {24, 0}, both).time.code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::fabric_time(fabric, half, 1, 0).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::vector_work_time(die, half, both, 49).code, hp::cost_code::count_exceeds_the_device);
}

}  // namespace
