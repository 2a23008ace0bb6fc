// SPDX-License-Identifier: Apache-2.0
// A model whose modules run on groups of ranks of their own is the model trained on one device, whatever the groups and their
// strategies; the same bits from any number of threads, and, on one group, those of its strategy without a table.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "../../examples/omni_modal/placements.hpp"
#include "models/omni_model.hpp"
#include "support/tries.hpp"
#include "training_courses.hpp"

namespace {

using namespace hyperparallel;
using programs::omni_graph;
using programs::omni_plan;
using programs::omni_shape;
using programs::shared_parameter;
using training::course;
using training::difference;
using training::train_on_one_device;

course train_under(const graph& g, const submodel_plan& plan, int steps, int threads = 0) {
  model_run_options options;
  options.program.execution.threads = threads;
  model_run<double> run(g, plan, options);
  return training::train(run, g, steps);
}

/// Threads 1 and 2 learn the same bits, those of one device but for rounding.
void expect_one_device(const omni_shape& s, const submodel_plan& plan) {
  const int steps = tested::tries(2, 20);
  const graph g = omni_graph(s, &plan.table);
  ASSERT_EQ(g.status.code, graph_code::ok);
  const course c = train_under(g, plan, steps, 1);
  EXPECT_LE(difference(train_on_one_device(g, steps), c), 1e-9);
  EXPECT_EQ(c, train_under(g, plan, steps, 2)) << "the same bits from two threads";
}

TEST(submodel_parity, every_placement_is_one_device) {
  const submodel_plan plans[] = {
      omni_plan({{"a", "single", 1, {"text"}}, {"b", "single", 1, {"vision"}}, {"c", "single", 1, {"fusion"}}}),
      omni_plan({{"a", "tp", 2, {"text"}}, {"b", "single", 1, {"vision"}}, {"c", "dp-tp", 4, {"fusion"}}}),
      omni_plan({{"c", "zero3-tp", 4, {"fusion"}}, {"a", "dp", 2, {"text"}}, {"b", "tp-sp", 4, {"vision"}}}),
      omni_plan({{"towers", "dp-tp", 4, {"text", "vision"}}, {"c", "zero1", 2, {"fusion"}}}),
      omni_plan({{"language", "zero2", 2, {"text", "fusion"}}, {"b", "zero3", 4, {"vision"}}}),
      omni_plan({{"a", "vocab", 2, {"text"}}, {"b", "dp", 4, {"!vision"}}, {"c", "tp", 2, {"fusion"}}}),
      omni_plan({{"towers", "dp", 2, {"!text", "!vision"}}, {"c", "zero3", 4, {"fusion"}}}),
      omni_plan({{"a", "zero1", 4, {"text"}}, {"b", "tp", 2, {"vision"}}, {"c", "vocab", 2, {"!fusion"}}}),
      omni_plan({{"all", "dp-tp", 4, {"text", "vision", "fusion"}}})};
  for (std::size_t i = 0; i < std::size(plans); ++i)
    for (const int micro_batches : {1, 4}) {
      SCOPED_TRACE("placement " + std::to_string(i) + ", " + std::to_string(micro_batches) + " micro-batches");
      expect_one_device({.micro_batches = micro_batches, .tower_layers = 2}, plans[i]);
    }
}

/// The example's model, its placements by name.
TEST(submodel_parity, towers_of_text_images_and_sound_are_one_device_under_every_placement) {
  int frozen = 0;
  for (const omni_modal::named_placement& each : omni_modal::placements()) {
    SCOPED_TRACE(each.name);
    const auto step_of = [](const group_table& t) { return omni_modal::training_step_of({}, 3, t, f64, f64); };
    const submodel_plan plan = omni_modal::placement_called(each.name, step_of({}));
    const graph g = step_of(plan.table);
    const course c = train_under(g, plan, 2, 1);
    EXPECT_LE(difference(train_on_one_device(g, 2), c), 1e-9);
    EXPECT_EQ(c, train_under(g, plan, 2, 2)) << "the same bits from two threads";
    EXPECT_EQ(plan.table.world, 8);
    for (const placed_module& m : plan.table.placed) frozen += m.frozen;
  }
  EXPECT_GE(omni_modal::placements().size(), 7u);
  EXPECT_EQ(frozen, 4);
}

TEST(submodel_parity, a_parameter_of_two_modules_is_one_parameter) {
  for (const shared_parameter shared : {shared_parameter::table, shared_parameter::matrix})
    for (const int micro_batches : {1, 3})
      for (const char* name : {"dp", "tp", "zero2", "zero3"}) {
        SCOPED_TRACE(std::string(name) + ", " + std::to_string(micro_batches) + " micro-batches");
        const submodel_plan plan =
            omni_plan({{"a", name, 2, {"text"}}, {"b", "dp", 4, {"vision"}}, {"c", name, 2, {"fusion"}}});
        expect_one_device({.micro_batches = micro_batches, .shared = shared}, plan);
      }
}

TEST(submodel_parity, one_group_has_the_bits_of_its_strategy) {
  for (const char* name : {"single", "dp", "tp", "tp-sp", "zero1", "zero3", "dp-tp", "vocab"})
    for (const int micro_batches : {1, 4}) {
      const int ranks = std::string(name) == "single" ? 1 : 4;
      const graph g = omni_graph({.micro_batches = micro_batches, .tower_layers = 2});
      model_run<double> plain(g, strategy_called(name, ranks).strategy);
      EXPECT_EQ(training::train(plain, g, 2),
                train_under(g, omni_plan({{"all", name, ranks, {"text", "vision", "fusion"}}}), 2))
          << name << ", " << micro_batches;
    }
}

/// Modules cut at random, on groups of any order and size, some of several modules that do not follow each other.
TEST(submodel_parity, random_placements_are_one_device) {
  std::mt19937 random(83);
  int runs = 0;
  for (const int wanted = tested::tries(25, 500); runs < wanted;) {
    const submodel_plan plan = programs::random_omni_plan(random);
    const omni_shape s{.micro_batches = 1 + static_cast<int>(random() % 3),
                       .tower_layers = 2,
                       .shared = static_cast<shared_parameter>(random() % 3)};
    const submodel_program p = partition(omni_graph(s, &plan.table), plan);
    if (p.program.status.code == strategy_code::rule_matches_nothing) continue;   // as "seq" of an embedding alone
    if (p.groups.code == submodel_code::frozen_parameter_has_gradient) continue;  // half frozen
    SCOPED_TRACE("run " + std::to_string(runs));
    expect_one_device(s, plan);
    ++runs;
  }
}

/// A step under three quarters of its memory has the bits of one with all of it.
TEST(submodel_parity, a_budget_of_memory_changes_no_bit) {
  const submodel_plan plan =
      omni_plan({{"a", "tp", 2, {"text"}}, {"b", "dp", 2, {"vision"}}, {"c", "zero1", 4, {"fusion"}}});
  const graph g = omni_graph({.micro_batches = 3, .tower_layers = 2});
  model_run_options within;
  const extent_t whole = plan_addresses(partitioned(g, plan)).high_water[0];
  within.program.budget = {.bytes = whole * 3 / 4, .tiers = {{unlimited_bandwidth, 0}}};
  model_run<double> run(g, plan, within);
  EXPECT_LE(run.world().planned_bytes(), whole * 3 / 4);
  EXPECT_EQ(training::train(run, g, 2), train_under(g, plan, 2));
}

/// Parameters and states of a model trained under one placement go on under another.
TEST(submodel_parity, training_goes_on_under_another_placement) {
  const graph g = omni_graph({.micro_batches = 2});
  model_run<double> whole(g, strategy_called("single", 1).strategy),
      first(g, omni_plan({{"a", "dp", 2, {"text"}}, {"b", "tp", 4, {"vision"}}, {"c", "zero3", 2, {"fusion"}}})),
      second(g, omni_plan({{"towers", "zero2", 4, {"vision", "text"}}, {"c", "dp-tp", 4, {"fusion"}}}));
  const auto step = [&](auto& run, std::uint64_t batch) {
    return run.train_step([&](int micro) { run.set_random_inputs(batch + static_cast<std::uint64_t>(micro)); });
  };
  for (std::uint64_t s = 0; s < 2; ++s) EXPECT_NEAR(step(whole, 8 * s), step(first, 8 * s), 1e-12);
  for (int t = 0; t < g.tensor.size; ++t) {
    const bool kept = g.tensor[t].kind == graph_tensor_kind::parameter || g.tensor[t].kind == graph_tensor_kind::state;
    if (kept && g.tensor[t].replaces < 0 && second.world().is_used(t)) second.world().set(t, first.world().get(t));
  }
  second.set_steps(2);
  for (std::uint64_t s = 2; s < 4; ++s) EXPECT_NEAR(step(whole, 8 * s), step(second, 8 * s), 1e-12);
}

/// What no group trains stays as it is, has no state, and no row of backward work.
TEST(submodel_parity, a_frozen_tower_learns_nothing) {
  const submodel_plan plan =
      omni_plan({{"a", "dp", 2, {"text"}}, {"b", "zero1", 2, {"!vision"}}, {"c", "tp", 2, {"fusion"}}});
  const graph g = omni_graph({.micro_batches = 3}, &plan.table);
  model_run<double> run(g, plan);
  std::vector<std::vector<double>> before;
  for (const int p : training::parameters_of(g)) before.push_back(run.world().get(p));
  const course c = training::train(run, g, 2);
  int frozen = 0, i = 0;
  for (const int p : training::parameters_of(g)) {
    const bool of_vision = std::string(g.name_of_tensor(p)).rfind("vision.", 0) == 0;
    EXPECT_EQ(c.parameters[static_cast<std::size_t>(i)] == before[static_cast<std::size_t>(i)], of_vision);
    frozen += of_vision ? 1 : 0;
    ++i;
  }
  EXPECT_EQ(frozen, 3);
  for (const graph_tensor& t : g.tensor)
    if (t.kind == graph_tensor_kind::state) {
      EXPECT_NE(std::string(g.text_at(g.tensor[t.source].name)).rfind("vision.", 0), 0u) << g.text_at(t.name);
    }
  const sharded_program& p = run.world().program();
  for (const program_step& s : p.step)
    if (hyperparallel::detail::part_of_step(p, s) == 1) {
      EXPECT_EQ(s.phase, graph_phase::forward);
    }
}

}  // namespace
