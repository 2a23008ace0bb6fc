// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/program_waits.hpp>

#include <gtest/gtest.h>

#include "groups/played_programs.hpp"

namespace hp = hyperparallel;
using code = hp::programs_code;

namespace {

constexpr hp::program_graph rl(int samples_ready = 0, int weights_ready = 1) {
  hp::program_graph g;
  hp::add_program(g, "rollout", "generation", 128);
  hp::add_program(g, "train", "training", 99);
  hp::connect(g, {.name = "samples", .from = 0, .to = 1, .ready = samples_ready, .room = samples_ready + 1});
  hp::connect(g, {.name = "weights",
                  .from = 1,
                  .to = 0,
                  .ready = weights_ready,
                  .room = weights_ready + 1,
                  .move = 4,
                  .reads = hp::edge_reads::newest});
  return g;
}

// Itself twice, samples and room for them, weights.
static_assert(hp::waits_of(rl()).size == 5);
static_assert(hp::waits_of(rl())[2] == hp::program_wait{0, 1, 0, hp::wait_kind::delivery, 0});
static_assert(hp::waits_of(rl())[3] == hp::program_wait{1, 0, 1, hp::wait_kind::room, 0});
static_assert(hp::waits_of(rl())[4] == hp::program_wait{1, 0, 1, hp::wait_kind::delivery, 1, 4});
static_assert(hp::detail::order_of_firing(2, hp::waits_of(rl())).order.size == 2);
static_assert(hp::detail::order_of_firing(2, hp::waits_of(rl(0, 0))).cycle.size == 2);
static_assert(hp::detail::least_backs(2, hp::waits_of(rl()))[0 * 2 + 1] == 0);
static_assert(hp::detail::least_backs(2, hp::waits_of(rl()))[1 * 2 + 0] == 1);
static_assert(hp::detail::least_backs(2, hp::waits_of(rl(2, 1)))[1 * 2 + 1] == 1, "itself");
static_assert(hp::check_waits(rl(), hp::waits_of(rl())).ok());
static_assert(hp::check_waits(rl(), hp::waits_of(rl(0, 0))).code == code::programs_wait_for_each_other);
static_assert(hp::check_waits(rl(), hp::waits_of(rl(1, 1))) ==
              hp::programs_status{.code = code::wait_is_missing, .program = 1, .other = 0, .edge = 0});
static_assert(hp::check_waits(rl(), {}) ==
              hp::programs_status{.code = code::wait_is_missing, .program = 0, .other = 0});

TEST(program_waits, programs_stand_still_exactly_where_a_cycle_has_no_firing_between) {
  played::dice roll(3);
  int live = 0, still = 0;
  while (live + still < played::tries(300, 3000)) {
    const played::setting s = played::any_setting(roll, 4, 4);
    const auto waits = hp::waits_of(s.graph);
    const hp::detail::firing_order order = hp::detail::order_of_firing(s.graph.program.size, waits);
    const played::seen seen = played::play(s, 2);
    if (!seen.complete) continue;
    ASSERT_EQ(order.ok(), !seen.stuck);
    ++(order.ok() ? live : still);
    for (int i = 0; i < order.cycle.size; ++i) {
      EXPECT_EQ(order.cycle[i].back, 0);
      EXPECT_EQ(order.cycle[i].from, order.cycle[(i + 1) % order.cycle.size].to);
    }
  }
  EXPECT_GT(live, 50);
  EXPECT_GT(still, 50);
}

/// Leaves a wait out, or lets it come later or earlier, or lets another program wait.
hp::growing_array<hp::program_wait> changed(const hp::growing_array<hp::program_wait>& waits, int programs,
                                            played::dice& roll) {
  hp::growing_array<hp::program_wait> other;
  const int which = roll(waits.size), how = roll(5);
  for (int i = 0; i < waits.size; ++i) {
    hp::program_wait w = waits[i];
    if (i == which && how < 2) continue;
    if (i == which && how == 2) ++w.back;
    if (i == which && how == 3 && w.back > 0) --w.back;
    if (i == which && how == 4) w.to = roll(programs);
    other.push(w);
  }
  return other;
}

TEST(program_waits, a_list_is_accepted_exactly_where_no_order_of_play_breaks_a_wait) {
  played::dice roll(5);
  int kept = 0, broken = 0, still = 0;
  while (kept + broken + still < played::tries(400, 4000)) {
    const played::setting s = played::safe_setting(roll, 3, 3);
    auto waits = hp::waits_of(s.graph);
    for (int changes = 1 + roll(2); changes > 0; --changes) waits = changed(waits, s.graph.program.size, roll);
    const played::seen seen = played::player(s, waits, played::enough_firings(hp::waits_of(s.graph))).play();
    if (!seen.complete) continue;
    const hp::programs_status status = hp::check_waits(s.graph, waits);
    if (seen.stuck) {
      ++still;
      ASSERT_EQ(status.code, code::programs_wait_for_each_other);
      continue;
    }
    ++(seen.waits_broken ? broken : kept);
    ASSERT_EQ(status.ok(), !seen.waits_broken) << hp::name_of(status.code);
    if (status.ok()) {
      ASSERT_FALSE(seen.device_twice || seen.read_too_early || seen.held_too_many);
    }
  }
  EXPECT_GT(kept, 20);
  EXPECT_GT(broken, 50);
  EXPECT_GT(still, 5);
}

TEST(program_waits, the_own_waits_of_an_accepted_graph_break_nothing) {
  played::dice roll(7);
  int sat = 0;
  while (sat < played::tries(200, 2000)) {
    const played::setting s = played::safe_setting(roll, 3, 3);
    ASSERT_TRUE(hp::check_waits(s.graph, hp::waits_of(s.graph)).ok());
    const played::seen seen = played::play(s, 3);
    if (!seen.complete) continue;
    ++sat;
    ASSERT_FALSE(seen.stuck || seen.device_twice || seen.read_too_early || seen.held_too_many || seen.waits_broken);
  }
}

TEST(program_waits, waits_on_what_is_no_program_are_refused) {
  for (const hp::program_wait& w :
       {hp::program_wait{-1, 0, 1}, hp::program_wait{0, 2, 1}, hp::program_wait{0, 0, -1}}) {
    auto waits = hp::waits_of(rl());
    waits.push(w);
    EXPECT_EQ(hp::check_waits(rl(), waits).code, code::wait_is_missing);
  }
}

}  // namespace
