// SPDX-License-Identifier: Apache-2.0
// The main function of all tests on several processes: a failure on one of them ends the job, because the others may
// wait for it. Suites named <what>_on_<n>_processes are left out of a job of fewer.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include <hyperparallel/mpi/error.hpp>

namespace {

void leave_out_what_needs_more_than(int processes) {
  std::string& filter = testing::GTEST_FLAG(filter);
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  const std::regex named(".*_on_([0-9]+)_processes");
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    std::cmatch match;
    const char* const name = all.GetTestSuite(i)->name();
    if (!std::regex_match(name, match, named) || std::stoi(match[1]) <= processes) continue;
    filter += (filter.find('-') == std::string::npos ? "-" : ":") + std::string(name) + ".*";
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  leave_out_what_needs_more_than(processes);
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return failed;
}
