// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/plan_state.hpp>

#include <gtest/gtest.h>

#include <vector>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

static_assert(sizeof(hp::detail::queue_state) == hp::cache_line);

/// Opens what a runner uses.
struct opened_state : hp::detail::plan_state {
  using plan_state::begin_run;
  using plan_state::end_deadlock;
  using plan_state::finish;
  using plan_state::is_waiting_for_a_worker;
  using plan_state::plan_state;
  using plan_state::publish;
  using plan_state::queue_;
  using plan_state::raise;
  using plan_state::release;
  using plan_state::rest;
  using plan_state::rise;
  using plan_state::take;
  using plan_state::words_;
};

/// Queue 0 signals an event of rank 0, whose only waiter is on queue 1; `counted` makes it a counter.
void pair(owned_plan& plan, bool counted) {
  plan.build([&](auto& f) {
    const int e = hp::add_event(f, 0);
    hp::add_task(f, hp::resource::aic, 0, 1, 0, 0);
    hp::add_signal(f, e);
    hp::add_task(f, hp::resource::aiv, 0, 1, 0, 1);
    hp::add_wait(f, e, counted ? 2 : 1);
  });
  plan.enqueue({1, {1, 1, 0, 0, 0}}, {0, 1});
}

TEST(PlanState, APublicationTellsWhetherSomebodyRests) {
  owned_plan plan;
  pair(plan, false);
  const hp::bound_plan p(plan.flow, plan.schedule);
  for (const bool waiters_fence : {false, true}) {
    opened_state s(p.view(), {0, 1}, 2, 2, waiters_fence);
    EXPECT_EQ(s.words_.count(), 2);
    s.begin_run();
    EXPECT_EQ(s.finished(), 0);
    EXPECT_FALSE(s.publish(0, 0, 1, false));  // worker 1 is at work
    EXPECT_EQ(s.words_[0].value, 1U);
    s.rest(1);
    EXPECT_TRUE(s.publish(0, 0, 1, false));
    EXPECT_FALSE(s.publish(0, 0, 1, true));   // the caller goes on with what can begin
    EXPECT_FALSE(s.publish(1, 0, 1, false));  // it knows itself
    s.rise(1);
    EXPECT_FALSE(s.publish(0, 0, 1, false));
  }
}

TEST(PlanState, OneWorkerHoldsAQueueAndNobodyBetweenRuns) {
  owned_plan plan;
  pair(plan, false);
  const hp::bound_plan p(plan.flow, plan.schedule);
  opened_state s(p.view(), {0, 1}, 2, 2, false);
  EXPECT_FALSE(s.take(0, 0));  // no run has begun
  s.begin_run();
  EXPECT_TRUE(s.is_waiting_for_a_worker(0, std::memory_order_seq_cst));
  EXPECT_FALSE(s.is_waiting_for_a_worker(1, std::memory_order_seq_cst));  // its head waits for queue 0
  EXPECT_TRUE(s.take(1, 0));                                              // which is at home on worker 0
  EXPECT_FALSE(s.take(0, 0));
  EXPECT_FALSE(s.is_waiting_for_a_worker(0, std::memory_order_seq_cst));
  s.release(1, 0);
  EXPECT_TRUE(s.take(0, 0));
  s.release(0, 0);
  s.close();
  EXPECT_FALSE(s.take(0, 0));
  EXPECT_FALSE(s.take(1, 1));
}

TEST(PlanState, ACounterIsPrivateWhereASingleWorkerMayRunAllItsQueues) {
  owned_plan plan;
  pair(plan, true);
  const hp::bound_plan p(plan.flow, plan.schedule);
  ASSERT_EQ(p.view().size.counters, 1);
  for (const int second : {0, 1})
    for (const int sharing : {0, second + 1}) {
      opened_state s(p.view(), {0, second}, second + 1, sharing, false);
      EXPECT_EQ(s.words_[2].is_private, second == 0) << second << " " << sharing;
      EXPECT_EQ(s.words_[2].period, 1U);
      s.begin_run();
      s.raise(0, 2);
      EXPECT_EQ(s.words_[2].value, 1U);
      s.end(false);
      EXPECT_EQ(s.words_[2].value, 1U);  // run 1 begins here
    }
  opened_state both(p.view(), {0, 0}, 2, 2, false);  // at home with worker 0, but worker 1 may run them
  EXPECT_FALSE(both.words_[2].is_private);
}

TEST(PlanState, ADeadlockIsFoundWhereNoHeadIsReadyAndNobodyHoldsAQueue) {
  owned_plan plan;
  pair(plan, true);
  const hp::bound_plan p(plan.flow, plan.schedule);
  opened_state s(p.view(), {0, 1}, 2, 2, false);
  s.begin_run();
  const auto running = [&] { return s.ending().running(std::memory_order_relaxed); };
  s.end_deadlock(0);  // queue 0's head is ready
  EXPECT_TRUE(running());
  ASSERT_TRUE(s.take(1, 0));
  s.queue_[0].next = s.queue_[0].end;  // queue 0 has ended without its signal
  s.end_deadlock(0);                   // somebody is at work
  EXPECT_TRUE(running());
  s.finish(1, 0);
  s.words_[2].value = 5;
  s.end_deadlock(0);  // queue 1's head is ready
  EXPECT_TRUE(running());
  s.words_[2].value = 0;
  s.end_deadlock(0);
  EXPECT_FALSE(running());
  EXPECT_EQ(s.runs_begun(), 1U);
  EXPECT_EQ(s.ending().close(), hp::detail::run_end::deadlocked);
}

}  // namespace
