// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/taskflow/event_joins.hpp>

#include <gtest/gtest.h>

#include <map>

#include "lowered_plans.hpp"

namespace {

using namespace taskflow_test;

TEST(EventJoins, NameTheLastSignallerOfEachQueueAndEverySignalInQueueOrder) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    const realised plan(random_loose_plan(seed, 30, 3, seed % 3 == 0));
    const lowered l(plan.flow, plan.schedule);
    const auto& x = l.scratch.join;
    for (int e = 0; e < plan.flow.size.events; ++e) {
      std::map<int, std::vector<int>> at;  // queue -> positions of signals
      int total = 0;
      for (int q = 0; q < hp::queue_count(plan.schedule.machine); ++q)
        for (int i = plan.schedule.queue_begin[q]; i < plan.schedule.queue_begin[q + 1]; ++i) {
          const hp::task& k = plan.flow.task[plan.schedule.queue_task[i]];
          EXPECT_EQ(x.home[plan.schedule.queue_task[i]], q);
          EXPECT_EQ(x.position[plan.schedule.queue_task[i]], i - plan.schedule.queue_begin[q] + 1);
          for (int s = k.signal_begin; s < k.signal_end; ++s)
            if (plan.flow.signal[s] == e) at[q].push_back(i - plan.schedule.queue_begin[q] + 1), ++total;
        }
      ASSERT_EQ(x.total[e], total);
      ASSERT_EQ(x.joins[e], static_cast<int>(at.size()));
      int use = x.use_begin[e], join = use;
      for (const auto& [queue, positions] : at) {
        EXPECT_EQ(x.join_queue[join], queue);
        EXPECT_EQ(x.join_at[join++], positions.back());
        for (const int p : positions) EXPECT_EQ(x.use_at[use++], p);
      }
    }
  }
}

/// `signallers` queues signal one event `each` times, `waiters` further queues wait for it.
bool becomes_counter(int signallers, int each, int waiters, int threshold, hp::execution_options options,
                     int rank = 0) {
  loose_plan p;
  p.machine.ranks = 2;
  p.machine.queues[0] = signallers + waiters;
  p.events = 1;
  p.queue.resize(static_cast<std::size_t>(2 * (signallers + waiters)));
  for (int q = 0; q < signallers + waiters; ++q)
    for (int i = 0; i < (q < signallers ? each : 1); ++i) {
      loose_task k;
      k.rank = q < signallers ? rank : 0;
      if (q < signallers)
        k.signals = {0};
      else
        k.waits = {{0, threshold}};
      p.queue[static_cast<std::size_t>(k.rank * (signallers + waiters) + q)].push_back(static_cast<int>(p.task.size()));
      p.task.push_back(k);
    }
  const realised plan(p);
  const lowered l(plan.flow, plan.schedule, options);
  EXPECT_EQ(l.table->size.counters, l.scratch.join.is_counter[0] ? 1 : 0);
  EXPECT_LE(l.table->size.waits, l.most);
  return l.scratch.join.is_counter[0];
}

TEST(EventJoins, ACounterIsKeptWherePositionsCannotSayItOrCostMore) {
  constexpr hp::execution_options never{false, false}, cheaper{false, true}, remote{true, false};
  EXPECT_FALSE(becomes_counter(1, 5, 1, 3, never));   // part of one queue: a position
  EXPECT_FALSE(becomes_counter(3, 5, 1, 15, never));  // all of three queues: three positions
  EXPECT_TRUE(becomes_counter(3, 5, 1, 14, never));   // some of three queues
  EXPECT_TRUE(becomes_counter(1, 5, 1, 6, never));    // never reached
  EXPECT_FALSE(becomes_counter(4, 1, 4, 4, never));
  EXPECT_TRUE(becomes_counter(4, 1, 4, 4, cheaper));    // 16 transfers against 2 * 4 + 4
  EXPECT_FALSE(becomes_counter(4, 1, 2, 4, cheaper));   // 8 against 10
  EXPECT_FALSE(becomes_counter(4, 3, 4, 12, cheaper));  // 16 against 28
  EXPECT_TRUE(becomes_counter(24, 1, 24, 24, cheaper));
  EXPECT_FALSE(becomes_counter(2, 1, 1, 2, never, 1));
  EXPECT_TRUE(becomes_counter(2, 1, 1, 2, remote, 1));  // signalled by another rank
  EXPECT_FALSE(becomes_counter(2, 1, 1, 2, remote, 0));
}

}  // namespace
