// SPDX-License-Identifier: Apache-2.0
//
// bench_offload [STEPS]: how much of the copies between memory tiers a planned run hides.
//
// One rank trains a small model under half of the memory it would take. The slower tier's bandwidth is chosen so that
// all copies together take a quarter, a half, and all of the time of computing. Runs with and without the budget take
// turns; figures are medians. hidden = 1 - (with - without) / copies; the virtual clock is the plan's own timeline,
// from durations that were measured in a run without a budget.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <hyperparallel/model/gradient.hpp>
#include <hyperparallel/model/named_strategies.hpp>
#include <hyperparallel/model/optimizer.hpp>
#include <hyperparallel/runtime/model_run.hpp>

#include "../../examples/models/small_moe.hpp"

namespace {

namespace hp = hyperparallel;
using steady = std::chrono::steady_clock;

hp::graph model() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, {.batch = 8,
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

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 15;
  const hp::graph g = model();
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
  const hp::sharded_program p = [&] {
    hp::sharded_program one = hp::partition(g, alone);
    hp::set_run_types(one, hp::data_type::f32);
    return one;
  }();
  const hp::offload_certificate free = hp::planned_within(p, budget).planned.certificate;
  const double moved = static_cast<double>(free.bytes_in + free.bytes_out), compute = median(seconds);
  std::printf("%.1f MiB without a budget, %.1f MiB with it, %.1f MiB copied a step, computing takes %.1f ms\n\n",
              static_cast<double>(peak) / 1048576, static_cast<double>(budget.bytes) / 1048576, moved / 1048576,
              compute * 1e3);
  std::printf("copies / compute   without      with    in turn   hidden   virtual clock   measured / virtual\n");
  for (const double ratio : {0.25, 0.5, 1.0}) {
    budget.tiers = {{static_cast<std::int64_t>(moved / (ratio * compute)), 10'000'000}};
    options.program.budget = budget;
    hp::model_run<float> within(g, alone, options);
    options.program.budget = {};
    hp::model_run<float> without(g, alone, options);
    const hp::offload_certificate& c = within.world().offloading();
    const double copies = static_cast<double>(c.bytes_in + c.bytes_out) / moved * ratio * compute;
    std::vector<double> a, b;
    for (int i = 0; i < steps; ++i) {
      a.push_back(step_seconds(without));
      b.push_back(step_seconds(within));
    }
    const double plain = median(a), with = median(b), virtual_time = static_cast<double>(c.time) * 1e-12;
    std::printf("%10.2f      %8.1f ms %7.1f ms %7.1f ms %7.2f %12.1f ms %14.3f\n", ratio, plain * 1e3, with * 1e3,
                (plain + copies) * 1e3, 1 - (with - plain) / copies, virtual_time * 1e3, with / virtual_time);
  }
}
