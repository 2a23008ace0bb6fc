// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/program_period.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/groups/program_times.hpp>

#include <cmath>
#include <functional>

#include "groups/played_programs.hpp"

namespace hp = hyperparallel;

namespace {

struct loop {
  hp::extent_t rollout = 128, train = 99, move = 4;
  int weights_ready = 1, samples_ready = 0, samples_room = 1;
  bool colocated = false;
};

constexpr hp::program_graph rl(const loop& l) {
  hp::group_table t;
  t.world = 8;
  hp::add_group(t, "generation", hp::rank_range{0, l.colocated ? 7 : 3});
  hp::add_group(t, "training", hp::rank_range{l.colocated ? 0 : 4, 7});
  hp::program_graph g;
  const int rollout = hp::add_program(g, "rollout", "generation", l.rollout),
            train = hp::add_program(g, "train", "training", l.train);
  hp::connect(g, {.name = "samples", .from = rollout, .to = train, .ready = l.samples_ready, .room = l.samples_room});
  hp::connect(g, {.name = "weights",
                  .from = train,
                  .to = rollout,
                  .ready = l.weights_ready,
                  .room = l.weights_ready + 1,
                  .move = l.move,
                  .reads = hp::edge_reads::newest});
  g.row = hp::rows_of(g, t);
  return g;
}
constexpr hp::extent_t time_of(const loop& l) {
  const hp::program_period p = hp::period_of(rl(l));
  return p.status.ok() && p.firings == 1 && hp::is_least_period(rl(l), p) ? p.time : -1;
}

static_assert(time_of({}) == 128 + 99 + 4, "one after the other");
static_assert(time_of({.weights_ready = 2, .samples_room = 2}) == 128, "beside each other: the longer");
static_assert(time_of({.weights_ready = 2}) == 227, "room for one version only");
static_assert(time_of({.weights_ready = 2, .samples_room = 2, .colocated = true}) == 128 + 99,
              "in turns; the move overlaps");
static_assert(hp::period_of(rl({.rollout = 130, .weights_ready = 2, .samples_room = 2})).time == 130);
static_assert(hp::period_of(rl({.move = 80, .weights_ready = 2, .samples_room = 2})).time == 307 &&
                  hp::period_of(rl({.move = 80, .weights_ready = 2, .samples_room = 2})).firings == 2,
              "round in 307 with two versions on the way");
static_assert(hp::utilisation_of_row(rl({}), hp::period_of(rl({})), 0) == 554'112, "128 of 231");
static_assert([] {
  const hp::program_graph day = rl({.rollout = 6'000'000'000'000'000, .train = 3'000'000'000'000'000, .move = 0});
  return hp::utilisation_of_row(day, hp::period_of(day), 0);
}() == 666'666);
static_assert(hp::detail::busy_of_row(rl({.colocated = true}), 0) == 227);
static_assert(hp::period_of(rl({})).depth[0] == 1);
static_assert(hp::period_of(rl({.weights_ready = 0})).status.code == hp::programs_code::programs_wait_for_each_other);
static_assert(hp::period_of(rl({.rollout = 0, .train = 0, .move = 0})).time == 0);

/// The greatest ratio over all simple cycles of waits, tried one by one; {time, firings}.
std::pair<hp::extent_t, hp::extent_t> greatest_ratio(const hp::program_graph& g) {
  const auto waits = hp::waits_of(g);
  std::pair<hp::extent_t, hp::extent_t> best{0, 1};
  std::vector<bool> on(static_cast<std::size_t>(g.program.size), false);
  const std::function<void(int, int, hp::extent_t, hp::extent_t)> walk = [&](int first, int at, hp::extent_t time,
                                                                             hp::extent_t firings) {
    for (const hp::program_wait& w : waits) {
      if (w.from != at || w.to < first) continue;
      const hp::extent_t t = time + g.program[at].duration + w.delay, n = firings + w.back;
      if (w.to == first) {
        if (t * best.second > best.first * n) best = {t, n};
      } else if (!on[static_cast<std::size_t>(w.to)]) {
        on[static_cast<std::size_t>(w.to)] = true;
        walk(first, w.to, t, n);
        on[static_cast<std::size_t>(w.to)] = false;
      }
    }
  };
  for (int p = 0; p < g.program.size; ++p) {
    on.assign(on.size(), false);
    on[static_cast<std::size_t>(p)] = true;
    walk(p, p, 0, 0);
  }
  return best;
}

TEST(program_period, it_is_that_of_play_in_the_long_run) {
  played::dice roll(31);
  int fractions = 0, coupled = 0;
  constexpr int firings = 600, most_regular = 24;
  for (int i = 0; i < played::tries(1500, 20'000); ++i) {
    hp::program_graph g = played::safe_setting(roll, 5, 6).graph;
    for (hp::program_edge& e : g.edge) {
      e.move = roll(2) * roll(40);
      if (roll(2) == 0) ++e.ready, ++e.room;
    }
    const hp::program_period p = hp::period_of(g);
    ASSERT_TRUE(p.status.ok());
    ASSERT_TRUE(hp::is_least_period(g, p));
    const auto [time, n] = greatest_ratio(g);
    ASSERT_EQ(time * p.firings, p.time * n);
    fractions += p.firings > 1;
    coupled += p.cycle.size > 1;
    // Every program of the critical cycle fires, after a while, c times in c periods, exactly, for some c.
    const hp::program_times t = hp::play_programs(g, firings);
    ASSERT_TRUE(t.status.ok());
    const int critical = p.cycle[0].to;
    const hp::extent_t* const end = t.end.item + critical * firings;
    bool regular = false;
    for (int c = static_cast<int>(p.firings); c <= most_regular && !regular; c += static_cast<int>(p.firings)) {
      regular = true;
      for (int k = firings / 2; k + c < firings && regular; ++k)
        regular = (end[k + c] - end[k]) * p.firings == c * p.time;
    }
    ASSERT_TRUE(regular) << p.time << " / " << p.firings;
    // No program is slower than that in the long run, and no firing of any schedule is earlier than in play.
    for (int q = 0; q < g.program.size; ++q)
      for (int k = 0; k < firings; ++k)
        ASSERT_LE(t.start[q * firings + k] * p.firings, p.start[q] + k * p.time)
            << "the starts of the proof are a schedule";
  }
  EXPECT_GT(fractions, 30);
  EXPECT_GT(coupled, 300);
}

TEST(program_period, with_room_for_its_depth_it_stays_the_same) {
  played::dice roll(37);
  int less = 0;
  for (int i = 0; i < played::tries(1000, 20'000); ++i) {
    played::setting s = played::safe_setting(roll, 4, 5);
    for (hp::group_program& each : s.graph.program) ++each.duration;  // programs without any would do with less
    const hp::program_period p = hp::period_of(s.graph);
    for (int e = 0; e < s.graph.edge.size; ++e) {
      hp::program_edge& edge = s.graph.edge[e];
      ASSERT_GE(p.depth[e], 0);
      if (edge.reads == hp::edge_reads::newest) continue;
      ASSERT_LE(p.depth[e], edge.room);
      const int room = std::max({p.depth[e], edge.ready, 1});
      less += room < edge.room;
      edge.room = room;
    }
    const hp::program_period again = hp::period_of(s.graph);
    ASSERT_EQ(again.time, p.time);
    ASSERT_EQ(again.firings, p.firings);
  }
  EXPECT_GT(less, 100);
}

TEST(program_period, its_depth_is_the_most_that_its_schedule_holds) {
  played::dice roll(41);
  for (int i = 0; i < played::tries(500, 10'000); ++i) {
    const played::setting s = played::safe_setting(roll, 4, 4);
    const hp::program_period p = hp::period_of(s.graph);
    if (p.time == 0) continue;
    for (int e = 0; e < s.graph.edge.size; ++e) {
      const hp::program_edge& edge = s.graph.edge[e];
      if (edge.reads == hp::edge_reads::newest) continue;
      int most = 0;  // while firing 40 … 60 of the writer begins; all times are multiplied by the firings of the period
      for (int k = 40; k < 60; ++k) {
        const hp::extent_t now = p.start[edge.from] + k * p.time;
        int read = 0;
        while (p.start[edge.to] + s.graph.program[edge.to].duration * p.firings + read * p.time <= now) ++read;
        most = std::max(most, edge.ready + k + 1 - read);
      }
      ASSERT_EQ(p.depth[e], most);
    }
  }
}

TEST(program_period, a_proof_of_another_period_is_not_taken) {
  played::dice roll(43);
  for (int i = 0; i < played::tries(500, 10'000); ++i) {
    const played::setting s = played::safe_setting(roll, 4, 5);
    const hp::program_period p = hp::period_of(s.graph);
    hp::program_period other = p;
    ++other.time;
    ASSERT_FALSE(hp::is_least_period(s.graph, other));
    other.time -= 2;
    ASSERT_FALSE(hp::is_least_period(s.graph, other));
    other = p;
    ++other.cycle[0].delay;
    ASSERT_FALSE(hp::is_least_period(s.graph, other));
    other = p;
    other.cycle.clear();
    ASSERT_FALSE(hp::is_least_period(s.graph, other));
    other = p;
    for (hp::extent_t& start : other.start) start = 0;
    for (const hp::program_edge& e : s.graph.edge) {
      if (e.ready > 0 || s.graph.program[e.from].duration == 0) continue;
      ASSERT_FALSE(hp::is_least_period(s.graph, other)) << "a reader does not begin with its writer";
    }
  }
}

}  // namespace
