// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/redistribution/rank_collectives.hpp>

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/preset_parts.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace hp = hyperparallel;

namespace {

constexpr hp::link_level inner{"inner", 4, 100 * hp::gigabyte, hp::microsecond};
constexpr hp::link_level outer{"outer", 64, 10 * hp::gigabyte, 5 * hp::microsecond};
constexpr hp::interconnect two_levels = hp::interconnect_of(hp::topology_of(inner, outer));
constexpr hp::interconnect one_level =
    hp::interconnect_of(hp::topology_of(hp::link_level{"outer", 64, 10 * hp::gigabyte, 5 * hp::microsecond}));
constexpr hp::interconnect mesh = hp::interconnect_of(hp::detail::mesh_of_supernode({1, 4, 2, 8}, 1000 * hp::gigabyte));

// By the compiler: one level is its collective, two levels are the hierarchical one.
static_assert(hp::all_reduce_time(two_levels, 1, 1 << 20) == hp::time_cost{});
static_assert(
    hp::all_reduce_time(two_levels, 4, 1 << 26) ==
    hp::cheapest_algorithm({.kind = hp::collective::all_reduce, .ranks = 4, .bytes = 1 << 26}, inner, false).cost);
static_assert(hp::all_reduce_time(two_levels, 16, 1 << 28).picoseconds <=
              hp::hierarchical_all_reduce_time(inner, 4, outer, 4, 1 << 28).picoseconds);
static_assert(hp::all_to_all_time(one_level, 1, 1, 100) == hp::time_cost{});

// A rank sends and receives at least 2 (p - 1) / p of the buffer over its fastest links, and over the level that joins
// all its share of the group.
TEST(RankCollectives, NoAllReduceIsBelowWhatLinksCarry) {
  for (int ranks = 2; ranks <= 64; ++ranks)
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1000}, std::int64_t{1} << 30}) {
      const hp::time_cost two = hp::all_reduce_time(two_levels, ranks, bytes);
      const hp::time_cost one = hp::all_reduce_time(one_level, ranks, bytes);
      ASSERT_TRUE(two.ok() && one.ok()) << ranks;
      EXPECT_GE(
          two.picoseconds,
          hp::bandwidth_bound(hp::collective::all_reduce, std::min(ranks, 4), bytes, inner.bandwidth).picoseconds);
      EXPECT_GE(one.picoseconds,
                hp::bandwidth_bound(hp::collective::all_reduce, ranks, bytes, outer.bandwidth).picoseconds);
      EXPECT_LE(two.picoseconds, one.picoseconds + 20 * hp::microsecond) << ranks;
      EXPECT_GE(hp::all_reduce_time(two_levels, ranks, bytes + 4096).picoseconds, two.picoseconds);
    }
}

TEST(RankCollectives, RanksThatDoNotFillGroupsAreJoinedByTheOutermostLink) {
  EXPECT_EQ(hp::all_reduce_time(two_levels, 6, 1 << 20), hp::all_reduce_time(one_level, 6, 1 << 20));
  EXPECT_EQ(
      hp::all_reduce_time(two_levels, 6, 1 << 20),
      hp::cheapest_algorithm({.kind = hp::collective::all_reduce, .ranks = 6, .bytes = 1 << 20}, outer, false).cost);
}

// On each level a port takes the bytes of the peers behind it, one after the other.
TEST(RankCollectives, AnAllToAllSendsOverAllLevelsAtOnce) {
  const std::int64_t bytes = 16 << 20;
  const hp::time_cost in = hp::all_to_all_time(two_levels, 4, 1, bytes);
  EXPECT_EQ(in, hp::collective_time({.kind = hp::collective::all_to_all, .ranks = 4, .bytes = bytes}, inner));
  const hp::time_cost spread = hp::all_to_all_time(two_levels, 16, 1, bytes);
  EXPECT_EQ(spread, hp::then(hp::latencies(12, outer.latency), hp::work_time(bytes, 12, 16, outer.bandwidth)));
  EXPECT_EQ(hp::all_to_all_time(two_levels, 4, 4, bytes),
            hp::then(hp::latencies(3, outer.latency), hp::work_time(bytes, 3, 4, outer.bandwidth)));
}

// Along an axis every pair has a link: a row of eight sends an eighth over each; two axes take turns.
TEST(RankCollectives, MeshesSendAlongOneAxisAfterTheOther) {
  const hp::link_level column = mesh.along[2], row = mesh.along[1];
  const std::int64_t bytes = 64 << 20;
  EXPECT_EQ(hp::all_to_all_time(mesh, 8, 1, bytes),
            hp::collective_time({.kind = hp::collective::all_to_all,
                                 .algorithm = hp::collective_algorithm::full_mesh,
                                 .ranks = 8,
                                 .bytes = bytes},
                                column));
  EXPECT_EQ(hp::all_to_all_time(mesh, 16, 1, bytes),
            hp::then(hp::then(hp::latencies(1, column.latency), hp::work_time(bytes, 2, 16, column.bandwidth)),
                     hp::then(hp::latencies(1, row.latency), hp::work_time(bytes, 8, 16, row.bandwidth))));
  EXPECT_EQ(hp::all_to_all_time(mesh, 2, 8, bytes),
            hp::then(hp::latencies(1, row.latency), hp::work_time(bytes, 1, 2, row.bandwidth)));
}

TEST(RankCollectives, RanksThatNothingJoinsAreRefused) {
  const hp::interconnect pair = hp::interconnect_of(hp::ascend_910c_die::topology);
  EXPECT_EQ(hp::all_reduce_time(pair, 4, 8).code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::all_reduce_time(pair, 3, 8).code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::all_to_all_time(pair, 2, 2, 8).code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::all_to_all_time(mesh, 65, 1, 8).code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::all_reduce_time(pair, 0, 8).code, hp::cost_code::count_is_not_positive);
  EXPECT_EQ(hp::all_reduce_time(pair, 2, -1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::all_to_all_time(pair, 2, 0, 8).code, hp::cost_code::count_is_not_positive);
}

}  // namespace
