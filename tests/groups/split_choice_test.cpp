// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/split_choice.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "support/tries.hpp"

namespace hp = hyperparallel;
using code = hp::split_choice_code;

namespace {

using splits = hp::growing_array<hp::compiled_split>;
using loads = hp::growing_array<hp::extent_t>;

constexpr hp::compiled_split split_of(int a, int b, hp::extent_t room_a, hp::extent_t room_b, hp::extent_t time) {
  hp::compiled_split s;
  s.devices.push(a);
  s.devices.push(b);
  s.room.push(room_a);
  s.room.push(room_b);
  s.time = time;
  return s;
}
constexpr loads load_of(hp::extent_t a, hp::extent_t b) {
  loads l;
  l.push(a);
  l.push(b);
  return l;
}

/// Six devices for images, two for sounds and the other way round; an even split for both at once.
constexpr splits images_and_sounds() {
  splits all;
  all.push(split_of(6, 2, 600, 100, 110));
  all.push(split_of(2, 6, 100, 600, 115));
  all.push(split_of(4, 4, 600, 600, 160));
  return all;
}
static_assert(hp::choose_split(images_and_sounds(), load_of(500, 90)).split == 0);
static_assert(hp::choose_split(images_and_sounds(), load_of(90, 500)).split == 1);
static_assert(hp::choose_split(images_and_sounds(), load_of(200, 200)).split == 2, "no other has room");
static_assert(hp::choose_split(images_and_sounds(), load_of(50, 50)).split == 0, "all have room: the fastest");
// From the second split: to leave it has to pay within the steps that are alike.
static_assert(hp::choose_split(images_and_sounds(), load_of(50, 50), {.split = 1, .steps = 9, .move = 50}).split == 1);
static_assert(hp::choose_split(images_and_sounds(), load_of(50, 50), {.split = 1, .steps = 10, .move = 50}).split == 1);
static_assert(hp::choose_split(images_and_sounds(), load_of(50, 50), {.split = 1, .steps = 11, .move = 50}).split == 0);
static_assert(hp::choose_split(images_and_sounds(), load_of(500, 90), {.split = 1, .steps = 2, .move = 50}).time ==
              270);

TEST(split_choice, what_cannot_be_is_named) {
  const splits all = images_and_sounds();
  using choice = hp::split_choice;
  EXPECT_EQ(hp::choose_split({}, load_of(1, 1)), choice{.code = code::no_split_is_compiled});
  EXPECT_EQ(hp::choose_split(all, load_of(601, 1)),
            (choice{.code = code::load_is_too_large, .module = 0, .given = 601, .expected = 600}));
  splits two = all;
  two.resize(2);
  EXPECT_EQ(hp::choose_split(two, load_of(200, 200)), choice{.code = code::load_is_too_large}) << "each alone has room";
  splits uneven = all;
  uneven[1].room.push(4);
  EXPECT_EQ(hp::choose_split(uneven, load_of(1, 1)),
            (choice{.code = code::split_has_other_modules, .split = 1, .given = 3, .expected = 2}));
  uneven = all;
  uneven[2].time = -1;
  EXPECT_EQ(hp::choose_split(uneven, load_of(1, 1)), (choice{.code = code::time_is_negative, .split = 2}));
  EXPECT_EQ(hp::choose_split(all, load_of(1, 1), {.split = 3}),
            (choice{.code = code::present_is_no_split, .given = 3, .expected = 3}));
  uneven = all;
  uneven[0].time = INT64_MAX;
  EXPECT_EQ(hp::choose_split(uneven, load_of(1, 1), {.steps = 2}), (choice{.code = code::times_overflow, .split = 0}));
}

/// On random splits and loads: the chosen one has room, none that has costs less; over a course of phases the sum is at most
/// that of every one split that has room for all of them, and of the moves.
TEST(split_choice, is_the_best_of_those_compiled_and_of_every_static_one) {
  std::mt19937 random(17);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int moved = 0, none = 0, compared = 0;
  for (int t = 0; t < tested::tries(2000, 100'000); ++t) {
    splits all;
    const int modules = 1 + below(4), count = 1 + below(6);
    for (int s = 0; s < count; ++s) {
      hp::compiled_split one;
      for (int m = 0; m < modules; ++m) {
        one.devices.push(1 + below(2));
        one.room.push(below(20));
      }
      one.time = below(50);
      all.push(one);
    }
    hp::present_split now{.move = below(60)};
    hp::extent_t dynamic = 0, moves = 0;
    std::vector<hp::extent_t> fixed(static_cast<std::size_t>(count), 0);
    std::vector<bool> fits(static_cast<std::size_t>(count), true);
    bool course = true;
    for (int phase = 0; phase < 4 && course; ++phase) {
      loads load;
      for (int m = 0; m < modules; ++m) load.push(below(14));
      now.steps = 1 + below(9);
      const hp::split_choice c = hp::choose_split(all, load, now);
      if (!c.ok()) {
        EXPECT_EQ(c.code, code::load_is_too_large);
        for (const hp::compiled_split& s : all) EXPECT_FALSE(hp::detail::has_room(s, load));
        course = false;
        ++none;
        continue;
      }
      ASSERT_TRUE(hp::detail::has_room(all[c.split], load));
      const auto cost = [&](int s) {
        const bool stays = now.split < 0 || all[now.split].devices == all[s].devices;
        return all[s].time * now.steps + (stays ? 0 : now.move);
      };
      EXPECT_EQ(c.time, cost(c.split));
      for (int s = 0; s < count; ++s) {
        const auto at = static_cast<std::size_t>(s);
        fits[at] = fits[at] && hp::detail::has_room(all[s], load);
        if (hp::detail::has_room(all[s], load)) {
          EXPECT_LE(c.time, cost(s));
        }
        fixed[at] += all[s].time * now.steps;
      }
      if (now.split >= 0 && !(all[now.split].devices == all[c.split].devices)) ++moved;
      moves += now.split < 0 ? 0 : now.move;
      dynamic += c.time;
      now.split = c.split;
    }
    for (std::size_t s = 0; course && s < fits.size(); ++s)
      if (fits[s]) {
        EXPECT_LE(dynamic, fixed[s] + moves);
        ++compared;
      }
  }
  EXPECT_GT(moved, 200);
  EXPECT_GT(none, 200);
  EXPECT_GT(compared, 200);
}

}  // namespace
