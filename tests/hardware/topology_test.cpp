// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/hardware/topology.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace hp = hyperparallel;

namespace {

constexpr hp::topology_value supernode = hp::matrix384::topology;

static_assert(hp::level_between(supernode, 5, 5) == hp::no_link);
static_assert(hp::level_between(supernode, 0, 1) == 0 && hp::level_between(supernode, 1, 2) == 1);
static_assert(hp::level_between(supernode, 15, 16) == 2 && hp::level_between(supernode, 767, 768) == 3);

constexpr hp::topology_value small_world() {
  hp::topology_value t;
  t.level_count = 3;
  t.level[0] = {"a", 2, 8, 1};
  t.level[1] = {"b", 6, 4, 2};
  t.level[2] = {"c", 12, 2, 3};
  return t;
}

// Brute force over all pairs and triples: symmetric, the first group that holds both, and an ultrametric.
TEST(Topology, LevelsAreNestedEquivalences) {
  const hp::topology_value t = small_world();
  ASSERT_EQ(hp::check(t), hp::topology_status{});
  for (int a = 0; a < 24; ++a)
    for (int b = 0; b < 24; ++b) {
      const int level = hp::level_between(t, a, b);
      EXPECT_EQ(level, hp::level_between(t, b, a));
      const int expected = a == b             ? hp::no_link
                           : a / 2 == b / 2   ? 0
                           : a / 6 == b / 6   ? 1
                           : a / 12 == b / 12 ? 2
                                              : hp::not_connected;
      EXPECT_EQ(level, expected);
      for (int c = 0; c < 24; ++c) {
        const int via = hp::level_between(t, a, c) > hp::level_between(t, c, b) ? hp::level_between(t, a, c)
                                                                                : hp::level_between(t, c, b);
        EXPECT_LE(level, via);
        const int ranks[] = {a, b, c};
        const int widest = via > level ? via : level;
        EXPECT_EQ(hp::level_spanning(t, ranks, 3), widest);
      }
    }
}

TEST(Topology, TransfersAreAlphaBeta) {
  const hp::time_cost one_gigabyte = hp::transfer_time(supernode, 0, 2, 196 * hp::megabyte);
  EXPECT_EQ(one_gigabyte.picoseconds, hp::millisecond + 930 * hp::nanosecond);
  EXPECT_EQ(hp::transfer_time(supernode, 4, 4, hp::GiB), hp::time_cost{});
  EXPECT_EQ(hp::transfer_time(supernode.level[0], 0).picoseconds, 200 * hp::nanosecond);
  for (int b = 2; b < 2000; b += 7)
    EXPECT_GE(hp::transfer_time(supernode, 0, b, hp::MiB).picoseconds,
              hp::transfer_time(supernode, 0, 1, hp::MiB).picoseconds);
}

TEST(Topology, NamesWhatIsWrong) {
  EXPECT_EQ(hp::transfer_time(small_world(), 0, 12, 1).code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::transfer_time(small_world(), -1, 0, 1).code, hp::cost_code::ranks_are_not_connected);
  EXPECT_EQ(hp::transfer_time(small_world(), 0, 0, -1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::transfer_time(small_world(), 0, 1, -1).code, hp::cost_code::amount_is_negative);
  EXPECT_EQ(hp::check(hp::topology_value{}).code, hp::topology_code::level_count_is_out_of_range);
  hp::topology_value t = small_world();
  t.level[1].group = 5;
  EXPECT_EQ(hp::check(t), (hp::topology_status{hp::topology_code::group_does_not_nest, 1, 5, 2}));
  t = small_world();
  t.level[1].group = hp::unbounded_group;  // only the last level may join everything
  EXPECT_EQ(hp::check(t), (hp::topology_status{hp::topology_code::group_does_not_nest, 1, hp::unbounded_group, 2}));
  t = small_world();
  t.level[2].bandwidth = 0;
  EXPECT_EQ(hp::check(t), (hp::topology_status{hp::topology_code::bandwidth_is_not_positive, 2, 0, 1}));
  t = small_world();
  t.level[0].latency = -1;
  EXPECT_EQ(hp::check(t), (hp::topology_status{hp::topology_code::latency_is_negative, 0, -1, 0}));
  EXPECT_EQ(hp::level_spanning(small_world(), nullptr, 0), hp::no_link);
}

// Ranks are joined iff some level lies between every two of them.
TEST(Topology, ASpanIsJoinedWhereEveryPairIs) {
  for (int levels = 1; levels <= 3; ++levels) {
    hp::topology_value t = small_world();
    t.level_count = levels;
    for (int first = -1; first < 26; ++first)
      for (int last = first - 1; last < 26; ++last) {
        bool joined = first >= 0 && last >= first;
        for (int a = first; a <= last; ++a)
          for (int b = first; b <= last; ++b) joined = joined && hp::level_between(t, a, b) != hp::not_connected;
        const hp::topology_status s = hp::check_span(t, first, last);
        EXPECT_EQ(s.code == hp::topology_code::ok, joined) << levels << ": " << first << " to " << last;
        if (joined) continue;
        EXPECT_EQ(s, (hp::topology_status{hp::topology_code::ranks_are_not_joined, levels - 1, last - first + 1,
                                          t.level[levels - 1].group}));
      }
  }
  EXPECT_EQ(hp::check_span(supernode, 0, 1 << 30), hp::topology_status{});
}

}  // namespace
