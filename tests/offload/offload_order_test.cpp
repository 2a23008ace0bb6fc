// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/offload/offload_order.hpp>

#include <offload/best_offload_plan.hpp>

#include <gtest/gtest.h>

namespace hp = hyperparallel;
using namespace offload_testing;

namespace {

TEST(offload_order, carries_decisions_over) {
  draw d(1);
  int carried_copies = 0;
  for (int i = 0; i < 1000; ++i) {
    const hp::offload_program p = random_program(d, movable_shape(d, 16, d.between(2, 3)));
    hp::growing_array<int> given;
    for (int q = 0; q < p.op.size; ++q) given.push(q);
    const hp::offload_plan plan = random_plan(d, p);
    const hp::use_chains c = hp::chains_of(p);
    EXPECT_EQ(hp::detail::carried_over(c, given, plan.gap, c, given, hp::rights_of(p, c)), plan.gap);
    hp::offload_plan moved;
    moved.order = random_order(d, p);
    const hp::offload_program r = hp::reordered(p, moved.order);
    const hp::use_chains rc = hp::chains_of(r);
    moved.gap = hp::detail::carried_over(c, given, plan.gap, rc, moved.order, hp::rights_of(r, rc));
    ASSERT_EQ(hp::check(p, moved).code, hp::offload_plan_code::ok);
    for (int g = 0; g < rc.gap.size; ++g)
      for (int k = 0; k < c.gap.size; ++k) {
        if (c.gap[k].storage != rc.gap[g].storage || c.gap[k].wraps != rc.gap[g].wraps ||
            c.gap[k].from != moved.order[rc.gap[g].from] || c.gap[k].to != moved.order[rc.gap[g].to])
          continue;
        if (plan.gap[k].choice == hp::gap_choice::recompute && !rc.gap[g].recomputable) continue;
        EXPECT_EQ(moved.gap[g].choice, plan.gap[k].choice);
        carried_copies += plan.gap[k].choice == hp::gap_choice::offload ? 1 : 0;
      }
  }
  EXPECT_GT(carried_copies, 1000);
}

TEST(offload_order, only_improves_and_stays_legal) {
  draw d(2);
  int better = 0;
  for (int i = 0; i < 150; ++i) {
    const hp::offload_program p = random_program(d, movable_shape(d, 16, d.between(2, 3)));
    bool moves = false;
    for (const hp::offload_operator& one : p.op) moves = moves || one.movable;
    if (!moves) continue;
    hp::offload_clock clock(p);
    hp::plan_search search(clock, {0, 0, 0}, 100'000);
    search.offer(random_plan(d, p).gap);
    if (search.score.time == hp::endless) continue;
    hp::refined_order r;
    r.plan.gap = search.best;
    for (int q = 0; q < p.op.size; ++q) r.plan.order.push(q);
    r.score = search.score;
    r.effort = 100'000;
    r.few_gaps = i % 2 == 0 ? 0 : 8;
    hp::refine_order(p, r, 3, [](hp::plan_search& one) { one.restart(1, false); });
    EXPECT_FALSE(hp::better(search.score, r.score));
    ASSERT_EQ(hp::check(p, r.plan).code, hp::offload_plan_code::ok);
    hp::offload_clock reordered(hp::reordered(p, r.plan.order));
    EXPECT_EQ(reordered.run(r.plan.gap.item), r.score.time);
    better += r.score.time < search.score.time ? 1 : 0;
  }
  EXPECT_GT(better, 10);
}

}  // namespace
