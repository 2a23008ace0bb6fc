// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/fastest_tiles.hpp>

#include <hyperparallel/hardware/ascend_presets.hpp>
#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <models/trained_models.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

/// One layer whose products take a device as long as those of a large model.
hp::graph wide_layer() {
  return programs::moe_graph({.unrolled = true, .type = hp::data_type::bf16}, {.batch = 4,
                                                                               .sequence = 2048,
                                                                               .vocabulary = 4096,
                                                                               .layers = 1,
                                                                               .hidden = 4096,
                                                                               .query_heads = 32,
                                                                               .key_heads = 32,
                                                                               .head_dim = 128,
                                                                               .experts = 32,
                                                                               .top_k = 2,
                                                                               .expert_width = 1536});
}
hp::lowering_options tiled(const hp::interconnect& links, const char* pattern) {
  hp::lowering_options how{.topology = links};
  how.tiles.push(pattern);
  return how;
}

// Under every strategy: the fastest of all that fit, tried one by one here, and never slower than without tiles.
TEST(FastestTiles, AreTheFastestOfThoseThatFit) {
  int asked = 0, tiled_ones = 0;
  const hp::graph wide = wide_layer(), narrow = programs::moe_graph({.unrolled = true});
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const hp::graph* const g : {&wide, &narrow}) {
      const hp::sharded_program p = hp::partition(*g, hp::strategy_called(hp::named_strategy_at(i).name, 4).strategy);
      if (p.status.code != hp::strategy_code::ok) continue;
      SCOPED_TRACE(hp::named_strategy_at(i).name);
      const hp::device_value& device = hp::ascend_910b::device;
      hp::lowering_options how = tiled(hp::on_topology(hp::ascend_910b::topology), "*");
      how.step_duration = hp::prices_of_steps(p, hp::kinds_of_moves(p, how.topology), device).duration;
      const hp::lowered_program whole = hp::lower_training(p, {.topology = how.topology});
      ASSERT_TRUE(whole.status.ok());
      how.synchronisation = i % 2 == 0 ? 0 : 50 * hp::microsecond;
      for (const extent_t room : {extent_t{0}, whole.addresses.high_water[0] / 10, hp::longest_time / 2}) {
        const extent_t memory = whole.addresses.high_water[0] + room;
        extent_t best = hp::simulate(whole, device, how.synchronisation).makespan;
        const extent_t untiled = best;
        int tiles = 1;
        for (int n = 2; n <= hp::detail::most_tiles_tried; n *= 2) {
          how.most_tiles = n;
          const hp::lowered_program l = hp::lower_training(p, how);
          if (!l.status.ok() || l.addresses.high_water[0] > memory) continue;
          const extent_t makespan = hp::simulate(l, device, how.synchronisation).makespan;
          if (makespan >= best) continue;
          best = makespan;
          tiles = n;
        }
        const hp::tiles_chosen c = hp::lower_in_fastest_tiles(p, how, device, memory);
        ASSERT_TRUE(c.ok());
        EXPECT_EQ(c.lowered.times.makespan, best);
        EXPECT_EQ(c.untiled, untiled);
        EXPECT_EQ(c.tiles, tiles);
        EXPECT_LE(c.lowered.addresses.high_water[0], memory);
        ++asked;
        tiled_ones += c.tiles > 1;
      }
    }
  EXPECT_GE(asked, 100);
  EXPECT_GE(tiled_ones, 20);
}

TEST(FastestTiles, AreNoneWhereNothingCanBeTiled) {
  const hp::interconnect links = hp::on_topology(hp::h100::topology);
  const hp::sharded_program p = hp::partition(wide_layer(), hp::strategy_called("dp", 2).strategy);
  for (const char* const pattern : {"*.expert.*", "*.experts.activation"}) {
    const hp::tiles_chosen c =
        hp::lower_in_fastest_tiles(p, tiled(links, pattern), hp::h100::device, hp::longest_time / 2);
    EXPECT_TRUE(c.ok());
    EXPECT_EQ(c.tiles, 1);
    EXPECT_EQ(c.lowered.times.makespan, c.untiled);
  }
}

}  // namespace
