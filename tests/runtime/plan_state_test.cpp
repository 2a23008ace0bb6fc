// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/plan_state.hpp>

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
  using plan_state::come_back;
  using plan_state::go_idle;
  using plan_state::plan_state;
  using plan_state::publish;
  using plan_state::raise;
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

TEST(PlanState, APublicationWakesTheWorkerThatWaitsForIt) {
  owned_plan plan;
  pair(plan, false);
  const hp::bound_plan p(plan.flow, plan.schedule);
  for (const bool waiters_fence : {false, true})
    for (const int second : {0, 1}) {
      opened_state s(p.view(), {0, second}, second + 1);
      s.begin_run(waiters_fence);
      EXPECT_EQ(s.finished(), 0);
      s.publish(0, 0, 1, 0, 1);
      EXPECT_EQ(s.words_[0].value, 1U);
      EXPECT_EQ(s.words_.count(), 2);
    }
}

TEST(PlanState, ACounterOfOneWorkerIsPrivate) {
  owned_plan plan;
  pair(plan, true);
  const hp::bound_plan p(plan.flow, plan.schedule);
  ASSERT_EQ(p.view().size.counters, 1);
  for (const int second : {0, 1}) {
    opened_state s(p.view(), {0, second}, second + 1);
    EXPECT_EQ(s.words_[2].is_private, second == 0);
    EXPECT_EQ(s.words_[2].listeners, 1ULL << second);
    EXPECT_EQ(s.words_[2].period, 1U);
    s.begin_run(false);
    s.raise(0, 2);
    EXPECT_EQ(s.words_[2].value, 1U);
    s.end(false);
    EXPECT_EQ(s.words_[2].value, 1U);  // run 1 begins here
  }
}

TEST(PlanState, TheLastToGoIdleFindsTheDeadlockAndNobodyElse) {
  owned_plan plan;
  pair(plan, true);
  const hp::bound_plan p(plan.flow, plan.schedule);
  opened_state s(p.view(), {0, 1}, 2);
  s.begin_run(false);
  const auto running = [&] { return s.ending().running(std::memory_order_relaxed); };
  s.go_idle();
  EXPECT_TRUE(running());
  s.go_idle();  // queue 0's head is ready
  EXPECT_TRUE(running());
  s.come_back();
  s.words_[2].value = 5;
  s.go_idle();  // and now queue 1's as well
  EXPECT_TRUE(running());
  EXPECT_EQ(s.runs_begun(), 1U);
  s.stop(hp::detail::run_end::cancelled);
  EXPECT_FALSE(running());
  EXPECT_EQ(s.ending().close(), hp::detail::run_end::cancelled);
}

}  // namespace
