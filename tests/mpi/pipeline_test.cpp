// SPDX-License-Identifier: Apache-2.0
// processes: 3 4
// Pipelines and sub-models over processes against the same ones over threads, bit for bit: with messages that MPI may keep,
// with one open move of a part and sends that wait for their receives, and under a budget of memory.
#include <hyperparallel/groups/renumbered_groups.hpp>
#include <hyperparallel/mpi/program_world.hpp>

#include <string>
#include <vector>

#include "../../examples/omni_modal/placements.hpp"
#include "models/omni_model.hpp"
#include "models/piped_model.hpp"
#include "mpi/worlds.hpp"

#include <gtest/gtest.h>

namespace hp = hyperparallel;

namespace {

struct course {
  std::vector<double> loss;
  std::vector<std::vector<double>> values;  ///< parameters and states after the last step
  std::vector<std::int64_t> received;
};

template <class Run>
course train(Run& run, const hp::graph& g) {
  course c;
  for (int s = 0; s < 2; ++s)
    c.loss.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * s + micro)); }));
  for (int t = 0; t < g.tensor.size; ++t) {
    const bool lives =
        g.tensor[t].kind == hp::graph_tensor_kind::parameter || g.tensor[t].kind == hp::graph_tensor_kind::state;
    if (lives && run.world().is_used(t)) c.values.push_back(run.world().get(t));
  }
  for (int r = 0; r < run.world().ranks(); ++r) c.received.push_back(run.world().received(r));
  return c;
}

struct piped_case {
  const char* schedule;
  int ranks, chunks;
  const char* strategy;
  int strategy_ranks;
  bool tied = false;  ///< the head reads the embedding's table
};

/// `percent`: of its memory without a budget, which a rank may take.
void expect_same(const hp::mpi_options& options, int percent = 100) {
  const std::vector<piped_case> cases{{"GPipe", 4, 1, "tp", 2},
                                      {"1F1B", 2, 1, "dp-tp", 4},
                                      {"ZB-V", 2, 2, "tp-sp", 4},
                                      {"ZB-H2", 2, 1, "ep", 4},
                                      {"DualPipe", 2, 1, "zero3", 4},
                                      {"1F1B", 4, 1, "zero1", 2, true},
                                      {"DualPipe", 2, 1, "dp-tp", 4, true}};
  const std::vector<hp::strategy_value> groups{hp::strategy_called("dp", 2).strategy,
                                               hp::strategy_called("zero3-tp", 4).strategy,
                                               hp::strategy_called("tp", 2).strategy};
  for (std::size_t i = 0; i <= cases.size(); ++i) {
    const piped_case& c = cases[i % cases.size()];
    SCOPED_TRACE(std::string(c.schedule) + (c.tied ? ", tied" : ""));
    const hp::graph g = c.tied ? programs::tied_graph(4, 4) : programs::piped_graph(4, 4, "layers.*", hp::f64);
    hp::pipeline_value pipeline{.schedule = hp::schedule_called(c.schedule), .ranks = c.ranks, .chunks = c.chunks};
    if (i == cases.size()) {  // groups of two, four and two ranks
      pipeline.ranks = 3;
      for (const hp::strategy_value& one : groups) pipeline.strategy.push(one);
    }
    const hp::strategy_value s = hp::strategy_called(c.strategy, c.strategy_ranks).strategy;
    const hp::mpi_world world(MPI_COMM_WORLD, mpi_worlds::homes_of_eight(), options);
    hp::model_run_options within;
    if (percent < 100) {
      const hp::extent_t whole = hp::plan_addresses(hp::partitioned(g, s, pipeline)).high_water[0];
      within.program.budget = {.bytes = whole * percent / 100, .tiers = {{hp::unlimited_bandwidth, 0}}};
      within.program.budget.planning.effort = 50'000;
    }
    hp::model_run<double, hp::mpi_program_world<double>> spread(world, g, s, pipeline, within);
    EXPECT_TRUE(percent == 100 || spread.world().planned_bytes() <= within.program.budget.bytes);
    const course over_processes = train(spread, g);
    if (static_cast<int>(i) % world.processes() == world.process()) {
      hp::model_run<double> alone(g, s, pipeline, {.program = {.execution = {.threads = 1}}});
      const course expected = train(alone, g);
      EXPECT_EQ(over_processes.loss, expected.loss);
      EXPECT_EQ(over_processes.received, expected.received);
      EXPECT_TRUE(over_processes.values == expected.values);
    }
    world.channel().agree("comparison");
  }
}

TEST(mpi_pipeline, has_the_bits_of_threads) { expect_same({.timeout = std::chrono::seconds(60)}); }

TEST(mpi_pipeline, has_them_under_a_budget_of_memory) { expect_same({.timeout = std::chrono::seconds(60)}, 75); }

/// Two towers, one of them frozen or not, and their fusion, on groups of two, two and four ranks.
TEST(mpi_pipeline, sub_models_have_the_bits_of_threads) {
  for (const char* vision : {"vision", "!vision"})
    for (const bool keeps : {true, false}) {
      const hp::submodel_plan plan =
          programs::omni_plan({{"a", "tp", 2, {"text"}}, {"c", "dp-tp", 4, {"fusion"}}, {"b", "zero2", 2, {vision}}});
      const hp::graph g = programs::omni_graph({.micro_batches = 3}, &plan.table);
      hp::mpi_options options{.timeout = std::chrono::seconds(60)};
      if (!keeps) options.open_moves = 1;
      options.synchronous_sends = !keeps;
      const hp::mpi_world world(MPI_COMM_WORLD, mpi_worlds::homes_of_eight(), options);
      hp::model_run<double, hp::mpi_program_world<double>> spread(world, g, plan);
      const course over_processes = train(spread, g);
      hp::model_run<double> alone(g, plan, {.program = {.execution = {.threads = 1}}});
      const course expected = train(alone, g);
      EXPECT_EQ(over_processes.loss, expected.loss);
      EXPECT_EQ(over_processes.received, expected.received);
      EXPECT_TRUE(over_processes.values == expected.values);
      world.channel().agree("comparison");
    }
}

/// The example's model under its placements by name.
TEST(mpi_pipeline, towers_of_text_images_and_sound_have_the_bits_of_threads) {
  for (const omni_modal::named_placement& each : omni_modal::placements()) {
    SCOPED_TRACE(each.name);
    const auto step_of = [](const hp::group_table& t) {
      return omni_modal::training_step_of({}, 2, t, hp::f64, hp::f64);
    };
    const hp::submodel_plan plan = omni_modal::placement_called(each.name, step_of({}));
    const hp::graph g = step_of(plan.table);
    const hp::mpi_world world(MPI_COMM_WORLD, mpi_worlds::homes_of_eight(), {.timeout = std::chrono::seconds(60)});
    hp::model_run<double, hp::mpi_program_world<double>> spread(world, g, plan);
    const course over_processes = train(spread, g);
    hp::model_run<double> alone(g, plan, {.program = {.execution = {.threads = 1}}});
    const course expected = train(alone, g);
    EXPECT_EQ(over_processes.loss, expected.loss);
    EXPECT_TRUE(over_processes.values == expected.values);
    world.channel().agree("comparison");
  }
}

/// Groups of every other rank: the plan's ranks stand one behind another, each on the process of its old rank.
TEST(mpi_pipeline, renumbered_groups_have_the_bits_of_threads) {
  hp::group_table t;
  t.world = 8;
  hp::add_group(t, "towers", 7, 1, 3, 5);
  hp::add_group(t, "fusion", 0, 2, 4, 6);
  for (const char* name : {"text", "vision"}) hp::add_module(t, name, "towers");
  hp::add_module(t, "fusion", "fusion");
  const hp::renumbered_groups n = hp::renumber(t);
  ASSERT_TRUE(n.status.ok());
  hp::submodel_plan plan{n.table, {}};
  for (const char* name : {"dp-tp", "zero1"}) plan.strategy.push(hp::strategy_called(name, 4).strategy);
  std::vector<int> homes;
  for (const int old : n.old_rank) homes.push_back(mpi_worlds::homes_of_eight()[static_cast<std::size_t>(old)]);
  const hp::graph g = programs::omni_graph({.micro_batches = 2});
  const hp::mpi_world world(MPI_COMM_WORLD, homes, {.timeout = std::chrono::seconds(60)});
  hp::model_run<double, hp::mpi_program_world<double>> spread(world, g, plan);
  const course over_processes = train(spread, g);
  hp::model_run<double> alone(g, plan, {.program = {.execution = {.threads = 1}}});
  const course expected = train(alone, g);
  EXPECT_EQ(over_processes.loss, expected.loss);
  EXPECT_TRUE(over_processes.values == expected.values);
  world.channel().agree("comparison");
}

TEST(mpi_pipeline, ends_where_no_message_is_kept) {
  expect_same({.timeout = std::chrono::seconds(60), .open_moves = 1, .synchronous_sends = true});
}

}  // namespace
