// SPDX-License-Identifier: Apache-2.0
// Whatever the interval, the frozen order is a run of any number of copies.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/periodic_freeze.hpp>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

TEST(PeriodicFreeze, KeepsEveryWaitAndFewStages) {
  std::mt19937 random(41);
  int staged = 0;
  for (int i = 0, cases = random_cases(4000); i < cases; ++i) {
    const sealed_period p(random_period(random, 2 + below(random, 8), 20));
    const hp::taskflow_size size = hp::unrolled_room(p, hp::planned_copies);
    hp::owned_taskflow f(size);
    hp::unroll(f, p, hp::planned_copies);
    hp::owned_schedule e(size.tasks, small_queues);
    hp::owned_schedule_scratch ranks(size, small_queues);
    hp::owned_timeline line(size.tasks);
    hp::owned_simulation_scratch clock(size, small_queues);
    ASSERT_EQ(hp::list_schedule(f, small_machine, {}, e, ranks), hp::schedule_status{});
    hp::simulate(f, e, {}, line, clock);
    hp::owned_periodic_schedule s(p.size.tasks, small_queues);
    hp::owned_freeze_scratch z(p.size.tasks, p.size.events, small_queues);
    for (const std::int64_t interval : {1, 3, 10, 1000}) {
      ASSERT_GE(hp::freeze_period(p, e, line, hp::frozen_copy, interval, 0, s, z), interval);
      ASSERT_LE(s.stages, hp::most_stages);
      staged += s.stages > 1 ? 1 : 0;
      // The order of any number of copies is a run of them: the first half of the local rule.
      for (int copies : {1, 2, 7}) {
        const hp::periodic_expansion all(p, s, copies);
        hp::owned_verify_scratch x(all.flow.size, small_queues);
        const hp::verify_code code = hp::verify(all.flow, all.schedule, x).code;
        ASSERT_TRUE(code == hp::verify_code::ok || code == hp::verify_code::conflict_is_not_ordered)
            << to_text(code) << " in case " << i;
      }
    }
  }
  EXPECT_GT(staged, 10);
}

}  // namespace
