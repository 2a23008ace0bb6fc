// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/price/reached_share.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/price/plan_evaluation.hpp>

#include "planner/small_decoders.hpp"

#include <hyperparallel/planner/decoder_plan.hpp>

namespace {

namespace hp = hyperparallel;

/// Calls `run(graph, operator, local work)` for each matrix operator of steps of small decoders on one device.
template <class Run>
void for_each_product(const Run& run) {
  for (const hp::decoder& d : small_decoders::all()) {
    const hp::sharded_program p =
        hp::partition(hp::training_graph_of(d, {.batch = 2, .sequence = 64}), hp::strategy_of({}));
    for (const hp::program_compute& c : p.compute) {
      const hp::graph_operator& o = p.graph.op[c.op];
      if (hp::work_of(p, c).unit == hp::compute_unit::matrix)
        run(p.graph, o, hp::detail::local_work_of(p.graph, o, c.placement, p.mesh.shape));
    }
  }
}

// Attention and products of several groups have a share of their own on a GPU, never above that of other products.
TEST(ReachedShare, OfAttentionAndGroups) {
  int attention = 0, groups = 0, others = 0;
  for_each_product([&](const hp::graph& g, const hp::graph_operator& o, const hp::local_work& w) {
    const hp::efficiency share = hp::detail::reached_share(hp::h100::device, g, o, w);
    EXPECT_LE(share.parts_per_million, hp::h100::device.gmm_cold.parts_per_million);
    EXPECT_EQ(hp::detail::reached_share(hp::matrix384::device, g, o, w).parts_per_million, 0);
    const bool of_groups = o.kind == hp::id_of<hp::ops::contract> && hp::detail::product_shape_of(w).count > 1;
    const bool of_attention = o.kind != hp::id_of<hp::ops::contract>;
    EXPECT_EQ(share.parts_per_million > 0, of_groups || of_attention) << g.text_at(o.name);
    ++(of_groups ? groups : of_attention ? attention : others);
  });
  EXPECT_GT(attention, 10);
  EXPECT_GT(groups, 3);
  EXPECT_GT(others, 50);
}

// It is that of the measured rows for what was measured: 32 heads of 128 over 8192 tokens.
TEST(ReachedShare, IsThatOfMeasuredAttention) {
  hp::decoder d = small_decoders::dense();
  d.attention.query_heads = 32;
  d.attention.key_heads = 32;
  d.attention.head_dim = 128;
  d.layers = 1;
  const hp::sharded_program p =
      hp::partition(hp::training_graph_of(d, {.batch = 1, .sequence = 8192}), hp::strategy_of({}));
  int found = 0;
  for (const hp::program_compute& c : p.compute) {
    const hp::graph_operator& o = p.graph.op[c.op];
    const bool backward = o.kind == hp::id_of<hp::ops::attention_gradient>;
    if (!backward && o.kind != hp::id_of<hp::ops::attention>) continue;
    const hp::efficiency share = hp::detail::reached_share(
        hp::h100::device, p.graph, o, hp::detail::local_work_of(p.graph, o, c.placement, p.mesh.shape));
    EXPECT_EQ(share, hp::detail::attention_share(32, 8192, 128, backward));
    EXPECT_NEAR(static_cast<double>(share.parts_per_million) / 100, backward ? 5153 : 6291, 200);
    ++found;
  }
  EXPECT_EQ(found, 2);
}

/// A user's products: of rows and columns, and of groups of them.
struct my_product {
  static constexpr const char *name = "my_product", *text = "gmk,gkn->gmn";
  static constexpr hp::compute_unit unit = hp::compute_unit::matrix;
  static constexpr int flops_per_point = 2;
  static constexpr bool is_product = true;
};
using mine = hp::operators<hp::builtin, my_product>;

/// Two products by `Product`, the first along its output on two devices, the second along what it sums over.
template <class Product>
hp::sharded_program products() {
  hp::model_builder m({.operators = mine::list});
  const int group = m.dim("group", 4), row = m.dim("row", 64), in = m.dim("in", 32), wide = m.dim("wide", 128);
  const int up = m.parameter("up.weight", {group, in, wide}), down = m.parameter("down.weight", {group, wide, in});
  const int h = m.apply<Product>("up", {m.input("x", {group, row, in}), up}, {.text = my_product::text});
  m.apply<Product>("down", {h, down}, {.text = my_product::text});
  EXPECT_EQ(m.graph.status.code, hp::graph_code::ok);
  hp::strategy_value s;
  s.mesh = {{1, {2}}, {{"tp"}}};
  hp::detail::add_column_parallel(s, "up", "tp");
  hp::detail::add_row_parallel(s, "down", "tp");
  return hp::partition(m.graph, s);
}

// What a strategy, a price and an optimizer ask of a product they ask of a user's: it lies and costs as the built-in one.
TEST(ReachedShare, AUsersProductIsAProduct) {
  const hp::sharded_program own = products<my_product>(), listed = products<hp::ops::contract>();
  ASSERT_EQ(own.status.code, hp::strategy_code::ok);
  ASSERT_EQ(own.value.size, listed.value.size);
  bool waits = false;
  for (int v = 0; v < own.value.size; ++v) {
    EXPECT_EQ(own.value[v].layout, listed.value[v].layout);
    waits = waits || hp::is_partial(own.value[v].layout);
  }
  EXPECT_TRUE(waits) << "the second sums over what is cut";
  ASSERT_EQ(own.compute.size, 2);
  for (int c = 0; c < own.compute.size; ++c)
    for (const hp::device_value& d : {hp::h100::device, hp::matrix384::device})
      EXPECT_EQ(hp::detail::price_of_compute(d, own, c).time, hp::detail::price_of_compute(d, listed, c).time);
  EXPECT_EQ(hp::detail::sides_of(own.graph, hp::find_tensor(own.graph, "up.weight")),
            hp::detail::sides_of(listed.graph, hp::find_tensor(listed.graph, "up.weight")));
}

}  // namespace
