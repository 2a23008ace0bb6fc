// SPDX-License-Identifier: Apache-2.0
// Cores of uneven speed: which queue is lent to whom, step by step, and what a slow worker runs of a whole plan.

#include <hyperparallel/exec/queue_lending.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include <hyperparallel/exec/executor.hpp>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr std::int64_t microsecond = 1'000;

/// Workers, with what they do step by step.
struct stepwise : hp::detail::queue_lending {
  using queue_lending::begin_run;
  using queue_lending::borrower;
  using queue_lending::find_own;
  using queue_lending::give_back;
  using queue_lending::note_stint;
  using queue_lending::queue_lending;
  using queue_lending::rest;
  using queue_lending::rise;
  using queue_lending::take;
  using queue_lending::take_lent_or_own;
  bool favours(int q, int w) const { return queue_[at(q)].favours == w; }
  bool is_open(int q) const { return queue_[at(q)].holder == hp::detail::queue_state::open; }
  void sleeps(int w, bool asleep) { worker_[at(w)].bell.parked = asleep ? 1U : 0U; }
};

/// One queue a worker, four tasks in each, of a planned microsecond.
struct four_workers {
  static constexpr int workers = 4;
  owned_plan plan;
  hp::bound_plan bound;
  hp::worker_share share{.workers = workers, .spin = 1, .cores = {}, .worker_of = {0, 1, 2, 3}, .sharing = workers};

  four_workers() {
    plan.build([](auto& f) {
      for (int t = 0; t < 4 * workers; ++t) hp::add_task(f, hp::resource::aic, 0, 1'000'000, 0, t);
    });
    std::vector<int> queue_of;
    for (int t = 0; t < 4 * workers; ++t) queue_of.push_back(t % workers);
    plan.enqueue({1, {workers, 0, 0, 0, 0}}, queue_of);
    bound = hp::bound_plan(plan.flow, plan.schedule);
  }
};

TEST(QueueLending, AQueueIsLentToTheFastestOfThoseWhoRest) {
  const four_workers four;
  stepwise s(four.bound.view(), four.share);
  s.begin_run();
  for (int w = 0; w < 4; ++w) s.find_own(w);
  int due = 0;
  ASSERT_EQ(s.take_lent_or_own(0, due), 0);
  const std::int64_t time[] = {30, 10, 15, 29};  // microseconds of a task
  for (int w = 0; w < 4; ++w) s.note_stint(w, w, 1, time[w] * microsecond);
  EXPECT_EQ(s.borrower(0, 0), -1) << "all are at work";
  s.rest(3);
  EXPECT_EQ(s.borrower(0, 0), -1) << "faster by less than a sixteenth";
  s.rest(2);
  EXPECT_EQ(s.borrower(0, 0), 2);
  s.rest(1);
  EXPECT_EQ(s.borrower(0, 0), 1);
  EXPECT_EQ(s.borrower(1, 0), -1) << "nobody is faster than the fastest";
  s.give_back(0, 0, false, 1);
  EXPECT_TRUE(s.favours(0, 1));
  ASSERT_TRUE(s.take(0, 3));
  EXPECT_EQ(s.borrower(0, 3), 2) << "worker 1 has a loan that it has not taken";
  EXPECT_EQ(s.take_lent_or_own(1, due), 0);
  EXPECT_FALSE(s.is_open(0));
  EXPECT_EQ(s.borrower(0, 3), 1) << "it rests until it says otherwise";
  s.rise(1);
  EXPECT_EQ(s.borrower(0, 3), 2);
}

TEST(QueueLending, ALoanThatComesTooLateWaitsLikeAnyQueue) {
  const four_workers four;
  stepwise s(four.bound.view(), four.share);
  s.begin_run();
  for (int w = 0; w < 4; ++w) s.find_own(w);
  int due = 0;
  ASSERT_EQ(s.take_lent_or_own(0, due), 0);
  s.rest(1);
  s.give_back(0, 0, false, 1);
  s.rise(1);
  EXPECT_TRUE(s.is_open(0));
  EXPECT_EQ(s.take_lent_or_own(1, due), 1) << "its own";
  EXPECT_TRUE(s.take(2, 0)) << "anybody's";
}

TEST(QueueLending, ShortTasksAreNeverLentAndASleeperIsWokenForLongOnesOnly) {
  using lending = stepwise;
  struct limits : lending {
    using lending::least;
    using lending::least_of_sleeper;
  };
  for (const std::int64_t time :
       {limits::least - 1, limits::least, limits::least_of_sleeper - 1, limits::least_of_sleeper}) {
    const four_workers four;
    stepwise s(four.bound.view(), four.share);
    s.begin_run();
    s.note_stint(0, 0, 3, 3 * time);
    s.note_stint(1, 1, 1, time / 2);
    s.rest(1);
    EXPECT_EQ(s.borrower(0, 0), time >= limits::least ? 1 : -1) << time;
    s.sleeps(1, true);
    EXPECT_EQ(s.borrower(0, 0), time >= limits::least_of_sleeper ? 1 : -1) << time;
    s.sleeps(1, false);
  }
}

TEST(QueueLending, ALongerPlannedTaskIsNoSlowerCore) {
  const four_workers four;
  owned_plan plan;
  plan.build([](auto& f) {
    for (int t = 0; t < 4; ++t) hp::add_task(f, hp::resource::aic, 0, t < 2 ? 1'000'000 : 3'000'000, 0, t);
  });
  plan.enqueue({1, {2, 0, 0, 0, 0}}, {0, 0, 1, 1});
  const hp::bound_plan bound(plan.flow, plan.schedule);
  stepwise s(bound.view(), {.workers = 2, .spin = 1, .cores = {}, .worker_of = {0, 1}, .sharing = 2});
  s.begin_run();
  s.note_stint(0, 0, 2, 20 * microsecond);
  s.note_stint(1, 1, 2, 60 * microsecond);
  s.rest(0);
  EXPECT_EQ(s.borrower(1, 1), -1);
  for (int i = 0; i < 20; ++i) s.note_stint(1, 1, 1, 60 * microsecond);
  EXPECT_EQ(s.borrower(1, 1), 0) << "twice as long as planned";
}

/// Cores of uneven speed by simulation: a task sleeps for its length, by the speed of its worker.
struct uneven_cores {
  static constexpr int workers = 4, slow = 3;
  std::atomic<int> entered{0};
  std::atomic<int> tasks[workers]{};

  static void sleep(const hp::kernel_call& c) {
    auto& cores = *static_cast<uneven_cores*>(c.user);
    thread_local const int me = cores.entered++;
    ++cores.tasks[me];
    std::this_thread::sleep_for(std::chrono::milliseconds(me == slow ? 2 : 1));
  }
};

/// Layers of four tasks a queue; each task waits for one of the layer before.
TEST(QueueLending, ASlowCoreRunsLessOfAPlanWithOneQueueAWorker) {
  constexpr int workers = uneven_cores::workers, width = 4 * workers, tasks = 24 * width;
  owned_plan plan;
  std::minstd_rand random(7);
  std::vector<int> before(tasks), queue_of;
  for (int t = 0; t < tasks; ++t) {
    before[at(t)] = t < width ? -1 : t - t % width - width + static_cast<int>(random() % width);
    queue_of.push_back(t % workers);
  }
  plan.build([&](auto& f) {
    hp::add_event(f, 0, tasks);
    for (int t = 0; t < tasks; ++t) {
      hp::add_task(f, hp::resource::aic, 0, 1'000'000'000, 0, t);
      if (before[at(t)] >= 0) hp::add_wait(f, before[at(t)]);
      hp::add_signal(f, t);
    }
  });
  plan.enqueue({1, {workers, 0, 0, 0, 0}}, queue_of);
  hp::executor<> x(plan.flow, plan.schedule, {.threads = workers});
  uneven_cores cores;
  x.bind(0, &uneven_cores::sleep, &cores);
  for (int round = 0; round < 2; ++round) ASSERT_EQ(x.run(), hp::run_result::complete);
  int all = 0;
  for (const std::atomic<int>& n : cores.tasks) all += n;
  EXPECT_EQ(all, 2 * tasks);
  EXPECT_LT(cores.tasks[uneven_cores::slow], all / workers * 7 / 8);
}

}  // namespace
