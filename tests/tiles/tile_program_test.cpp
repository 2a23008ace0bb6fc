// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiles/tile_program.hpp>

#include <hyperparallel/strategy/check_program.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include <models/trained_models.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

hp::sharded_program program_of(const char* strategy, std::initializer_list<int> degrees, int micro_batches = 1) {
  int ranks = 1;
  for (const int d : degrees) ranks *= d;
  const hp::graph g = programs::moe_graph({.unrolled = true, .micro_batches = micro_batches});
  return hp::partition(
      g, hp::strategy_called(strategy, ranks, degrees.begin(), static_cast<int>(degrees.size())).strategy);
}
hp::detail::tiled_program tiled(const hp::sharded_program& p, std::initializer_list<const char*> patterns,
                                int most = 8) {
  hp::tile_options o;
  for (const char* const pattern : patterns) o.operators.push(pattern);
  o.most = most;
  return hp::detail::tile_program(p, hp::kinds_of_moves(p), o);
}
std::string name_of(const hp::sharded_program& p, const hp::program_step& s) {
  if (s.is_move) return std::string("move of ") + p.graph.name_of_tensor(p.value[p.move[s.index].target].tensor);
  return p.graph.name_of_op(p.compute[s.index].op);
}

/// Every step once, whole or in all of its tiles; and where two steps touch a storage that one of them writes, tiles of a
/// number or whole ones, they stand in the order of before.
void expect_laws(const hp::sharded_program& p, const hp::detail::tiled_program& t) {
  EXPECT_STREQ(hp::name_of(hp::check_program(t.program).code), "ok");
  const auto key = [](const hp::program_step& s) { return 2 * s.index + (s.is_move ? 1 : 0); };
  std::vector<int> place(static_cast<std::size_t>(2 * (p.step.size + 1)), -1);
  for (int i = 0; i < p.step.size; ++i) place.at(static_cast<std::size_t>(key(p.step[i]))) = i;
  std::vector<int> seen(static_cast<std::size_t>(p.step.size), 0), count(seen);
  for (const hp::program_step& s : t.program.step) {
    const std::size_t i = static_cast<std::size_t>(place.at(static_cast<std::size_t>(key(s))));
    EXPECT_EQ(s.tile.index, seen[i]++);
    count[i] = s.tile.count;
  }
  EXPECT_EQ(seen, count);
  for (int b = 0; b < t.program.step.size; ++b)
    for (int a = 0; a < b; ++a) {
      const hp::program_step &one = t.program.step[a], &other = t.program.step[b];
      if (place[static_cast<std::size_t>(key(one))] <= place[static_cast<std::size_t>(key(other))]) continue;
      const hp::detail::tile_span met = hp::detail::tiles_met(one.tile, other.tile);
      if (one.tile.index < met.begin || met.end <= one.tile.index) continue;
      hp::detail::visit_values(p, one, [&](int v, bool writes) {
        hp::detail::visit_values(p, other, [&](int w, bool wrote) {
          EXPECT_FALSE((writes || wrote) && p.value[v].storage == p.value[w].storage)
              << name_of(p, other) << " comes behind " << name_of(p, one);
        });
      });
    }
}

// Two layers of experts, forward and backward: four sections, over the experts.
TEST(TileProgram, TilesExpertsWithTheMovesBesideThem) {
  const hp::sharded_program p = program_of("ep", {4});
  const hp::detail::tiled_program t = tiled(p, {"*.experts.*"});
  EXPECT_EQ(t.sections, 4);
  EXPECT_EQ(t.unmatched, -1);
  expect_laws(p, t);
  int moves = 0, operators = 0;
  for (const hp::program_step& s : t.program.step) {
    if (s.tile.dim < 0) continue;
    EXPECT_STREQ(p.graph.name_of_dim(s.tile.dim), "experts");
    EXPECT_EQ(s.tile.shard, 6);
    EXPECT_EQ(s.tile.count, 6);
    (s.is_move ? moves : operators) += s.tile.index == 0;
  }
  EXPECT_EQ(moves, 2 * (2 + 3));      // forward there and back; backward gradients there and back, and rows once more
  EXPECT_EQ(operators, 2 * (4 + 8));  // gate, up, activation, down; their gradients and the sum of two
}

// While operators work on a tile the move of the next one stands before them.
TEST(TileProgram, MovesRunATileAhead) {
  const hp::sharded_program p = program_of("ep", {4});
  const hp::detail::tiled_program t = tiled(p, {"layers.0.moe.experts.*"});
  std::vector<std::string> forward;
  for (const hp::program_step& s : t.program.step)
    if (s.tile.dim >= 0 && s.phase == hp::graph_phase::forward)
      forward.push_back(name_of(p, s) + " " + std::to_string(s.tile.index));
  const auto at = [&](const std::string& name) {
    return std::find(forward.begin(), forward.end(), name) - forward.begin();
  };
  for (int k = 0; k + 2 < 6; ++k) {
    const auto number = [](int n) { return " " + std::to_string(n); };
    EXPECT_LT(at("move of layers.0.moe.dispatch" + number(k + 1)), at("layers.0.moe.experts.gate" + number(k)));
    EXPECT_LT(at("layers.0.moe.experts.down" + number(k)), at("move of layers.0.moe.experts.down" + number(k)));
    EXPECT_LT(at("move of layers.0.moe.dispatch" + number(k + 2)), at("move of layers.0.moe.experts.down" + number(k)));
  }
}

TEST(TileProgram, KeepsItsLawsUnderEveryStrategy) {
  int tiled_ones = 0, inner_ones = 0;
  for (int i = 0; i < hp::named_strategy_count; ++i)
    for (const int devices : {2, 4, 8})
      for (const char* const pattern : {"*", "*.experts.*", "*.attention.*"}) {
        SCOPED_TRACE(std::string(hp::named_strategy_at(i).name) + " " + pattern);
        const hp::graph g = programs::moe_graph({.unrolled = true, .micro_batches = 1 + i % 2});
        const hp::sharded_program p =
            hp::partition(g, hp::strategy_called(hp::named_strategy_at(i).name, devices).strategy);
        if (p.status.code != hp::strategy_code::ok) continue;
        const hp::detail::tiled_program t = tiled(p, {pattern}, 2 + i % 7 * (1 + devices / 4));
        expect_laws(p, t);
        tiled_ones += t.sections > 0;
        for (const hp::program_step& s : t.program.step) inner_ones += s.tile.inner.dim >= 0 && s.tile.index == 0;
      }
  EXPECT_GE(tiled_ones, 90);
  EXPECT_GE(inner_ones, 150);
}

// More tiles than experts: rows of each are cut as well, by batch, but for weight gradients, which sum over them.
TEST(TileProgram, CutsAlongAnInnerDimWhatMovesWaitFor) {
  const hp::sharded_program p = program_of("ep", {4});
  const hp::detail::tiled_program t = tiled(p, {"*.experts.*"}, 12);
  expect_laws(p, t);
  int fine = 0, coarse = 0;
  for (const hp::program_step& s : t.program.step) {
    if (s.tile.dim < 0 || s.tile.index > 0) continue;
    EXPECT_STREQ(p.graph.name_of_dim(s.tile.dim), "experts");
    EXPECT_EQ(s.tile.count, s.tile.inner.dim >= 0 ? 12 : 6);
    if (s.tile.inner.dim >= 0) {
      EXPECT_STREQ(p.graph.name_of_dim(s.tile.inner.dim), "batch");
      ++fine;
      continue;
    }
    const std::string name = name_of(p, s);
    EXPECT_NE(name.find(".weight)"), std::string::npos) << name;
    ++coarse;
  }
  EXPECT_EQ(fine, 2 * (2 + 3 + 4 + 5));
  EXPECT_EQ(coarse, 2 * 3);
}

TEST(TileProgram, TakesAtMostSoManyTiles) {
  const hp::sharded_program p = program_of("ep", {4});
  for (const int most : {1, 2, 3, 4, 5, 6, 7}) {
    const hp::detail::tiled_program t = tiled(p, {"*.experts.*"}, most);
    int tiles = 1;
    for (const hp::program_step& s : t.program.step) tiles = s.tile.count > tiles ? s.tile.count : tiles;
    EXPECT_EQ(tiles, most < 4 || most > 5 ? most - most / 7 : 3) << most;  // divisors of six experts
    EXPECT_EQ(t.sections, most > 1 ? 4 : 0);
  }
}

TEST(TileProgram, SaysWhatItCannotTile) {
  const hp::sharded_program p = program_of("ep", {4});
  EXPECT_EQ(tiled(p, {"*.experts.*", "*.expert.*"}).unmatched, 1);
  EXPECT_EQ(tiled(p, {}).sections, 0);
  const hp::detail::tiled_program embedding = tiled(p, {"embedding"});  // no move beside it
  EXPECT_EQ(embedding.sections, 0);
  EXPECT_EQ(embedding.unmatched, -1);
  EXPECT_EQ(embedding.program.step.size, p.step.size);
  EXPECT_EQ(tiled(program_of("single", {1}), {"*"}).sections, 0);
}

}  // namespace
