// SPDX-License-Identifier: Apache-2.0
// A small mixture-of-experts model trains on eight processes, then on eight simulated ranks of one process; the losses
// are the same numbers, bit for bit: scripts/mpiexec -n 8 mpi_train_model [strategy]
#include <cstdio>

#include "models/small_moe.hpp"
#include "standard_output.hpp"

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/mpi.hpp>
#include <hyperparallel/mpi/program_world.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace hp = hyperparallel;

hp::graph training_step() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.sequence = 16, .layers = 2, .hidden = 32, .head_dim = 4, .expert_width = 32});
  m.graph.micro_batches = 2;
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

/// Losses of a few steps, each on the same two batches.
template <class Run>
std::vector<float> train(Run& run) {
  std::vector<float> losses;
  for (int step = 0; step < 6; ++step)
    losses.push_back(run.train_step([&](int batch) { run.set_random_inputs(static_cast<std::uint64_t>(batch)); }));
  return losses;
}

int main(int argc, char** argv) {
  const int status = hp::mpi_main(argc, argv, [&] {
    const hp::mpi_world world(MPI_COMM_WORLD);  // rank r on process r
    const hp::graph graph = training_step();
    const hp::strategy_value strategy = hp::strategy_called(argc > 1 ? argv[1] : "dp-tp-ep-cp", world.ranks()).strategy;
    hp::model_run<float, hp::mpi_program_world<float>> spread(world, graph, strategy);
    const std::vector<float> losses = train(spread);
    if (world.process() != 0) return 0;

    hp::model_run<float> alone(graph, strategy);
    const std::vector<float> expected = train(alone);
    for (std::size_t i = 0; i < losses.size(); ++i)
      std::printf("step %zu: loss %.9g on %d processes, %.9g on %d simulated ranks\n", i + 1,
                  static_cast<double>(losses[i]), world.processes(), static_cast<double>(expected[i]), world.ranks());
    const bool same = losses == expected && spread.world().received(0) == alone.world().received(0);
    std::printf("%s; rank 0 received %lld bytes\n", same ? "bit for bit the same" : "they differ",
                static_cast<long long>(spread.world().received(0)));
    return same ? 0 : 1;
  });
  return finished("mpi_train_model", status);
}
