// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/failure.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

TEST(Failure, ATaskErrorSaysEverythingOnOneLine) {
  const hp::task_error full(7, 3, "gmm1", "expert weights", "not a number");
  EXPECT_EQ(std::string(full.what()), "task 7 on rank 3: gmm1 writing expert weights failed: not a number");
  EXPECT_EQ(full.task, 7);
  EXPECT_EQ(full.rank, 3);
  EXPECT_EQ(full.operation, "gmm1");
  EXPECT_EQ(full.slot, "expert weights");
  EXPECT_EQ(std::string(hp::task_error(7, 3, "gmm1", "", "").what()), "task 7 on rank 3: gmm1 failed");
}

TEST(Failure, ADeadlockNamesTaskAndEvent) {
  const hp::deadlock_error e({{2, 1, "combine"}, 9, 3, 4, {{5, 0, "put"}}});
  EXPECT_EQ(std::string(e.what()),
            "no task can run: task 2 on rank 1 (combine) waits for event 9, which has 3 of 4 signals; still to signal "
            "it: task 5 on rank 0 (put)");
  EXPECT_EQ(e.task, 2);
  EXPECT_EQ(e.event, 9);
}

TEST(Failure, AtMostThreeTasksAreListed) {
  std::vector<hp::named_task> tasks;
  const char* const expected[] = {"", "task 0 on rank 0 (put)", "task 0 on rank 0 (put), task 1 on rank 0 (put)",
                                  "task 0 on rank 0 (put), task 1 on rank 0 (put), task 2 on rank 0 (put)",
                                  "task 0 on rank 0 (put), task 1 on rank 0 (put), task 2 on rank 0 (put) and 1 more"};
  for (int n = 0; n <= 4; ++n) {
    EXPECT_EQ(hp::to_text(tasks), expected[n]);
    tasks.push_back({n, 0, "put"});
  }
}

TEST(Failure, AStallNamesWhoRunsAndWhoWaits) {
  const hp::named_task stuck{4, 0, "put"};
  EXPECT_EQ(std::string(hp::stall_error(20, {stuck}, {}).what()),
            "no task has ended for 20 ms; running: task 4 on rank 0 (put)");
  EXPECT_EQ(std::string(hp::stall_error(20, {}, {{7, 1, "sum"}, 3, 0, 2, {stuck}}).what()),
            "no task has ended for 20 ms; task 7 on rank 1 (sum) waits for event 3, which has 0 of 2 signals; still to "
            "signal it: task 4 on rank 0 (put)");
}

TEST(Failure, OnlyTheFirstLineOfACauseIsTaken) {
  EXPECT_EQ(hp::detail::first_line(std::make_exception_ptr(std::runtime_error("one\ntwo"))), "one");
  EXPECT_EQ(hp::detail::first_line(std::make_exception_ptr(std::runtime_error("one"))), "one");
  EXPECT_EQ(hp::detail::first_line(std::make_exception_ptr(3)), "");
}

TEST(Failure, AComplaintIsNeverEmptyWhereSomethingIsThrown) {
  EXPECT_EQ(hp::detail::complaint_of([] {}), "");
  EXPECT_EQ(hp::detail::complaint_of([] { throw std::runtime_error("one\ntwo"); }), "one");
  EXPECT_EQ(hp::detail::complaint_of([] { throw std::runtime_error(""); }), "unknown exception");
  EXPECT_EQ(hp::detail::complaint_of([] { throw 3; }), "unknown exception");
}

TEST(Failure, NamesFallBackToNumbers) {
  const char* const operations[] = {"put", nullptr};
  const hp::program_names names{operations, 2, nullptr, 0};
  EXPECT_EQ(hp::operation_name(names, 0), "put");
  EXPECT_EQ(hp::operation_name(names, 1), "operation 1");
  EXPECT_EQ(hp::operation_name(names, 2), "operation 2");
  EXPECT_EQ(hp::operation_name(names, -1), "operation -1");
  EXPECT_EQ(hp::detail::slot_name(names, 5), "slot 5");
  EXPECT_EQ(hp::detail::slot_name(names, -1), "");
}

}  // namespace
