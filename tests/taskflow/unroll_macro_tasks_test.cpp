// SPDX-License-Identifier: Apache-2.0
// The unrolled flow has each task of each chain once, between head and tail of its queue, on the instance's slots.

#include <hyperparallel/taskflow/unroll_macro_tasks.hpp>

#include <gtest/gtest.h>

#include "macro_worlds.hpp"

namespace {

using namespace taskflow_test;

TEST(UnrollMacroTasks, ChainsStandBetweenHeadsAndTails) {
  std::mt19937 random(19);
  int inside = 0;
  for (int turn = 0; turn < 200; ++turn) {
    macro_world w(random);
    if (w.prove().code != hp::macro_code::ok) continue;
    macro_world::unrolled u(w);
    ASSERT_TRUE(u.complete);
    ASSERT_EQ(u.flow.size, u.size);
    int tasks = w.flow.size.tasks, events = w.flow.size.events;
    for (const hp::macro_instance& one : w.instance) {
      tasks += w.chains[one.chain]->contract.tasks;
      events += w.chains[one.chain]->contract.events;
    }
    ASSERT_EQ(u.size.tasks, tasks);
    ASSERT_EQ(u.size.events, events);
    ASSERT_EQ(u.size.slots, w.flow.size.slots);
    // Each queue: the outer one's tasks, with those of the chain behind each head, in the chain's order.
    for (int q = 0; q < w.queues(); ++q) {
      int p = u.schedule.queue_begin[q];
      const auto next = [&] { return u.flow.task[u.schedule.queue_task[p++]]; };
      for (int o = w.schedule->queue_begin[q]; o < w.schedule->queue_begin[q + 1]; ++o) {
        const int t = w.schedule->queue_task[o];
        const hp::task k = w.flow.task[t], copy = next();
        ASSERT_EQ(copy.kind, k.kind);
        ASSERT_EQ(copy.rank, k.rank);
        ASSERT_EQ(copy.instance, 0);
        ASSERT_EQ(copy.duration, k.instance == 0 ? k.duration : 0);
        if (k.instance >= 0) continue;
        const hp::macro_instance& one = w.instance[static_cast<std::size_t>(-k.instance - 1)];
        const chain_world& of = *w.chains[one.chain];
        for (const int inner : of.plan.queue[static_cast<std::size_t>(of.contract.queue[t - one.first_task])]) {
          const hp::task was = of.made.flow.task[inner], is = next();
          ASSERT_EQ(is.item, was.item);
          ASSERT_EQ(is.duration, was.duration);
          ASSERT_EQ(is.rank, was.rank + one.first_rank);
          ASSERT_EQ(is.wait_end - is.wait_begin, was.wait_end - was.wait_begin + k.wait_end - k.wait_begin);
          ASSERT_EQ(u.flow.signal[is.signal_begin], of.made.flow.signal[was.signal_begin] + one.first_event);
          for (int a = 0; a < was.access_end - was.access_begin; ++a) {
            const hp::access x = of.made.flow.access[was.access_begin + a], y = u.flow.access[is.access_begin + a];
            const hp::macro_place at = of.place[static_cast<std::size_t>(x.slot)];
            const hp::macro_block to = w.block[static_cast<std::size_t>(one.first_block + at.block)];
            ASSERT_EQ(y.slot, to.slot);
            ASSERT_EQ(y.begin, to.begin + at.begin + x.begin);
            ASSERT_EQ(y.end - y.begin, x.end - x.begin);
            ASSERT_EQ(y.mode, x.mode);
          }
          ++inside;
        }
      }
      ASSERT_EQ(p, u.schedule.queue_begin[q + 1]);
    }
  }
  EXPECT_GT(inside, 1000);
}

}  // namespace
