// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/taskflow/queue_clocks.hpp>

#include <gtest/gtest.h>

#include "lowered_plans.hpp"

namespace {

using namespace taskflow_test;

TEST(QueueClocks, ATasksClockIsWhatMustHaveEndedBeforeIt) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const realised plan(random_loose_plan(seed, 25, 2, false));
    const lowered l(plan.flow, plan.schedule);
    bool partial = false;  // a counter read in part orders tasks without a position to show for it
    for (int w = 0; w < l.table->size.waits; ++w) {
      const int c = l.table->wait[w].word - l.table->size.queues;
      partial |= c >= 0 && l.table->wait[w].threshold < l.table->counter_total[c];
    }
    const promised_order order = order_of_plan(plan.flow, plan.schedule);
    const int queues = hp::queue_count(plan.schedule.machine);
    for (int i = 0; i < plan.schedule.task_count; ++i)
      for (int q = 0; q < queues; ++q) {
        int behind = 0;
        for (int k = plan.schedule.queue_begin[q]; k < plan.schedule.queue_begin[q + 1]; ++k) {
          const int a = plan.schedule.queue_task[k], b = plan.schedule.queue_task[i];
          if (a == b || order.after[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]) ++behind;
        }
        const int clock = l.scratch.clock[i * queues + q];
        if (partial) {
          ASSERT_LE(clock, behind);
        } else {
          ASSERT_EQ(clock, behind) << "seed " << seed << " place " << i << " queue " << q;
        }
      }
  }
}

/// Queue 0 tells queue 1, queue 1 tells queue 2, and queue 0 tells queue 2 as well.
TEST(QueueClocks, AWaitThatTwoOthersImplyIsLeftOut) {
  loose_plan p;
  p.machine.queues[0] = 3;
  p.events = 3;
  p.task.resize(3);
  p.task[0].signals = {0, 2};
  p.task[1].waits = {{0, hp::all_signals}};
  p.task[1].signals = {1};
  p.task[2].waits = {{1, hp::all_signals}, {2, hp::all_signals}};
  p.queue = {{0}, {1}, {2}};
  const realised plan(p);
  const lowered l(plan.flow, plan.schedule);
  ASSERT_EQ(l.table->size.waits, 2);
  EXPECT_EQ(l.table->wait[0], (hp::word_wait{0, 1}));
  EXPECT_EQ(l.table->wait[1], (hp::word_wait{1, 1}));
}

TEST(QueueClocks, PlansTooWideForClocksKeepTheirOrder) {
  static_assert(hp::detail::clock_cells(1 << 20, 4) == 1 << 22 && hp::detail::clock_cells(1 << 20, 5) == 0);
  constexpr int queues = 1500, tasks = 3000;
  loose_plan p;
  p.machine.queues[0] = queues;
  p.events = tasks;
  p.queue.resize(queues);
  for (int t = 0; t < tasks; ++t) {
    loose_task k;
    k.signals = {t};
    if (t >= 7) k.waits = {{t - 7, 0}, {t - 1, 0}};
    p.task.push_back(k);
    p.queue[static_cast<std::size_t>(t * 37 % queues)].push_back(t);
  }
  const realised plan(p);
  ASSERT_EQ(hp::detail::clock_cells(tasks, queues), 0);
  const lowered l(plan.flow, plan.schedule);
  EXPECT_GT(l.table->size.waits, tasks);  // what clocks would have left out is still there
  int next = 0;
  std::vector<int> done(queues), word(queues);
  for (bool moved = true; moved;) {  // one run of the table
    moved = false;
    for (int q = 0; q < queues; ++q)
      for (int& d = done[static_cast<std::size_t>(q)]; l.table->queue_begin[q] + d < l.table->queue_begin[q + 1]; ++d) {
        const int r = l.table->queue_begin[q] + d;
        bool ready = true;
        for (int w = hp::wait_begin(*l.table, r); w < l.table->record[r].wait_end; ++w)
          ready &= done[static_cast<std::size_t>(l.table->wait[w].word)] >= l.table->wait[w].threshold;
        if (!ready) break;
        moved = true;
        if (l.table->record[r].task >= 7) {
          EXPECT_EQ(l.table->record[r].task, next);
        }
        next = l.table->record[r].task + 1;
      }
  }
  EXPECT_EQ(next, tasks);
}

}  // namespace
