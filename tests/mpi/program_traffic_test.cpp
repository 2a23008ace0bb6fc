// SPDX-License-Identifier: Apache-2.0
// processes: 8
// Eight processes in two nodes of four: what they post to each other in a step brings over each level of links the bytes
// that the account of the program says.
#include <hyperparallel/mpi/program_world.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <hyperparallel/price/traffic_account.hpp>

#include "mpi/posted_messages.hpp"
#include "mpi/worlds.hpp"
#include "support/small_links.hpp"
#include "world/training_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

using namespace mpi_worlds;
using counted_bytes = std::vector<std::int64_t>;

/// Bytes from each process to each, at sender · processes + receiver.
counted_bytes posted_by_all(const hp::mpi_world& world) {
  const int n = world.processes();
  counted_bytes mine = tested::posted_messages::bytes, all(static_cast<std::size_t>(n * n));
  mine.resize(static_cast<std::size_t>(n));
  MPI_Allgather(mine.data(), n, MPI_INT64_T, all.data(), n, MPI_INT64_T, MPI_COMM_WORLD);
  return all;
}

/// What the busiest rank received over each level of `links` in the step that this process has posted its share of.
counted_bytes busiest_by_level(const hp::mpi_world& world, const hp::interconnect& links) {
  const counted_bytes posted = posted_by_all(world);
  const auto levels = static_cast<std::size_t>(links.topology.level_count);
  counted_bytes most(levels);
  for (int to = 0; to < world.ranks(); ++to) {
    counted_bytes here(levels);
    for (int from = 0; from < world.ranks(); ++from) {
      const int pair = world.process_of(from) * world.processes() + world.process_of(to);
      hp::detail::visit_links(links, from, to, [&](int level) {
        here[static_cast<std::size_t>(level)] += from == to ? 0 : posted[static_cast<std::size_t>(pair)];
      });
    }
    for (std::size_t l = 0; l < levels; ++l) most[l] = std::max(most[l], here[l]);
  }
  return most;
}

TEST(mpi_program_traffic, is_over_each_level_what_the_account_says) {
  const hp::interconnect links = tested::node_links(4);
  const hp::mpi_world world = eight_ranks();
  const hp::graph g = training::small_step(2, 1);
  for (const char* const name : {"zero3", "hsdp3", "tp-sp", "tp", "ep", "dp-tp", "ep-tp"}) {
    SCOPED_TRACE(name);
    hp::model_run<float, hp::mpi_program_world<float>> run(world, g, hp::strategy_called(name, 8).strategy,
                                                           {.program = {.topology = links}});
    run.set_random_inputs(0);
    tested::posted_messages::bytes.clear();
    run.world().run_micro();
    run.world().run_micro();
    run.world().run_update(1);
    const counted_bytes most = busiest_by_level(world, links);
    const hp::sharded_program& p = run.world().program();
    const hp::program_moves moves = hp::kinds_of_moves(p, links);
    const hp::traffic_account account = hp::traffic_of(p, moves, hp::detail::loads_of_moves(p, moves));
    for (std::size_t l = 0; l < most.size(); ++l) {
      EXPECT_EQ(most[l], account.by_level[l]) << "level " << l;
      EXPECT_GT(most[l], 0) << "level " << l;
    }
  }
}

}  // namespace
