// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/queue_choice.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <hyperparallel/exec/executor.hpp>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::alternating_plan;
using hp::testing_plans::owned_plan;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Two workers, with what they do step by step.
struct stepwise : hp::detail::queue_choice {
  using queue_choice::adopt;
  using queue_choice::any_ready;
  using queue_choice::begin_run;
  using queue_choice::find_own;
  using queue_choice::hand_over;
  using queue_choice::note_core;
  using queue_choice::queue_choice;
  using queue_choice::release;
  using queue_choice::rest;
  using queue_choice::take;
  using queue_choice::take_foreign;
  using queue_choice::take_own;
  bool favours(int q, int w) const { return queue_[at(q)].favours == w; }
};

TEST(QueueChoice, WhatAWorkerTakesStepByStep) {
  owned_plan plan;
  plan.build([](auto& f) {
    for (int t = 0; t < 8; ++t) hp::add_task(f, hp::resource::aic, 0, 1, 0, t);
  });
  plan.enqueue({1, {4, 0, 0, 0, 0}}, {0, 1, 2, 3, 0, 1, 2, 3});
  const hp::bound_plan bound(plan.flow, plan.schedule);
  stepwise s(bound.view(), {.workers = 2, .spin = 1, .cores = {}, .worker_of = {0, 0, 1, 1}, .sharing = 2});
  int due = 0;
  s.find_own(0);
  EXPECT_EQ(s.take_own(0, due), -1) << "closed";
  s.begin_run();
  for (const int w : {0, 1}) s.find_own(w);
  EXPECT_EQ(s.take_own(0, due), 0);
  EXPECT_FALSE(s.take(1, 0)) << "held";
  EXPECT_EQ(s.take_own(1, due), 2);
  EXPECT_EQ(s.take_own(0, due), 1);
  EXPECT_EQ(s.take_own(0, due), -1) << "the others favour worker 1";
  EXPECT_EQ(s.take_foreign(0), 3);
  EXPECT_TRUE(s.favours(3, 0));
  EXPECT_EQ(s.take_own(1, due), -1);
  EXPECT_FALSE(s.any_ready(1, std::memory_order_seq_cst));
  s.release(0, 3);
  EXPECT_EQ(s.take_own(1, due), -1);
  EXPECT_EQ(s.take_own(0, due), 3);
  for (const int q : {0, 1, 3}) s.release(0, q);
  EXPECT_FALSE(s.hand_over(0)) << "nobody rests";
  s.rest(1);
  EXPECT_TRUE(s.hand_over(0));
  for (const int q : {0, 1, 2, 3}) EXPECT_TRUE(s.favours(q, 1));
  s.release(1, 2);
  s.close();
  EXPECT_FALSE(s.take(0, 0));
  for (const int lost : {0, 1}) {
    s.note_core(lost, true);
    s.begin_run();
    for (const int q : {0, 1, 2, 3}) EXPECT_TRUE(s.favours(q, lost == 0 ? 1 : 0)) << "all have lost theirs: the caller";
    s.close();
  }
}

TEST(QueueChoice, QueuesOfWorkersWhoDoNotShareStayWithThem) {
  owned_plan plan;
  plan.build([](auto& f) {
    for (int t = 0; t < 2; ++t) hp::add_task(f, hp::resource::aic, 0, 1, 0, t);
  });
  plan.enqueue({1, {2, 0, 0, 0, 0}}, {0, 1});
  const hp::bound_plan bound(plan.flow, plan.schedule);
  stepwise s(bound.view(), {.workers = 2, .spin = 0, .cores = {}, .worker_of = {0, 1}, .sharing = 1});
  s.begin_run();
  EXPECT_EQ(s.take_foreign(1), 1);
  EXPECT_EQ(s.take_foreign(0), 0);
  s.release(1, 1);
  EXPECT_EQ(s.take_foreign(0), -1);
  EXPECT_FALSE(s.any_ready(0, std::memory_order_seq_cst));
  EXPECT_TRUE(s.any_ready(1, std::memory_order_seq_cst));
}

TEST(QueueChoice, QueuesThatOnlyAlternateStayWithOneWorker) {
  constexpr int tasks = 4000;
  owned_plan plan;
  alternating_plan(plan, tasks);
  hp::executor<hp::record_profile> x(plan.flow, plan.schedule, {.threads = 2});
  x.bind(0, [](const hp::kernel_call&) {});
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(x.run(), hp::run_result::complete);
    int changes = 0;
    for (int t = 1; t < tasks; ++t)
      changes += x.profile().task[at(t)].worker != x.profile().task[at(t - 1)].worker ? 1 : 0;
    EXPECT_LT(changes, tasks / 4);
  }
}

/// Four queues, two workers. The first task, of worker 0, lasts until all tasks of other queues have ended: one worker has
/// to run them, that of worker 0's second queue among them.
TEST(QueueChoice, OthersRunTheQueuesOfAWorkerThatIsStuckInATask) {
  constexpr int tasks = 40;
  owned_plan plan;
  plan.build([](auto& f) {
    for (int t = 0; t < tasks; ++t) hp::add_task(f, hp::resource::aic, 0, 1, 0, t);
  });
  std::vector<int> queue_of(tasks);
  for (int t = 0; t < tasks; ++t) queue_of[at(t)] = t % 4;
  plan.enqueue({1, {4, 0, 0, 0, 0}}, queue_of);
  hp::executor x(plan.flow, plan.schedule, {.threads = 2});
  std::atomic<int> others{0};
  x.bind(
      0,
      [](const hp::kernel_call& c) {
        auto& ended = *static_cast<std::atomic<int>*>(c.user);
        if (c.task % 4 != 0) ++ended;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (c.task == 0 && ended < tasks * 3 / 4 && std::chrono::steady_clock::now() < end)
          std::this_thread::yield();
        EXPECT_TRUE(c.task != 0 || ended == tasks * 3 / 4);
      },
      &others);
  for (int round = 0; round < 20; ++round, others = 0) ASSERT_EQ(x.run(), hp::run_result::complete);
}

}  // namespace
