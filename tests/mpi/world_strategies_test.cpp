// SPDX-License-Identifier: Apache-2.0
// processes: 4
// The plan of a step's type on threads against the same program over processes, bit for bit.
#include <hyperparallel/mpi/program_world.hpp>

#include "mpi/worlds.hpp"
#include "world/world_strategies.hpp"

namespace hp = hyperparallel;

namespace {

template <int Place>
void expect_the_same_bits() {
  using step = world_strategies::step_under<0, Place>;
  SCOPED_TRACE(world_strategies::names[0][Place]);
  std::vector<int> homes;
  for (int r = 0; r < hp::position_count(step::strategy::value.mesh.shape); ++r)
    homes.push_back((r + 1) % mpi_worlds::processes());
  const hp::mpi_world world(MPI_COMM_WORLD, homes, hp::mpi_options{.timeout = std::chrono::seconds(60)});
  hp::model_run<float, hp::mpi_program_world<float>> spread(
      world, world_strategies::graph_of(step::evaluated::settings()), step::strategy::value,
      {.program = {.execution = {.threads = 1}, .topology = hp::interconnect_of(step::hardware::topology)}});
  const world_strategies::course over_processes = world_strategies::course_of(spread);
  EXPECT_EQ(over_processes, world_strategies::planned_by_the_compiler<step>(1));
  EXPECT_NE(over_processes.losses.back(), over_processes.losses.front());
  world.channel().agree("comparison");
}

TEST(MpiWorldStrategies, HaveTheBitsOfTheCompilersPlan) {
  expect_the_same_bits<0>();
  expect_the_same_bits<1>();
  expect_the_same_bits<2>();
}

}  // namespace
