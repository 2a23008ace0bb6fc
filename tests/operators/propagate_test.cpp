// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/operator_rule.hpp>
#include <hyperparallel/operators/ops/sum.hpp>
#include <hyperparallel/operators/propagate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;
using enum hp::reduce_op;

struct verdict {
  int accepted = 0, refused = 0;
};

/// The law, on one tuple of layouts: where propagation accepts, the local results, of operands sliced and filled as it
/// says, are the slices of the true result under the derived layout. With `necessary`, also: where it refuses, those of
/// the operands as they come are so under no layout of the result.
template <class Compute>
void hold(const hp::factor_rule& rule, const Compute& compute, std::vector<numeric::tensor>& whole,
          numeric::tensor& result, const std::vector<const hp::layout_value*>& layout,
          const std::vector<hp::layout_value>* necessary, verdict& v, int index = 0) {
  for (std::size_t o = 0; o < whole.size(); ++o)
    if (hp::check_shape(*layout[o], whole[o].shape).code != hp::layout_code::ok) return;
  const hp::propagation_result r = hp::propagate(rule, layout.data(), static_cast<int>(layout.size()));
  const hp::full_propagation full = hp::propagate_fully(rule, layout.data(), static_cast<int>(layout.size()));
  ASSERT_EQ(full.status, r.status);
  const bool accepted = r.status.code == hp::propagation_code::ok;
  ++(accepted ? v.accepted : v.refused);
  std::vector<numeric::tensor> local;
  if (accepted) {
    ASSERT_EQ(full.result[0], r.layout);
    for (std::size_t o = 0; o < whole.size(); ++o) {
      const bool filled = !std::equal(layout[o]->partial, layout[o]->partial + hp::max_axes, full.operand[o].partial);
      ASSERT_EQ(full.notes.filled >> o & 1u, filled ? 1u : 0u);
      ASSERT_EQ(full.notes.sliced >> o & 1u, layout[o]->cut_count == full.operand[o].cut_count ? 0u : 1u);
    }
    const auto adapt = [&](std::size_t o, const numeric::tensor& mine, const hp::coordinate& c) {
      return numeric::adapted(mine, whole[o].shape, *layout[o], full.operand[o], c);
    };
    ASSERT_TRUE(numeric::run_everywhere(compute, whole, layout, adapt, local));
    ASSERT_TRUE(numeric::is_placed(result, full.result[index], local));
  } else if (necessary != nullptr && numeric::run_everywhere(compute, whole, layout, local)) {
    for (const hp::layout_value& l : *necessary) ASSERT_FALSE(numeric::is_placed(result, l, local));
  }
}

/// The law on every tuple of layouts of operands, partial by `op` where they are. `truth`: their values are 0 and 1.
template <class Compute>
verdict hold_on_all(const hp::factor_rule& rule, const Compute& compute, const hp::mesh_shape& m,
                    const std::vector<hp::shape>& shapes, bool necessary, hp::reduce_op op = hp::reduce_op::sum,
                    int index = 0) {
  std::vector<numeric::tensor> whole;
  std::vector<std::vector<hp::layout_value>> layouts;
  for (const hp::shape& s : shapes) {
    whole.push_back(numeric::filled(s, whole.size() + 1));
    if (op == hp::reduce_op::all || op == hp::reduce_op::any)
      for (std::int64_t& x : whole.back().element) x = x > 0 ? 1 : 0;
    layouts.push_back(numeric::all_layouts(m, s.rank, op));
  }
  numeric::tensor result;
  EXPECT_TRUE(compute(whole, result));
  const auto results = numeric::all_layouts(m, result.shape.rank, op);
  verdict v;
  std::vector<const hp::layout_value*> tuple(shapes.size());
  const auto visit = [&](const auto& self, std::size_t o) -> void {
    if (o == tuple.size()) {
      hold(rule, compute, whole, result, tuple, necessary ? &results : nullptr, v, index);
      return;
    }
    for (const hp::layout_value& l : layouts[o]) {
      tuple[o] = &l;
      self(self, o + 1);
      if (testing::Test::HasFatalFailure()) return;
    }
  };
  visit(visit, 0);
  return v;
}

TEST(Propagate, MatmulIsRightAndRefusesOnlyWhatHasNoResult) {
  const hp::shape s{8, 8};
  const verdict two = hold_on_all(hp::ops::matmul::rule, numeric::matmul, numeric::mesh_of({2, 2}), {s, s}, true);
  const verdict three = hold_on_all(hp::ops::matmul::rule, numeric::matmul, numeric::mesh_of({2, 2, 2}), {s, s}, true);
  EXPECT_EQ(two.accepted + two.refused, 18 * 18);
  EXPECT_EQ(three.accepted + three.refused, 92 * 92);
  // An axis has six good roles: on m, n or k in some order, in no factor, partial in a, partial in b. With j of n axes
  // on three ordered dims, Σ over j of C(n, j) · 3^(n − j) · j! · C(j + 2, 2).
  EXPECT_EQ(two.accepted, 9 + 2 * 3 * 3 + 2 * 6);
  EXPECT_EQ(three.accepted, 27 + 3 * 9 * 3 + 3 * 3 * 2 * 6 + 6 * 10);
}

TEST(Propagate, MatmulOnUnevenAxes) {
  const hp::shape a{6, 12}, b{12, 6};
  const verdict v = hold_on_all(hp::ops::matmul::rule, numeric::matmul, numeric::mesh_of({2, 3}), {a, b}, true);
  EXPECT_GT(v.accepted, 6 * 6);
}

TEST(Propagate, GroupedMatmulIsRight) {
  const hp::shape a{2, 4, 4, 4}, b{2, 4, 4, 4};
  const hp::factor_rule& rule = hp::ops::grouped_matmul::rule;
  const verdict two = hold_on_all(rule, numeric::grouped_matmul, numeric::mesh_of({2, 2}), {a, b}, true);
  const verdict three = hold_on_all(rule, numeric::grouped_matmul, numeric::mesh_of({2, 2, 2}), {a, b}, false);
  EXPECT_GT(two.accepted, 0);
  EXPECT_GT(three.accepted, two.accepted);
}

TEST(Propagate, GateIsRightAndRefusesPartials) {
  const hp::shape s{4, 4, 2, 2, 4};
  const verdict v = hold_on_all(hp::ops::grouped_swiglu::rule, numeric::gate, numeric::mesh_of({2, 2}), {s}, true);
  hold_on_all(hp::ops::grouped_swiglu::rule, numeric::gate, numeric::mesh_of({2, 2, 2}), {s}, true);
  // Four dims or none per axis, and the second order where both axes are on one dim (the extents 2 refuse c).
  EXPECT_EQ(v.accepted, 5 * 5 - 1 + 3);
}

// Whole operands are sliced to sharded ones and filled to partial ones: addition has a result wherever an axis has one
// role in both operands, or none in one of them.
TEST(Propagate, AddSlicesAndFillsWholeOperands) {
  const hp::shape s{8, 8};
  const verdict v = hold_on_all(hp::rule_of<hp::ops::sum, 2, 2>, numeric::add, numeric::mesh_of({2, 2}), {s, s}, true);
  // Unused, or partial in either or both, or on a dim of either or both; two axes on one dim are there in one operand
  // or, in one order, in both: 1 + 2 · 3 + 3 · 3 with no axis on a dim, 2 · 2 · 3 · (1 + 3) with one, 2 · 3 · 3 + 2 · 2
  // · 3 with two.
  EXPECT_EQ(v.accepted, 16 + 48 + 30);
  hold_on_all(hp::rule_of<hp::ops::sum, 2, 2>, numeric::add, numeric::mesh_of({2, 2, 2}), {s, s}, false);
  hold_on_all(hp::rule_of<hp::ops::sum, 2, 2>, numeric::add, numeric::mesh_of({2, 3}),
              {hp::shape{6, 12}, hp::shape{6, 12}}, true);
  EXPECT_EQ(
      hold_on_all(hp::rule_of<hp::ops::sum, 2, 2>, numeric::add, numeric::mesh_of({2, 2}), {s, s}, true, avg).accepted,
      v.accepted);
}

/// Two operands of one shape, element by element.
template <class Function>
auto by_element(Function f) {
  return [f](std::vector<numeric::tensor>& x, numeric::tensor& y) {
    if (x.size() > 1 && !(x[0].shape == x[1].shape)) return false;
    y = x[0];
    for (std::size_t i = 0; i < y.element.size(); ++i) y.element[i] = f(x[0].element[i], x.back().element[i]);
    return true;
  };
}
hp::factor_rule pairwise(const hp::partial_words& words) {
  return hp::rule_from("pairwise", "ab,ab->ab", {hp::reduce_op::none, words, 1, true}).rule;
}

TEST(Propagate, PartialStatesOfEveryReductionPassAsTheWordsSay) {
  const hp::mesh_shape m = numeric::mesh_of({2, 2}), uneven = numeric::mesh_of({2, 3});
  const hp::shape s{6, 12};
  hp::partial_words words = hp::linear_in_each(0b11u);
  hp::detail::say_all(words, 0b11u, prod, hp::partial_mode::together);
  const auto product = by_element([](std::int64_t x, std::int64_t y) { return x * y; });
  for (const hp::reduce_op op : {sum, avg, prod}) {
    EXPECT_GT(hold_on_all(pairwise(words), product, m, {s, s}, true, op).accepted, 50) << hp::name_of(op);
    hold_on_all(pairwise(words), product, uneven, {s, s}, true, op);
  }
  words = hp::refuse_partials();
  hp::detail::say_all(words, 0b11u, max, hp::partial_mode::together);
  hp::detail::say_all(words, 0b11u, min, hp::partial_mode::each);
  const auto maximum = by_element([](std::int64_t x, std::int64_t y) { return std::max(x, y); });
  for (const hp::reduce_op op : {max, min})
    EXPECT_GT(hold_on_all(pairwise(words), maximum, m, {s, s}, true, op).accepted, 50) << hp::name_of(op);
}

TEST(Propagate, MovedElementsKeepEveryPartialState) {
  const hp::factor_rule rule = hp::rule_from("transpose", "ab->ba", {hp::reduce_op::none, hp::moves_elements(1u)}).rule;
  const auto transpose = [](std::vector<numeric::tensor>& x, numeric::tensor& y) {
    y = numeric::tensor(hp::shape{x[0].shape.extent[1], x[0].shape.extent[0]});
    for (int i = 0; i < x[0].shape.extent[0]; ++i)
      for (int j = 0; j < x[0].shape.extent[1]; ++j) y.at(j, i) = x[0].at(i, j);
    return true;
  };
  for (const hp::reduce_op op : {sum, max, min, avg, prod, all, any}) {
    const verdict v = hold_on_all(rule, transpose, numeric::mesh_of({2, 2}), {hp::shape{4, 8}}, true, op);
    EXPECT_EQ(v.accepted, 18) << hp::name_of(op);
    EXPECT_EQ(v.refused, 0);
  }
}

TEST(Propagate, AReductionMayTurnIntoAnother) {
  hp::partial_words words = hp::refuse_partials();
  hp::say(words, 0, all, hp::partial_mode::each, any);
  hp::say(words, 0, any, hp::partial_mode::each, all);
  const hp::factor_rule inverts = hp::rule_from("not", "ab->ab", {hp::reduce_op::none, words}).rule;
  const auto invert = by_element([](std::int64_t x, std::int64_t) { return x == 0 ? 1 : 0; });
  for (const hp::reduce_op op : {all, any})
    EXPECT_EQ(hold_on_all(inverts, invert, numeric::mesh_of({2, 2}), {hp::shape{4, 4}}, false, op).refused, 0);
  words = hp::refuse_partials();
  const hp::factor_rule negates =
      hp::rule_from("negate", "ab->ab", {hp::reduce_op::none, hp::detail::falling(words, 0)}).rule;
  const auto negate = by_element([](std::int64_t x, std::int64_t) { return -x; });
  for (const hp::reduce_op op : {max, min})
    EXPECT_EQ(hold_on_all(negates, negate, numeric::mesh_of({2, 2}), {hp::shape{4, 4}}, false, op).refused, 0);
}

/// x · w + bias, where the bias is outside of the sum over k.
bool linear(std::vector<numeric::tensor>& x, numeric::tensor& y) {
  if (!numeric::matmul(x, y) || x[2].shape.extent[0] != y.shape.extent[1]) return false;
  for (int i = 0; i < y.shape.extent[0]; ++i)
    for (int j = 0; j < y.shape.extent[1]; ++j) y.at(i, j) += x[2].at(j);
  return true;
}

TEST(Propagate, ABiasIsAddedOnceToASumOverDevices) {
  hp::factor_rule rule = hp::rule_from("linear", "mk,kn,n->mn", hp::contraction).rule;
  hp::detail::say_all(rule.partials, 0b100u, sum, hp::partial_mode::joins);
  rule.outside = 0b100u;
  const hp::shape a{4, 4}, b{4, 4}, bias{4};
  const verdict v = hold_on_all(rule, linear, numeric::mesh_of({2, 2}), {a, b, bias}, false);
  EXPECT_EQ(v.accepted, 39);  // as a product alone: the bias follows n and is filled for every sum
  hold_on_all(rule, linear, numeric::mesh_of({2, 3}), {hp::shape{6, 6}, hp::shape{6, 6}, hp::shape{6}}, false);
}

// Row sums, column sums and the block itself: a factor that one result lacks and another has leaves the first partial.
TEST(Propagate, AResultIsPartialAlongTheShardedFactorsThatItAloneLacks) {
  const hp::factor_rule rule = hp::rule_from("totals", "ab->a,b,ab", {sum, hp::linear_in_each(1u)}).rule;
  const auto totals = [](int index) {
    return [index](std::vector<numeric::tensor>& x, numeric::tensor& y) {
      const hp::shape e = x[0].shape;
      y = index == 2 ? x[0] : numeric::tensor(hp::shape(e.extent[index]));
      for (int i = 0; i < e.extent[0]; ++i)
        for (int j = 0; j < e.extent[1]; ++j)
          if (index < 2) y.at(index == 0 ? i : j) += x[0].at(i, j);
      return true;
    };
  };
  for (const auto& m : {numeric::mesh_of({2, 2}), numeric::mesh_of({2, 2, 2})})
    for (int index = 0; index < 3; ++index)
      EXPECT_GT(hold_on_all(rule, totals(index), m, {hp::shape{8, 8}}, false, sum, index).accepted, 10);
  // Without a reduction the results do not depend on what they lack.
  const hp::factor_rule apart = hp::rule_from("apart", "ab->ab,a", {hp::reduce_op::none, hp::refuse_partials()}).rule;
  const hp::layout_value cut = numeric::all_layouts(numeric::mesh_of({2}), 2, sum)[1];
  const hp::layout_value* const operand[] = {&cut};
  EXPECT_FALSE(hp::is_partial(hp::propagate_fully(apart, operand, 1).result[1]));
  // What waits for a sum can not wait for a maximum as well, in whichever result.
  const hp::factor_rule largest =
      hp::rule_from("largest", "ab->ab,a", {hp::reduce_op::max, hp::linear_in_each(1u)}).rule;
  hp::layout_value waits = hp::layout_value{};
  waits.mesh = numeric::mesh_of({2, 2});
  waits.rank = 2;
  waits.cut_count = 1;
  waits.cut[0] = {1, 0, 1, 2};
  waits.partial[1] = sum;
  const hp::layout_value* const summed[] = {&waits};
  EXPECT_EQ(hp::propagate_fully(largest, summed, 1).status.code, hp::propagation_code::reductions_do_not_commute);
}

TEST(Propagate, EveryResultHasItsLayout) {
  const hp::factor_rule rule =
      hp::rule_from("ranked", "abC->Cba,a,ab", {hp::reduce_op::none, hp::linear_in_each(1u)}).rule;
  const hp::shape s{4, 8, 3};
  const auto turned = [](std::vector<numeric::tensor>& x, numeric::tensor& y) {
    const hp::shape e = x[0].shape;
    y = numeric::tensor(hp::shape{e.extent[2], e.extent[1], e.extent[0]});
    for (int i = 0; i < e.extent[0]; ++i)
      for (int j = 0; j < e.extent[1]; ++j)
        for (int k = 0; k < e.extent[2]; ++k) y.at(k, j, i) = x[0].at(i, j, k);
    return true;
  };
  const auto row = [](std::vector<numeric::tensor>& x, numeric::tensor& y) {
    const hp::shape e = x[0].shape;
    y = numeric::tensor(hp::shape{e.extent[0], e.extent[1]});
    for (int i = 0; i < e.extent[0]; ++i)
      for (int j = 0; j < e.extent[1]; ++j)
        for (int k = 0; k < e.extent[2]; ++k) y.at(i, j) += (k + 1) * x[0].at(i, j, k);
    return true;
  };
  for (const auto& m : {numeric::mesh_of({2, 2}), numeric::mesh_of({2, 2, 2})}) {
    const verdict first = hold_on_all(rule, turned, m, {s}, false);
    const verdict last = hold_on_all(rule, row, m, {s}, false, sum, 2);
    EXPECT_GT(first.accepted, 10);
    EXPECT_EQ(first.accepted, last.accepted);
  }
}

// Dims of several factors: splits, merges, and a factor that is reduced inside a dim.
TEST(Propagate, DimsOfSeveralFactorsKeepTheirSlices) {
  hp::factor_rule rule = hp::rule_from("regroup", "(ab)(cd)->a(bc)", {sum, hp::linear_in_each(1u)}).rule;
  const hp::extent_t extent[] = {4, 2, 2, 3};
  for (int f = 0; f < 4; ++f) rule.factor[f].extent = extent[f];
  const auto regroup = [](std::vector<numeric::tensor>& x, numeric::tensor& y) {
    const hp::shape e = x[0].shape;
    const hp::extent_t b = e.extent[0] > 1 ? 2 : 1, d = e.extent[1] % 3 == 0 ? 3 : 1;  // b and d are cut last
    y = numeric::tensor(hp::shape{e.extent[0] / b, b * e.extent[1] / d});
    for (int i = 0; i < e.extent[0]; ++i)
      for (int j = 0; j < e.extent[1]; ++j) y.at(i / b, i % b * (e.extent[1] / d) + j / d) += x[0].at(i, j);
    return true;
  };
  verdict all_meshes;
  for (const std::vector<int>& sizes : {std::vector<int>{2}, {8}, {2, 2}, {2, 4}, {4, 2, 2}, {4, 2, 2, 3}}) {
    const verdict v = hold_on_all(rule, regroup, numeric::mesh_of(sizes), {hp::shape{8, 6}}, false);
    all_meshes.accepted += v.accepted;
    all_meshes.refused += v.refused;
  }
  EXPECT_GT(all_meshes.accepted, 50);
  EXPECT_GT(all_meshes.refused, 50);
}

// A refusal in a dim of several factors names the dim, not the factor's place in it.
TEST(Propagate, RefusalsNameDimsOfSeveralFactors) {
  hp::factor_rule rule = hp::rule_from("regroup", "(ab)C->abC", {hp::reduce_op::none, hp::refuse_partials()}).rule;
  rule.factor[0].extent = rule.factor[1].extent = 2;
  const hp::mesh_shape m = numeric::mesh_of({2});
  hp::layout_value l = hp::replicated(m, 2);
  hp::append_cut(l, {1, 0, 1, 2});
  const hp::layout_value* const operand[] = {&l};
  const hp::propagation_status expected{hp::propagation_code::dim_must_be_whole, 0, 1, 0};
  EXPECT_EQ(hp::propagate(rule, operand, 1).status, expected);
  EXPECT_EQ(hp::propagate_fully(rule, operand, 1).status, expected);
}

// Padded dims and sub-axes, which the façade does not spell: the same law.
TEST(Propagate, PaddedDimsStayPadded) {
  const hp::mesh_shape m = numeric::mesh_of({4});
  hp::layout_value a = hp::replicated(m, 2), b = hp::replicated(m, 2);
  hp::append_cut(a, {0, 0, 1, 4});
  a.padded = 1;
  std::vector<numeric::tensor> whole{numeric::filled(hp::shape{5, 3}, 1), numeric::filled(hp::shape{3, 7}, 2)};
  numeric::tensor result;
  ASSERT_TRUE(numeric::matmul(whole, result));
  verdict v;
  hold(hp::ops::matmul::rule, numeric::matmul, whole, result, {&a, &b}, nullptr, v);
  EXPECT_EQ(v.accepted, 1);
  const hp::layout_value* const pair[] = {&a, &b};
  EXPECT_EQ(hp::propagate(hp::ops::matmul::rule, pair, 2).layout.padded, 1u);
  // The same cut of k, padded on one side only, is not the same slices.
  hp::layout_value left = hp::replicated(m, 2), right = hp::replicated(m, 2);
  hp::append_cut(left, {1, 0, 1, 4});
  hp::append_cut(right, {0, 0, 1, 4});
  left.padded = 2;
  const hp::layout_value* const uneven[] = {&left, &right};
  EXPECT_EQ(hp::propagate(hp::ops::matmul::rule, uneven, 2).status,
            (hp::propagation_status{hp::propagation_code::operands_disagree, 1, 0, 0}));
}

TEST(Propagate, SubAxesOfOneAxisMayShardTwoFactorsWhereTheyAreApart) {
  const hp::mesh_shape m = numeric::mesh_of({4});
  std::vector<numeric::tensor> whole{numeric::filled(hp::shape{8, 8}, 1), numeric::filled(hp::shape{8, 8}, 2)};
  numeric::tensor result;
  ASSERT_TRUE(numeric::matmul(whole, result));
  const auto results = numeric::all_layouts(m, 2);
  verdict v;
  for (const hp::cut& x : {hp::cut{0, 0, 1, 2}, hp::cut{0, 0, 2, 2}, hp::cut{0, 0, 1, 4}})
    for (const hp::cut& y : {hp::cut{1, 0, 1, 2}, hp::cut{1, 0, 2, 2}, hp::cut{1, 0, 1, 4}}) {
      hp::layout_value a = hp::replicated(m, 2), b = a;
      hp::append_cut(a, x);
      hp::append_cut(b, y);
      hold(hp::ops::matmul::rule, numeric::matmul, whole, result, {&a, &b}, &results, v);
    }
  EXPECT_EQ(v.accepted, 2);
  EXPECT_EQ(v.refused, 7);
  hp::layout_value a = hp::replicated(m, 2), b = a;  // half of an axis on a reduction has no partial state
  hp::append_cut(a, {1, 0, 1, 2});
  hp::append_cut(b, {0, 0, 1, 2});
  const hp::layout_value* const pair[] = {&a, &b};
  EXPECT_EQ(hp::propagate(hp::ops::matmul::rule, pair, 2).status,
            (hp::propagation_status{hp::propagation_code::sub_axis_can_not_be_partial, 0, 1, 0}));
}

// Refusals name what is wrong: the same function as constants.
constexpr hp::mesh_shape mesh22{2, {2, 2}};

constexpr hp::layout_value placed(int rank, int dim0, int dim1, hp::reduce_op op0 = none, hp::reduce_op op1 = none) {
  hp::layout_value l = hp::replicated(mesh22, rank);
  for (int d = 0; d < rank; ++d) {
    if (dim0 == d) hp::append_cut(l, {d, 0, 1, 2});
    if (dim1 == d) hp::append_cut(l, {d, 1, 1, 2});
  }
  l.partial[0] = op0;
  l.partial[1] = op1;
  return l;
}

constexpr hp::propagation_status status(const hp::factor_rule& rule, const hp::layout_value& a,
                                        const hp::layout_value& b) {
  const hp::layout_value* const pair[] = {&a, &b};
  return hp::propagate(rule, pair, 2).status;
}

using code = hp::propagation_code;
constexpr const hp::factor_rule& product = hp::ops::matmul::rule;

static_assert(status(product, placed(2, -1, 1), placed(2, -1, -1)) ==
              hp::propagation_status{code::operands_disagree, 1, 0, 1});
static_assert(status(product, placed(2, -1, -1), placed(2, 0, -1)) ==
              hp::propagation_status{code::operands_disagree, 0, 1, 0});
static_assert(status(product, placed(2, 0, -1), placed(2, 1, -1)) ==
              hp::propagation_status{code::axis_shards_two_factors, 1, 1, 0});
static_assert(status(product, placed(2, -1, -1, sum), placed(2, -1, -1, sum)) ==
              hp::propagation_status{code::partial_axis_is_used_by_another_operand, 1, -1, 0});
static_assert(status(product, placed(2, -1, -1, sum), placed(2, 1, -1)) ==
              hp::propagation_status{code::partial_axis_is_used_by_another_operand, 1, 1, 0});
static_assert(status(product, placed(2, -1, -1, max), placed(2, -1, -1)) ==
              hp::propagation_status{code::partial_operand_is_refused, 0, -1, 0});
static_assert(status(hp::rule_of<hp::ops::sum, 2, 2>, placed(2, 0, -1), placed(2, -1, -1, sum)) ==
              hp::propagation_status{code::partial_axis_is_used_by_another_operand, 0, 0, 0});
static_assert(status(hp::rule_of<hp::ops::sum, 2, 2>, placed(2, -1, -1, sum), placed(2, -1, -1, avg)) ==
              hp::propagation_status{code::partial_operands_differ, 1, -1, 0});
static_assert(status(hp::rule_of<hp::ops::sum, 2, 2>, placed(2, -1, -1, sum), placed(2, -1, -1, none, avg)) ==
              hp::propagation_status{});
static_assert(status(hp::rule_of<hp::ops::sum, 2, 2>, placed(2, 0, -1), placed(2, 1, -1)) ==
              hp::propagation_status{code::axis_shards_two_factors, 1, 1, 0});
static_assert(status(product, placed(3, -1, -1), placed(2, -1, -1)) ==
              hp::propagation_status{code::operand_rank_differs_from_rule, 0, 3, 0});

TEST(Propagate, NamesOperandDimAndAxisOfOtherRefusals) {
  const hp::layout_value a = placed(2, -1, -1), packed = placed(5, -1, 3), sums = placed(5, -1, -1, sum);
  hp::layout_value elsewhere = a;
  elsewhere.mesh.size[1] = 4;
  EXPECT_EQ(status(product, a, elsewhere), (hp::propagation_status{code::operands_are_on_different_meshes, 1, 0, 0}));
  const hp::layout_value* one[] = {&packed};
  EXPECT_EQ(hp::propagate(hp::ops::grouped_swiglu::rule, one, 1).status,
            (hp::propagation_status{code::dim_must_be_whole, 0, 3, 1}));
  one[0] = &sums;
  EXPECT_EQ(hp::propagate(hp::ops::grouped_swiglu::rule, one, 1).status,
            (hp::propagation_status{code::partial_operand_is_refused, 0, -1, 0}));
  EXPECT_EQ(hp::propagate(product, one, 1).status,
            (hp::propagation_status{code::operand_count_differs_from_rule, 1, 0, 0}));
  EXPECT_EQ(hp::propagate(hp::ops::grouped_swiglu::rule, one, 1).layout, hp::replicated(mesh22, 4));
}

// The same function at compile time and at run time, on every pair: verdicts and layouts folded into one number.
constexpr std::uint64_t fold_all_pairs() {
  std::uint64_t h = 0;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      const hp::layout_value a = placed(2, i % 4 - 1, i / 4 - 1, i % 4 == 3 ? sum : none);
      const hp::layout_value b = placed(2, j % 4 - 1, j / 4 - 1, j % 4 == 3 ? sum : none);
      const hp::layout_value* const pair[] = {&a, &b};
      const hp::propagation_result r = hp::propagate(product, pair, 2);
      h = h * 31 + static_cast<std::uint64_t>(r.status.code);
      for (int c = 0; c < r.layout.cut_count; ++c)
        h = h * 31 + static_cast<std::uint64_t>(r.layout.cut[c].dim * 8 + r.layout.cut[c].axis);
      for (int x = 0; x < 2; ++x) h = h * 31 + static_cast<std::uint64_t>(r.layout.partial[x]);
    }
  return h;
}

TEST(Propagate, RunTimeEqualsCompileTime) {
  constexpr std::uint64_t constant = fold_all_pairs();
  EXPECT_EQ(fold_all_pairs(), constant);
}

}  // namespace
