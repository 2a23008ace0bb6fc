// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/tiles/tile_kernel.hpp>

#include <hyperparallel/kernels/ops/builtin_kernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

// silu of (3, 12) of which the dim is cut into shards of 4: each tile writes its part of every shard.
TEST(TileKernel, ComputesItsPartOfEveryShard) {
  hp::operator_attributes attributes{};
  const hp::factor_rule rule = hp::rule_from("silu", "ab->ab", {}, {1, {2}}).rule;
  std::vector<double> x, whole(36), made(36, -1.0);
  for (int i = 0; i < 36; ++i) x.push_back(0.1 * i);
  hp::operator_call c;
  c.attributes = &attributes;
  c.rule = &rule;
  c.loop[0] = {6, 3, 9};
  c.loop[1] = {12, 12, 24};  // a block that begins behind three shards
  c.operand[0] = x.data();
  c.result[0] = whole.data();
  hp::detail::tile_kernel k{{hp::kernel_of<double>(hp::id_of<hp::ops::silu>)}, {}, -1, -1, {{8}, {8}}};
  k(c);
  c.result[0] = made.data();
  k.loop = 1;
  for (int tile = 0; tile < 2; ++tile) {
    k.tile = {0, 4, tile, 2};
    k(c);
    for (int i = 0; i < 36; ++i) {
      const bool done = i % 12 % 4 / 2 <= tile;
      EXPECT_EQ(made[static_cast<std::size_t>(i)], done ? whole[static_cast<std::size_t>(i)] : -1.0) << i;
    }
  }
  // Cut along the rows as well: rows 6, 7 and 8 of shards of three.
  std::fill(made.begin(), made.end(), -1.0);
  k.inner_loop = 0;
  for (int tile = 0; tile < 6; ++tile) {
    k.tile = {0, 4, tile, 6, {1, 3, 3}};
    k(c);
    for (int i = 0; i < 36; ++i) {
      const bool done = i % 12 % 4 / 2 * 3 + i / 12 <= tile;
      EXPECT_EQ(made[static_cast<std::size_t>(i)], done ? whole[static_cast<std::size_t>(i)] : -1.0) << i;
    }
  }
}

}  // namespace
