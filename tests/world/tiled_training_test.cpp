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
#include <world/delayed_kernels.hpp>

#include <gtest/gtest.h>

#include <cstdio>
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
    const hp::tiled_program t = hp::tile_program(p, hp::kinds_of_moves(p), options_of(pattern));
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
  for (const char* const pattern : {"*.experts.*", "*"})
    for (const int ranks : {2, 4, 8})
      std::printf("%s %d: %d\n", pattern, ranks, hold_all_strategies<double>(g, ranks, pattern, {1, 2}));
}

}  // namespace
