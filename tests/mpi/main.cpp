// SPDX-License-Identifier: Apache-2.0
// The main function of all tests on several processes: a failure on one of them ends the job, because the others may
// wait for it.
#include <gtest/gtest.h>

#include <hyperparallel/runtime/mpi/error.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return failed;
}
