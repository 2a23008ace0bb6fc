// SPDX-License-Identifier: Apache-2.0
//
// bench_offload [STEPS [MICRO_BATCHES]]: how much of the copies between memory tiers a planned run hides.
//
// One rank trains a small model under half of the memory it would take. The slower tier's bandwidth is chosen so that
// all copies together take a quarter, a half, and all of the time of computing. Runs with and without the budget take
// turns; figures are medians, that with the budget one of ratios of neighbours, so that a machine that is busy for a
// while slows both. hidden = 1 - (with - without) / copies, beside what the plan promises; the virtual clock
// is the plan's own timeline, from durations that were measured in runs without a budget.
//
// A step accumulates gradients over micro-batches. One micro-batch a step is another matter: half of its copies are
// stores of what forward makes, which have to be done within forward, a third of the step, and the states of the
// optimizer come and go in the few milliseconds of the update. Where copies take as long as computing no plan hides
// all of that; ask for MICRO_BATCHES 1 to see it.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/lowering/offloaded_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/world/model_run.hpp>

#include "../../examples/command_line.hpp"
#include "../../examples/models/small_moe.hpp"

namespace {

namespace hp = hyperparallel;
using steady = std::chrono::steady_clock;

hp::graph model(int micro_batches) {
  hp::model_builder m({.unrolled = true});
  m.graph.micro_batches = micro_batches;
  models::build_small_moe(m, {.batch = 4,
                              .sequence = 128,
                              .layers = 4,
                              .hidden = 128,
                              .query_heads = 8,
                              .key_heads = 4,
                              .head_dim = 16,
                              .expert_width = 128});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double step_seconds(hp::model_run<float>& run) {
  const steady::time_point begin = steady::now();
  run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(run.steps())); });
  return std::chrono::duration<double>(steady::now() - begin).count();
}

/// What the plan of one step of training says.
struct planned_step {
  double bytes = 0, seconds = 0, exposed = 0;

  planned_step(const hp::sharded_program& p, const hp::memory_budget& budget) {
    const hp::offloaded_program o = hp::planned_within(p, budget);
    for (int i = 0; i < o.period.size; ++i) {
      const hp::offload_certificate& c = o.period[i];
      const double times = i == 0 ? p.graph.micro_batches : 1;
      bytes += times * static_cast<double>(c.bytes_in + c.bytes_out);
      seconds += times * static_cast<double>(c.time) * 1e-12;
      exposed += times * static_cast<double>(c.exposed) * 1e-12;
    }
  }
};

void measure(int steps, int micro_batches) {
  const hp::graph g = model(micro_batches);
  const hp::strategy_value alone = hp::strategy_called("single", 1).strategy;
  hp::model_run_options options;
  options.program.execution.threads = 1;

  options.program.measured = true;
  hp::model_run<float> measured(g, alone, options);
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) seconds.push_back(step_seconds(measured));
  options.program.measured = false;
  const std::int64_t peak = measured.world().planned_bytes();
  hp::memory_budget budget{.bytes = peak / 2, .tiers = {{hp::unlimited_bandwidth, 0}}};
  budget.step_duration = measured.world().step_durations();
  const hp::sharded_program p = hp::partition(g, alone);
  const double moved = planned_step(p, budget).bytes, compute = median(seconds);
  std::printf(
      "%d micro-batches, %.1f MiB without a budget, %.1f MiB with it, %.1f MiB copied a step, computing takes "
      "%.1f ms\n\n",
      micro_batches, static_cast<double>(peak) / 1048576, static_cast<double>(budget.bytes) / 1048576, moved / 1048576,
      compute * 1e3);
  std::printf(
      "copies / compute    without        with     in turn   hidden   by the plan   virtual clock   "
      "measured / virtual\n");
  for (const double ratio : {0.25, 0.5, 1.0}) {
    budget.tiers = {{static_cast<std::int64_t>(moved / (ratio * compute)), 10'000'000}};
    options.program.budget = budget;
    hp::model_run<float> within(g, alone, options);
    options.program.budget = {};
    hp::model_run<float> without(g, alone, options);
    const planned_step plan(p, budget);
    const double copies = plan.bytes / moved * ratio * compute;
    std::vector<double> plains, ratios;
    for (int i = 0; i < steps; ++i) {
      plains.push_back(step_seconds(without));
      ratios.push_back(step_seconds(within) / plains.back());
    }
    const double plain = median(plains), with = plain * median(ratios);
    std::printf("%16.2f %7.1f ms %8.1f ms %8.1f ms %8.3f %13.3f %12.1f ms %20.3f\n", copies / plain, plain * 1e3,
                with * 1e3, (plain + copies) * 1e3, 1 - (with - plain) / copies, 1 - plan.exposed / copies,
                plan.seconds * 1e3, with / plan.seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 9, micro_batches = 16;
  command_line::program app("Steps of training with and without a memory budget, in turn.", "bench_offload");
  app.add_option("steps", steps, "samples of each").check(command_line::whole(1, 1'000'000));
  app.add_option("micro_batches", micro_batches, "of a step").check(command_line::whole(1, 1024));
  return command_line::run(app, argc, argv, [&] {
    measure(steps, micro_batches);
    return 0;
  });
}
