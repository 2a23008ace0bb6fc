// SPDX-License-Identifier: Apache-2.0
// processes: 2
#include <gtest/gtest.h>

#include <hyperparallel/mpi/polling.hpp>

namespace hp = hyperparallel;

namespace {

using namespace std::chrono_literals;
using hp::detail::mpi_clock;

TEST(poll_until, looks_at_least_once) {
  int looks = 0;
  EXPECT_TRUE(hp::detail::poll_until(mpi_clock::now() - 1s, [&] { return ++looks > 0; }));
  EXPECT_EQ(looks, 1);
}

TEST(poll_until, gives_up_at_its_deadline) {
  const auto begin = mpi_clock::now();
  EXPECT_FALSE(hp::detail::poll_until(begin + 50ms, [] { return false; }));
  EXPECT_GE(mpi_clock::now() - begin, 50ms);
}

TEST(to_text, counts_whole_seconds) {
  EXPECT_EQ(hp::detail::to_text(2000ms), "2 s");
  EXPECT_EQ(hp::detail::to_text(2500ms), "2500 ms");
}

/// Each of two processes sends to the other; every request ends once, and a silent one stays active.
TEST(mpi_requests, end_once_each) {
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  hp::detail::mpi_requests requests;
  int sent[2] = {10 + me, 20 + me}, came[2] = {}, silent = 0;
  for (int i : {0, 1}) MPI_Irecv(&came[i], 1, MPI_INT, 1 - me, i, MPI_COMM_WORLD, requests.add());
  for (int i : {0, 1}) MPI_Isend(&sent[i], 1, MPI_INT, 1 - me, i, MPI_COMM_WORLD, requests.add());
  int ended[4] = {};
  const auto count = [&](int index, int code, const MPI_Status&) {
    EXPECT_EQ(code, MPI_SUCCESS);
    ++ended[index];
  };
  EXPECT_TRUE(hp::detail::poll_until(mpi_clock::now() + 10s, [&] { return requests.look(count); }));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ended[i], 1);
    EXPECT_FALSE(requests.is_active(static_cast<std::size_t>(i)));
  }
  EXPECT_EQ(came[0], 11 - me);
  EXPECT_EQ(came[1], 21 - me);
  EXPECT_EQ(requests.size(), 4U);

  requests.clear();
  MPI_Irecv(&silent, 1, MPI_INT, 1 - me, 7, MPI_COMM_WORLD, requests.add());
  EXPECT_FALSE(hp::detail::poll_until(mpi_clock::now() + 20ms, [&] { return requests.look(count); }));
  EXPECT_TRUE(requests.is_active(0));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&silent, 1, MPI_INT, 1 - me, 7, MPI_COMM_WORLD);
  EXPECT_TRUE(hp::detail::poll_until(mpi_clock::now() + 10s, [&] { return requests.look(count); }));
}

}  // namespace
