// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_search.hpp>

#include <offload/best_offload_plan.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

constexpr hp::plan_score no_bound{0, 0, 0};

TEST(offload_search, offers_every_decision_of_small_windows) {
  draw d(1);
  for (int i = 0; i < 300; ++i) {
    program_shape shape;
    shape.tiers = d.between(1, 3);
    const hp::offload_program p = random_program(d, shape);
    hp::offload_clock clock(p);
    const hp::plan_search search(clock, no_bound, 1000);
    const hp::offload_plan plan = random_plan(d, p);
    const auto rights = hp::rights_of(p, clock.chains);
    hp::growing_array<hp::gap_decision> options;
    for (int g = 0; g < plan.gap.size; ++g) {
      search.options_of(g, plan.gap[g], options);
      for (const hp::gap_decision& one : options) {
        hp::offload_plan changed = plan;
        changed.gap[g] = one;
        ASSERT_EQ(hp::check(p, changed).code, hp::offload_plan_code::ok);
      }
      for (const hp::gap_decision& wanted : all_decisions(p, clock.chains.gap[g], rights[g], false)) {
        bool offered = false;
        for (const hp::gap_decision& one : options)
          offered = offered || (one.choice == wanted.choice &&
                                (one.choice != hp::gap_choice::offload ||
                                 (one.tier == wanted.tier && one.fetch_after == wanted.fetch_after)));
        EXPECT_TRUE(offered);
      }
    }
  }
}

TEST(offload_search, never_loses_what_was_offered) {
  draw d(2);
  int improved = 0;
  for (int i = 0; i < 200; ++i) {
    program_shape shape;
    shape.operators = d.between(5, 20);
    shape.most_gaps = 25;
    shape.tiers = d.between(1, 3);
    const hp::offload_program p = random_program(d, shape);
    hp::offload_clock clock(p);
    hp::plan_search search(clock, no_bound, 50'000);
    hp::extent_t offered = hp::endless;
    for (int k = 0; k < 5; ++k) {
      const hp::offload_plan plan = random_plan(d, p);
      offered = std::min(offered, clock.run(plan.gap.item));
      search.offer(plan.gap);
      EXPECT_EQ(search.score.time, offered);
    }
    const hp::plan_score before = search.score;
    search.restart(5, i % 2 == 0);
    EXPECT_FALSE(hp::better(before, search.score));
    improved += hp::better(search.score, before) ? 1 : 0;
    EXPECT_EQ(clock.run(search.best.item), search.score.time);
    hp::offload_plan best;
    best.gap = search.best;
    EXPECT_EQ(hp::check(p, best).code, hp::offload_plan_code::ok);
  }
  EXPECT_GT(improved, 100);
}

TEST(offload_search, ends_where_no_single_gap_helps) {
  draw d(3);
  for (int i = 0; i < 100; ++i) {
    const hp::offload_program p = random_program(d, {});
    hp::offload_clock clock(p);
    hp::plan_search search(clock, no_bound, 10'000'000);
    hp::offload_plan plan = random_plan(d, p);
    hp::plan_score now = search.evaluate(plan.gap, {hp::endless, INT32_MAX, hp::endless});
    search.improve(plan.gap, now, search.candidate);
    hp::growing_array<hp::gap_decision> options;
    for (const int g : search.candidate) {
      search.options_of(g, plan.gap[g], options);
      for (const hp::gap_decision& one : options) {
        hp::offload_plan changed = plan;
        changed.gap[g] = one;
        EXPECT_FALSE(hp::better(search.evaluate(changed.gap, now), now));
      }
    }
  }
}

TEST(offload_search, stops_when_its_effort_is_used_up) {
  draw d(4);
  program_shape shape;
  shape.operators = 40;
  shape.most_gaps = 200;
  const hp::offload_program p = random_program(d, shape);
  hp::offload_clock clock(p);
  hp::plan_search search(clock, no_bound, 5000);
  const hp::offload_plan plan = random_plan(d, p);
  search.offer(plan.gap);
  search.restart(1'000'000, false);
  EXPECT_TRUE(search.finished());
  EXPECT_GT(search.effort, -10'000);
}

}  // namespace
