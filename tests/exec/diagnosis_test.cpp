// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/diagnosis.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "random_plan.hpp"

namespace {

namespace hp = hyperparallel;
using hp::testing_plans::owned_plan;

constexpr const char* operations[] = {"put", "sum"};
constexpr hp::program_names names{operations, 2, nullptr, 0};

/// Queues 0 and 1 put two items each; queue 2 sums when all four have come.
void joined(owned_plan& plan) {
  plan.build([](auto& f) {
    const int all = hp::add_event(f, 0);
    for (int i = 0; i < 4; ++i) {
      hp::add_task(f, hp::resource::aic, 0, 1, 0, i);
      hp::add_signal(f, all);
    }
    hp::add_task(f, hp::resource::aic, 0, 1, 1, 4);
    hp::add_wait(f, all);
  });
  plan.enqueue({1, {3, 0, 0, 0, 0}}, {0, 0, 1, 1, 2});
}

TEST(Diagnosis, CountsTheSignalsBeforeTheHeadsAndNamesThoseThatAreMissing) {
  owned_plan plan;
  joined(plan);
  const hp::bound_plan p(plan.flow, plan.schedule);
  const std::vector<bool> nobody(3);
  for (int a = 0; a <= 2; ++a)
    for (int b = 0; b <= 2; ++b) {
      const hp::waiting_task w = hp::detail::find_waiting(p.view(), names, {a, 2 + b, 4}, nobody);
      if (a + b == 4) {
        EXPECT_EQ(w.task, -1);
        continue;
      }
      EXPECT_EQ(w.task, 4);
      EXPECT_EQ(w.operation, "sum");
      EXPECT_EQ(w.signals_seen, a + b);
      EXPECT_EQ(w.signals_needed, 4);
      std::vector<int> missing;
      for (int i = a; i < 2; ++i) missing.push_back(i);
      for (int i = b; i < 2; ++i) missing.push_back(2 + i);
      ASSERT_EQ(w.producers.size(), missing.size());
      for (std::size_t i = 0; i < missing.size(); ++i) EXPECT_EQ(w.producers[i].task, missing[i]);
      EXPECT_EQ(hp::detail::find_waiting(p.view(), names, {a, 2 + b, 4}, {false, false, true}).task, -1);
    }
  EXPECT_EQ(hp::detail::find_waiting(p.view(), names, {2, 4, 5}, nobody).task, -1);
}

TEST(Diagnosis, ACauseIsPreferredToAConsequence) {
  owned_plan plan;
  plan.build([](auto& f) {
    const int a = hp::add_event(f, 0), lost = hp::add_event(f, 0);
    hp::add_task(f, hp::resource::aic, 0, 1, 1, 0);
    hp::add_wait(f, a);
    hp::add_task(f, hp::resource::aiv, 0, 1, 0, 1);
    hp::add_wait(f, lost, 1);
    hp::add_signal(f, a);
  });
  plan.enqueue({1, {1, 1, 0, 0, 0}}, {0, 1});
  const hp::bound_plan p(plan.flow, plan.schedule);
  const hp::waiting_task w = hp::detail::find_waiting(p.view(), names, {0, 1}, {false, false});
  EXPECT_EQ(w.task, 1);
  EXPECT_EQ(w.event, 1);
  EXPECT_EQ(hp::to_text(w),
            "task 1 on rank 0 (put) waits for event 1, which has 0 of 1 signals; no task is left that "
            "signals it");
}

}  // namespace
