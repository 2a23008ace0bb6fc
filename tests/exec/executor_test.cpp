// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/executor.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// What the kernels of these tests write. Plain memory: an ordering that the executor forgets is a race.
struct trace {
  const owned_plan* plan = nullptr;
  std::vector<std::uint64_t> value;
  std::vector<int> runs;
  std::uint64_t round = 0;
  int failing = -1;
};

std::uint64_t mix(std::uint64_t h) {
  h ^= h >> 31;
  h *= 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 29);
}

void hash_inputs(const hp::kernel_call& c) {
  trace& t = *static_cast<trace*>(c.user);
  if (c.task == t.failing) throw std::out_of_range("tile " + std::to_string(c.item) + " is bad\nsecond line");
  std::uint64_t h = t.round + at(c.task);
  for (const int before : t.plan->inputs[at(c.task)]) h = mix(h + t.value[at(before)]);
  t.value[at(c.task)] = mix(h);
  t.runs[at(c.task)]++;
}

void prepare(trace& t, const owned_plan& plan) {
  t.plan = &plan;
  t.value.assign(at(plan.flow.size.tasks), 0);
  t.runs.assign(at(plan.flow.size.tasks), 0);
}

std::vector<std::uint64_t> reference(const owned_plan& plan, std::uint64_t round) {
  trace t;
  prepare(t, plan);
  t.round = round;
  for (int i = 0; i < plan.flow.size.tasks; ++i) hash_inputs({0, i, 0, i, &t});
  return t.value;
}

template <class Executor>
void bind_all(Executor& x, hp::kernel k, void* user) {
  for (int operation = 0; operation < 3; ++operation) x.bind(operation, k, user);
}

TEST(Executor, RandomPlansGiveTheReferenceOrdersResultForEveryThreadCountAndGeneration) {
  for (const int queues : {1, 2, 3, 8, 17})
    for (const int threads : {1, 2, 4})
      for (unsigned seed = 1; seed <= 6; ++seed) {
        owned_plan plan;
        random_plan(plan, 150, queues, 4, seed);
        hp::executor x(plan.flow, plan.schedule, {.threads = threads});
        EXPECT_LE(x.threads(), threads);
        trace t;
        prepare(t, plan);
        bind_all(x, hash_inputs, &t);
        for (std::uint64_t round = 0; round < 8; ++round) {
          t.round = round * 1000;
          ASSERT_EQ(x.run(), hp::run_result::complete);
          ASSERT_EQ(x.finished(), 150);
          ASSERT_EQ(t.value, reference(plan, t.round))
              << "queues " << queues << " threads " << threads << " seed " << seed;
        }
        for (const int n : t.runs) ASSERT_EQ(n, 8);
      }
}

struct clock_trace {
  std::atomic<int> now{0};
  std::vector<int> begin, end;
};

void stamp(const hp::kernel_call& c) {
  clock_trace& t = *static_cast<clock_trace*>(c.user);
  t.begin[at(c.task)] = t.now.fetch_add(1);
  if (c.item % 7 == 0) std::this_thread::yield();
  t.end[at(c.task)] = t.now.fetch_add(1);
}

TEST(Executor, EveryWaitHoldsAndEveryQueueKeepsItsOrder) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    owned_plan plan;
    random_plan(plan, 200, 6, 3, seed);
    hp::executor x(plan.flow, plan.schedule, {.threads = 3});
    clock_trace t;
    t.begin.resize(200);
    t.end.resize(200);
    bind_all(x, stamp, &t);
    for (int round = 0; round < 5; ++round) {
      x.run();
      const hp::dynamic_taskflow& f = plan.flow;
      for (int i = 0; i < f.size.tasks; ++i)
        for (int w = f.task[i].wait_begin; w < f.task[i].wait_end; ++w) {
          int seen = 0;
          for (int s = 0; s < f.size.tasks; ++s)
            for (int k = f.task[s].signal_begin; k < f.task[s].signal_end; ++k)
              seen += f.signal[k] == f.wait[w].event && t.end[at(s)] < t.begin[at(i)];
          ASSERT_GE(seen, f.wait[w].threshold) << "task " << i << " event " << f.wait[w].event;
        }
      for (int q = 0; q < 6; ++q)
        for (int i = plan.queue_begin[at(q)] + 1; i < plan.queue_begin[at(q + 1)]; ++i)
          ASSERT_LT(t.end[at(plan.queue_task[at(i - 1)])], t.begin[at(plan.queue_task[at(i)])]);
    }
  }
}

TEST(Executor, AFailureAnywhereIsNamedNobodyHangsAndTheNextRunIsRight) {
  const char* const operations[] = {"dispatch", "gmm1", "combine"};
  std::vector<std::string> text;
  constexpr int tasks = 500;
  for (int i = 0; i < tasks - 1; ++i) text.push_back("tensor " + std::to_string(i));
  std::vector<const char*> slots;
  for (const std::string& s : text) slots.push_back(s.c_str());  // the last slot is left without a name

  owned_plan plan;
  random_plan(plan, tasks, 5, 3, 77);
  for (const int threads : {1, 2, 4}) {
    hp::executor x(plan.flow, plan.schedule,
                   {.threads = threads, .names = {operations, 3, slots.data(), static_cast<int>(slots.size())}});
    trace t;
    prepare(t, plan);
    bind_all(x, hash_inputs, &t);
    for (int failing = 0; failing < tasks; ++failing) {
      t.failing = failing;
      try {
        x.run();
        FAIL() << "task " << failing << " did not end the run";
      } catch (const hp::task_error& e) {
        const std::string tensor = failing < tasks - 1 ? "tensor " + std::to_string(failing) : "slot 499";
        EXPECT_EQ(e.task, failing);
        EXPECT_EQ(e.rank, 0);
        EXPECT_EQ(e.operation, operations[failing % 3]);
        EXPECT_EQ(e.slot, tensor);
        EXPECT_EQ(std::string(e.what()), "task " + std::to_string(failing) + " on rank 0: " + operations[failing % 3] +
                                             " writing " + tensor + " failed: tile " + std::to_string(failing) +
                                             " is bad");
        EXPECT_THROW(std::rethrow_if_nested(e), std::out_of_range);
      }
      EXPECT_LT(x.finished(), tasks);
      t.failing = -1;
      t.round = at(failing);
      ASSERT_EQ(x.run(), hp::run_result::complete);
      ASSERT_EQ(t.value, reference(plan, t.round));
    }
  }
}

void nothing(const hp::kernel_call&) {}

TEST(Executor, WhatIsThrownNeedNotBeAnException) {
  owned_plan plan;
  random_plan(plan, 10, 2, 2, 3);
  hp::executor x(plan.flow, plan.schedule);
  bind_all(
      x,
      [](const hp::kernel_call& c) {
        if (c.task == 4) throw 5;
      },
      nullptr);
  try {
    x.run();
    FAIL();
  } catch (const hp::task_error& e) {
    EXPECT_EQ(std::string(e.what()), "task 4 on rank 0: operation 1 writing slot 4 failed");
    EXPECT_THROW(std::rethrow_if_nested(e), int);
  }
}

/// Two queues, each head waiting for the other's second task; `third` adds an independent task that ends first.
void crossed(owned_plan& plan) {
  plan.build([](auto& f) {
    const int a = hp::add_event(f, 0);
    const int b = hp::add_event(f, 0);
    hp::add_task(f, hp::resource::host, 0, 1, 0, 0);
    hp::add_task(f, hp::resource::aic, 0, 1, 1, 0);
    hp::add_wait(f, b);
    hp::add_task(f, hp::resource::aic, 0, 1, 0, 1);
    hp::add_signal(f, a);
    hp::add_task(f, hp::resource::aiv, 0, 1, 2, 0);
    hp::add_wait(f, a);
    hp::add_task(f, hp::resource::aiv, 0, 1, 0, 2);
    hp::add_signal(f, b);
  });
  plan.enqueue({1, {1, 1, 0, 0, 0, 1}}, {2, 0, 0, 1, 1});
}

TEST(Executor, ACycleIsReportedWithTaskAndEventInsteadOfHanging) {
  owned_plan plan;
  crossed(plan);
  for (const int threads : {1, 2, 3})
    for (int again = 0; again < 50; ++again) {
      hp::executor x(hp::unchecked, plan.flow, plan.schedule, {.threads = threads});
      bind_all(x, nothing, nullptr);
      for (int round = 0; round < 2; ++round) try {
          x.run();
          FAIL();
        } catch (const hp::deadlock_error& e) {
          EXPECT_EQ(e.task, 1);
          EXPECT_EQ(e.event, 1);
          EXPECT_EQ(e.signals_seen, 0);
          EXPECT_EQ(e.signals_needed, 1);
          EXPECT_EQ(
              std::string(e.what()),
              "no task can run: task 1 on rank 0 (operation 1) waits for event 1, which has 0 of 1 signals; still to "
              "signal it: task 4 on rank 0 (operation 0)");
          ASSERT_EQ(e.producers.size(), 1U);
          EXPECT_EQ(e.producers[0].task, 4);
        }
      EXPECT_EQ(x.finished(), 1);
    }
}

TEST(Executor, AThresholdThatIsNeverReachedIsADeadlock) {
  owned_plan plan;
  plan.build([](auto& f) {
    const int e = hp::add_event(f, 0);
    hp::add_task(f, hp::resource::aic, 0, 1, 0, 0);
    hp::add_signal(f, e);
    hp::add_task(f, hp::resource::aic, 0, 1, 0, 1);
    hp::add_signal(f, e);
    hp::add_task(f, hp::resource::aiv, 0, 1, 0, 2);
    hp::add_wait(f, e, 3);
  });
  plan.enqueue({1, {1, 1, 0, 0, 0}}, {0, 0, 1});
  hp::executor x(hp::unchecked, plan.flow, plan.schedule);
  x.bind(0, nothing);
  try {
    x.run();
    FAIL();
  } catch (const hp::deadlock_error& e) {
    EXPECT_EQ(e.task, 2);
    EXPECT_EQ(e.signals_seen, 2);
    EXPECT_EQ(e.signals_needed, 3);
    EXPECT_TRUE(e.producers.empty());
    EXPECT_NE(std::string(e.what()).find("no task is left that signals it"), std::string::npos);
  }
}

TEST(Executor, ALongTaskIsNoDeadlock) {
  owned_plan plan;
  plan.build([](auto& f) {
    const int e = hp::add_event(f, 0);
    hp::add_task(f, hp::resource::aic, 0, 1, 0, 0);
    hp::add_signal(f, e);
    for (int i = 0; i < 3; ++i) {
      hp::add_task(f, hp::resource::aiv, 0, 1, 1, i);
      hp::add_wait(f, e);
    }
  });
  plan.enqueue({1, {1, 3, 0, 0, 0}}, {0, 1, 2, 3});
  hp::executor x(plan.flow, plan.schedule, {.threads = 4});
  x.bind(0, [](const hp::kernel_call&) { std::this_thread::sleep_for(std::chrono::milliseconds(15)); });
  x.bind(1, nothing);
  for (int round = 0; round < 10; ++round) EXPECT_EQ(x.run(), hp::run_result::complete);
}

TEST(Executor, CancelEndsTheRunFromAKernelOrAnotherThreadAndTheNextRunIsWhole) {
  owned_plan plan;
  random_plan(plan, 100, 4, 2, 5);
  hp::executor x(plan.flow, plan.schedule, {.threads = 2});
  bind_all(
      x,
      [](const hp::kernel_call& c) {
        if (c.task == 50) static_cast<hp::executor<>*>(c.user)->cancel();
      },
      &x);
  x.cancel();
  for (int round = 0; round < 20; ++round) {
    const hp::run_result r = x.run();
    EXPECT_EQ(r == hp::run_result::complete, x.finished() == 100);
    EXPECT_GT(x.finished(), 0);
  }
  trace t;
  prepare(t, plan);
  bind_all(x, hash_inputs, &t);
  EXPECT_EQ(x.run(), hp::run_result::complete);
  EXPECT_EQ(t.value, reference(plan, 0));

  bind_all(x, [](const hp::kernel_call&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }, nullptr);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    x.cancel();
  });
  EXPECT_EQ(x.run(), hp::run_result::cancelled);
  other.join();
}

TEST(Executor, NoTaskBeginsAfterACancel) {
  owned_plan plan;
  random_plan(plan, 100, 1, 2, 5);
  hp::executor x(plan.flow, plan.schedule);
  const auto cancel_at_50 = [](const hp::kernel_call& c) {
    if (c.task == 50) static_cast<hp::executor<>*>(c.user)->cancel();
  };
  bind_all(x, cancel_at_50, &x);
  EXPECT_EQ(x.run(), hp::run_result::cancelled);
  EXPECT_EQ(x.finished(), 51);
}

TEST(Executor, ProgressIsMonotoneEndsAtTheTotalAndMayThrow) {
  owned_plan plan;
  random_plan(plan, 60, 3, 2, 9);
  hp::executor x(plan.flow, plan.schedule, {.threads = 2});
  bind_all(x, [](const hp::kernel_call&) { std::this_thread::sleep_for(std::chrono::microseconds(300)); }, nullptr);
  std::vector<std::int64_t> seen;
  const auto note = [](void* user, std::int64_t finished, std::int64_t total) {
    EXPECT_EQ(total, 60);
    static_cast<std::vector<std::int64_t>*>(user)->push_back(finished);
  };
  x.run({note, &seen, 1});
  ASSERT_GE(seen.size(), 3U);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LE(seen[i - 1], seen[i]);
  EXPECT_EQ(seen.back(), 60);

  const auto stop = [](void*, std::int64_t, std::int64_t) { throw std::domain_error("enough"); };
  EXPECT_THROW(x.run({stop, nullptr, 1}), std::domain_error);
  EXPECT_EQ(x.run(), hp::run_result::complete);
}

TEST(Executor, AMissingKernelAndANestedRunAreRefused) {
  owned_plan plan;
  random_plan(plan, 20, 2, 2, 4);
  hp::executor x(plan.flow, plan.schedule);
  x.bind(0, nothing);
  EXPECT_THROW(x.run(), hp::bind_error);
  bind_all(x, [](const hp::kernel_call& c) { static_cast<hp::executor<>*>(c.user)->run(); }, &x);
  try {
    x.run();
    FAIL();
  } catch (const hp::task_error& e) {
    EXPECT_THROW(std::rethrow_if_nested(e), std::logic_error);
  }
  bind_all(x, nothing, nullptr);
  EXPECT_EQ(x.run(), hp::run_result::complete);
}

TEST(Executor, TheRecordedProfileRespectsQueuesAndInputs) {
  owned_plan plan;
  random_plan(plan, 100, 4, 3, 21);
  hp::executor<hp::record_profile> x(plan.flow, plan.schedule, {.threads = 2});
  bind_all(x, nothing, nullptr);
  for (int round = 0; round < 3; ++round) {
    x.run();
    const std::vector<hp::task_record>& record = x.profile().task;
    ASSERT_EQ(record.size(), 100U);
    for (int t = 0; t < 100; ++t) {
      const hp::task_record& r = record[at(t)];
      ASSERT_GE(r.start, 0);
      ASSERT_LE(r.start, r.end);
      ASSERT_GE(r.worker, 0);
      ASSERT_LT(r.worker, x.threads());
      for (const int before : plan.inputs[at(t)]) ASSERT_LE(record[at(before)].end, r.start);
    }
  }
}

TEST(Executor, AnEmptyPlanRuns) {
  owned_plan plan;
  plan.build([](auto&) {});
  plan.enqueue({1, {2, 0, 0, 0, 0}}, {});
  hp::executor x(plan.flow, plan.schedule);
  EXPECT_EQ(x.run(), hp::run_result::complete);
}

// The same executor on storage that the compiler filled.
constexpr auto two_steps = [](auto& f) {
  const int e = hp::add_event(f, 0);
  hp::add_task(f, hp::resource::aic, 0, 1, 0, 0);
  hp::add_signal(f, e);
  hp::add_task(f, hp::resource::aiv, 0, 1, 0, 1);
  hp::add_wait(f, e);
};
constexpr hp::taskflow_size two_steps_size = hp::measure(two_steps);
constexpr auto two_steps_flow = hp::build_fixed<two_steps_size>(two_steps);
constexpr hp::fixed_schedule<2, 2> two_steps_schedule{{1, {1, 1, 0, 0, 0}}, 2, 2, {0, 1}, {0, 1}, {0, 1, 2}, {0, 1}};

TEST(Executor, RunsStorageThatTheCompilerFilled) {
  std::vector<int> items;
  hp::executor x(two_steps_flow, two_steps_schedule);
  x.bind(0, [](const hp::kernel_call& c) { static_cast<std::vector<int>*>(c.user)->push_back(c.item); }, &items);
  x.run();
  x.run();
  EXPECT_EQ(items, (std::vector<int>{0, 1, 0, 1}));
}

TEST(Executor, RunsNumberedAcrossTheWrapOfTheirWordsStayInOrder) {
  for (const std::uint32_t first : {0U - 3U, 0x7fffffffU - 3U, 0xffffffffU / 150U - 3U, 0x80000000U / 150U - 3U}) {
    owned_plan plan;
    random_plan(plan, 150, 4, 4, first);
    hp::executor x(plan.flow, plan.schedule, {.threads = 2});
    x.number_runs_from(first);
    trace t;
    prepare(t, plan);
    bind_all(x, hash_inputs, &t);
    for (std::uint64_t round = 0; round < 12; ++round) {
      t.round = round;
      t.failing = round == 5 ? 70 : -1;
      if (round == 5) {
        EXPECT_THROW(x.run(), hp::task_error);
        continue;
      }
      ASSERT_EQ(x.run(), hp::run_result::complete);
      ASSERT_EQ(t.value, reference(plan, t.round)) << "first " << first << " round " << round;
    }
  }
}

TEST(Executor, ASignalThatIsMissingAtAnyEventIsNamedWithWhoWaitsForIt) {
  owned_plan plan;
  random_plan(plan, 120, 4, 3, 5);
  int named = 0;
  for (int g = 0; g < plan.flow.size.signals; ++g) {
    const int event = plan.signals[at(g)], other = plan.flow.size.events;
    bool awaited = false;
    for (int w = 0; w < plan.flow.size.waits; ++w)
      awaited |= plan.flow.wait[w].event == event && plan.flow.wait[w].threshold == plan.events[at(event)].signals;
    if (!awaited) continue;
    plan.events.resize(at(other) + 1);
    plan.flow.event = plan.events.data();
    plan.flow.size.events = other + 1;
    plan.signals[at(g)] = other;  // an event that nobody waits for
    hp::executor x(hp::unchecked, plan.flow, plan.schedule, {.threads = 1 + g % 3});
    bind_all(x, nothing, nullptr);
    try {
      x.run();
      FAIL() << "signal " << g;
    } catch (const hp::deadlock_error& e) {
      EXPECT_EQ(e.event, event);
      EXPECT_EQ(e.signals_seen, e.signals_needed - 1);
      EXPECT_TRUE(e.producers.empty());
      ++named;
    }
    plan.signals[at(g)] = event;
    plan.flow.size.events = other;
  }
  EXPECT_GT(named, 50);
}

}  // namespace
