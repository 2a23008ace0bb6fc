// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/bound_plan.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <hyperparallel/taskflow/pattern.hpp>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

TEST(BoundPlan, AChainInOneQueueKeepsNoSynchronisation) {
  owned_plan plan;
  plan.build([](auto& f) {
    for (int i = 0; i < 10; ++i) hp::add_event(f, 0);
    for (int i = 0; i < 10; ++i) {
      hp::add_task(f, hp::resource::aic, 0, 1, 0, i);
      if (i > 0) hp::add_wait(f, i - 1);
      hp::add_signal(f, i);
    }
  });
  plan.enqueue({1, {1, 0, 0, 0, 0}}, std::vector<int>(10, 0));
  const hp::bound_plan p = hp::bind_plan(plan.flow, plan.schedule, 4);
  EXPECT_TRUE(p.wait.empty());
  EXPECT_TRUE(p.signal.empty());
  EXPECT_EQ(p.workers, 1);
}

// What a wait that was left out promises must follow from what was kept and from queue order.
TEST(BoundPlan, WhatIsLeftOutIsImpliedByQueueOrder) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    owned_plan plan;
    random_plan(plan, 60, 4, 4, seed);
    const hp::dynamic_taskflow& f = plan.flow;
    const hp::bound_plan p = hp::bind_plan(f, plan.schedule, 2);
    for (const hp::bound_queue& q : p.queue)
      for (int r = q.begin; r < q.end; ++r) {
        const hp::task& t = f.task[p.record[static_cast<std::size_t>(r)].call.task];
        for (int w = t.wait_begin; w < t.wait_end; ++w) {
          const hp::wait& want = f.wait[w];
          bool held = false;
          int own = 0;
          for (int b = q.begin; b <= r; ++b) {
            const hp::bound_task& before = p.record[static_cast<std::size_t>(b)];
            for (int k = before.wait_begin; k < before.wait_end; ++k) {
              const hp::bound_wait& kept = p.wait[static_cast<std::size_t>(k)];
              held |= kept.event == want.event && static_cast<int>(kept.threshold) >= want.threshold;
            }
            const hp::task& source = f.task[before.call.task];
            for (int k = source.signal_begin; b < r && k < source.signal_end; ++k) own += f.signal[k] == want.event;
          }
          ASSERT_TRUE(held || own >= want.threshold);
        }
      }
    std::set<int> awaited;
    for (const hp::bound_wait& w : p.wait) awaited.insert(w.event);
    for (int e = 0; e < f.size.events; ++e)
      EXPECT_EQ(static_cast<int>(p.event_total[static_cast<std::size_t>(e)]),
                awaited.count(e) != 0 ? f.event[e].signals : 0);
  }
}

/// Two vector tasks fill a slot, a matrix task reads it; `copy` moves events and slots on.
struct filled_slot {
  int copy = 0;
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    const int e = hp::add_event(f, 0), s = hp::add_slot(f, 0, 0, 64 * copy, 64);
    for (int half = 0; half < 2; ++half) {
      hp::add_task(f, hp::resource::aiv, 0, 1, 0, 2 * copy + half);
      hp::add_signal(f, e);
      hp::add_access(f, s, 32 * half, 32 * half + 32, hp::access_mode::write);
    }
    hp::add_task(f, hp::resource::aic, 0, 1, 1, copy);
    hp::add_wait(f, e);
    hp::add_access(f, s, 0, 64, hp::access_mode::read);
  }
};
constexpr auto filled_pattern = hp::build_pattern<hp::measure(filled_slot{})>(filled_slot{});

TEST(BoundPlan, CopiesOfAPatternBindLikeTasksWrittenOneByOne) {
  constexpr int copies = 5;
  owned_plan stamped, written;
  stamped.build([](auto& f) {
    const auto placed = hp::place(f, filled_pattern);
    for (int c = 0; c < copies; ++c) hp::stamp(f, placed, c);
  });
  written.build([](auto& f) {
    for (int c = 0; c < copies; ++c) filled_slot{c}(f);
  });
  std::vector<int> queue_of;
  for (int c = 0; c < copies; ++c) queue_of.insert(queue_of.end(), {1, 2, 0});
  stamped.enqueue({1, {1, 2, 0, 0, 0}}, queue_of);
  written.enqueue({1, {1, 2, 0, 0, 0}}, queue_of);
  const hp::bound_plan a = hp::bind_plan(stamped.flow, stamped.schedule, 3);
  const hp::bound_plan b = hp::bind_plan(written.flow, written.schedule, 3);
  ASSERT_EQ(a.wait.size(), 5u);
  ASSERT_EQ(a.wait.size(), b.wait.size());
  for (std::size_t i = 0; i < a.wait.size(); ++i)
    EXPECT_TRUE(a.wait[i].event == b.wait[i].event && a.wait[i].threshold == b.wait[i].threshold) << i;
  ASSERT_EQ(a.signal.size(), b.signal.size());
  for (std::size_t i = 0; i < a.signal.size(); ++i)
    EXPECT_TRUE(a.signal[i].event == b.signal[i].event && a.signal[i].listeners == b.signal[i].listeners) << i;
  for (std::size_t e = 0; e < copies; ++e) EXPECT_EQ(a.event_total[e], b.event_total[e]) << e;
  EXPECT_EQ(a.written_slot, b.written_slot);
}

TEST(BoundPlan, QueuesAreCutIntoRunsWithTheLeastLargestLoad) {
  const std::vector<std::vector<std::int64_t>> samples = {
      {1}, {5, 1, 1}, {1, 98, 1}, {3, 3, 3, 3}, {9, 1, 1, 1, 9, 2, 2}, {}};
  for (const auto& load : samples)
    for (int parts = 1; parts <= 4; ++parts) {
      const std::vector<int> part = hp::detail::balanced_runs(load, parts);
      const int n = static_cast<int>(load.size());
      std::vector<std::int64_t> sum(4, 0);
      for (int i = 0; i < n; ++i) {
        ASSERT_LT(part[static_cast<std::size_t>(i)], parts);
        if (i > 0) {
          const int step = part[static_cast<std::size_t>(i)] - part[static_cast<std::size_t>(i - 1)];
          ASSERT_TRUE(step == 0 || step == 1);
        }
        sum[static_cast<std::size_t>(part[static_cast<std::size_t>(i)])] += load[static_cast<std::size_t>(i)];
      }
      if (n > 0) {
        EXPECT_EQ(part.back() + 1, n < parts ? n : parts) << "every worker gets a queue";
      }
      std::int64_t best = INT64_MAX;
      for (int cuts = 0; cuts < 1 << (n > 0 ? n - 1 : 0); ++cuts) {
        std::int64_t largest = 0;
        std::int64_t run = 0;
        int runs = 1;
        for (int i = 0; i < n; ++i) {
          if (i > 0 && (cuts >> (i - 1) & 1) != 0) {
            run = 0;
            ++runs;
          }
          run += load[static_cast<std::size_t>(i)];
          largest = run > largest ? run : largest;
        }
        if (runs <= parts && largest < best) best = largest;
      }
      std::int64_t largest = 0;
      for (const std::int64_t s : sum) largest = s > largest ? s : largest;
      EXPECT_EQ(largest, best);
    }
}

void expect_refused(owned_plan& plan, const std::string& text) {
  try {
    hp::bind_plan(plan.flow, plan.schedule, 2);
    FAIL() << "accepted, expected: " << text;
  } catch (const hp::bind_error& e) {
    EXPECT_EQ(std::string(e.what()), text);
  }
}

TEST(BoundPlan, ABrokenScheduleIsRefusedByName) {
  owned_plan plan;
  random_plan(plan, 4, 2, 1, 1);
  const std::vector<int> good = plan.queue_task;
  plan.queue_task[0] = good[1];
  const int twice_in = plan.queue_begin[1] >= 2 ? 0 : 1;
  expect_refused(
      plan, "queue " + std::to_string(twice_in) + " names task " + std::to_string(good[1]) + ", which is queued twice");
  plan.queue_task[0] = 9;
  expect_refused(plan,
                 "queue " + std::string(plan.queue_begin[1] > 0 ? "0" : "1") + " names task 9, which does not exist");
  plan.queue_task = good;
  plan.schedule.queue_task = plan.queue_task.data();
  plan.queue_begin[2] = 3;
  expect_refused(plan, "task " + std::to_string(good[3]) + " is in no queue");
  plan.queue_begin[2] = 5;
  expect_refused(plan, "queue 1 has a broken range of tasks");
  plan.queue_begin[2] = 4;
  plan.schedule.task_count = 3;
  expect_refused(plan, "the schedule holds 3 tasks, the taskflow 4");
  plan.schedule.task_count = 4;
  plan.signals[0] = 99;
  expect_refused(plan, "signal 0 names event 99");
}

}  // namespace
