// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/factor_claims.hpp>
#include <hyperparallel/operators/propagate.hpp>
#include <hyperparallel/operators/rule_text.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <utility>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;
using hp::partial_mode;
using hp::reduce_op;

TEST(FactorClaims, APlaceIsThreeNumbers) {
  for (int operand = 0; operand < hp::max_operands; ++operand)
    for (int first = 0; first <= hp::max_cuts; ++first)
      for (int count = 0; count <= hp::max_cuts; ++count) {
        const int place = hp::detail::place_of(operand, first, count);
        ASSERT_EQ(hp::detail::operand_at(place), operand);
        ASSERT_EQ(hp::detail::first_at(place), first);
        ASSERT_EQ(hp::detail::count_at(place), count);
      }
}

/// Whether two sub-axes of one axis take every pair of digits: only then may they shard different factors.
bool are_independent(const hp::mesh_shape& m, const hp::cut& x, const hp::cut& y) {
  std::set<std::pair<int, int>> pairs;
  for (int at = 0; at < m.size[x.axis]; ++at) pairs.insert({hp::digit_of(m, x, at), hp::digit_of(m, y, at)});
  return pairs.size() == static_cast<std::size_t>(x.size * y.size);
}

TEST(FactorClaims, SubAxesMeetUnlessTheirDigitsAreIndependent) {
  const hp::mesh_shape m = numeric::mesh_of({16});
  for (int p = 1; p < 16; p *= 2)
    for (int n = 2; p * n <= 16; n *= 2)
      for (int q = 1; q < 16; q *= 2)
        for (int k = 2; q * k <= 16; k *= 2) {
          hp::layout_value claimed = hp::replicated(m, 1);
          const hp::cut x{0, 0, p, n}, y{0, 0, q, k};
          hp::append_cut(claimed, y);
          const hp::layout_value* const operand[] = {&claimed};
          hp::detail::factor_claims t;
          t.place[1] = hp::detail::place_of(0, 0, 1);
          EXPECT_EQ(hp::detail::meets_claimed(t, operand, x, 0), !are_independent(m, x, y)) << p << n << q << k;
          EXPECT_FALSE(hp::detail::meets_claimed(t, operand, x, 1));  // a factor does not meet itself
        }
}

constexpr hp::mesh_shape mesh{2, {2, 2}};
constexpr hp::layout_value placed(int rank, int dim0, int dim1) {
  hp::layout_value l = hp::replicated(mesh, rank);
  for (int d = 0; d < rank; ++d) {
    if (dim0 == d) hp::append_cut(l, {d, 0, 1, 2});
    if (dim1 == d) hp::append_cut(l, {d, 1, 1, 2});
  }
  return l;
}

// What operands say of factors and axes, and what a tensor then gets: written back, the claims are the layouts.
TEST(FactorClaims, AreWhatOperandsSayAndAreWrittenBack) {
  const hp::factor_rule rule = hp::rule_from("product", "mk,kn->mn", hp::contraction).rule;
  const hp::layout_value a = placed(2, 0, 1), b = placed(2, -1, 0);
  const hp::layout_value* const operand[] = {&a, &b};
  hp::detail::factor_claims t;
  hp::layout_value result = hp::replicated(mesh, 2);
  hp::propagation_notes notes;
  hp::propagation_status s;
  ASSERT_TRUE(hp::detail::read_operands(rule, operand, t, result, notes, s));
  EXPECT_EQ(t.sharded, 0b011u);
  EXPECT_EQ(t.axes, 0b11u);
  EXPECT_EQ(t.reduced, 0b10u);
  EXPECT_EQ(t.cut[0], 0b011u);
  EXPECT_EQ(t.cut[1], 0b010u);
  EXPECT_EQ(result.partial[1], reduce_op::sum);
  for (int o = 0; o < 2; ++o) {
    hp::layout_value written = hp::replicated(mesh, 2);
    ASSERT_TRUE(hp::detail::write_cuts(rule.operand[o], o, operand, t, written, s));
    EXPECT_EQ(written, *operand[o]);
  }
}

TEST(FactorClaims, WholeOperandsAreSlicedWhereTheirFactorsYield) {
  for (const bool yields : {false, true}) {
    const hp::factor_rule rule =
        hp::rule_from("sum", "ab,ab->ab", {reduce_op::none, hp::linear_together(0b11u), 1, yields}).rule;
    for (int holder = 0; holder < 2; ++holder) {
      const hp::layout_value sharded = placed(2, 0, 1), whole = placed(2, 0, -1);
      const hp::layout_value* const operand[] = {holder == 0 ? &sharded : &whole, holder == 0 ? &whole : &sharded};
      hp::detail::factor_claims t;
      hp::layout_value result = hp::replicated(mesh, 2);
      hp::propagation_notes notes;
      hp::propagation_status s;
      EXPECT_EQ(hp::detail::read_operands(rule, operand, t, result, notes, s), yields);
      EXPECT_EQ(notes.sliced, yields ? 1u << (1 - holder) : 0u);
      if (!yields) {
        EXPECT_EQ(s, (hp::propagation_status{hp::propagation_code::operands_disagree, 1 - holder, 1, 1}));
      }
    }
  }
}

static_assert(hp::detail::joins_in(partial_mode::together, partial_mode::together));
static_assert(hp::detail::joins_in(partial_mode::each, partial_mode::joins));
static_assert(!hp::detail::joins_in(partial_mode::each, partial_mode::each));
static_assert(!hp::detail::joins_in(partial_mode::each, partial_mode::together));

// p · (x + y) + z with k reduced in p alone: an operand is filled along the axes where it has to be, and along no
// other.
TEST(FactorClaims, FillsAreAlongTheirOwnAxes) {
  hp::factor_rule rule = hp::rule_from("mixed", "ak,a,a,a->a", {.partials = hp::linear_together(0b0110u)}).rule;
  hp::say(rule.partials, 0, reduce_op::sum, partial_mode::each, reduce_op::sum);
  hp::say(rule.partials, 3, reduce_op::sum, partial_mode::joins, reduce_op::sum);
  rule.outside = 0b1000u;
  const hp::mesh_shape three = numeric::mesh_of({2, 2, 2});
  hp::layout_value p = hp::replicated(three, 2), x = hp::replicated(three, 1), y = x, z = x;
  hp::append_cut(p, {1, 0, 1, 2});  // axis 0: the reduction
  p.partial[1] = reduce_op::sum;    // axis 1: terms of p
  x.partial[2] = reduce_op::sum;    // axis 2: terms of x
  const hp::layout_value* const operand[] = {&p, &x, &y, &z};
  hp::detail::factor_claims t;
  hp::layout_value result = hp::replicated(three, 1);
  hp::propagation_notes notes;
  hp::propagation_status s;
  ASSERT_TRUE(hp::detail::read_operands(rule, operand, t, result, notes, s));
  EXPECT_EQ(notes.filled, 0b1100u);
  const bool filled[4][3] = {{false, false, false}, {false, false, false}, {false, false, true}, {true, true, true}};
  for (int o = 2; o < 4; ++o)
    for (int a = 0; a < 3; ++a)
      EXPECT_EQ(hp::detail::fill_along(rule, operand, o, a, t, result), filled[o][a] ? reduce_op::sum : reduce_op::none)
          << o << ' ' << a;
}

static_assert(hp::detail::same_shape({2, {2, 3}}, {2, {2, 3}}) && !hp::detail::same_shape({2, {2, 3}}, {2, {3, 2}}) &&
              !hp::detail::same_shape({1, {2}}, {2, {2, 1}}));

/// An average over unequal slices is not the average of their averages; a sum is the sum of theirs.
TEST(FactorClaims, PaddedDimsAreNotAveraged) {
  hp::layout_value l = hp::replicated(numeric::mesh_of({2, 4}), 2);
  hp::append_cut(l, {1, 1, 1, 4});
  const hp::layout_value* operand[] = {&l};
  for (const bool padded : {false, true})
    for (const reduce_op op : {reduce_op::sum, reduce_op::avg, reduce_op::max}) {
      l.padded = padded ? 0b10u : 0u;
      const hp::factor_rule rule = hp::rule_from("reduce", "ab->a", {op, hp::refuse_partials()}).rule;
      const hp::propagation_result r = hp::propagate(rule, operand, 1);
      const bool refused = padded && op == reduce_op::avg;
      const hp::propagation_status expected{hp::propagation_code::dim_must_be_whole, 0, 1, 1};
      EXPECT_EQ(r.status, refused ? expected : hp::propagation_status{});
      EXPECT_EQ(r.layout.partial[1], refused ? reduce_op::none : op);
    }
}

}  // namespace
