// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/exec/run_pace.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "world/training_models.hpp"

namespace {

namespace hp = hyperparallel;

struct course {
  std::vector<float> loss, weight;
  double shortest = std::numeric_limits<double>::max();  ///< seconds of a step
};

course train(const hp::graph& g, const hp::strategy_value& s, std::int64_t slower, const hp::interconnect& links) {
  hp::model_run_options options;
  options.program.topology = links;
  options.program.pace = {hp::h100::device, slower};
  hp::model_run<float> run(g, s, options);
  course c;
  for (int step = 0; step < 2; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    c.loss.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(8 * step + micro)); }));
    c.shortest = std::min(c.shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  c.weight = run.world().get(training::parameters_of(g).front());
  return c;
}

/// A late wake-up may be made good by the next task of its queue, up to half a millisecond of each step in it.
TEST(RunPace, NoStepIsFasterThanTheClockAndBitsStay) {
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  for (const char* const name : {"dp", "zero3", "tp-sp"})
    for (const int micro_batches : {1, 2}) {
      SCOPED_TRACE(std::string(name) + ", micro-batches: " + std::to_string(micro_batches));
      const hp::graph g = training::small_step(micro_batches, 1);
      const hp::strategy_value s = hp::strategy_called(name, 4).strategy;
      const hp::run_times clock =
          hp::simulate(hp::lower_training(hp::partition(g, s), {.topology = links}), hp::h100::device);
      ASSERT_TRUE(clock.ok());
      const std::int64_t slower = 300'000'000'000 / clock.makespan;  // 0.3 s
      const course paced = train(g, s, slower, links), free = train(g, s, 0, links);
      EXPECT_EQ(paced.loss, free.loss);
      EXPECT_EQ(paced.weight, free.weight);
      EXPECT_GE(paced.shortest, 0.98 * static_cast<double>(clock.makespan * slower) * 1e-12);
    }
}

TEST(RunPace, WhatHasNoPriceIsRefused) {
  const hp::graph g = training::small_step(1, 1);
  const hp::strategy_value s = hp::strategy_called("dp", 4).strategy;
  try {
    train(g, s, 1000, hp::without_links);
    ADD_FAILURE() << "moves that were chosen on no links have no price";
  } catch (const hp::program_error& e) {
    EXPECT_STREQ(e.what(), "pace: moves have no price, for program_options::topology does not join the ranks");
  }
}

}  // namespace
