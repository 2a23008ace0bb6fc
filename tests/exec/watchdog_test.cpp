// SPDX-License-Identifier: Apache-2.0
// A run without progress is found by a thread of its own, told at once, and ends when its kernels let it.

#include <hyperparallel/exec/watchdog.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <hyperparallel/exec/executor.hpp>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

TEST(Watchdog, LooksUntilItIsDestroyed) {
  std::atomic<int> looks{0};
  {
    const hp::watchdog dog(4, [](void* n) { ++*static_cast<std::atomic<int>*>(n); }, &looks);
    while (looks < 5) std::this_thread::yield();
  }
  const int after = looks;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(looks, after);
  const hp::watchdog patient(1'000'000, [](void*) { FAIL() << "looked too early"; }, nullptr);
}

/// Task 1 on AIV waits for task 0 on AIC; task 2 follows task 1.
void pair_of_queues(owned_plan& plan) {
  plan.build([](auto& f) {
    const int done = hp::add_event(f, 0);
    hp::add_task(f, hp::resource::aic, 0, 1, 0, 0);
    hp::add_signal(f, done);
    for (int i = 0; i < 2; ++i) {
      hp::add_task(f, hp::resource::aiv, 0, 1, 1, i);
      hp::add_wait(f, done);
    }
  });
  plan.enqueue({1, {1, 1, 0, 0, 0}}, {0, 1, 1});
}

struct stall {
  bool stuck = true;
  std::atomic<int> told{0};
  std::string text;
};

void until_stopped(const hp::kernel_call& c) {
  while (static_cast<stall*>(c.user)->stuck && !c.stopping()) std::this_thread::yield();
}

void tell(void* user, const char* what) {
  stall& s = *static_cast<stall*>(user);
  s.text = what;
  ++s.told;
}

TEST(Watchdog, NamesTheRunningTaskTheWaitingOneItsEventAndItsProducersAndTheNextRunIsWhole) {
  constexpr const char* operations[] = {"GMM1", "SwiGLU"};
  owned_plan plan;
  pair_of_queues(plan);
  for (const int threads : {1, 2}) {
    stall s;
    hp::executor_options options{.threads = threads, .watchdog = 150};
    options.names = {operations, 2, nullptr, 0};
    options.stalled = &tell;
    options.stalled_user = &s;
    hp::executor x(plan.flow, plan.schedule, options);
    x.bind(0, until_stopped, &s);
    x.bind(1, [](const hp::kernel_call&) {});
    for (int round = 1; round <= 3; ++round) {
      s.stuck = true;
      try {
        x.run();
        FAIL();
      } catch (const hp::stall_error& e) {
        EXPECT_EQ(std::string(e.what()),
                  "no task has ended for 150 ms; running: task 0 on rank 0 (GMM1); task 1 on rank 0 (SwiGLU) waits for "
                  "event 0, which has 0 of 1 signals; still to signal it: task 0 on rank 0 (GMM1)");
        EXPECT_EQ(s.text, e.what());
        ASSERT_EQ(e.running.size(), 1U);
        EXPECT_EQ(e.running[0].task, 0);
        EXPECT_EQ(e.waiting.task, 1);
        EXPECT_EQ(e.waiting.event, 0);
        ASSERT_EQ(e.waiting.producers.size(), 1U);
        EXPECT_EQ(e.waiting.producers[0].task, 0);
      }
      EXPECT_EQ(s.told, round);
      s.stuck = false;
      EXPECT_EQ(x.run(), hp::run_result::complete);
    }
  }
}

TEST(Watchdog, IsToldEveryTaskThatNeverReturns) {
  owned_plan plan;
  random_plan(plan, 20, 3, 3, 8);
  struct target {
    int task = -1;
  } t;
  hp::executor x(plan.flow, plan.schedule, {.threads = 2, .watchdog = 100});
  for (int operation = 0; operation < 3; ++operation)
    x.bind(
        operation,
        [](const hp::kernel_call& c) {
          while (static_cast<target*>(c.user)->task == c.task && !c.stopping()) std::this_thread::yield();
        },
        &t);
  for (t.task = 0; t.task < 20; ++t.task) {
    try {
      x.run();
      FAIL() << t.task;
    } catch (const hp::stall_error& e) {
      bool found = false;
      for (const hp::named_task& k : e.running) found |= k.task == t.task;
      EXPECT_TRUE(found) << e.what();
    }
  }
  EXPECT_EQ(x.run(), hp::run_result::complete);
}

TEST(Watchdog, LeavesARunAloneThatGoesOn) {
  owned_plan plan;
  random_plan(plan, 60, 2, 2, 3);
  hp::executor x(plan.flow, plan.schedule, {.threads = 2, .watchdog = 10000});
  for (int operation = 0; operation < 3; ++operation)
    x.bind(operation, [](const hp::kernel_call&) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  for (int round = 0; round < 3; ++round) EXPECT_EQ(x.run(), hp::run_result::complete);
}

TEST(Watchdog, ACancelReachesAKernelThatAsks) {
  owned_plan plan;
  pair_of_queues(plan);
  stall s;
  hp::executor x(plan.flow, plan.schedule, {.threads = 2});
  x.bind(0, until_stopped, &s);
  x.bind(1, [](const hp::kernel_call&) {});
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    x.cancel();
  });
  EXPECT_EQ(x.run(), hp::run_result::cancelled);
  other.join();
}

}  // namespace
