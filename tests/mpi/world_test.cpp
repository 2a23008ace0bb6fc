// SPDX-License-Identifier: Apache-2.0
// processes: 4 1
#include <gtest/gtest.h>

#include <hyperparallel/mpi/world.hpp>

#include "support/error_of.hpp"

namespace hp = hyperparallel;

namespace {

using namespace std::chrono_literals;

TEST(mpi_world, puts_rank_r_on_process_r) {
  const hp::mpi_world world(MPI_COMM_WORLD);
  EXPECT_EQ(world.ranks(), world.processes());
  for (int r = 0; r < world.ranks(); ++r) EXPECT_EQ(world.process_of(r), r);
  EXPECT_EQ(world.hosted(), std::vector<int>{world.process()});
  EXPECT_EQ(world.name(0), "rank 0");
}

TEST(mpi_world_on_4_processes, keeps_the_order_that_it_is_given) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::vector<int> order{3, 1, 3, 0, 1, 3};
  const hp::mpi_world world(MPI_COMM_WORLD, order);
  EXPECT_EQ(world.ranks(), 6);
  const std::vector<std::vector<int>> hosted{{3}, {1, 4}, {}, {0, 2, 5}};
  EXPECT_EQ(world.hosted(), hosted[static_cast<std::size_t>(world.process())]);
  for (int r = 0; r < 6; ++r) {
    EXPECT_EQ(world.process_of(r), order[static_cast<std::size_t>(r)]);
    EXPECT_EQ(world.hosts(r), order[static_cast<std::size_t>(r)] == world.process());
  }
  EXPECT_EQ(world.name(0), "rank 3");
  EXPECT_EQ(world.name(1), "process 1 (ranks 1, 4)");
  EXPECT_EQ(world.name(2), "process 2 (no rank)");
}

TEST(mpi_world, refuses_a_process_that_is_not_there) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  try {
    const hp::mpi_world world(MPI_COMM_WORLD, std::vector<int>{0, size});
    FAIL() << "no such process";
  } catch (const hp::mpi_error& e) {
    EXPECT_EQ(std::string(e.what()),
              "process 0: rank 1 is put on process " + std::to_string(size) + " of " + std::to_string(size));
  }
}

TEST(mpi_world_on_2_processes, refuses_lists_that_differ) {
  int me = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_THROW(hp::mpi_world(MPI_COMM_WORLD, me == 1 ? std::vector<int>{1, 0} : std::vector<int>{0, 1}), hp::mpi_error);
  EXPECT_THROW(hp::mpi_world(MPI_COMM_WORLD, me == 1 ? std::vector<int>{0} : std::vector<int>{0, 0}), hp::mpi_error);
}

TEST(mpi_world, has_the_options_that_all_give) {
  int me = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto error_of_options = [](const hp::mpi_options& options) {
    return tested::error_of<hp::mpi_error>([&] { const hp::mpi_world world(MPI_COMM_WORLD, options); });
  };
  EXPECT_EQ(error_of_options({.open_moves = 0}), "process 0: a program needs at least one open move, not 0");
  const hp::mpi_world world(MPI_COMM_WORLD, hp::mpi_options{.open_moves = 3, .synchronous_sends = true});
  EXPECT_EQ(world.options().open_moves, 3);
  EXPECT_TRUE(world.options().synchronous_sends);
  if (size == 1) return;
  EXPECT_EQ(error_of_options({.open_moves = me == 1 ? 2 : 1}),
            "process 1 has \"open moves 2\" where process 0 has \"open moves 1\"");
  EXPECT_EQ(error_of_options({.synchronous_sends = me == 1}),
            "process 1 has \"synchronous sends 1\" where process 0 has \"synchronous sends 0\"");
}

TEST(mpi_world, groups_processes_into_hosts) {
  const hp::mpi_world one(MPI_COMM_WORLD);
  EXPECT_EQ(one.processes_on_host(), one.processes());  // the tests run on one machine
  EXPECT_EQ(one.number_on_host(one.process()), one.process());
  const hp::mpi_world pairs(MPI_COMM_WORLD, hp::mpi_options{.processes_per_host = 2});
  for (int p = 0; p < pairs.processes(); ++p)
    EXPECT_EQ(pairs.number_on_host(p), p / 2 == pairs.process() / 2 ? p % 2 : -1);
}

TEST(mpi_world, of_a_part_of_the_processes) {
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
  {
    const hp::mpi_world world(half);
    EXPECT_LE(world.processes(), 2);
    EXPECT_EQ(world.next_number(), 0);
    EXPECT_EQ(world.next_number(), 1);
  }
  MPI_Comm_free(&half);
}

}  // namespace
