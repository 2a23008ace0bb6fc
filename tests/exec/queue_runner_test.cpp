// SPDX-License-Identifier: Apache-2.0
// Runs take nothing from the heap, give the same bits under every delay, and follow the planned times.

#include <hyperparallel/exec/queue_runner.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/executor.hpp>
#include <hyperparallel/taskflow/list_schedule.hpp>

#include "random_plan.hpp"

namespace {

std::atomic<long> allocations{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const std::size_t unit = static_cast<std::size_t>(alignment);
  if (void* const p = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::alternating_plan;
using hp::testing_plans::owned_plan;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// A diamond of tiles, repeated: AIC and AIV by turns.
struct diamonds {
  template <class Flow>
  constexpr void operator()(Flow& f) const {
    int before = -1;
    for (int i = 0; i < 20; ++i) {
      const int open = hp::add_event(f, 0), join = hp::add_event(f, 0);
      hp::add_task(f, hp::resource::aiv, 0, 10, 0, i);
      if (before >= 0) hp::add_wait(f, before);
      hp::add_signal(f, open);
      for (int c = 0; c < 3; ++c) {
        hp::add_task(f, hp::resource::aic, 0, 20, 1, 3 * i + c);
        hp::add_wait(f, open);
        hp::add_signal(f, join);
      }
      before = join;
    }
  }
};
constexpr auto flow = hp::build_fixed<hp::measure(diamonds{})>(diamonds{});
constexpr auto schedule = hp::schedule_fixed<3>(flow, {1, {2, 1, 0, 0, 0}});

void count(const hp::kernel_call& c) { static_cast<std::vector<std::atomic<int>>*>(c.user)->at(at(c.task))++; }

template <class Executor>
void expect_no_allocation(Executor& x, int operations) {
  std::vector<std::atomic<int>> runs(at(x.tasks()));
  for (int o = 0; o < operations; ++o) x.bind(o, count, &runs);
  x.run();
  const long before = allocations;
  for (int round = 0; round < 20; ++round) x.run();
  EXPECT_EQ(allocations, before);
  for (const auto& n : runs) EXPECT_EQ(n, 21);
}

TEST(QueueRunner, RunningTakesNothingFromTheHeap) {
  for (const int threads : {1, 2, 4}) {
    hp::executor constant(hp::constant_plan<flow, schedule>{}, {.threads = threads});
    expect_no_allocation(constant, 2);
    owned_plan plan;
    random_plan(plan, 200, 6, 3, 1);
    hp::executor<hp::record_profile> recorded(plan.flow, plan.schedule, {.threads = threads});
    expect_no_allocation(recorded, 3);
  }
}

/// Sums whose value depends on their order: of a task's inputs, and of all tasks of a queue.
struct sums {
  const owned_plan* plan = nullptr;
  std::vector<float> value, by_queue;
  unsigned delays = 0;  ///< seed; 0: none
};

void add_up(const hp::kernel_call& c) {
  sums& s = *static_cast<sums*>(c.user);
  if (s.delays != 0) {
    std::minstd_rand random(s.delays * 7919U + static_cast<unsigned>(c.task));
    random.discard(3);
    const unsigned kind = static_cast<unsigned>(random() % 64);
    if (kind == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
    if (kind < 4) std::this_thread::yield();
    for (unsigned i = static_cast<unsigned>(random() % 300); kind < 32 && i > 0; --i) hp::detail::spin_pause();
  }
  float sum = 1.0F / static_cast<float>(3 + c.task);
  for (const int before : s.plan->inputs[at(c.task)]) sum += s.value[at(before)] * 0.37F;
  s.value[at(c.task)] = sum;
  float& total = s.by_queue[at(s.plan->queue[at(c.task)])];
  total = total * 0.99F + sum;
}

TEST(QueueRunner, RandomDelaysNeverChangeABit) {
  constexpr int tasks = 300, queues = 7;
  owned_plan plan;
  random_plan(plan, tasks, queues, 4, 12);
  const auto fresh = [&] { return sums{&plan, std::vector<float>(tasks), std::vector<float>(queues), 0}; };
  sums reference = fresh();
  for (int t = 0; t < tasks; ++t) add_up({0, t, 0, t, &reference});
  const int rounds = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 10000 : 200;
  for (const int threads : {2, 3}) {
    hp::executor x(plan.flow, plan.schedule, {.threads = threads});
    for (int round = 1; round <= rounds / 2; ++round) {
      sums s = fresh();
      s.delays = static_cast<unsigned>(round + threads * rounds);
      for (int o = 0; o < 3; ++o) x.bind(o, add_up, &s);
      ASSERT_EQ(x.run(), hp::run_result::complete);
      ASSERT_EQ(std::memcmp(s.value.data(), reference.value.data(), tasks * sizeof(float)), 0) << round;
      ASSERT_EQ(std::memcmp(s.by_queue.data(), reference.by_queue.data(), queues * sizeof(float)), 0) << round;
    }
  }
}

/// Queues change hands at random: many short plans, each run a few times in a row, so that workers come late to a run or
/// leave it when the next one has begun.
TEST(QueueRunner, ShortPlansRunRightInAnyHands) {
  const bool exhaustive = std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr;
  const unsigned plans = exhaustive ? 10000 : 900;
  for (unsigned seed = 1; seed <= plans; ++seed) {
    const int tasks = 5 + static_cast<int>(seed * 7 % 40), queues = 1 + static_cast<int>(seed % 6);
    owned_plan plan;
    random_plan(plan, tasks, queues, 4, seed);
    const auto fresh = [&] { return sums{&plan, std::vector<float>(at(tasks)), std::vector<float>(at(queues)), 0}; };
    sums reference = fresh();
    for (int t = 0; t < tasks; ++t) add_up({0, t, 0, t, &reference});
    for (const int threads : {1, 2, 3, 4}) {
      hp::executor x(plan.flow, plan.schedule, {.threads = threads, .spin = seed % 3 == 0 ? 0 : 20 << seed % 9});
      for (unsigned round = 1; round <= 3; ++round) {
        sums s = fresh();
        s.delays = round == 1 ? 0 : seed * 3 + round;
        for (int o = 0; o < 3; ++o) x.bind(o, add_up, &s);
        ASSERT_EQ(x.run(), hp::run_result::complete);
        ASSERT_EQ(std::memcmp(s.value.data(), reference.value.data(), at(tasks) * sizeof(float)), 0)
            << seed << ' ' << threads << ' ' << round;
        ASSERT_EQ(std::memcmp(s.by_queue.data(), reference.by_queue.data(), at(queues) * sizeof(float)), 0)
            << seed << ' ' << threads << ' ' << round;
      }
    }
  }
}

/// A chain that may change its worker at every task, with pauses about as long as it takes to fall asleep: a wake-up that
/// is lost would hang the run. `spin` 0: publishers fence; else sleepers do, where the system can.
TEST(QueueRunner, NoWakeUpIsLostAroundFallingAsleep) {
  constexpr int tasks = 200;
  owned_plan plan;
  alternating_plan(plan, tasks);
  for (const int spin : {0, 1, 20}) {
    hp::executor x(plan.flow, plan.schedule, {.threads = 2, .spin = spin});
    struct {
      unsigned round = 0;
      int next = 0;
    } s;
    x.bind(
        0,
        [](const hp::kernel_call& c) {
          auto& state = *static_cast<decltype(s)*>(c.user);
          std::minstd_rand random(state.round * 104729U + static_cast<unsigned>(c.task));
          random.discard(2);
          for (unsigned i = static_cast<unsigned>(random() % 400); i > 0; --i) hp::detail::spin_pause();
          EXPECT_EQ(state.next, c.task);
          state.next = c.task + 1;
        },
        &s);
    for (s.round = 1; s.round <= 60; ++s.round) {
      s.next = 0;
      ASSERT_EQ(x.run(), hp::run_result::complete);
      ASSERT_EQ(s.next, tasks);
    }
  }
}

/// What one worker makes ready another one alone may run, and sleeps.
TEST(QueueRunner, NoWakeUpOfACopyEnginesWorkerIsLost) {
  constexpr int tasks = 120;
  owned_plan plan;
  plan.build([](auto& f) {
    hp::add_event(f, 0, tasks);
    const hp::resource kinds[] = {hp::resource::aic, hp::resource::copy_in, hp::resource::copy_out};
    for (int t = 0; t < tasks; ++t) {
      hp::add_task(f, kinds[t % 3], 0, 1, 0, t);
      if (t > 0) hp::add_wait(f, t - 1);
      hp::add_signal(f, t);
    }
  });
  hp::machine_shape machine;
  machine.ranks = 1;
  for (const hp::resource k : {hp::resource::aic, hp::resource::copy_in, hp::resource::copy_out})
    machine.queues[static_cast<int>(k)] = 1;
  const int order[] = {hp::detail::first_queue(machine, 0, hp::resource::aic),
                       hp::detail::first_queue(machine, 0, hp::resource::copy_in),
                       hp::detail::first_queue(machine, 0, hp::resource::copy_out)};
  std::vector<int> queue_of;
  for (int t = 0; t < tasks; ++t) queue_of.push_back(order[t % 3]);
  plan.enqueue(machine, queue_of);
  for (const int threads : {1, 2}) {
    hp::executor x(plan.flow, plan.schedule, {.threads = threads, .copy_workers = true});
    int next = 0;
    x.bind(0, [](const hp::kernel_call& c) { EXPECT_EQ((*static_cast<int*>(c.user))++, c.task); }, &next);
    for (int round = 0; round < 50; ++round, next = 0) {
      ASSERT_EQ(x.run(), hp::run_result::complete);
      ASSERT_EQ(next, tasks);
    }
  }
}

/// A thread that sleeps has not computed: its worker hands its queues over, again and again.
TEST(QueueRunner, QueuesAreHandedOverByWorkersWhoLostTheirCore) {
  constexpr int tasks = 60;
  owned_plan plan;
  alternating_plan(plan, tasks);
  for (const int spin : {0, 100, 20000}) {
    hp::executor x(plan.flow, plan.schedule, {.threads = 2, .spin = spin});
    int next = 0;
    x.bind(
        0,
        [](const hp::kernel_call& c) {
          std::this_thread::sleep_for(std::chrono::microseconds(300));
          EXPECT_EQ(*static_cast<int*>(c.user), c.task);
          *static_cast<int*>(c.user) = c.task + 1;
        },
        &next);
    for (int round = 0; round < 8; ++round, next = 0) {
      ASSERT_EQ(x.run(), hp::run_result::complete);
      ASSERT_EQ(next, tasks);
    }
  }
}

/// A task that stands still is moved to the core of the worker that waits for it. Masks of the caller are as before.
TEST(QueueRunner, WhoWaitsLendsItsCoreToATaskThatStandsStill) {
  const std::vector<int> cores = hp::allowed_cores();
  if (cores.size() < 2) GTEST_SKIP() << "needs two cores";
  owned_plan plan;
  alternating_plan(plan, 8);
  hp::executor x(plan.flow, plan.schedule, {.threads = 2, .spin = 1 << 30});
  int moved = 0;
  x.bind(
      0,
      [](const hp::kernel_call& c) {
        if (c.task != 3) return;
        const std::vector<int> begun_on = hp::allowed_cores();
        for (int i = 0; i < 2000 && hp::allowed_cores() == begun_on; ++i)
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        *static_cast<int*>(c.user) += hp::allowed_cores() != begun_on ? 1 : 0;
      },
      &moved);
  for (int round = 1; round <= 5; ++round) {
    ASSERT_EQ(x.run(), hp::run_result::complete);
    EXPECT_EQ(moved, round);
    EXPECT_EQ(hp::allowed_cores(), cores);
  }
}

/// Two queues of one worker, no waits: tasks of 1 us come by turns as planned, of 1 ns in runs.
TEST(QueueRunner, AWorkerOfSeveralQueuesFollowsThePlannedTimes) {
  for (const std::int64_t duration : {1'000'000, 1'000}) {
    owned_plan plan;
    plan.build([&](auto& f) {
      for (int t = 0; t < 40; ++t) hp::add_task(f, hp::resource::aic, 0, duration, 0, t);
    });
    std::vector<int> queue_of(40);
    for (int t = 0; t < 40; ++t) queue_of[at(t)] = t % 2;
    plan.enqueue({1, {2, 0, 0, 0, 0}}, queue_of);
    hp::executor x(plan.flow, plan.schedule, {.threads = 1});
    std::vector<int> order;
    x.bind(0, [](const hp::kernel_call& c) { static_cast<std::vector<int>*>(c.user)->push_back(c.task); }, &order);
    x.run();
    int changes = 0;
    for (std::size_t i = 1; i < order.size(); ++i) changes += order[i] % 2 != order[i - 1] % 2;
    EXPECT_EQ(order.size(), 40U);
    if (duration == 1'000'000)
      EXPECT_GE(changes, 19);  // in pairs at the most: equal starts keep the queue
    else
      EXPECT_EQ(changes, 1);
  }
}

}  // namespace
