// SPDX-License-Identifier: Apache-2.0
// Training under a budget of memory: the bits of a run without one, within the budget, as planned.

#include <hyperparallel/world/model_run.hpp>

#include <models/piped_model.hpp>
#include <support/tries.hpp>
#include <world/training_models.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace {

namespace hp = hyperparallel;

struct outcome {
  std::vector<float> loss;
  std::vector<std::vector<float>> parameter;
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome train(hp::model_run<float>& run, int steps) {
  outcome o;
  for (int s = 0; s < steps; ++s)
    o.loss.push_back(run.train_step([&](int) { run.set_random_inputs(static_cast<std::uint64_t>(s)); }));
  for (const int p : training::parameters_of(run.model())) o.parameter.push_back(run.world().get(p));
  return o;
}

TEST(OffloadedTraining, HasTheBitsOfARunWithoutABudget) {
  const int steps = tested::exhaustive() ? 20 : 2;
  const hp::graph g = training::small_step();
  for (const char* const name : {"ep-tp", "zero3", "dp-tp"}) {
    if (tested::watches_threads && name[0] != 'z') continue;
    const hp::strategy_value s = hp::strategy_called(name, 8).strategy;
    hp::model_run_options options;
    options.program.measured = true;
    hp::model_run<float> whole(g, s, options);
    const outcome expected = train(whole, steps);
    const std::int64_t peak = whole.world().planned_bytes();
    options.program.measured = false;
    hp::memory_budget& budget = options.program.budget;
    budget.step_duration = whole.world().step_durations();
    budget.tiers = {{2'000'000'000, 5'000'000}};
    budget.planning.effort = tested::watches_threads ? 50'000 : tested::exhaustive() ? 20'000'000 : 600'000;
    hp::extent_t least = 0;
    for (const int percent : {75, 50, 35}) {
      if (tested::watches_threads && (percent != 50 || name[0] != 'z')) continue;
      budget.bytes = std::max(peak * percent / 100, least);
      hp::model_run<float> run(g, s, options);
      const hp::offload_certificate& c = run.world().offloading();
      least = c.least_budget;
      EXPECT_EQ(train(run, steps), expected) << name << " in " << percent << " %";
      EXPECT_LE(run.world().planned_bytes(), budget.bytes);
      for (int rank = 0; rank < 8; ++rank)
        for (int tier = 0; tier < run.world().tiers(); ++tier)
          EXPECT_EQ(run.world().high_water(rank, tier), run.world().planned_bytes(tier));
      std::printf(
          "%-6s %3d %%: %7lld of %7lld bytes, %lld in and %lld out, at least %lld and %lld; %.2f of %.2f ms exposed\n",
          name, percent, static_cast<long long>(run.world().planned_bytes()), static_cast<long long>(peak),
          static_cast<long long>(c.bytes_in), static_cast<long long>(c.bytes_out),
          static_cast<long long>(c.bytes_in_bound), static_cast<long long>(c.bytes_out_bound),
          static_cast<double>(c.exposed) * 1e-9, static_cast<double>(c.time) * 1e-9);
    }
  }
}

/// Each group of a pipeline keeps the budget by itself, and what it has in flight leaves and comes back.
TEST(OffloadedTraining, PipelinesHaveTheBitsOfARunWithoutABudget) {
  const int steps = tested::exhaustive() ? 20 : 2;
  struct piped {
    const char* schedule;
    int ranks, chunks;
    const char* strategy;
    int devices;
    hp::data_type type = hp::f32;  ///< narrow gradients are looked at before the update, which then runs by itself
  };
  for (const piped& c :
       {piped{"1F1B", 4, 1, "single", 1}, piped{"1F1B", 2, 1, "tp", 2}, piped{"ZB-V", 2, 2, "zero3", 2},
        piped{"DualPipe", 2, 1, "single", 1}, piped{"1F1B", 2, 1, "dp", 2, hp::bf16}}) {
    if (tested::watches_threads && c.strategy[0] != 'z') continue;
    const hp::graph g = programs::piped_graph(4, 8, nullptr, c.type);
    const hp::strategy_value s = programs::strategy_of_parts(c.strategy, c.devices);
    const hp::pipeline_value pipeline{
        .schedule = hp::schedule_called(c.schedule), .ranks = c.ranks, .chunks = c.chunks};
    hp::model_run_options options;
    hp::model_run<float> whole(g, s, pipeline, options);
    const outcome expected = train(whole, steps);
    const std::int64_t peak = whole.world().planned_bytes();
    hp::memory_budget& budget = options.program.budget;
    budget.tiers = {{2'000'000'000, 500'000}};
    budget.planning.effort = tested::watches_threads ? 50'000 : tested::exhaustive() ? 2'000'000 : 100'000;
    for (const int percent : {80, 60}) {
      budget.bytes = peak * percent / 100;
      hp::model_run<float> run(g, s, pipeline, options);
      const hp::sharded_program& p = run.world().program();
      EXPECT_EQ(train(run, steps), expected) << c.schedule << " in " << percent << " %";
      int left = 0;  // what lives within the step and leaves tier 0 in it
      for (const hp::program_move& m : p.move)
        left += m.detaches && !p.storage[p.value[m.target].storage].home &&
                p.graph.tensor[p.value[m.target].tensor].kind == hp::graph_tensor_kind::activation;
      // Where the update runs by itself its states are away from micro-batches, which makes room enough.
      EXPECT_TRUE(left > 0 || c.type != hp::f32) << c.schedule << " in " << percent << " %";
      EXPECT_GT(run.world().planned_bytes(1), 0);
      for (int part = 0; part < hp::parts_of(p); ++part)
        EXPECT_LE(run.world().high_water(hp::first_rank_of(p, part)), budget.bytes) << "part " << part;
      const hp::offload_certificate& plan = run.world().offloading();
      std::printf("%-8s %-6s %3d %%: %7lld of %7lld bytes, %d activations leave; %.2f of %.2f ms exposed\n", c.schedule,
                  c.strategy, percent, static_cast<long long>(run.world().planned_bytes()),
                  static_cast<long long>(peak), left, static_cast<double>(plan.exposed) * 1e-9,
                  static_cast<double>(plan.time) * 1e-9);
    }
  }
}

}  // namespace
