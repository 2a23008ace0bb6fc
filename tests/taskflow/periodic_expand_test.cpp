// SPDX-License-Identifier: Apache-2.0
// Written-out schedules hold what the arithmetic says, at each position of each queue.

#include <gtest/gtest.h>

#include <hyperparallel/taskflow/periodic_expand.hpp>

#include "periods.hpp"

namespace {

using namespace taskflow_test;

TEST(PeriodicExpand, QueuesAreTheArithmetic) {
  std::mt19937 random(43);
  for (int i = 0, cases = random_cases(3000); i < cases; ++i) {
    const planned_period p(random_period(random, 1 + below(random, 9), 20));
    const int tasks = p.period.size.tasks;
    for (int copies : {0, 1, 2, 3, 5, 9}) {
      const hp::periodic_expansion e(p.period, p.schedule, copies);
      ASSERT_EQ(e.flow.size.tasks, copies * tasks);
      ASSERT_EQ(e.schedule.task_count, copies * tasks);
      ASSERT_EQ(e.schedule.queue_begin[small_queues], copies * tasks);
      for (int q = 0; q < small_queues; ++q) {
        const int begin = e.schedule.queue_begin[q], past = e.schedule.queue_begin[q + 1];
        ASSERT_EQ(past - begin, hp::tasks_of_queue(p.schedule, copies, q));
        for (int at = begin; at < past; ++at) {
          const hp::placed_task t = hp::task_at(p.schedule, copies, q, at - begin);
          ASSERT_EQ(e.schedule.queue_task[at], t.copy * tasks + t.task);
          ASSERT_EQ(e.schedule.queue[e.schedule.queue_task[at]], q);
        }
      }
    }
  }
}

TEST(PeriodicExpand, ItemsCountOn) {
  const planned_period p(prefetched_layer{});
  const hp::periodic_expansion e(p.period, p.schedule, 3);
  for (int c = 0; c < 3; ++c)
    for (int t = 0; t < 6; ++t) {
      const bool tile = t >= 1 && t <= 4;
      EXPECT_EQ(e.flow.task[6 * c + t].item, tile ? 4 * c + t - 1 : c);
    }
}

TEST(PeriodicExpand, IsAPlanOfItsOwn) {
  const planned_period p(prefetched_layer{});
  const hp::periodic_expansion e(p.period, p.schedule, 61);
  hp::owned_verify_scratch x(e.flow.size, small_queues);
  EXPECT_EQ(hp::verify(e.flow, e.schedule, x), hp::verify_status{});
}

}  // namespace
