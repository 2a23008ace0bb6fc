// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/step_tile.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

/// Whether the point (x, y) of dims 0 and 1 is in the tile.
bool holds(const hp::step_tile& t, extent_t x, extent_t y) {
  const hp::detail::tile_parts parts(t);
  for (const hp::step_tile& c : parts.cut)
    if (c.dim >= 0 && (c.dim == 0 ? x : y) % c.shard / (c.shard / c.count) != c.index) return false;
  return true;
}

std::vector<hp::step_tile> cuts() {
  std::vector<hp::step_tile> all{{}};
  for (const int dim : {0, 1})
    for (const int count : {2, 3})
      for (const int inner : {1, 2}) {
        hp::step_tile t{dim, 6, 0, count * inner};
        if (inner > 1) t.inner = {1 - dim, 4, inner};
        all.push_back(t);
      }
  return all;
}

// Every cut and every tile over a plane: the tiles partition it, and no tile besides those that are met shares a point.
TEST(StepTile, TilesMeetThoseThatShareTheirPoints) {
  int exact = 0;
  for (const hp::step_tile& cut : cuts())
    for (const hp::step_tile& other : cuts())
      for (int i = 0; i < other.count; ++i) {
        const hp::step_tile t = hp::detail::tile_at(other, i);
        const hp::detail::tile_span met = hp::detail::tiles_met(cut, t);
        std::vector<bool> shares(static_cast<std::size_t>(cut.count), false);
        for (extent_t x = 0; x < 12; ++x)
          for (extent_t y = 0; y < 12; ++y) {
            int in = 0;
            for (int k = 0; k < cut.count; ++k) {
              if (!holds(hp::detail::tile_at(cut, k), x, y)) continue;
              ++in;
              if (holds(t, x, y)) shares[static_cast<std::size_t>(k)] = true;
            }
            EXPECT_EQ(in, 1);
          }
        const bool nested = hp::detail::are_of_one_cut(hp::detail::outer_of(cut), hp::detail::outer_of(t));
        for (int k = 0; k < cut.count; ++k) {
          const bool listed = met.begin <= k && k < met.end;
          EXPECT_TRUE(listed || !shares[static_cast<std::size_t>(k)]);
          EXPECT_TRUE(!nested || listed == shares[static_cast<std::size_t>(k)]);
        }
        exact += nested;
      }
  EXPECT_GT(exact, 20);
}

TEST(StepTile, ATensorSeesTheCutsOfItsDims) {
  hp::graph_tensor t;
  t.shape = hp::shape(6, 4);
  t.dim[0] = 0, t.dim[1] = 2;
  const hp::dim_cut inner{1, 4, 2};
  EXPECT_EQ(hp::detail::tile_in(t, {0, 6, 5, 6, inner}), (hp::step_tile{0, 6, 2, 3, {}}));
  EXPECT_EQ(hp::detail::tile_in(t, {1, 6, 5, 6, {0, 6, 2}}), (hp::step_tile{0, 6, 1, 2, {}}));
  EXPECT_EQ(hp::detail::tile_in(t, {2, 4, 1, 4, {0, 6, 2}}), (hp::step_tile{2, 4, 1, 4, {0, 6, 2}}));
  EXPECT_EQ(hp::detail::tile_in(t, {1, 6, 2, 3, {}}), hp::step_tile{});
  EXPECT_EQ(hp::detail::tile_in(t, {}), hp::step_tile{});
}

TEST(StepTile, ALoopOfTheTileIsTheOneOverItsDim) {
  hp::graph_operator o;
  o.loop_count = 3;
  o.loop[0].dim = 4;
  o.loop[1].dim = 5;
  o.loop[2].dim = 5;
  EXPECT_EQ(hp::detail::loop_of_tile(o, {.dim = 4}), 0);
  EXPECT_EQ(hp::detail::loop_of_tile(o, {.dim = 5}), -1);  // queries and keys over one dim
  EXPECT_EQ(hp::detail::loop_of_tile(o, {.dim = 6}), -1);
}

}  // namespace
