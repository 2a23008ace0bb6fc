// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/taskflow/grown_execution_table.hpp>

#include <gtest/gtest.h>

#include <initializer_list>

namespace hp = hyperparallel;

namespace {

/// Two tasks of queue 0; one of queue 1 and one of queue 2 wait for the first, that of queue 2 for the one of queue 1 too.
constexpr hp::grown_execution_table three_queues() {
  hp::grown_execution_table t;
  t.size.tasks = 4;
  t.size.queues = 3;
  for (const int begin : {0, 2, 3, 4}) t.queue_begin.push(begin);
  for (const int wait_end : {0, 0, 1, 3}) t.record.push({t.record.size, 0, 0, 0, wait_end, 0, 0, 0});
  for (const hp::word_wait& w : {hp::word_wait{0, 1}, hp::word_wait{0, 1}, hp::word_wait{1, 1}}) t.wait.push(w);
  hp::detail::list_readers(t);
  return t;
}

// Each wait has its reader at the record that it waits for, and no other record tells anybody.
constexpr bool readers_answer_waits() {
  const hp::grown_execution_table t = three_queues();
  const int ends[] = {2, 2, 3, 3}, readers[] = {1, 2, 2};
  for (int r = 0; r < 4; ++r)
    if (t.record[r].reader_end != ends[r]) return false;
  for (int i = 0; i < 3; ++i)
    if (t.reader[i] != readers[i]) return false;
  return t.size.waits == 3 && t.size.readers == 3 && hp::detail::reader_begin(t, 2) == 2;
}
static_assert(readers_answer_waits());

TEST(grown_execution_table, readers_answer_waits_at_run_time_too) { EXPECT_TRUE(readers_answer_waits()); }

}  // namespace
