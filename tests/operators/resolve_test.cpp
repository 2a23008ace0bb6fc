// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/resolve.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/operators/rule_text.hpp>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;

struct sample {
  const char* text;
  hp::rule_traits traits;
  hp::shape a, b;
};
const sample rules[] = {
    {"mk,kn->mn", hp::contraction, {8, 16}, {16, 32}},
    {"bmk,bkn->bmn", {hp::reduce_op::sum, hp::linear_in_each(0b11u), 2, true}, {4, 8, 16}, {4, 16, 8}},
    {"ab,ab->ab", {hp::reduce_op::none, hp::linear_together(0b11u), 1, true}, {8, 16}, {8, 16}},
    {"aB,aB->aB", {hp::reduce_op::none, hp::refuse_partials(), 1, false}, {8, 16}, {8, 16}},
};

unsigned axes_of(const hp::layout_value& l) {
  unsigned used = 0;
  for (int i = 0; i < l.cut_count; ++i) used |= 1u << l.cut[i].axis;
  for (int a = 0; a < l.mesh.axis_count; ++a) used |= l.partial[a] != hp::reduce_op::none ? 1u << a : 0u;
  return used;
}

unsigned partial_axes_of(const hp::layout_value& l) {
  unsigned waiting = 0;
  for (int a = 0; a < l.mesh.axis_count; ++a) waiting |= l.partial[a] != hp::reduce_op::none ? 1u << a : 0u;
  return waiting;
}

/// The cheapest of all pairs of operand layouts, on the axes that the operands use and partial only along those where
/// one of them is, that the operator takes as they are. (A shard becomes a term for nothing, so a reduction could
/// always be put off; the resolution never starts one.)
hp::extent_t cheapest(const hp::factor_rule& rule, const hp::layout_value& a, const hp::layout_value& b,
                      const sample& one, const std::vector<hp::layout_value>& lefts,
                      const std::vector<hp::layout_value>& rights) {
  hp::extent_t best = -1;
  const unsigned used = axes_of(a) | axes_of(b), waiting = partial_axes_of(a) | partial_axes_of(b);
  for (const hp::layout_value& x : lefts) {
    if ((axes_of(x) & ~used) != 0 || (partial_axes_of(x) & ~waiting) != 0) continue;
    const hp::move_price left = hp::price_of_move(a, x, one.a);
    if (!left.possible || (best >= 0 && left.received >= best)) continue;
    for (const hp::layout_value& y : rights) {
      if ((axes_of(y) & ~used) != 0 || (partial_axes_of(y) & ~waiting) != 0) continue;
      const hp::move_price right = hp::price_of_move(b, y, one.b);
      if (!right.possible) continue;
      const hp::extent_t total = left.received + right.received;
      if (best >= 0 && total >= best) continue;
      const hp::layout_value* operand[] = {&x, &y};
      if (hp::propagate(rule, operand, 2).status.code == hp::propagation_code::ok) best = total;
    }
  }
  return best;
}

/// Optimal over all operand layouts of the mesh, not only over the candidates that the search looks at.
TEST(Resolve, FindsTheCheapestOperandsOfAllOnTheAxesInUse) {
  int moved = 0;
  for (const hp::mesh_shape& m : {hp::mesh_shape{1, {2}}, hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 4}}})
    for (const sample& one : rules) {
      const hp::factor_rule rule = hp::rule_from("sample", one.text, one.traits).rule;
      const auto lefts = numeric::all_layouts(m, one.a.rank), rights = numeric::all_layouts(m, one.b.rank);
      const hp::shape shapes[] = {one.a, one.b};
      for (const hp::layout_value& a : lefts)
        for (const hp::layout_value& b : rights) {
          if (hp::check_shape(a, one.a).code != hp::layout_code::ok ||
              hp::check_shape(b, one.b).code != hp::layout_code::ok)
            continue;
          const hp::layout_value* operand[] = {&a, &b};
          const hp::resolution r = hp::resolve(rule, operand, shapes, 2);
          ASSERT_EQ(r.code, hp::resolve_code::ok) << one.text;
          EXPECT_EQ(r.placed.status.code, hp::propagation_code::ok);
          const bool as_is = r.strict.code == hp::propagation_code::ok;
          EXPECT_EQ(as_is, r.price == 0 && r.assignments == 1 && r.moved == 0);
          if (as_is || (one.a.rank == 3 && m.axis_count == 2 && (moved % 7) != 0 && ++moved != 0)) continue;
          EXPECT_EQ(r.price, cheapest(rule, a, b, one, lefts, rights))
              << one.text << ", operands " << hp::detail::digits_of_layout(a) << " and "
              << hp::detail::digits_of_layout(b);
          ++moved;
        }
    }
  EXPECT_GT(moved, 500);
}

/// With a consumer the result's own move counts: a partial sum that has to be reduced anyway, or a gather before.
TEST(Resolve, WeighsWhatTheConsumerNeeds) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::factor_rule matmul = hp::rule_from("matmul", "mk,kn->mn", hp::contraction).rule;
  hp::layout_value rows = hp::replicated(m, 2), columns = hp::replicated(m, 2), wanted = hp::replicated(m, 2);
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(rows, {1, 1, 1, 4});
  hp::append_cut(columns, {1, 1, 1, 4});
  hp::append_cut(wanted, {0, 0, 1, 2});
  hp::append_cut(wanted, {1, 1, 1, 4});
  const hp::layout_value* operand[] = {&rows, &columns};
  // A thin contraction: gathering k (8 wide) is cheaper than reducing a result of 4096 columns.
  const hp::shape thin[] = {hp::shape{64, 8}, hp::shape{8, 4096}};
  const hp::resolution gathered = hp::resolve(matmul, operand, thin, 2, {.consumer = &wanted});
  EXPECT_EQ(gathered.moved, 0b01u);
  EXPECT_EQ(gathered.placed.result[0], wanted);
  EXPECT_EQ(gathered.price, 32 * 8 * 3 / 4);
  EXPECT_EQ(gathered.strict.code, hp::propagation_code::axis_shards_two_factors);
}

TEST(Resolve, RefusesWhatNoMoveCures) {
  const hp::mesh_shape m{2, {2, 4}};
  const hp::factor_rule matmul = hp::rule_from("matmul", "mk,kn->mn", hp::contraction).rule;
  const hp::layout_value a = hp::replicated(m, 2), b = hp::replicated(m, 3);
  const hp::layout_value* bad[] = {&a, &b};
  const hp::shape shapes[] = {hp::shape{8, 8}, hp::shape{4, 8}};
  EXPECT_EQ(hp::resolve(matmul, bad, shapes, 2).code, hp::resolve_code::operands_are_refused);
  const hp::layout_value* good[] = {&a, &a};
  EXPECT_EQ(hp::resolve(matmul, good, shapes, 2).code, hp::resolve_code::extents_are_refused);
}

}  // namespace
