// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/strategy_layouts.hpp>

#include <gtest/gtest.h>
#include <models/strategy_on.hpp>
#include <models/trained_models.hpp>

#include <random>
#include <string>

namespace {

namespace hp = hyperparallel;
using hp::rule_stage;
using hp::strategy_code;

hp::strategy_value on_three_axes(int a, int b, int c) { return programs::strategy_on({{"a", a}, {"b", b}, {"c", c}}); }

const char* const dims[] = {"batch", "seq", "hidden", "key_heads", "query_group", "experts", "expert_ffn", "vocab"};

/// What the rules say, in the words of strategy.hpp: for each axis the first rule that fits the operator.
hp::operator_placement placement_by_words(const hp::graph& g, const hp::strategy_value& s, int op) {
  const hp::graph_operator& o = g.op[op];
  hp::operator_placement p;
  for (const hp::strategy_rule& r : s.rule) {
    const int a = hp::axis_index(s.mesh, r.axis.text), d = hp::detail::find_dim(g, r.dim.text);
    if (r.stage != rule_stage::compute || p.loop[a] >= 0 || s.mesh.shape.size[a] == 1) continue;
    if (!hp::detail::name_matches(r.where.text, g.name_of_op(op))) continue;
    for (int l = 0; l < o.loop_count && p.loop[a] < 0; ++l)
      if (o.loop[l].dim == d && !hp::detail::is_whole(g.rule_of(o), l) &&
          o.loop[l].extent % (hp::detail::pieces_of_loop(p, s.mesh.shape, l) * s.mesh.shape.size[a]) == 0)
        p.add(a, l);
  }
  return p;
}

TEST(strategy_layouts, places_operators_as_the_rules_say) {
  std::mt19937 random(2);
  const hp::graph g = programs::moe_graph({.unrolled = true});
  const char* const where[] = {"*", "*", "*.experts.*", "layers.1.*", "head.*"};
  for (int round = 0; round < 60; ++round) {
    hp::strategy_value s = on_three_axes(1 + static_cast<int>(random() % 3), 2, 1 + static_cast<int>(random() % 4));
    for (int r = 0; r < 6; ++r) {
      const char axis[] = {static_cast<char>('a' + random() % 3), '\0'};
      s.add(hp::shard_dim_if_divisible(dims[random() % 8], axis, where[random() % 5]));
    }
    hp::strategy_layouts layouts(g, s);
    for (int o = 0; o < g.op.size; ++o)
      ASSERT_EQ(layouts.place(g, o), placement_by_words(g, s, o)) << round << " " << g.name_of_op(o);
    EXPECT_EQ(layouts.status(), hp::strategy_status{});
    layouts.check_use();
    EXPECT_EQ(layouts.status(), hp::strategy_status{}) << "optional rules may decide nothing";
  }
}

// A stage adds cuts inside those that there are, of axes that are free, on the first dim that divides.
TEST(strategy_layouts, a_stage_only_adds_cuts) {
  std::mt19937 random(4);
  const hp::graph g = programs::moe_graph({});
  for (int round = 0; round < 200; ++round) {
    hp::strategy_value s = on_three_axes(2, 3, 4);
    s.add(hp::shard_stage(rule_stage::state, "b")).add(hp::shard_stage(rule_stage::state, "a"));
    hp::strategy_layouts layouts(g, s);
    const int t = static_cast<int>(random() % static_cast<unsigned>(g.tensor.size));
    const hp::graph_tensor& tensor = g.tensor[t];
    if (tensor.kind != hp::graph_tensor_kind::parameter) continue;
    hp::layout_value base;
    base.mesh = s.mesh.shape;
    base.rank = tensor.shape.rank;
    const int held = static_cast<int>(random() % static_cast<unsigned>(base.rank));
    if (tensor.shape.extent[held] % 2 == 0 && random() % 2 == 0) hp::append_cut(base, {held, 0, 1, 2});
    const hp::layout_value refined = layouts.refine(g, t, base, rule_stage::state);
    EXPECT_EQ(hp::check_shape(refined, tensor.shape).code, hp::layout_code::ok);
    EXPECT_TRUE(layouts.refine(g, t, base, rule_stage::gradient) == base) << "of another stage";
    EXPECT_TRUE(layouts.refine(g, t, refined, rule_stage::state) == refined) << "an axis is used once";
    // Without the cuts of new axes it is the base; the new ones are innermost in their dims.
    hp::layout_value without = base;
    without.cut_count = 0;
    int axes = 0;
    for (int i = 0; i < refined.cut_count; ++i) {
      const bool was = base.cut_count == 1 && refined.cut[i].axis == base.cut[0].axis;
      if (was) without.cut[without.cut_count++] = refined.cut[i];
      if (was && i > 0) {
        EXPECT_NE(refined.cut[i - 1].dim, refined.cut[i].dim);
      }
      axes |= 1 << refined.cut[i].axis;
    }
    EXPECT_TRUE(without == base);
    EXPECT_EQ(axes & 4, 0) << "no rule speaks of the third axis";
  }
}

TEST(strategy_layouts, a_stage_takes_the_first_dim_that_divides) {
  hp::model_builder m;
  const int three = m.dim("three", 3), eight = m.dim("eight", 8), twelve = m.dim("twelve", 12);
  const int w = m.parameter("w", {three, eight, twelve});
  hp::strategy_value s = on_three_axes(2, 4, 3);
  for (const char* axis : {"a", "b", "c"}) s.add(hp::shard_stage(rule_stage::parameter, axis));
  hp::strategy_layouts layouts(m.graph, s);
  hp::layout_value base;
  base.mesh = s.mesh.shape;
  base.rank = 3;
  const hp::layout_value l = layouts.refine(m.graph, w, base, rule_stage::parameter);
  ASSERT_EQ(l.cut_count, 3);
  EXPECT_EQ(l.cut[0], (hp::cut{0, 2, 1, 3}));
  EXPECT_EQ(l.cut[1], (hp::cut{1, 0, 1, 2}));
  EXPECT_EQ(l.cut[2], (hp::cut{1, 1, 1, 4}));
}

TEST(strategy_layouts, output_and_input_are_of_products_by_a_parameter) {
  const hp::graph g = programs::one_matrix();
  hp::strategy_value s = on_three_axes(2, 2, 1);
  s.add(hp::shard_dim("output", "a")).add(hp::shard_dim("input", "b"));
  hp::strategy_layouts layouts(g, s);
  const hp::operator_placement p = layouts.place(g, 0);
  ASSERT_EQ(p.count, 2);
  EXPECT_STREQ(g.name_of_dim(g.op[0].loop[p.loop[0]].dim), "ffn");
  EXPECT_STREQ(g.name_of_dim(g.op[0].loop[p.loop[1]].dim), "hidden");
  EXPECT_EQ(layouts.place(g, 1).count, 0) << "the loss is no product";
}

TEST(strategy_layouts, pins_give_the_last_that_matches) {
  const hp::graph g = programs::one_matrix();
  hp::strategy_value s = on_three_axes(2, 2, 1);
  s.pin.push({"*", 2, {"a", ""}});
  s.pin.push({"w*", 2, {"", "b"}});
  hp::strategy_layouts layouts(g, s);
  hp::layout_value l;
  ASSERT_TRUE(layouts.pinned(g, hp::find_tensor(g, "weight"), l));
  EXPECT_EQ(l.cut[0], (hp::cut{1, 1, 1, 2}));
  layouts.check_use();
  EXPECT_EQ(layouts.status(), (hp::strategy_status{strategy_code::pattern_matches_nothing, 0})) << "not asked yet";
  ASSERT_TRUE(layouts.pinned(g, hp::find_tensor(g, "x"), l));
  EXPECT_EQ(l.cut[0], (hp::cut{0, 0, 1, 2}));
}

TEST(strategy_layouts, the_first_mistake_stays) {
  const hp::graph g = programs::one_matrix();
  hp::strategy_value s = on_three_axes(2, 2, 1);
  s.add(hp::shard_dim("batch", "z")).add(hp::shard_dim("nobody", "a"));
  hp::strategy_layouts layouts(g, s);
  layouts.check_use();
  EXPECT_EQ(layouts.status(), (hp::strategy_status{strategy_code::axis_is_not_in_the_mesh, 0}));
}

// A mesh that `make_mesh` refused is empty: it would be one device.
TEST(strategy_layouts, a_mesh_that_cannot_be_is_refused) {
  const hp::graph g = programs::one_matrix();
  hp::strategy_value none;
  EXPECT_EQ(hp::strategy_layouts(g, none).status(), (hp::strategy_status{strategy_code::mesh_is_not_valid}));
  for (const int size : {0, -2}) {
    hp::strategy_value s = on_three_axes(2, 2, 1);
    s.mesh.shape.size[1] = size;
    EXPECT_EQ(hp::strategy_layouts(g, s).status(),
              (hp::strategy_status{strategy_code::mesh_is_not_valid, -1, 1, -1, -1, -1, size}));
  }
  hp::strategy_value refused = on_three_axes(2, 2, 1);
  refused.refuse({strategy_code::name_is_unknown});
  EXPECT_EQ(hp::strategy_layouts(g, refused).status(), (hp::strategy_status{strategy_code::name_is_unknown}));
}

}  // namespace
