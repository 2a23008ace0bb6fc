// SPDX-License-Identifier: Apache-2.0
// The table promises the plan's order, no less and no more, and carries no wait that the rest implies.

#include <hyperparallel/taskflow/lower_execution.hpp>

#include <gtest/gtest.h>

#include <cstdlib>

#include "lowered_plans.hpp"

namespace {

using namespace taskflow_test;

int seeds(int sample) { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 20 * sample : sample; }

constexpr hp::execution_options every_option[] = {{true, true}, {true, false}, {false, true}, {false, false}};

TEST(LowerExecution, TheTablePromisesThePlansOrderExactly) {
  int counters = 0, positions = 0, finished = 0;
  for (unsigned seed = 1; seed <= static_cast<unsigned>(seeds(2000)); ++seed) {
    const bool wild = seed % 4 == 0;
    const realised plan(random_loose_plan(seed, 8 + static_cast<int>(seed % 25), 1 + static_cast<int>(seed % 4), wild));
    const promised_order planned = order_of_plan(plan.flow, plan.schedule);
    for (const hp::execution_options& options : every_option) {
      const lowered l(plan.flow, plan.schedule, options);
      ASSERT_EQ(order_of_table(*l.table), planned) << "seed " << seed;
      counters += l.table->size.counters;
      positions += l.table->size.readers;
    }
    bool all = true;
    for (const bool r : planned.runs) all &= r;
    finished += all;
    EXPECT_TRUE(wild || all) << "seed " << seed;
  }
  EXPECT_GT(counters, 100);
  EXPECT_GT(positions, 100);
  EXPECT_LT(finished, seeds(2000));  // plans that cannot complete were among them
}

TEST(LowerExecution, NoWaitForAPositionIsImpliedByTheRest) {
  int looked = 0;
  for (unsigned seed = 1; seed <= static_cast<unsigned>(seeds(600)); ++seed) {
    const realised plan(random_loose_plan(seed, 24, 1 + static_cast<int>(seed % 3), false));
    const lowered l(plan.flow, plan.schedule, {false, false});
    if (l.table->size.counters > 0) continue;  // a counter read in part promises more than clocks can say
    const promised_order whole = order_of_table(*l.table);
    for (int w = 0; w < l.table->size.waits; ++w) {
      ASSERT_NE(order_of_table(*l.table, w), whole) << "seed " << seed << " wait " << w;
      ++looked;
    }
  }
  EXPECT_GT(looked, 300);
}

TEST(LowerExecution, AMoeLayerKeepsItsOrderWithFewerWaits) {
  hp::machine_shape m;
  m.ranks = 2;
  for (const int cores : {1, 3}) {
    m.queues[static_cast<int>(hp::resource::aic)] = cores;
    m.queues[static_cast<int>(hp::resource::aiv)] = cores;
    m.queues[static_cast<int>(hp::resource::link)] = 1;
    const moe_tiles build{12, 2, 3};
    hp::owned_taskflow flow(hp::measure(build));
    build(flow);
    hp::seal(flow);
    hp::owned_schedule schedule(flow.size.tasks, hp::queue_count(m));
    schedule.machine = m;
    hp::owned_schedule_scratch x(flow.size, hp::queue_count(m));
    ASSERT_EQ(hp::list_schedule(flow, m, {}, schedule, x).code, hp::schedule_code::ok);
    const lowered l(flow, schedule);
    EXPECT_EQ(order_of_table(*l.table), order_of_plan(flow, schedule));
    EXPECT_EQ(l.table->size.counters, 0);
    if (cores == 1) {
      EXPECT_LT(l.table->size.waits, flow.size.waits);
    }
  }
}

TEST(LowerExecution, RecordsCarryWhatTheirTasksSay) {
  const realised plan(random_loose_plan(7, 40, 3, false));
  const lowered l(plan.flow, plan.schedule);
  const hp::owned_execution_table& t = *l.table;
  EXPECT_EQ(t.operations, 1);
  for (int q = 0; q < t.size.queues; ++q)
    for (int r = t.queue_begin[q]; r < t.queue_begin[q + 1]; ++r) {
      const hp::task& k = plan.flow.task[t.record[r].task];
      EXPECT_EQ(t.record[r].task, plan.schedule.queue_task[r]);
      EXPECT_EQ(t.record[r].rank, k.rank);
      EXPECT_EQ(t.record[r].item, k.item);
      EXPECT_EQ(t.record[r].kernel + t.first_operation, k.operation);
      if (r > t.queue_begin[q]) {
        EXPECT_GE(t.record[r].start, t.record[r - 1].start + plan.flow.task[t.record[r - 1].task].duration);
      }
    }
}

// The same functions as a constant.
constexpr auto flow = hp::build_fixed<hp::measure(moe_tiles{6, 2, 2})>(moe_tiles{6, 2, 2});
constexpr auto schedule = hp::schedule_fixed<10>(flow, {2, {2, 2, 1, 0, 0}});
constexpr const auto& table = hp::execution_table_of<flow, schedule>;
static_assert(table.size.tasks == 120 && table.size.queues == 10 && table.size.counters == 0);

TEST(LowerExecution, ATableOfTheCompilerEqualsOneMadeAtRunTime) {
  const lowered l(flow, schedule);
  const hp::owned_execution_table& t = *l.table;
  ASSERT_EQ(t.size, table.size);
  EXPECT_EQ(t.time_shift, table.time_shift);
  EXPECT_EQ(t.first_operation, table.first_operation);
  EXPECT_EQ(t.operations, table.operations);
  for (int r = 0; r < t.size.tasks; ++r) EXPECT_EQ(t.record[r], table.record[r]);
  for (int q = 0; q <= t.size.queues; ++q) EXPECT_EQ(t.queue_begin[q], table.queue_begin[q]);
  for (int w = 0; w < t.size.waits; ++w) EXPECT_EQ(t.wait[w], table.wait[w]);
  for (int i = 0; i < t.size.readers; ++i) EXPECT_EQ(t.reader[i], table.reader[i]);
  for (int i = 0; i < t.size.signals; ++i) EXPECT_EQ(t.signal[i], table.signal[i]);
}

}  // namespace
