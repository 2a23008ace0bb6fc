// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/hardware/rank_rotation.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr hp::topology_value supernode = hp::matrix384::topology;
constexpr hp::rotation_kind kinds[] = {hp::rotation_kind::cyclic, hp::rotation_kind::nearest_first,
                                       hp::rotation_kind::farthest_first};

// For a power of two the digits are bits.
static_assert(hp::rotation_peer(hp::rotation_kind::nearest_first, 8, 5, 3) == (5 ^ 3));
static_assert(hp::rotation_peer(hp::rotation_kind::farthest_first, 8, 5, 1) == (5 ^ 7));
static_assert(hp::rotation_peer(hp::rotation_kind::cyclic, 8, 5, 3) == 0);
// 12 = 2 · 2 · 3: 7 = (1, 1, 1), 5 = (1, 0, 1), the sum (0, 1, 2) = 10.
static_assert(hp::rotation_peer(hp::rotation_kind::nearest_first, 12, 7, 5) == 10);

/// Whether in every step all ranks send over one and the same level. O(devices² · levels).
constexpr bool keeps_levels(const hp::topology_value& t, hp::rotation_kind kind, int devices) {
  for (int step = 1; step < devices; ++step)
    for (int rank = 1; rank < devices; ++rank)
      if (hp::level_between(t, rank, hp::rotation_peer(kind, devices, rank, step)) !=
          hp::level_between(t, 0, hp::rotation_peer(kind, devices, 0, step)))
        return false;
  return true;
}

// Every sixteen dies share a switch, every two a package.
static_assert(keeps_levels(supernode, hp::rotation_kind::nearest_first, 48) &&
              keeps_levels(supernode, hp::rotation_kind::farthest_first, 64));
static_assert(!keeps_levels(supernode, hp::rotation_kind::cyclic, 4));

// Every kind, every number of ranks: permutations, each pair once, the inverse, own rows in step 0.
TEST(RankRotation, IsALatinSquare) {
  for (const hp::rotation_kind kind : kinds)
    for (int devices = 1; devices <= 130; ++devices) {
      std::vector<int> met(static_cast<std::size_t>(devices) * static_cast<std::size_t>(devices));
      for (int step = 0; step < devices; ++step) {
        std::vector<int> senders(static_cast<std::size_t>(devices));
        for (int rank = 0; rank < devices; ++rank) {
          const int peer = hp::rotation_peer(kind, devices, rank, step);
          ASSERT_TRUE(peer >= 0 && peer < devices) << devices << " " << rank << " " << step;
          ++senders[static_cast<std::size_t>(peer)];
          ++met[static_cast<std::size_t>(rank * devices + peer)];
          ASSERT_EQ(hp::rotation_source(kind, devices, peer, step), rank) << devices << " " << step;
          ASSERT_EQ(step == 0, peer == rank);
        }
        ASSERT_EQ(senders, std::vector<int>(senders.size(), 1));
      }
      ASSERT_EQ(met, std::vector<int>(met.size(), 1));
    }
}

// Whole nodes of the supernode, and packages inside one: near and far kinds keep the levels, which rise and fall.
TEST(RankRotation, LevelsAreAlikeForAllRanksAndMonotone) {
  for (const int devices : {2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 384}) {
    for (const hp::rotation_kind kind : {hp::rotation_kind::nearest_first, hp::rotation_kind::farthest_first}) {
      EXPECT_TRUE(keeps_levels(supernode, kind, devices)) << devices;
      for (int step = 2; step < devices; ++step) {
        const int before = hp::level_between(supernode, 0, hp::rotation_peer(kind, devices, 0, step - 1));
        const int now = hp::level_between(supernode, 0, hp::rotation_peer(kind, devices, 0, step));
        if (kind == hp::rotation_kind::nearest_first) {
          EXPECT_LE(before, now) << devices << " " << step;
        } else {
          EXPECT_GE(before, now) << devices << " " << step;
        }
      }
    }
    EXPECT_EQ(keeps_levels(supernode, hp::rotation_kind::cyclic, devices), devices <= 2);
  }
}

/// The time by one clock for each rank, without shortcuts: all wait for the slowest transfer of a step.
std::int64_t replay(hp::rotation_kind kind, int devices, const hp::rotation_load& load) {
  std::vector<std::int64_t> worked(static_cast<std::size_t>(devices));
  std::int64_t sent = 0;
  for (int step = 1; step < devices; ++step) {
    std::int64_t slowest = 0;
    for (int rank = 0; rank < devices; ++rank) {
      const int from = hp::rotation_source(kind, devices, rank, step);
      const hp::link_level& link = supernode.level[hp::level_between(supernode, from, rank)];
      const std::int64_t transfer = hp::work_time(load.bytes, 1, 1, link.bandwidth).picoseconds;
      slowest = transfer > slowest ? transfer : slowest;
    }
    sent += slowest;
    for (int rank = 0; rank < devices; ++rank) {
      const int from = hp::rotation_source(kind, devices, rank, step);
      const std::int64_t came = sent + supernode.level[hp::level_between(supernode, from, rank)].latency;
      std::int64_t& t = worked[static_cast<std::size_t>(rank)];
      t = (t > came ? t : came) + load.work;
    }
  }
  std::int64_t last = 0;
  for (const std::int64_t t : worked) last = t + load.work > last ? t + load.work : last;
  return last;
}

// Exact where all ranks meet the same levels; an upper bound for the cyclic order, which takes each step's slowest.
TEST(RankRotation, TimeIsThatOfAReplay) {
  for (const int devices : {1, 2, 4, 8, 12, 16, 32, 48})
    for (const std::int64_t bytes : {std::int64_t{0}, hp::KiB, hp::MiB, 64 * hp::MiB})
      for (const std::int64_t work : {std::int64_t{0}, hp::nanosecond, hp::microsecond, hp::millisecond})
        for (const hp::rotation_kind kind : kinds) {
          const hp::time_cost time = hp::rotation_time(supernode, kind, devices, {bytes, work});
          ASSERT_TRUE(time.ok());
          if (keeps_levels(supernode, kind, devices)) {
            EXPECT_EQ(time.picoseconds, replay(kind, devices, {bytes, work})) << devices << " " << bytes << " " << work;
          } else {
            EXPECT_GE(time.picoseconds, replay(kind, devices, {bytes, work})) << devices << " " << bytes << " " << work;
          }
          EXPECT_GE(time.picoseconds, hp::choose_rotation(supernode, devices, {bytes, work}).time.picoseconds);
        }
}

TEST(RankRotation, TheLoadDecidesWhichEndComesFirst) {
  // Links are the slower side: the last arrival counts, so far latencies go behind near transfers.
  EXPECT_EQ(hp::choose_rotation(supernode, 32, {64 * hp::KiB, 0}).kind, hp::rotation_kind::farthest_first);
  // Work is the slower side: the first arrival counts.
  EXPECT_EQ(hp::choose_rotation(supernode, 32, {64 * hp::KiB, hp::millisecond}).kind, hp::rotation_kind::nearest_first);
  // What is saved: the difference of the two latencies at the ends.
  const auto time = [](hp::rotation_kind kind, std::int64_t work) {
    return hp::rotation_time(supernode, kind, 32, {0, work}).picoseconds;
  };
  EXPECT_EQ(time(hp::rotation_kind::farthest_first, hp::millisecond) -
                time(hp::rotation_kind::nearest_first, hp::millisecond),
            supernode.level[2].latency - supernode.level[0].latency);
  EXPECT_EQ(hp::choose_rotation(supernode, 1).kind, hp::rotation_kind::farthest_first);
}

TEST(RankRotation, NamesWhatIsWrong) {
  const hp::topology_value pair = hp::ascend_910c_die::topology;
  EXPECT_EQ(hp::choose_rotation(pair, 4).time.code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::rotation_time(supernode, kinds[0], 0, {}).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::rotation_time(supernode, kinds[0], 2, {-1, 0}).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::rotation_time(supernode, kinds[0], 2, {0, -1}).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::rotation_time(supernode, kinds[0], 3, {0, INT64_MAX / 2}).code, hp::cost_code::overflow);
}

}  // namespace
