// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/taskflow/execution_table.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

static_assert(sizeof(hp::execution_record) == 32, "two records share a cache line, and none lies across two");

constexpr hp::execution_size two_tasks{.tasks = 2, .queues = 2, .waits = 1, .readers = 1, .signals = 0};

/// Queue 1's task waits for queue 0's.
template <class Table>
constexpr void fill(Table& t) {
  t.size = two_tasks;
  t.record[0] = {0, 0, 0, 0, 0, 1, 0, 0};
  t.record[1] = {1, 0, 1, 0, 1, 1, 0, 10};
  t.queue_begin[1] = 1;
  t.queue_begin[2] = 2;
  t.wait[0] = {0, 1};
  t.reader[0] = 1;
}

constexpr auto constant = [] {
  hp::detail::fixed_execution_table<two_tasks> t{};
  fill(t);
  return t;
}();

TEST(ExecutionTable, RangesFollowOneAnotherInBothKindsOfStorage) {
  hp::owned_execution_table owned(two_tasks);
  EXPECT_EQ(owned.record[1], hp::execution_record{});  // zeroed
  fill(owned);
  const auto check = [](const auto& t) {
    EXPECT_EQ(hp::wait_begin(t, 0), 0);
    EXPECT_EQ(hp::wait_begin(t, 1), 0);
    EXPECT_EQ(t.record[1].wait_end - hp::wait_begin(t, 1), 1);
    EXPECT_EQ(t.record[0].reader_end - hp::detail::reader_begin(t, 0), 1);
    EXPECT_EQ(hp::detail::reader_begin(t, 1), t.record[1].reader_end);
    EXPECT_EQ(hp::signal_begin(t, 1), 0);
    EXPECT_EQ(t.wait[0], (hp::word_wait{0, 1}));
  };
  check(constant);
  check(owned);
}

}  // namespace
