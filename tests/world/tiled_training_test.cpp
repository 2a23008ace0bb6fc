// SPDX-License-Identifier: Apache-2.0
// Training with tiles: losses and parameters are those without, bit for bit, under every strategy, for any number of
// threads and whatever is late.
#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/tiles/tile_program.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <models/trained_models.hpp>
#include <support/error_of.hpp>
#include <support/tries.hpp>
#include <world/delayed_kernels.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

using hp::extent_t;

hp::graph moe(hp::data_type type, int micro_batches = 1) {
  return programs::moe_graph({.unrolled = true, .micro_batches = micro_batches, .type = type}, {.batch = 8,
                                                                                                .sequence = 8,
                                                                                                .vocabulary = 16,
                                                                                                .layers = 2,
                                                                                                .hidden = 16,
                                                                                                .query_heads = 4,
                                                                                                .key_heads = 4,
                                                                                                .head_dim = 4,
                                                                                                .experts = 8,
                                                                                                .top_k = 2,
                                                                                                .expert_width = 8});
}

/// Losses of three steps, then all parameters.
template <class T>
std::vector<T> trained(const hp::graph& g, const hp::strategy_value& s, const hp::program_options& options) {
  hp::model_run<T> run(g, s, {.program = options});
  std::vector<T> all;
  for (int step = 0; step < 3; ++step)
    all.push_back(run.train_step([&](int m) { run.set_random_inputs(static_cast<std::uint64_t>(10 * step + m)); }));
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].kind != hp::graph_tensor_kind::parameter || g.tensor[t].replaces >= 0) continue;
    const auto values = run.world().get(t);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

hp::tile_options options_of(const char* pattern) {
  hp::tile_options o;
  o.operators.push(pattern);
  return o;
}

/// Under each named strategy on so many ranks: how often tiles had moves to hide, and trained with the bits of no tiles.
template <class T>
int hold_all_strategies(const hp::graph& g, int ranks, const char* pattern, std::vector<int> threads) {
  int tiled_ones = 0;
  for (const auto& named : hp::detail::named_strategy_table) {
    const hp::strategy_result s = hp::strategy_called(named.name, ranks);
    if (!(s.status == hp::strategy_status{})) continue;
    const hp::sharded_program p = hp::partition(g, s.strategy);
    if (p.status.code != hp::strategy_code::ok) continue;
    const hp::detail::tiled_program t = hp::detail::tile_program(p, hp::kinds_of_moves(p), options_of(pattern));
    EXPECT_EQ(t.unmatched, -1);
    EXPECT_STREQ(hp::name_of(hp::check_program(t.program).code), "ok") << named.name;
    if (t.sections == 0) continue;
    ++tiled_ones;
    const std::vector<T> plain = trained<T>(g, s.strategy, {});
    for (const int n : threads) {
      hp::program_options options;
      options.tiles = {pattern};
      options.execution.threads = n;
      EXPECT_EQ(trained<T>(g, s.strategy, options), plain) << named.name << ", " << n << " threads, " << pattern;
    }
  }
  return tiled_ones;
}

TEST(TiledTraining, HasTheBitsOfTrainingWithout) {
  const hp::graph g = moe(hp::f64);
  EXPECT_EQ(hold_all_strategies<double>(g, 2, "*.experts.*", {1, 2}), 12);
  EXPECT_EQ(hold_all_strategies<double>(g, 4, "*.experts.*", {1, 2}), 14);
  EXPECT_EQ(hold_all_strategies<double>(g, 2, "*", {1, 2}), 18);
  EXPECT_EQ(hold_all_strategies<double>(g, 4, "*", {1, 2}), 21);
  EXPECT_EQ(hold_all_strategies<double>(g, 8, "*", {2}), 18);
}

// Sums of floats of 16 bits are rounded once a call, so a tile is as many calls as it has intervals, not fewer sums.
TEST(TiledTraining, HasTheBitsInOtherTypesAndOfMicroBatches) {
  EXPECT_GE(hold_all_strategies<float>(moe(hp::f32), 4, "*", {2}), 19);
  EXPECT_GE(hold_all_strategies<float>(moe(hp::data_type::bf16), 4, "*", {2}), 19);
  EXPECT_GE(hold_all_strategies<double>(moe(hp::f64, 3), 4, "*", {2}), 19);
}

// Kernels that are late at random, on more threads than cores: a thousand runs with --exhaustive.
TEST(TiledTraining, IsTheSameHoweverLateItsTasksAre) {
  const hp::graph g = moe(hp::f32);
  int runs = 0;
  for (const char* const name : {"ep", "ep-tp", "zero3", "tp-sp"}) {
    const hp::strategy_value s = hp::strategy_called(name, 4).strategy;
    const std::vector<float> plain = trained<float>(g, s, {});
    hp::program_options options;
    options.tiles = {"*"};
    options.kernels = &delayed::late_kernel_of;
    for (int k = 0; k < tested::tries(6, 250); ++k, ++runs) {
      options.execution.threads = 1 + k % 5;
      options.vector_queue = k % 2 == 1;
      ASSERT_EQ(trained<float>(g, s, options), plain) << name << ", run " << k;
    }
  }
  EXPECT_GE(runs, 24);
}

TEST(TiledTraining, SaysWhatItCannotTile) {
  const hp::graph g = moe(hp::f64);
  const auto error = [&](const char* name, int ranks, const char* pattern, const hp::memory_budget& budget = {}) {
    hp::program_options options;
    options.tiles = {"*.experts.*", pattern};
    options.budget = budget;
    return tested::error_of(
        [&] { hp::model_run<double> run(g, hp::strategy_called(name, ranks).strategy, {.program = options}); });
  };
  EXPECT_EQ(error("ep", 2, "*.expert.*"), "tiles: \"*.expert.*\" names no operator of the model");
  EXPECT_EQ(error("dp", 2, "*.experts.down"),
            "tiles: what \"*.experts.*\" names is beside no move whose tiles it can follow under strategy dp");
  hp::model_run<double> whole(g, hp::strategy_called("ep", 2).strategy);
  EXPECT_EQ(error("ep", 2, "*.experts.down",
                  {.bytes = whole.world().planned_bytes() * 19 / 20, .tiers = {{hp::unlimited_bandwidth, 0}}}),
            "tiles: a program within a memory budget is not tiled");
}

}  // namespace
