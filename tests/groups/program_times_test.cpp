// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/program_times.hpp>

#include <gtest/gtest.h>

#include "groups/played_programs.hpp"

namespace hp = hyperparallel;
using code = hp::programs_code;

namespace {

constexpr hp::program_graph rl(int room) {
  hp::group_table t;
  t.world = 2;
  hp::add_group(t, "generation", hp::rank_range{0, 0});
  hp::add_group(t, "training", hp::rank_range{1, 1});
  hp::program_graph g;
  hp::add_program(g, "rollout", "generation", 3);
  hp::add_program(g, "train", "training", 5);
  hp::connect(g, {.name = "samples", .from = 0, .to = 1, .ready = 0, .room = room, .move = 1});
  g.row = hp::rows_of(g, t);
  return g;
}

static_assert(hp::play_programs(rl(1), 2).makespan == 3 + 1 + 5 + 3 + 1 + 5);
static_assert(hp::play_programs(rl(2), 3).makespan == 3 + 1 + 5 + 5 + 5);
static_assert(hp::play_programs(rl(2), 3).idle[0] == 19 - 9 && hp::play_programs(rl(2), 3).idle[1] == 4);
static_assert(hp::play_programs(rl(2), 3).start[3 + 2] == 14);
static_assert(hp::play_programs(rl(1), 0).makespan == 0);
static_assert(hp::play_programs(rl(0), 2).status.code == code::room_is_too_small);

TEST(program_times, every_firing_begins_when_the_last_of_its_waits_ends) {
  played::dice roll(51);
  constexpr int firings = 12;
  for (int i = 0; i < played::tries(1000, 20'000); ++i) {
    const played::setting s = played::safe_setting(roll, 4, 5);
    hp::growing_array<hp::extent_t> duration;
    for (int f = 0; f < firings * s.graph.program.size; ++f) duration.push(roll(9));
    const hp::program_times t = hp::play_programs(s.graph, firings, duration);
    ASSERT_TRUE(t.status.ok());
    // By relaxation, from a start at 0 of all firings.
    std::vector<hp::extent_t> start(static_cast<std::size_t>(duration.size), 0);
    const auto waits = hp::waits_of(s.graph);
    for (bool more = true; more;) {
      more = false;
      for (const hp::program_wait& w : waits)
        for (int k = w.back; k < firings; ++k) {
          const int from = w.from * firings + k - w.back;
          hp::extent_t& at = start[static_cast<std::size_t>(w.to * firings + k)];
          const hp::extent_t least = start[static_cast<std::size_t>(from)] + duration[from] + w.delay;
          if (least <= at) continue;
          at = least;
          more = true;
        }
    }
    hp::extent_t last = 0;
    for (int f = 0; f < duration.size; ++f) {
      ASSERT_EQ(t.start[f], start[static_cast<std::size_t>(f)]);
      ASSERT_EQ(t.end[f], t.start[f] + duration[f]);
      last = std::max(last, t.end[f]);
    }
    ASSERT_EQ(t.makespan, last);
    // No rank fires two programs at a time, and what it does not fire is idle.
    for (int r = 0; r < s.graph.row.size; ++r) {
      hp::extent_t busy = 0;
      const hp::growing_array<int>& turn = s.graph.row[r].turn;
      for (const int a : turn)
        for (int k = 0; k < firings; ++k) {
          busy += duration[a * firings + k];
          for (const int b : turn)
            for (int j = 0; j < firings && a != b; ++j)
              ASSERT_TRUE(t.end[a * firings + k] <= t.start[b * firings + j] ||
                          t.end[b * firings + j] <= t.start[a * firings + k]);
        }
      ASSERT_EQ(t.idle[r], last - busy);
    }
  }
}

TEST(program_times, what_cannot_be_is_named) {
  hp::growing_array<hp::extent_t> duration(4, 1);
  duration[3] = -1;
  EXPECT_EQ(hp::play_programs(rl(1), 2, duration).status,
            (hp::programs_status{.code = code::duration_is_negative, .program = 1, .given = -1}));
  duration[3] = duration[2] = INT64_MAX;
  EXPECT_EQ(hp::play_programs(rl(1), 2, duration).status.code, code::times_overflow);
  duration[3] = 0;
  duration[2] = INT64_MAX - 3;
  EXPECT_EQ(hp::play_programs(rl(1), 2, duration).status.code, code::times_overflow) << "with moves";
}

}  // namespace
