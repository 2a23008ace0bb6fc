// SPDX-License-Identifier: Apache-2.0
// A contract is what the chain does: hulls by units, needs by withholding tasks, durations by simulation.

#include <hyperparallel/taskflow/macro_contract.hpp>

#include <gtest/gtest.h>

#include "macro_worlds.hpp"

namespace {

using namespace taskflow_test;

TEST(MacroContract, HullsEndWhereTheFurthestUsesEnd) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 200; ++turn) {
    macro_world w(random);
    for (auto& one : w.chains) {
      const auto& c = one->contract;
      for (int i = 0; i < c.queues; ++i)
        for (int b = 0; b < c.blocks; ++b)
          for (const bool writes : {false, true}) {
            hp::slot_interval hull{0, 0};
            for (const int t : one->plan.queue[static_cast<std::size_t>(c.queue[i])])
              for (const hp::access& a : one->plan.task[static_cast<std::size_t>(t)].accesses) {
                const hp::macro_place at = one->place[static_cast<std::size_t>(a.slot)];
                if (at.block != b || (a.mode == hp::access_mode::write) != writes) continue;
                const bool first = hull.begin == hull.end;
                const int begin = at.begin + a.begin, end = at.begin + a.end;
                hull = {first || begin < hull.begin ? begin : hull.begin, first || end > hull.end ? end : hull.end};
              }
            ASSERT_EQ((writes ? c.write : c.read)[i * c.blocks + b], hull);
          }
    }
  }
}

TEST(MacroContract, AQueueNeedsWhatHoldsUpOneOfItsTasks) {
  std::mt19937 random(11);
  int needed = 0, not_needed = 0;
  for (int turn = 0; turn < 200; ++turn) {
    macro_world w(random);
    for (auto& one : w.chains) {
      const auto& c = one->contract;
      std::vector<bool> holds(static_cast<std::size_t>(c.queues * c.queues));
      for (int a = 0; a < c.tasks; ++a) {
        hp::detail::run_greedily(one->made.flow, one->made.schedule, a, one->made.exact, [](int) {});
        for (int i = 0; i < c.queues; ++i)
          for (int j = 0; j < c.queues; ++j)
            for (const int b : one->plan.queue[static_cast<std::size_t>(c.queue[i])])
              if (one->made.schedule.queue[a] == c.queue[j] && !one->made.exact.begun[b])
                holds[static_cast<std::size_t>(i * c.queues + j)] = true;
      }
      for (int i = 0; i < c.queues; ++i)
        for (int j = 0; j < c.queues; ++j) {
          if (i == j) continue;
          ASSERT_EQ(c.needs[i * c.queues + j], holds[static_cast<std::size_t>(i * c.queues + j)]);
          ++(c.needs[i * c.queues + j] ? needed : not_needed);
        }
    }
  }
  EXPECT_GT(needed, 500);
  EXPECT_GT(not_needed, 500);
}

TEST(MacroContract, TheOuterFlowTakesAtLeastAsLongAsTheUnrolledOne) {
  std::mt19937 random(13);
  int equal = 0, longer = 0;
  for (int turn = 0; turn < 400; ++turn) {
    macro_world w(random);
    if (w.prove().code != hp::macro_code::ok) continue;
    macro_world::unrolled u(w);
    const auto makespan = [&](const hp::dynamic_taskflow& f, const hp::dynamic_schedule& s) {
      hp::owned_timeline line(f.size.tasks);
      hp::owned_simulation_scratch x(f.size, w.queues());
      const hp::simulation_result r = hp::simulate(f, s, {}, line, x);
      EXPECT_EQ(r.code, hp::simulation_code::ok);
      return r.makespan;
    };
    const std::int64_t outer = makespan(w.flow, *w.schedule), unrolled = makespan(u.flow, u.schedule);
    ASSERT_GE(outer, unrolled);
    ++(outer == unrolled ? equal : longer);
  }
  EXPECT_GT(equal, 20);
  EXPECT_GT(longer, 20);
}

}  // namespace
