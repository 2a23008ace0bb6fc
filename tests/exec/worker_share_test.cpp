// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/worker_share.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

TEST(WorkerShare, QueuesAreCutIntoRunsWithTheLeastLargestLoad) {
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

TEST(WorkerShare, EveryWorkerServesAQueueAndSpinsOnlyOnACoreOfItsOwn) {
  for (unsigned seed = 1; seed <= 10; ++seed)
    for (const int threads : {0, 1, 2, 3, 100}) {
      owned_plan plan;
      random_plan(plan, 60, 9, 2, seed);
      const hp::bound_plan p(plan.flow, plan.schedule);
      const hp::worker_share s = hp::detail::share_queues(p.view(), {.threads = threads, .spin = 77});
      const int available = hp::allowed_core_count(hp::allowed_cores());
      EXPECT_GE(s.workers, 1);
      EXPECT_LE(s.workers, threads > 0 ? threads : available);
      std::set<int> served;
      for (int q = 0; q < 9; ++q)
        if (plan.queue_begin[static_cast<std::size_t>(q)] != plan.queue_begin[static_cast<std::size_t>(q) + 1])
          served.insert(s.worker_of[static_cast<std::size_t>(q)]);
      EXPECT_EQ(static_cast<int>(served.size()), s.workers);
      EXPECT_EQ(s.spin, s.workers <= available ? 77 : 0);
      EXPECT_TRUE(s.cores.empty() || static_cast<int>(s.cores.size()) >= s.workers);
      EXPECT_TRUE(hp::detail::share_queues(p.view(), {.threads = threads, .pin = false}).cores.empty());
    }
}

TEST(WorkerShare, CopyEnginesMayHaveWorkersOfTheirOwn) {
  hp::machine_shape machine;
  machine.ranks = 3;
  const hp::resource kinds[] = {hp::resource::aic, hp::resource::copy_in, hp::resource::copy_out, hp::resource::host};
  for (const hp::resource k : kinds) machine.queues[static_cast<int>(k)] = 1;
  owned_plan plan;
  plan.build([&](auto& f) {
    for (int r = 0; r < machine.ranks; ++r)
      for (int k = 0; k < 4; ++k) hp::add_task(f, kinds[k], r, k < 3 ? 1000 : 0, k, r);
  });
  plan.enqueue(machine, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const hp::bound_plan p(plan.flow, plan.schedule);
  for (const int threads : {1, 2, 3}) {
    const hp::worker_share without = hp::detail::share_queues(p.view(), {.threads = threads});
    EXPECT_LE(without.workers, threads);
    const hp::worker_share with =
        hp::detail::share_queues(p.view(), {.threads = threads, .spin = 77, .copy_workers = true});
    EXPECT_EQ(with.workers, threads + 6);
    EXPECT_EQ(with.spin, 0);
    std::set<int> copying;
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_LT(with.worker_of[4 * r], threads);
      for (const std::size_t way : {1u, 2u}) copying.insert(with.worker_of[4 * r + way]);
      EXPECT_EQ(with.worker_of[4 * r + 3], with.worker_of[4 * r]);  // what keeps the books needs nobody of its own
    }
    EXPECT_EQ(copying.size(), 6u);
    EXPECT_EQ(*copying.begin(), threads);
    if (with.cores.empty()) continue;
    const auto copiers = with.cores.begin() + threads;
    const bool left = hp::allowed_core_count(hp::allowed_cores()) > threads;
    for (auto c = copiers; c != with.cores.end(); ++c) {
      EXPECT_EQ(*c == -1, !left);
      EXPECT_EQ(std::find(with.cores.begin(), copiers, *c), copiers);  // they disturb nobody who computes
    }
  }
}

}  // namespace
