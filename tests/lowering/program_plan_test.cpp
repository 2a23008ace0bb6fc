// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/program_plan.hpp>

#include <hyperparallel/lowering/lower_program.hpp>

#include <lowering/runnable_program.hpp>

#include <gtest/gtest.h>

#include <random>

namespace hp = hyperparallel;

namespace {

TEST(ProgramPlan, TheTableHoldsEachTaskWithItsWaits) {
  std::mt19937 random(53);
  for (int n = 0; n < 30; ++n) {
    const hp::sharded_program p = programs::random_program(random, {4, 40, 2000, 0.35});
    hp::program_flow_options how;
    how.vector_queue = n % 2 == 0;
    const hp::program_plan plan = hp::lower_program(p, hp::pulls_of(p), hp::plan_addresses(p), how);
    ASSERT_EQ(plan.status.code, hp::program_flow_code::ok);
    const hp::grown_execution_table t = hp::table_of(plan);
    const int ranks = plan.machine.ranks;
    ASSERT_EQ(t.size.tasks, plan.tasks());
    ASSERT_EQ(t.size.waits, plan.wait.size);
    int tasks = 0;
    for (int q = 0; q < t.size.queues; ++q) {
      hp::queue_use use;
      for (int r = t.queue_begin[q], last = -1; r < t.queue_begin[q + 1]; ++r, ++tasks) {
        const hp::execution_record& one = t.record[r];
        const hp::plan_row& row = plan.row[one.task / ranks];
        EXPECT_LT(last, one.task);  // reference order
        last = one.task;
        EXPECT_EQ(one.rank, one.task % ranks);
        EXPECT_EQ(one.item, row.first_item + one.rank);
        EXPECT_EQ(one.kernel + t.first_operation, row.step);
        EXPECT_LT(one.kernel, t.operations);
        EXPECT_EQ(q, hp::detail::first_queue(plan.machine, one.rank, row.kind));
        use = {row.kind, use.load + 1 + plan.duration[one.task]};
        const int first = one.task == 0 ? 0 : plan.wait_end[one.task - 1];
        ASSERT_EQ(one.wait_end - hp::wait_begin(t, r), plan.wait_end[one.task] - first);
        for (int w = hp::wait_begin(t, r); w < one.wait_end; ++w) {
          EXPECT_EQ(t.wait[w], plan.wait[first + w - hp::wait_begin(t, r)]);
          EXPECT_NE(t.wait[w].word, q);
          const int awaited = t.queue_begin[t.wait[w].word] + t.wait[w].threshold - 1;
          EXPECT_LT(t.record[awaited].task, one.task);  // so no run deadlocks
        }
      }
      EXPECT_EQ(t.use[q], use);
    }
    EXPECT_EQ(tasks, plan.tasks());
    EXPECT_EQ(hp::measure(plan).waits, plan.wait.size);
  }
}

TEST(ProgramPlan, OfNothingIsEmpty) {
  const hp::grown_execution_table t = hp::table_of(hp::program_plan{});
  EXPECT_EQ(t.size.tasks, 0);
  EXPECT_EQ(t.operations, 0);
}

}  // namespace
