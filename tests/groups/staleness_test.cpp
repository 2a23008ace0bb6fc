// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/staleness.hpp>

#include <gtest/gtest.h>

#include "groups/played_programs.hpp"

namespace hp = hyperparallel;
using code = hp::programs_code;

namespace {

struct loop {
  int weights_ready = 1, samples_ready = 0, samples_room = 1, move = 0, claim = -1;
  hp::edge_reads reads = hp::edge_reads::every;
};

constexpr hp::program_graph rl(const loop& l) {
  hp::program_graph g;
  hp::add_program(g, "rollout", "generation");
  hp::add_program(g, "train", "training");
  hp::connect(g, {.name = "weights",
                  .from = 1,
                  .to = 0,
                  .ready = l.weights_ready,
                  .room = l.weights_ready + 1,
                  .move = l.move,
                  .reads = l.reads,
                  .behind = l.claim});
  hp::connect(g, {.name = "samples", .from = 0, .to = 1, .ready = l.samples_ready, .room = l.samples_room});
  return g;
}
constexpr int behind(const loop& l) { return hp::staleness_of(rl(l), 0).behind; }

static_assert(behind({}) == 0, "one after the other: on policy");
static_assert(behind({.weights_ready = 2, .samples_room = 2}) == 1, "one step off");
static_assert(behind({.samples_ready = 1, .samples_room = 2}) == 1, "one step off, by samples");
static_assert(behind({.weights_ready = 5}) == 4);
static_assert(behind({.weights_ready = 5, .reads = hp::edge_reads::newest}) == 0,
              "room for one: rollout waits for train");
static_assert(behind({.weights_ready = 5, .samples_room = 3, .reads = hp::edge_reads::newest}) == 2);
static_assert(behind({.weights_ready = 5, .samples_room = 3, .move = 1, .reads = hp::edge_reads::newest}) == 4,
              "the move may still be on its way");
static_assert(hp::detail::check_staleness(rl({.weights_ready = 2, .claim = 1})).ok());
static_assert(hp::detail::check_staleness(rl({.weights_ready = 2, .claim = 0})) ==
              hp::programs_status{.code = code::staleness_is_exceeded, .edge = 0, .given = 0, .expected = 1});

TEST(staleness, the_path_that_reaches_it_is_named) {
  hp::program_graph g = rl({});
  const int reward = hp::add_program(g, "reward", "generation");
  hp::connect(g, {.name = "texts", .from = 0, .to = reward, .ready = 1, .room = 2});
  hp::connect(g, {.name = "rewards", .from = reward, .to = 1, .ready = 2, .room = 3});
  const hp::staleness s = hp::staleness_of(g, 0);
  EXPECT_EQ(s.behind, 3) << "1 + 1 + 2 ready, one of them on policy";
  ASSERT_EQ(s.path.size, 3);
  EXPECT_EQ(s.path[0], 0);
  EXPECT_EQ(s.path[1], 2);
  EXPECT_EQ(s.path[2], 3);
  EXPECT_EQ(hp::staleness_of(g, 1).behind, 0) << "samples come back as weights";
}

TEST(staleness, what_goes_round_without_the_writer_has_no_bound) {
  hp::program_graph g = rl({.claim = 100});
  EXPECT_TRUE(hp::detail::check_staleness(g).ok());
  hp::connect(g, {.name = "caches", .from = 0, .to = 0, .ready = 1, .room = 2});
  EXPECT_EQ(hp::detail::check_staleness(g),
            (hp::programs_status{.code = code::staleness_is_unbounded, .program = 0, .edge = 0}));
  g.edge[0].behind = -1;
  EXPECT_TRUE(hp::detail::check_staleness(g).ok()) << "nothing is claimed";
  hp::program_graph nothing = rl({});
  hp::add_program(nothing, "evaluation", "generation");
  hp::connect(nothing, {.name = "checkpoints", .from = 1, .to = 2, .ready = 0, .room = 4, .behind = 0});
  EXPECT_EQ(hp::staleness_of(nothing, 2).behind, -1) << "what is evaluated is not trained on";
  EXPECT_TRUE(hp::detail::check_staleness(nothing).ok());
  hp::connect(nothing, {.name = "scores", .from = 2, .to = 2, .ready = 1, .room = 2});
  EXPECT_TRUE(hp::detail::check_staleness(nothing).ok()) << "what does not come back may go round";
}

TEST(staleness, no_order_of_play_exceeds_the_bound_and_one_reaches_it) {
  played::dice roll(11);
  int checked = 0, every = 0, newest = 0, shorter = 0, far = 0, unbounded = 0, unused = 0;
  while (checked < played::tries(150, 3000)) {
    played::setting s = played::safe_setting(roll, 3, 4);
    const int edge = roll(s.graph.edge.size);
    const hp::staleness bound = hp::staleness_of(s.graph, edge);
    unbounded += !bound.status.ok();
    unused += bound.status.ok() && bound.behind < 0;
    if (!bound.status.ok() || bound.behind < 0) continue;
    int ready = -1, read_newest = 0;
    for (const int e : bound.path) {
      ready += s.graph.edge[e].ready;
      read_newest += s.graph.edge[e].reads == hp::edge_reads::newest;
    }
    const played::seen seen =
        played::player(s, hp::waits_of(s.graph), ready + 3, edge).play(played::tries(3'000, 40'000));
    ASSERT_LE(seen.behind, bound.behind);
    if (!seen.complete) continue;
    ASSERT_EQ(seen.behind, bound.behind);
    ++checked;
    ++(read_newest > 0 ? newest : every);
    shorter += bound.behind < ready;
    far += bound.behind > 1;
    s.graph.edge[edge].behind = bound.behind;
    ASSERT_TRUE(hp::check_programs(s.graph).ok());
    if (bound.behind == 0) continue;
    s.graph.edge[edge].behind = bound.behind - 1;
    ASSERT_EQ(hp::check_programs(s.graph).code, code::staleness_is_exceeded);
  }
  EXPECT_GT(every, 30);
  EXPECT_GT(newest, 15);
  EXPECT_GT(shorter, 5) << "where waits let the reader fall less behind than the ready versions";
  EXPECT_GT(far, 3);
  EXPECT_GT(unbounded, 5);
  EXPECT_GT(unused, 50);
}

}  // namespace
