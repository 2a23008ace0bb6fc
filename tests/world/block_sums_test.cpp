// SPDX-License-Identifier: Apache-2.0
// Pieces of blocks: those of tiles partition a block, every block that steps touch has sums, and a change is found in the
// piece in which it lies.
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>
#include <hyperparallel/tiles/tile_program.hpp>
#include <hyperparallel/world/block_sums.hpp>

#include <support/error_of.hpp>
#include <world/small_models.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

struct summed {
  hp::sharded_program program;
  hp::program_slots slots;
  hp::program_memory memory;
  hp::detail::block_sums sums;

  explicit summed(const hp::sharded_program& p)
      : program(p),
        slots(hp::detail::slots_of(program, hp::plan_addresses(program))),
        memory(program, slots),
        sums(program, slots, memory) {}
};

TEST(BlockSums, FindAChangeInItsBlockAlone) {
  summed s(small_models::two_layers_on(2, true));
  const int x = s.program.home[hp::find_tensor(s.program.graph, "x")];
  s.memory.block(x, 1)[5] ^= std::byte{1};
  s.sums.check(x);  // nobody has taken it
  s.sums.take(x);
  s.sums.check(x);
  s.memory.block(x, 1)[5] ^= std::byte{1};
  s.sums.check(x, 0);
  EXPECT_EQ(tested::error_of([&] { s.sums.check(x, 1); }),
            "\"x\" of rank 1 is not what was written: its checksum has changed");
  s.sums.take(x, 1);
  s.sums.check(x);
}

TEST(BlockSums, TilesAreThePiecesOfABlock) {
  const hp::graph g = small_models::decoder({.experts = true});
  int programs = 0, tiles = 0, kinds = 1;
  for (const auto& named : hp::detail::named_strategy_table) {
    const hp::strategy_result how = hp::strategy_called(named.name, 4);
    if (!(how.status == hp::strategy_status{})) continue;
    const hp::sharded_program p = hp::partition(g, how.strategy);
    if (p.status.code != hp::strategy_code::ok) continue;
    hp::tile_options o;
    o.operators.push("*");
    summed s(hp::detail::tile_program(p, hp::kinds_of_moves(p), o).program);
    ++programs;
    for (const hp::program_step& step : s.program.step)
      hp::detail::visit_values(s.program, step, [&](int v, bool) {
        const int place = s.program.value[v].storage;
        const hp::detail::block_sums::list all = s.sums.pieces_of(place, v, {}, 0);
        const hp::detail::block_sums::list own = s.sums.pieces_of(place, v, step.tile, 0);
        ASSERT_GE(own.size(), 1u) << named.name << " " << s.program.graph.name_of_tensor(s.program.value[v].tensor);
        if (own == all) return;
        ++tiles;
        kinds = std::max(kinds, static_cast<int>(all.size()) / step.tile.count);
        // A change of a byte of the tile is one of one of its pieces, and of no other.
        s.sums.take(all);
        const auto runs = hp::detail::runs_of(s.program, v, step.tile, 0);
        for (const hp::detail::byte_run& run : {runs.front(), runs.back()}) {
          std::byte& last = s.memory.block(v, 0)[run.begin + run.bytes - 1];
          last ^= std::byte{1};
          int changed = 0;
          for (const int i : all) {
            if (tested::error_of([&] { s.sums.check(hp::detail::block_sums::list{i}); }) == "no error") continue;
            ++changed;
            ASSERT_NE(std::find(own.begin(), own.end(), i), own.end());
          }
          ASSERT_EQ(changed, 1);
          last ^= std::byte{1};
        }
      });
  }
  EXPECT_GE(programs, 20);
  EXPECT_GE(tiles, 100);
  EXPECT_GE(kinds, 2) << "a block in tiles of two kinds";
}

}  // namespace
