// SPDX-License-Identifier: Apache-2.0
#pragma once
// Training over processes held against the same training over threads: losses, norms, gradients, parameters, states and
// bytes, bit for bit.

#include <cstdint>
#include <string>
#include <vector>

#include <hyperparallel/mpi/program_world.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "mpi/worlds.hpp"
#include "world/training_models.hpp"

#include <gtest/gtest.h>

namespace mpi_worlds {

template <class T>
using threaded_run = hp::model_run<T>;
template <class T>
using mpi_run = hp::model_run<T, hp::mpi_program_world<T>>;

/// Everything that a few steps leave.
template <class T>
struct course {
  std::vector<T> loss;
  std::vector<std::vector<T>> monitors;
  std::vector<std::vector<T>> gradient;  ///< of the first step
  std::vector<std::vector<T>> values;    ///< parameters and states after the last step
  std::vector<std::int64_t> received;    ///< of each rank
  std::int64_t planned_bytes = 0;
  friend bool operator==(const course&, const course&) = default;
};

template <class T, class Run>
course<T> train(Run& run, const hp::graph& g, int steps) {
  course<T> c;
  auto& world = run.world();
  for (int r = 0; r < world.ranks(); ++r) c.received.push_back(-world.received(r));
  for (int s = 0; s < steps; ++s) {
    c.loss.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * s + micro)); }));
    std::vector<T>& monitors = c.monitors.emplace_back();
    for (int i = 0; i < world.monitors(); ++i) monitors.push_back(world.monitor(i));
    if (s == 0)
      for (const std::string& name : training::gradient_names(g)) c.gradient.push_back(world.get(name));
  }
  for (int t = 0; t < g.tensor.size; ++t) {
    const bool lives =
        g.tensor[t].kind == hp::graph_tensor_kind::parameter || g.tensor[t].kind == hp::graph_tensor_kind::state;
    if (lives && world.is_used(t)) c.values.push_back(world.get(t));
  }
  for (int r = 0; r < world.ranks(); ++r) c.received[static_cast<std::size_t>(r)] += world.received(r);
  c.planned_bytes = world.planned_bytes();
  return c;
}

template <class T>
struct compared {
  const char* strategy;
  const hp::graph* model;
  int steps;
  int lookahead = 0;
  std::int64_t budget = 0;
  hp::interconnect topology = hp::without_links;
  int times = 1;  ///< trained over processes, each time from the first values on
  std::vector<std::string> tiles{};
};

template <class T>
hp::model_run_options options_for(const compared<T>& c, int threads = 1) {
  hp::model_run_options options;
  options.program.keep = training::gradient_names(*c.model);
  options.program.execution.threads = threads;
  options.program.lookahead = c.lookahead;
  options.program.topology = c.topology;
  options.program.tiles = c.tiles;
  if (c.budget == 0) return options;
  options.program.budget = {.bytes = c.budget, .tiers = {{hp::unlimited_bandwidth, 0}}};
  options.program.budget.planning.effort = 200'000;
  return options;
}

/// Trains all over processes; then each process repeats some of it over one thread and over two. What differed between
/// processes would differ from that on one of them.
template <class T>
void expect_same(const hp::mpi_world& world, const std::vector<compared<T>>& all) {
  std::vector<course<T>> spread;
  for (const compared<T>& c : all) {
    mpi_run<T> run(world, *c.model, hp::strategy_called(c.strategy, 8).strategy, options_for(c));
    spread.push_back(train<T>(run, *c.model, c.steps));
    for (int i = 1; i < c.times; ++i) {
      run.set_first_values();
      ASSERT_TRUE(train<T>(run, *c.model, c.steps) == spread.back()) << c.strategy << ", time " << i;
    }
    for (const int r : world.hosted()) EXPECT_EQ(run.world().high_water(r), run.world().planned_bytes());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int>(i) % world.processes() != world.process()) continue;
    const compared<T>& c = all[i];
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(c.strategy + std::string(" on threads: ") + std::to_string(threads));
      threaded_run<T> alone(*c.model, hp::strategy_called(c.strategy, 8).strategy, options_for(c, threads));
      const course<T> expected = train<T>(alone, *c.model, c.steps);
      EXPECT_EQ(spread[i].loss, expected.loss);
      EXPECT_EQ(spread[i].monitors, expected.monitors);
      EXPECT_TRUE(spread[i].gradient == expected.gradient);
      EXPECT_TRUE(spread[i].values == expected.values);
      EXPECT_FALSE(expected.values.empty());
      EXPECT_EQ(spread[i].received, expected.received);
      EXPECT_EQ(spread[i].planned_bytes, expected.planned_bytes);
    }
  }
  world.channel().agree("comparison");
}

/// One move open at a time, and sends that wait for their receives: no buffer of MPI hides a wrong order.
inline hp::mpi_world strict_world() {
  return {MPI_COMM_WORLD, homes_of_eight(), {.timeout = 60s, .open_moves = 1, .synchronous_sends = true}};
}

}  // namespace mpi_worlds
