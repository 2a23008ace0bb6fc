// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/runtime/failure.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>

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
  const hp::deadlock_error e(2, 1, "combine", 9, 3, 4);
  EXPECT_EQ(std::string(e.what()),
            "no task can run: task 2 on rank 1 (combine) waits for event 9, which has 3 of 4 signals");
}

TEST(Failure, OnlyTheFirstLineOfACauseIsTaken) {
  EXPECT_EQ(hp::first_line(std::make_exception_ptr(std::runtime_error("one\ntwo"))), "one");
  EXPECT_EQ(hp::first_line(std::make_exception_ptr(std::runtime_error("one"))), "one");
  EXPECT_EQ(hp::first_line(std::make_exception_ptr(3)), "");
}

TEST(Failure, NamesFallBackToNumbers) {
  const char* const operations[] = {"put", nullptr};
  const hp::program_names names{operations, 2, nullptr, 0};
  EXPECT_EQ(hp::operation_name(names, 0), "put");
  EXPECT_EQ(hp::operation_name(names, 1), "operation 1");
  EXPECT_EQ(hp::operation_name(names, 2), "operation 2");
  EXPECT_EQ(hp::operation_name(names, -1), "operation -1");
  EXPECT_EQ(hp::slot_name(names, 5), "slot 5");
  EXPECT_EQ(hp::slot_name(names, -1), "");
}

}  // namespace
