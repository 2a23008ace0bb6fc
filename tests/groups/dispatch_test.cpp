// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/dispatch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hp = hyperparallel;
using times = hp::growing_array<hp::extent_t>;
using code = hp::dispatch_code;

namespace {

/// The least makespan over every assignment, the first item's group fixed.
void try_all(const times& t, int i, std::vector<hp::extent_t>& load, hp::extent_t& best) {
  if (i == t.size) {
    best = std::min(best, *std::max_element(load.begin(), load.end()));
    return;
  }
  for (std::size_t g = 0; g < load.size(); ++g) {
    if (g > 0 && load[g] == load[g - 1]) continue;  // an equal group gives nothing new
    load[g] += t[i];
    if (load[g] < best) try_all(t, i + 1, load, best);
    load[g] -= t[i];
  }
}
hp::extent_t least_makespan(const times& t, int groups) {
  std::vector<hp::extent_t> load(static_cast<std::size_t>(groups));
  hp::extent_t best = 1;
  for (const hp::extent_t each : t) best += each;
  try_all(t, 0, load, best);
  return best;
}

TEST(dispatch, is_within_four_thirds_of_the_least) {
  std::mt19937 random(17);
  int optimal = 0, above = 0, bound_met = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    const int groups = 1 + static_cast<int>(random() % 4);
    times t;
    for (int i = static_cast<int>(random() % 10); i > 0; --i) t.push(static_cast<hp::extent_t>(random() % 20));
    const hp::item_dispatch d = hp::dispatch_longest_first(t, groups);
    ASSERT_EQ(d.code, code::ok);
    std::vector<hp::extent_t> load(static_cast<std::size_t>(groups));
    for (int i = 0; i < t.size; ++i) {
      ASSERT_TRUE(d.group_of_item[i] >= 0 && d.group_of_item[i] < groups);
      load[static_cast<std::size_t>(d.group_of_item[i])] += t[i];
    }
    for (int g = 0; g < groups; ++g) ASSERT_EQ(load[static_cast<std::size_t>(g)], d.load[g]);
    ASSERT_EQ(d.makespan, *std::max_element(load.begin(), load.end()));
    const hp::extent_t least = least_makespan(t, groups);
    ASSERT_LE(d.bound, least);
    ASSERT_LE(least, d.makespan);
    ASSERT_LE(3 * groups * d.makespan, (4 * groups - 1) * least);
    optimal += d.makespan == least;
    above += d.makespan > least;
    bound_met += d.bound == least;
  }
  EXPECT_GT(optimal, 1000);
  EXPECT_GT(above, 100);
  EXPECT_GT(bound_met, 1000);
}

/// Graham's set of 2k + 1 items, on which the ratio is reached.
constexpr times tight(int k) {
  times t;
  for (int i = 2 * k - 1; i > k; --i)
    for (int twice = 0; twice < 2; ++twice) t.push(i);
  for (int thrice = 0; thrice < 3; ++thrice) t.push(k);
  return t;
}
static_assert(hp::dispatch_longest_first(tight(2), 2).makespan == 7);
static_assert(hp::dispatch_longest_first(tight(3), 3).makespan == 11);
static_assert(hp::dispatch_longest_first(tight(8), 8).makespan == 31);

TEST(dispatch, the_ratio_is_reached) {
  for (int k = 2; k <= 4; ++k) {
    EXPECT_EQ(least_makespan(tight(k), k), 3 * k);
    EXPECT_EQ(hp::dispatch_longest_first(tight(k), k).makespan, 4 * k - 1);
  }
}

constexpr hp::item_dispatch of(std::initializer_list<hp::extent_t> list, int groups) {
  times t;
  for (const hp::extent_t each : list) t.push(each);
  return hp::dispatch_longest_first(t, groups);
}
static_assert(of({}, 3).makespan == 0 && of({}, 3).bound == 0);
static_assert(of({5, 5, 5}, 3).group_of_item[2] == 2 && of({5, 5, 5}, 3).makespan == 5);
static_assert(of({7, 1}, 1).makespan == 8);
static_assert(of({6, 6, 6, 5}, 3).bound == 11, "the least two of the longest four are on one group");
static_assert(of({4, 4, 4, 3, 2}, 2).bound == 9, "an even share is rounded up");
static_assert(of({1}, 0).code == code::groups_are_not_positive);
static_assert(of({1, -1}, 2).code == code::item_time_is_negative && of({1, -1}, 2).item == 1);
static_assert(of({INT64_MAX, 1}, 2).code == code::item_times_overflow && of({INT64_MAX, 1}, 2).item == 1);

TEST(dispatch, many_items_are_dispatched_at_once) {
  times t;
  for (int i = 0; i < 200'000; ++i) t.push(1 + (i * 7919LL) % 1000);
  const hp::item_dispatch d = hp::dispatch_longest_first(t, 5000);
  EXPECT_LE(d.makespan, d.bound + 1000);
  EXPECT_STREQ(hp::name_of(code::item_times_overflow), "item_times_overflow");
}

}  // namespace
