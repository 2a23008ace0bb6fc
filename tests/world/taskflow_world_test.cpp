// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/world/taskflow_world.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include <hyperparallel/taskflow/list_schedule.hpp>

#include "exec/random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

constexpr int ranks = 4;

/// An all-to-all of one number: rank r puts 100 r + s into every rank s, then each rank sums what it got.
constexpr auto all_to_all = [](auto& f) {
  for (int r = 0; r < ranks; ++r) hp::add_event(f, r);
  for (int r = 0; r < ranks; ++r) hp::add_slot(f, r, 0, 0, ranks * 8);
  for (int r = 0; r < ranks; ++r) hp::add_slot(f, r, 1, 64, 8);
  for (int r = 0; r < ranks; ++r)
    for (int s = 0; s < ranks; ++s) {
      hp::add_task(f, hp::resource::aiv, r, 1, 0, s);
      hp::add_signal(f, s);
      hp::add_access(f, s, 8 * r, 8 * r + 8, hp::access_mode::write);
    }
  for (int r = 0; r < ranks; ++r) {
    hp::add_task(f, hp::resource::aic, r, 1, 1, 0);
    hp::add_wait(f, r);
    hp::add_access(f, r, 0, 8 * ranks, hp::access_mode::read);
    hp::add_access(f, ranks + r, 0, 8, hp::access_mode::write);
  }
};

constexpr const char* operations[] = {"put", "sum"};
constexpr const char* slots[] = {"inbox 0", "inbox 1", "inbox 2", "inbox 3", "total 0"};

void plan_it(owned_plan& plan) {
  plan.build(all_to_all);
  std::vector<int> queue;
  for (int r = 0; r < ranks; ++r) queue.insert(queue.end(), ranks, 2 * r + 1);
  for (int r = 0; r < ranks; ++r) queue.push_back(2 * r);
  plan.enqueue({ranks, {1, 1, 0, 0, 0}}, queue);
}

void put(const hp::kernel_call& c) {
  hp::taskflow_world& w = *static_cast<hp::taskflow_world*>(c.user);
  const std::int64_t value = 100 * c.rank + c.item;
  std::memcpy(w.arenas().address(c.item, 0, 8 * c.rank, 8), &value, 8);
}

void sum(const hp::kernel_call& c) {
  hp::taskflow_world& w = *static_cast<hp::taskflow_world*>(c.user);
  std::int64_t total = 0;
  for (const std::int64_t v : w.data<std::int64_t>(c.rank)) total += v;
  w.data<std::int64_t>(ranks + c.rank)[0] += total;
}

TEST(World, RanksTalkThroughTheirArenas) {
  owned_plan plan;
  plan_it(plan);
  hp::taskflow_world w(plan.flow, plan.schedule);
  EXPECT_EQ(w.ranks(), ranks);
  EXPECT_EQ(w.arenas().tiers(), 2);
  EXPECT_EQ(w.arenas().high_water(2, 0), 32);
  EXPECT_EQ(w.arenas().high_water(2, 1), 72);
  EXPECT_EQ(w.arenas().bytes(2, 1), 72);
  w.bind(0, put, &w);
  w.bind(1, sum, &w);
  for (int round = 1; round <= 200; ++round) {
    ASSERT_EQ(w.run(), hp::run_result::complete);
    for (int r = 0; r < ranks; ++r) ASSERT_EQ(w.data<std::int64_t>(ranks + r)[0], round * (600 + ranks * r));
  }
}

TEST(World, AFailureNamesTheTensorAndTheWorldRunsAgain) {
  owned_plan plan;
  plan_it(plan);
  hp::taskflow_world w(plan.flow, plan.schedule, {.execution = {.names = {operations, 2, slots, 5}}});
  w.bind(0, put, &w);
  w.bind(1, [](const hp::kernel_call& c) {
    if (c.rank == 0) throw std::runtime_error("overflow");
  });
  try {
    w.run();
    FAIL();
  } catch (const hp::task_error& e) {
    EXPECT_EQ(std::string(e.what()), "task 16 on rank 0: sum writing total 0 failed: overflow");
  }
  EXPECT_EQ(w.slot_name(7), "slot 7");
  EXPECT_EQ(w.operation_name(1), "sum");
  w.bind(1, sum, &w);
  EXPECT_EQ(w.run(), hp::run_result::complete);
  EXPECT_EQ(w.data<std::int64_t>(ranks + 3)[0], 600 + ranks * 3);
  EXPECT_EQ(w.finished(), w.tasks());
}

TEST(World, ASlotThatDoesNotFitIsRefusedBeforeAnythingRuns) {
  owned_plan plan;
  plan_it(plan);
  const std::int64_t enough[] = {32, 72};
  const hp::taskflow_world fits(plan.flow, plan.schedule, {.tier_bytes = enough});
  const std::int64_t too_small[] = {32, 71};
  try {
    const hp::taskflow_world w(plan.flow, plan.schedule, {.tier_bytes = too_small});
    FAIL();
  } catch (const hp::arena_error& e) {
    EXPECT_EQ(e.rank, 0);
    EXPECT_EQ(e.tier, 1);
    EXPECT_EQ(e.bytes_free, 7);
  }
  const std::int64_t one_tier[] = {32};
  EXPECT_THROW(hp::taskflow_world(plan.flow, plan.schedule, {.tier_bytes = one_tier}), hp::arena_error);
}

constexpr auto constant_flow = hp::build_fixed<hp::measure(all_to_all)>(all_to_all);
constexpr auto constant_schedule = hp::schedule_fixed<2 * ranks>(constant_flow, {ranks, {1, 1, 0, 0, 0}});

TEST(World, RunsAPlanOfTheCompiler) {
  hp::taskflow_world w(hp::constant_plan<constant_flow, constant_schedule>{});
  w.bind(0, put, &w);
  w.bind(1, sum, &w);
  for (int round = 1; round <= 20; ++round) {
    ASSERT_EQ(w.run(), hp::run_result::complete);
    for (int r = 0; r < ranks; ++r) ASSERT_EQ(w.data<std::int64_t>(ranks + r)[0], round * (600 + ranks * r));
  }
}

/// One way for a run to end early: a kernel for the sums, and what the run then does.
enum class way { throws, is_cancelled, stalls };

TEST(World, RunsWholeAfterEveryKindOfFailure) {
  owned_plan plan;
  plan_it(plan);
  hp::taskflow_world w(plan.flow, plan.schedule, {.execution = {.watchdog = 200}});
  w.bind(0, put, &w);
  int complete = 0;
  for (int round = 0; round < 2; ++round)
    for (const way how : {way::throws, way::is_cancelled, way::stalls}) {
      switch (how) {
        case way::throws:
          w.bind(1, [](const hp::kernel_call&) { throw std::runtime_error("overflow"); });
          EXPECT_THROW(w.run(), hp::task_error);
          break;
        case way::is_cancelled:
          w.bind(
              1,
              [](const hp::kernel_call& c) {
                static_cast<hp::taskflow_world*>(c.user)->cancel();
                EXPECT_TRUE(c.stopping());
              },
              &w);
          EXPECT_EQ(w.run(), hp::run_result::cancelled);
          break;
        case way::stalls:
          w.bind(1, [](const hp::kernel_call& c) {
            while (!c.stopping()) std::this_thread::yield();
          });
          EXPECT_THROW(w.run(), hp::stall_error);
          break;
      }
      w.bind(1, sum, &w);
      ASSERT_EQ(w.run(), hp::run_result::complete);
      ++complete;
      for (int r = 0; r < ranks; ++r) ASSERT_EQ(w.data<std::int64_t>(ranks + r)[0], complete * (600 + ranks * r));
    }
}

}  // namespace
