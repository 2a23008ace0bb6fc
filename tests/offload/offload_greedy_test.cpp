// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_greedy.hpp>

#include <offload/random_offload_program.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

/// A program whose plan a greedy planner writes.
struct greedy_run {
  hp::offload_program p;
  hp::offload_clock clock{p};
  hp::detail::greedy_planner greedy{clock};
  hp::offload_plan plan{};
};

program_shape roomy_shape(draw& d) { return any_shape(d, 24, 200, 2); }

TEST(offload_greedy, covers_every_budget_from_the_least_on_and_runs) {
  draw d(1);
  int hidden_is_faster = 0;
  for (int i = 0; i < 400; ++i) {
    hp::offload_program drawn = random_program(d, roomy_shape(d));
    if (d.one_in(4)) drawn.tier[0].capacity = budgets_of(drawn).least;
    const auto live = hp::live_bytes(drawn);
    greedy_run run{drawn};
    auto& [p, clock, greedy, plan] = run;
    for (int taste = 0; taste < hp::detail::cover_tastes; ++taste) {
      plan = {};
      const bool covered = greedy.cover(static_cast<hp::cover_taste>(taste), p.tier[0].capacity, plan.gap);
      EXPECT_TRUE(covered || static_cast<hp::cover_taste>(taste) != hp::cover_taste::farthest);
      ASSERT_EQ(hp::check(p, plan).code, hp::offload_plan_code::ok);
      if (!covered) continue;
      for (int q = 0; q < p.op.size; ++q) {
        hp::extent_t level = live[q];
        for (int g = 0; g < plan.gap.size; ++g)
          if (plan.gap[g].choice != hp::gap_choice::keep && hp::covers(clock.chains.gap[g], q))
            level -= p.storage[clock.chains.gap[g].storage].bytes;
        EXPECT_LE(level, p.tier[0].capacity);
      }
      hp::extent_t last = 0;
      for (int way = 0; way < hp::detail::fetch_issues; ++way)
        for (int early = 0; early < 2; ++early) {
          greedy.issue(static_cast<hp::detail::fetch_issue>(way), early == 1, plan.gap);
          ASSERT_EQ(hp::check(p, plan).code, hp::offload_plan_code::ok);
          const hp::extent_t time = clock.run(plan.gap.item);
          if (way == 0) {
            EXPECT_NE(time, hp::endless) << "issued last it runs";
            last = time;
          }
          hidden_is_faster += time < last ? 1 : 0;
        }
    }
  }
  EXPECT_GT(hidden_is_faster, 400);
}

TEST(offload_greedy, says_where_nothing_is_left) {
  draw d(2);
  for (int i = 0; i < 200; ++i) {
    greedy_run run{random_program(d, roomy_shape(d))};
    auto& [p, clock, greedy, plan] = run;
    EXPECT_FALSE(greedy.cover(hp::cover_taste::area, budgets_of(p).least - 1, plan.gap));
    EXPECT_EQ(hp::check(p, plan).code, hp::offload_plan_code::ok);
  }
}

TEST(offload_greedy, keeps_scarce_tiers_within_their_capacity) {
  draw d(3);
  for (int i = 0; i < 400; ++i) {
    program_shape shape = roomy_shape(d);
    shape.scarce_tiers = true;
    greedy_run run{random_program(d, shape)};
    auto& [p, clock, greedy, plan] = run;
    greedy.cover(hp::cover_taste::bytes_per_cost, p.tier[0].capacity, plan.gap);
    for (int t = 1; t < p.tier.size; ++t)
      for (int q = 0; q < p.op.size; ++q) {
        hp::extent_t away = 0;
        for (int g = 0; g < plan.gap.size; ++g)
          if (plan.gap[g].choice == hp::gap_choice::offload && plan.gap[g].tier == t &&
              hp::covers(clock.chains.gap[g], q))
            away += p.storage[clock.chains.gap[g].storage].bytes;
        EXPECT_LE(away, p.tier[t].capacity);
      }
  }
}

TEST(offload_greedy, offloads_whatever_is_longer_than_a_distance) {
  draw d(4);
  for (int i = 0; i < 200; ++i) {
    greedy_run run{random_program(d, roomy_shape(d))};
    auto& [p, clock, greedy, plan] = run;
    const int distance = d.between(1, 8), ahead = d.between(1, 8);
    greedy.cover_longer_than(distance, INT32_MAX, plan.gap);
    greedy.issue_ahead(ahead, plan.gap);
    ASSERT_EQ(hp::check(p, plan).code, hp::offload_plan_code::ok);
    for (int g = 0; g < plan.gap.size; ++g) {
      const hp::storage_gap& gap = clock.chains.gap[g];
      const int length = gap.to - gap.from + (gap.wraps ? p.op.size : 0);
      EXPECT_EQ(plan.gap[g].choice == hp::gap_choice::offload, length > distance);
      EXPECT_EQ(plan.gap[g].fetch_after, std::max(gap.wraps ? -1 : gap.from, gap.to - ahead));
    }
  }
}

TEST(offload_greedy, offloads_persistent_storages_and_recomputes_the_rest) {
  draw d(5);
  int recomputed = 0;
  for (int i = 0; i < 200; ++i) {
    greedy_run run{random_program(d, roomy_shape(d))};
    auto& [p, clock, greedy, plan] = run;
    const bool all = d.one_in(2), again = d.one_in(2);
    greedy.cover_persistent(all, again, plan.gap);
    greedy.issue_ahead(1, plan.gap);
    ASSERT_EQ(hp::check(p, plan).code, hp::offload_plan_code::ok);
    for (int g = 0; g < plan.gap.size; ++g) {
      const hp::offload_storage& s = p.storage[clock.chains.gap[g].storage];
      const bool leaves = plan.gap[g].choice == hp::gap_choice::offload;
      EXPECT_FALSE(leaves && !s.persistent);
      EXPECT_TRUE(leaves || !s.persistent || !all || again);
      recomputed += plan.gap[g].choice == hp::gap_choice::recompute ? 1 : 0;
    }
  }
  EXPECT_GT(recomputed, 50);
}

}  // namespace
