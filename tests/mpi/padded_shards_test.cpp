// SPDX-License-Identifier: Apache-2.0
// processes: 4 3
// Uneven shards over processes have the bits of threads.
#include "mpi/compared_courses.hpp"
#include "world/padded_steps.hpp"

namespace {

using namespace mpi_worlds;
using padded_steps::beside;

hp::mpi_world dealt_ranks(int ranks) {
  std::vector<int> homes;
  for (int r = 0; r < ranks; ++r) homes.push_back((r + 1) % processes());
  return {MPI_COMM_WORLD, homes, hp::mpi_options{.timeout = 60s}};
}

TEST(mpi_padded_shards, have_the_bits_of_threads) {
  for (const int dp : {3, 5, 6, 7, 12})
    for (int stage = 1; stage <= 3; ++stage) {
      const beside other = static_cast<beside>((dp + stage) % 3);
      SCOPED_TRACE("dp=" + std::to_string(dp) + ", stage " + std::to_string(stage));
      const hp::strategy_value s = padded_steps::zero(dp, stage, other);
      const hp::graph g = padded_steps::step_of(other == beside::experts ? 2 * dp : dp, hp::optimizer_kind::adamw);
      const hp::mpi_world world = dealt_ranks(hp::position_count(s.mesh.shape));
      hp::model_run_options options;
      options.program.keep = training::gradient_names(g);
      options.program.execution.threads = 1;
      mpi_run<double> spread(world, g, s, options);
      const course<double> over_processes = train<double>(spread, g, 2);
      threaded_run<double> alone(g, s, options);
      const course<double> on_threads = train<double>(alone, g, 2);
      EXPECT_EQ(over_processes.loss, on_threads.loss);
      EXPECT_EQ(over_processes.monitors, on_threads.monitors);
      EXPECT_TRUE(over_processes.gradient == on_threads.gradient);
      EXPECT_TRUE(over_processes.values == on_threads.values);
      // Three ranks leave one of four processes without any, and bytes are counted where ranks are.
      if (!world.hosted().empty()) {
        EXPECT_EQ(over_processes.received, on_threads.received);
      }
      EXPECT_EQ(over_processes.planned_bytes, on_threads.planned_bytes);
      EXPECT_FALSE(over_processes.values.empty());
      world.channel().agree("comparison");
    }
}

}  // namespace
