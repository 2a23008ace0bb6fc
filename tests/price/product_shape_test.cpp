// SPDX-License-Identifier: Apache-2.0
// What a product takes by its shape: against tiles that are dealt to cores one by one, and by the share it reaches.

#include <hyperparallel/price/product_shape.hpp>

#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/step_times.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

#include "search/search_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hp = hyperparallel;

namespace {

constexpr hp::device_value tiled(int cores, int rows, int columns) {
  hp::device_value d = hp::generic_host::device;
  d.aic = cores;
  d.tile = {rows, columns};
  return d;
}
static_assert(hp::check(tiled(2, 3, 4)) == hp::device_status{});
static_assert(hp::check(tiled(2, 3, 0)) == hp::device_status{hp::device_code::tile_is_not_stated_whole, 0, 0, 1});
static_assert(hp::check(tiled(2, -1, 4)) == hp::device_status{hp::device_code::tile_is_not_stated_whole, 0, -1, 1});

/// Tiles one by one to the core with the least work; every tile costs as if it were full.
hp::extent_t dealt(const hp::device_value& d, const hp::product_shape& s, hp::extent_t depth) {
  std::vector<hp::extent_t> busy(static_cast<std::size_t>(d.aic));
  for (hp::extent_t p = 0; p < s.count; ++p)
    for (hp::extent_t r = 0; r < s.rows; r += d.tile.rows)
      for (hp::extent_t c = 0; c < s.columns; c += d.tile.columns)
        *std::min_element(busy.begin(), busy.end()) += 2 * depth * d.tile.rows * d.tile.columns;
  return *std::max_element(busy.begin(), busy.end()) * d.aic;
}

/// All products of up to 2 x 7 x 7 elements on up to 5 cores with tiles of up to 3 x 3.
TEST(ProductShape, AreTilesDealtToCores) {
  constexpr hp::extent_t depth = 5;
  for (int cores = 1; cores <= 5; ++cores)
    for (int rows = 1; rows <= 3; ++rows)
      for (int columns = 1; columns <= 3; ++columns) {
        const hp::device_value d = tiled(cores, rows, columns);
        for (hp::extent_t count = 1; count <= 2; ++count)
          for (hp::extent_t m = 1; m <= 7; ++m)
            for (hp::extent_t n = 1; n <= 7; ++n) {
              const hp::product_shape s{count, m, n};
              const hp::extent_t flops = 2 * depth * s.results();
              const hp::checked_extent padded = hp::detail::padded_flops(d, flops, s);
              ASSERT_FALSE(padded.overflow);
              ASSERT_EQ(padded.value, dealt(d, s, depth));
              ASSERT_GE(padded.value, flops);
              const bool full = m % rows == 0 && n % columns == 0 && count * (m / rows) * (n / columns) % cores == 0;
              ASSERT_EQ(padded.value == flops, full);
            }
      }
}

TEST(ProductShape, WithoutATileEveryShapeReachesTheSame) {
  const hp::device_value d = tiled(2, 0, 0);
  EXPECT_EQ(hp::detail::product_time(d, 1 << 20, {1, 3, 5}, hp::teraflops),
            hp::work_time(1 << 20, 1, 1, hp::teraflops, d.gmm_cold));
  EXPECT_EQ(hp::detail::product_time(tiled(2, 1 << 16, 1 << 16), hp::extent_t{1} << 55, {1, 1, 1}, 1).code,
            hp::cost_code::overflow);
}

/// Of a program: every product takes at least what it takes without tiles, other operators the same.
TEST(ProductShape, OnlyProductsAreBoundByTiles) {
  const hp::sharded_program p =
      hp::partition(searched::small_model{}.build(), hp::strategy_called("dp-tp", 4).strategy);
  ASSERT_EQ(p.status, hp::strategy_status{});
  const hp::device_value plain = tiled(4, 0, 0), wide = tiled(4, 128, 128);
  int slower = 0;
  for (int c = 0; c < p.compute.size; ++c) {
    const hp::priced_step without = hp::detail::price_of_compute(plain, p, c),
                          with = hp::detail::price_of_compute(wide, p, c);
    const hp::graph_operator& o = p.graph.op[p.compute[c].op];
    if (o.kind != hp::id_of<hp::ops::contract>) {
      EXPECT_EQ(with.time, without.time);
      continue;
    }
    EXPECT_GE(with.time.picoseconds, without.time.picoseconds);
    slower += with.time.picoseconds > without.time.picoseconds ? 1 : 0;
    const hp::local_work w = hp::detail::local_work_of(p.graph, o, p.compute[c].placement, p.mesh.shape);
    EXPECT_EQ(hp::work_of(p, p.compute[c]).flops % (2 * hp::detail::product_shape_of(w).results()), 0);
  }
  EXPECT_GT(slower, 5);
}

}  // namespace
