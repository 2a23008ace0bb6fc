// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/split.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/groups/check_groups.hpp>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <vector>

namespace hp = hyperparallel;
using code = hp::split_code;
using loads = hp::growing_array<hp::module_load>;

namespace {

constexpr void add(loads& all, std::initializer_list<hp::device_time> choice, int least = 1) {
  hp::module_load m;
  m.least = least;
  for (const hp::device_time& c : choice) m.choice.push(c);
  all.push(m);
}

/// The least longest time over all choices, with the fewest devices that reach it; -1 where none fits.
struct optimum {
  hp::extent_t time = -1;
  int devices = 0;
};
void try_all(const loads& all, int m, int left, int used, hp::extent_t longest, optimum& best) {
  if (m == all.size) {
    if (best.time < 0 || longest < best.time || (longest == best.time && used < best.devices)) best = {longest, used};
    return;
  }
  for (const hp::device_time& c : all[m].choice)
    if (c.devices >= all[m].least && c.devices <= left)
      try_all(all, m + 1, left - c.devices, used + c.devices, std::max(longest, c.time), best);
}

loads random_loads(std::mt19937& random) {
  loads all;
  for (int m = static_cast<int>(random() % 4); m >= 0; --m) {
    hp::module_load one;
    one.least = 1 + static_cast<int>(random() % 3);
    const bool falls = random() % 2 == 0;
    for (int c = static_cast<int>(random() % 6); c >= 0; --c) {
      const int devices = 1 + static_cast<int>(random() % 9);
      one.choice.push({devices, falls ? 60 / devices : static_cast<hp::extent_t>(random() % 12)});
    }
    all.push(one);
  }
  return all;
}

TEST(split, no_split_takes_less_and_none_as_long_takes_fewer_devices) {
  std::mt19937 random(11);
  int refused = 0, idle = 0, never = 0, priced = 0;
  while (priced < 20'000) {
    const loads all = random_loads(random);
    const int devices = 1 + static_cast<int>(random() % 24);
    optimum best;
    try_all(all, 0, devices, 0, 0, best);
    const hp::device_split s = hp::split_devices(all, devices);
    ASSERT_EQ(s.status.ok(), best.time >= 0);
    if (!s.status.ok()) {
      ++refused;
      ASSERT_TRUE(s.status.code == code::devices_are_too_few || s.status.code == code::module_has_no_size);
      ASSERT_FALSE(hp::is_least_split(all, devices, s));
      continue;
    }
    ++priced;
    ASSERT_EQ(s.time, best.time);
    ASSERT_EQ(hp::detail::sum_of_devices(s.devices), best.devices);
    ASSERT_TRUE(hp::is_least_split(all, devices, s));
    idle += best.devices < devices;
    never += hp::detail::sum_of_devices(s.needed) < 0;
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(idle, 1000);
  EXPECT_GT(never, 1000);
  EXPECT_GT(priced - never, 1000);
}

TEST(split, the_proof_takes_no_split_that_is_not_the_least) {
  std::mt19937 random(13);
  int worse = 0, changed = 0;
  while (worse < 2000) {
    const loads all = random_loads(random);
    const int devices = 1 + static_cast<int>(random() % 24);
    const hp::device_split s = hp::split_devices(all, devices);
    if (!s.status.ok()) continue;
    // Another split, with whatever proof: none is taken that has a longer time.
    hp::device_split other = s;
    other.time = 0;
    int used = 0;
    for (int m = 0; m < all.size; ++m) {
      const hp::device_time& c = all[m].choice[static_cast<int>(random() % static_cast<unsigned>(all[m].choice.size))];
      other.devices[m] = c.devices;
      other.time = std::max(other.time, c.time);
      other.needed[m] = static_cast<int>(random() % 12) - 1;
      used += c.devices;
    }
    if (hp::is_least_split(all, devices, other)) {
      ASSERT_EQ(other.time, s.time);
      ASSERT_LE(used, devices);
    }
    worse += other.time > s.time;
    // A proof that needs fewer devices proves nothing.
    hp::device_split weak = s;
    hp::extent_t needed = 0;
    for (int& n : weak.needed) needed += n = n < 0 ? 1 : n - 1;
    if (needed <= devices) {
      ++changed;
      ASSERT_FALSE(hp::is_least_split(all, devices, weak));
    }
    weak = s;
    weak.time += 1;
    ASSERT_FALSE(hp::is_least_split(all, devices, weak));
    weak = s;
    weak.time -= 1;
    ASSERT_FALSE(hp::is_least_split(all, devices, weak)) << "that much is not reached";
    weak = s;
    weak.needed.resize(all.size - 1);
    ASSERT_FALSE(hp::is_least_split(all, devices, weak));
    weak = s;
    weak.devices.resize(all.size - 1);
    ASSERT_FALSE(hp::is_least_split(all, devices, weak));
    weak = s;
    weak.devices[0] += 100;
    ASSERT_FALSE(hp::is_least_split(all, devices, weak));
  }
  EXPECT_GT(changed, 1000);
}

/// DistServe: 13B on A100, prefill 5.6 requests/s on a device, decoding 10; colocated 1.6. Times of 2 800 · 0.1 requests.
constexpr loads prefill_and_decode(int most) {
  loads all;
  for (const int tenths : {56, 100}) {
    hp::module_load m;
    for (int n = 1; n <= most; ++n) m.choice.push({n, (2800 + n * tenths - 1) / (n * tenths)});
    all.push(m);
  }
  return all;
}
constexpr hp::device_split served(int devices) { return hp::split_devices(prefill_and_decode(2), devices); }
static_assert(served(3).devices[0] == 2 && served(3).devices[1] == 1);
static_assert(2800 / served(3).time == 100, "10 requests/s on 3 devices");
static_assert(2800 % served(3).time == 0 && 10 * 100 / 3 / 16 == 20, "3.33 a device, 2.08 times 1.6");
static_assert(served(2).time == 50, "5.6 requests/s on 2 devices, 2.8 a device");
static_assert(served(3).needed[0] == 2 && served(3).needed[1] == 2, "less takes 2 + 2");
static_assert(hp::is_least_split(prefill_and_decode(2), 3, served(3)));
static_assert(served(1).status == hp::split_status{.code = code::devices_are_too_few, .given = 1, .expected = 2});

TEST(split, the_published_example_of_prefill_and_decoding) {
  EXPECT_EQ(served(3).time, 28);
  EXPECT_EQ(served(3).devices[0], 2);
}

/// Phases that verl prints of its colocated 7B run on 32, 64 and 128 devices (verl-fully-async-002 … -012), in 10 ms:
/// generation, which takes longer on 128 than on 64, and log-probabilities with the update.
constexpr loads rollout_and_training() {
  loads all;
  add(all, {{32, 35'741}, {64, 15'072}, {128, 17'785}});
  add(all, {{32, 10'771 + 26'980}, {64, 7'026 + 13'341}, {128, 5'392 + 11'381}});
  return all;
}

TEST(split, the_published_phases_of_rollout_and_training) {
  const hp::device_split s = hp::split_devices(rollout_and_training(), 128);
  ASSERT_TRUE(s.status.ok());
  EXPECT_EQ(s.devices[0], 64);
  EXPECT_EQ(s.devices[1], 64);
  EXPECT_EQ(s.time, 20'367) << "203.67 s; phase by phase the printed step has 345.58";
  EXPECT_EQ(s.needed[0], 64);
  EXPECT_EQ(s.needed[1], 128) << "192 of 128";
  EXPECT_TRUE(hp::is_least_split(rollout_and_training(), 128, s));
  const hp::device_split more = hp::split_devices(rollout_and_training(), 256);
  EXPECT_EQ(more.time, 16'773);
  EXPECT_EQ(more.devices[0], 64) << "128 would take longer";
}

constexpr hp::split_status why(const loads& all, int devices) { return hp::split_devices(all, devices).status; }
constexpr loads one_module(std::initializer_list<hp::device_time> choice, int least = 1) {
  loads all;
  add(all, {{1, 1}});
  add(all, choice, least);
  return all;
}
static_assert(why(one_module({{1, 5}}), 2).ok());
static_assert(why(one_module({{1, 5}}), 0) == hp::split_status{.code = code::devices_are_not_positive, .given = 0});
static_assert(why({}, 4) == hp::split_status{.code = code::split_has_no_module});
static_assert(why(one_module({{1, 5}, {0, 5}}), 4) ==
              hp::split_status{.code = code::size_is_not_positive, .module = 1, .choice = 1, .given = 0});
static_assert(why(one_module({{1, -1}}), 4) ==
              hp::split_status{.code = code::time_is_negative, .module = 1, .choice = 0});
static_assert(why(one_module({{1, 5}, {2, 4}}, 3), 4) ==
              hp::split_status{.code = code::module_has_no_size, .module = 1, .expected = 3});
static_assert(why(one_module({{4, 5}, {8, 4}}), 4) ==
              hp::split_status{.code = code::devices_are_too_few, .given = 4, .expected = 5});

TEST(split, what_cannot_be_is_named) {
  EXPECT_EQ(why(one_module({{2147483647, 5}}), 2147483647),
            (hp::split_status{.code = code::devices_are_too_few, .given = 2147483647, .expected = 2147483648}));
  EXPECT_EQ(why(one_module({{1, INT64_MAX}}), 4).code, code::ok);
  EXPECT_STREQ(hp::name_of(code::devices_are_too_few), "devices_are_too_few");
}

constexpr const char* names[] = {"rollout", "training"};
static_assert([] {
  const hp::group_table t = hp::groups_of_split(hp::split_devices(rollout_and_training(), 130), names, 130);
  return hp::check_groups(t).ok() && hp::rank_count(t.group[0]) == 64 && hp::rank_at(t.group[1], 0) == 64;
}());

TEST(split, a_split_is_a_table_of_process_groups) {
  const hp::device_split s = hp::split_devices(rollout_and_training(), 200);
  const hp::group_table t = hp::groups_of_split(s, names, 200);
  EXPECT_TRUE(hp::check_groups(t).ok());
  for (int m = 0; m < 2; ++m) EXPECT_EQ(hp::rank_count(t.group[m]), s.devices[m]);
}

}  // namespace
