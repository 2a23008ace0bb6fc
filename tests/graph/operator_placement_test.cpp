// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/operator_placement.hpp>

#include <hyperparallel/layout/slice.hpp>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>

#include <algorithm>
#include <random>

namespace {

namespace hp = hyperparallel;

/// A random placement of `o`: each axis on a loop that it divides, or on none; axes in any order.
hp::operator_placement random_placement(std::mt19937& random, const hp::graph& g, const hp::graph_operator& o,
                                        const hp::mesh_shape& m) {
  hp::operator_placement p;
  int order[hp::max_axes] = {};
  for (int a = 0; a < m.axis_count; ++a) order[a] = a;
  std::shuffle(order, order + m.axis_count, random);
  for (int i = 0; i < m.axis_count; ++i) {
    const int l = static_cast<int>(random() % static_cast<unsigned>(o.loop_count + 1));
    if (l == o.loop_count || hp::detail::is_whole(g.rule_of(o), l)) continue;
    if (o.loop[l].extent % (hp::detail::pieces_of_loop(p, m, l) * m.size[order[i]]) == 0) p.add(order[i], l);
  }
  return p;
}

// For every operator of a model: a tensor's box on a device is its loops' intervals there, loops are cut into equal
// intervals that cover them, and results wait along the axes that shard a loop which they lack.
TEST(operator_placement, layouts_hold_the_boxes_of_their_loops) {
  std::mt19937 random(3);
  const hp::graph g = programs::moe_graph({});
  const hp::mesh_shape m{3, {2, 3, 2}};
  for (int round = 0; round < 10; ++round)
    for (const hp::graph_operator& o : g.op) {
      const hp::operator_placement p = random_placement(random, g, o, m);
      for (int tensor = 0; tensor < o.operand_count + o.result_count; ++tensor) {
        const bool is_result = tensor >= o.operand_count;
        const int r = tensor - o.operand_count;
        const hp::factor_rule& rule = g.rule_of(o);
        const hp::tensor_factors& t = is_result ? rule.result[r] : rule.operand[tensor];
        const hp::layout_value l = is_result ? hp::detail::layout_of_result(rule, r, p, m) : hp::layout_of(t, p, m);
        const hp::shape& s = g.tensor[is_result ? o.result[r] : o.operand[tensor]].shape;
        ASSERT_EQ(hp::check_shape(l, s).code, hp::layout_code::ok);
        for (int at = 0; at < hp::position_count(m); ++at) {
          const hp::coordinate c = hp::coordinates_of(m, at);
          const hp::box b = hp::slice_at(l, s, c);
          for (int d = 0; d < s.rank; ++d) EXPECT_EQ(b.dim[d], hp::detail::loop_interval(o, p, m, c, t.term[d]));
        }
        for (int a = 0; a < m.axis_count; ++a) {
          const bool lacks = p.loop[a] >= 0 && !hp::has_factor(t, p.loop[a]);
          EXPECT_EQ(l.partial[a], is_result && lacks ? o.reduction : hp::reduce_op::none);
        }
      }
      for (int l = 0; l < o.loop_count; ++l) {
        hp::extent_t covered = 0;
        for (int at = 0; at < hp::position_count(m); ++at) {
          const hp::interval i = hp::detail::loop_interval(o, p, m, hp::coordinates_of(m, at), l);
          EXPECT_EQ((i.end - i.begin) * hp::detail::pieces_of_loop(p, m, l), o.loop[l].extent);
          covered += i.end - i.begin;
        }
        EXPECT_EQ(covered * hp::detail::pieces_of_loop(p, m, l), o.loop[l].extent * hp::position_count(m));
      }
    }
}

TEST(operator_placement, the_first_axis_of_a_loop_is_outermost) {
  const hp::graph g = programs::one_matrix(12, 4, 4);
  const hp::graph_operator& o = g.op[0];
  const hp::mesh_shape m{2, {2, 3}};
  for (const bool swapped : {false, true}) {
    hp::operator_placement p;
    p.add(swapped ? 1 : 0, 0);
    p.add(swapped ? 0 : 1, 0);
    const hp::layout_value l = hp::layout_of(g.rule_of(o).operand[0], p, m);
    ASSERT_EQ(l.cut_count, 2);
    EXPECT_EQ(l.cut[0].axis, swapped ? 1 : 0);
    const hp::coordinate c = hp::coordinates_of(m, 5);  // (1, 2)
    EXPECT_EQ(hp::detail::loop_interval(o, p, m, c, 0), (swapped ? hp::interval{10, 12} : hp::interval{10, 12}));
    const hp::coordinate d = hp::coordinates_of(m, 3);  // (1, 0)
    EXPECT_EQ(hp::detail::loop_interval(o, p, m, d, 0), (swapped ? hp::interval{2, 4} : hp::interval{6, 8}));
  }
}

// Along a ring the keys are those of the device `rotation` places before; queries stay, and nothing waits.
TEST(operator_placement, turned_loops_belong_to_the_device_before) {
  hp::graph_operator o;
  o.loop_count = 2;
  o.loop[0].extent = o.loop[1].extent = 12;
  const hp::factor_rule rule = hp::rule_from("block", "q,k->q", {}).rule;
  const hp::mesh_shape m{2, {2, 3}};
  hp::operator_placement p;
  p.add(1, 0);
  p.turned[1] = 1;
  EXPECT_EQ(hp::detail::pieces_of_loop(p, m, 0), 3);
  EXPECT_EQ(hp::detail::pieces_of_loop(p, m, 1), 3);
  for (const int rotation : {-1, 0, 1, 2}) {
    o.rotation = rotation;
    for (int at = 0; at < 6; ++at) {
      const hp::coordinate c = hp::coordinates_of(m, at);
      const hp::extent_t mine = c.at[1], theirs = (c.at[1] + 3 - (rotation < 0 ? 0 : rotation)) % 3;
      EXPECT_EQ(hp::detail::loop_interval(o, p, m, c, 0), (hp::interval{4 * mine, 4 * mine + 4}));
      EXPECT_EQ(hp::detail::loop_interval(o, p, m, c, 1), (hp::interval{4 * theirs, 4 * theirs + 4}));
    }
  }
  EXPECT_FALSE(hp::is_partial(hp::detail::layout_of_result(rule, 0, p, m)));
  EXPECT_EQ(hp::layout_of(rule.operand[1], p, m).cut[0], (hp::cut{0, 1, 1, 3}));
}

constexpr bool agrees_in_the_compiler() {
  hp::graph g = programs::one_matrix(12, 4, 6);
  hp::operator_placement p;
  p.add(0, 1);  // the summed loop
  const hp::layout_value l = hp::detail::layout_of_result(g.rule_of(g.op[0]), 0, p, {1, {2}});
  return l.cut_count == 0 && l.partial[0] == hp::reduce_op::sum && hp::detail::pieces_of_loop(p, {1, {2}}, 1) == 2;
}
static_assert(agrees_in_the_compiler());

}  // namespace
