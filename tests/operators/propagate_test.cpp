// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/operator_table.hpp>
#include <hyperparallel/operators/propagate.hpp>

#include <gtest/gtest.h>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;

struct verdict {
  int accepted = 0, refused = 0;
};

/// The law, on one tuple of layouts: where propagation accepts, the local results are the slices of the true result
/// under the derived layout. With `necessary`, also: where it refuses, they are so under no layout of the result.
template <class Compute>
void hold(const hp::factor_rule& rule, const Compute& compute, std::vector<numeric::tensor>& whole,
          numeric::tensor& result, const std::vector<const hp::layout_value*>& layout,
          const std::vector<hp::layout_value>* necessary, verdict& v) {
  for (std::size_t o = 0; o < whole.size(); ++o)
    if (hp::check_shape(*layout[o], whole[o].shape).code != hp::layout_code::ok) return;
  const hp::propagation_result r = hp::propagate(rule, layout.data(), static_cast<int>(layout.size()));
  const bool accepted = r.status.code == hp::propagation_code::ok;
  ++(accepted ? v.accepted : v.refused);
  std::vector<numeric::tensor> local;
  if (accepted) {
    ASSERT_TRUE(numeric::run_everywhere(compute, whole, layout, local));
    ASSERT_TRUE(numeric::is_placed(result, r.layout, local));
  } else if (necessary != nullptr && numeric::run_everywhere(compute, whole, layout, local)) {
    for (const hp::layout_value& l : *necessary) ASSERT_FALSE(numeric::is_placed(result, l, local));
  }
}

template <class Compute>
verdict hold_on_all_pairs(const hp::factor_rule& rule, const Compute& compute, const hp::mesh_shape& m,
                          const hp::shape& a, const hp::shape& b, bool necessary) {
  std::vector<numeric::tensor> whole{numeric::filled(a, 1), numeric::filled(b, 2)};
  numeric::tensor result;
  EXPECT_TRUE(compute(whole, result));
  const auto left = numeric::all_layouts(m, a.rank), right = numeric::all_layouts(m, b.rank);
  const auto results = numeric::all_layouts(m, result.shape.rank);
  verdict v;
  for (const hp::layout_value& l : left)
    for (const hp::layout_value& r : right) {
      hold(rule, compute, whole, result, {&l, &r}, necessary ? &results : nullptr, v);
      if (testing::Test::HasFatalFailure()) return v;
    }
  return v;
}

template <class Compute>
verdict hold_on_all(const hp::factor_rule& rule, const Compute& compute, const hp::mesh_shape& m, const hp::shape& a,
                    bool necessary) {
  std::vector<numeric::tensor> whole{numeric::filled(a, 1)};
  numeric::tensor result;
  EXPECT_TRUE(compute(whole, result));
  const auto results = numeric::all_layouts(m, result.shape.rank);
  verdict v;
  for (const hp::layout_value& l : numeric::all_layouts(m, a.rank)) {
    hold(rule, compute, whole, result, {&l}, necessary ? &results : nullptr, v);
    if (testing::Test::HasFatalFailure()) return v;
  }
  return v;
}

TEST(Propagate, MatmulIsRightAndRefusesOnlyWhatHasNoResult) {
  const hp::shape s{8, 8};
  const verdict two = hold_on_all_pairs(hp::ops::matmul::rule, numeric::matmul, numeric::mesh_of({2, 2}), s, s, true);
  const verdict three =
      hold_on_all_pairs(hp::ops::matmul::rule, numeric::matmul, numeric::mesh_of({2, 2, 2}), s, s, true);
  EXPECT_EQ(two.accepted + two.refused, 18 * 18);
  EXPECT_EQ(three.accepted + three.refused, 92 * 92);
  // An axis has six good roles: on m, n or k in some order, in no factor, partial in a, partial in b. With j of n axes
  // on three ordered dims, Σ over j of C(n, j) · 3^(n − j) · j! · C(j + 2, 2).
  EXPECT_EQ(two.accepted, 9 + 2 * 3 * 3 + 2 * 6);
  EXPECT_EQ(three.accepted, 27 + 3 * 9 * 3 + 3 * 3 * 2 * 6 + 6 * 10);
}

TEST(Propagate, MatmulOnUnevenAxes) {
  const hp::shape a{6, 12}, b{12, 6};
  const verdict v = hold_on_all_pairs(hp::ops::matmul::rule, numeric::matmul, numeric::mesh_of({2, 3}), a, b, true);
  EXPECT_GT(v.accepted, 6 * 6);
}

TEST(Propagate, GroupedMatmulIsRight) {
  const hp::shape a{2, 4, 4, 4}, b{2, 4, 4, 4};
  const verdict two =
      hold_on_all_pairs(hp::ops::grouped_matmul::rule, numeric::grouped_matmul, numeric::mesh_of({2, 2}), a, b, true);
  const verdict three = hold_on_all_pairs(hp::ops::grouped_matmul::rule, numeric::grouped_matmul,
                                          numeric::mesh_of({2, 2, 2}), a, b, false);
  EXPECT_GT(two.accepted, 0);
  EXPECT_GT(three.accepted, two.accepted);
}

TEST(Propagate, GateIsRightAndRefusesPartials) {
  const hp::shape s{4, 4, 2, 2, 4};
  const verdict v = hold_on_all(hp::ops::swiglu::rule, numeric::gate, numeric::mesh_of({2, 2}), s, true);
  hold_on_all(hp::ops::swiglu::rule, numeric::gate, numeric::mesh_of({2, 2, 2}), s, true);
  // Four dims or none per axis, and the second order where both axes are on one dim (the extents 2 refuse c).
  EXPECT_EQ(v.accepted, 5 * 5 - 1 + 3);
}

TEST(Propagate, AddIsRightAndRefusesOnlyWhatHasNoResult) {
  const hp::shape s{8, 8};
  const verdict v = hold_on_all_pairs(hp::ops::add<2>::rule, numeric::add, numeric::mesh_of({2, 2}), s, s, true);
  EXPECT_EQ(v.accepted, 18);  // both operands alike, whatever they are
  hold_on_all_pairs(hp::ops::add<2>::rule, numeric::add, numeric::mesh_of({2, 2, 2}), s, s, true);
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

constexpr hp::layout_value placed(int rank, int dim0, int dim1, hp::reduce_op op0 = {}, hp::reduce_op op1 = {}) {
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
constexpr auto sum = hp::reduce_op::sum;
constexpr const hp::factor_rule& product = hp::ops::matmul::rule;

static_assert(status(product, placed(2, -1, 1), placed(2, -1, -1)) ==
              hp::propagation_status{code::operands_disagree, 1, 0, 1});
static_assert(status(product, placed(2, -1, -1), placed(2, 0, -1)) ==
              hp::propagation_status{code::operands_disagree, 1, 0, 0});
static_assert(status(product, placed(2, 0, -1), placed(2, 1, -1)) ==
              hp::propagation_status{code::axis_shards_two_factors, 1, 1, 0});
static_assert(status(product, placed(2, -1, -1, sum), placed(2, -1, -1, sum)) ==
              hp::propagation_status{code::partial_axis_is_used_by_another_operand, 1, -1, 0});
static_assert(status(product, placed(2, -1, -1, sum), placed(2, 1, -1)) ==
              hp::propagation_status{code::partial_axis_is_used_by_another_operand, 1, 1, 0});
static_assert(status(product, placed(2, -1, -1, hp::reduce_op::max), placed(2, -1, -1)) ==
              hp::propagation_status{code::partial_operand_is_refused, 0, -1, 0});
static_assert(status(hp::ops::add<2>::rule, placed(2, -1, -1), placed(2, -1, -1, {}, sum)) ==
              hp::propagation_status{code::partial_operand_stands_alone, 1, -1, 1});
static_assert(status(product, placed(3, -1, -1), placed(2, -1, -1)) ==
              hp::propagation_status{code::operand_rank_differs_from_rule, 0, 3, 0});

TEST(Propagate, NamesOperandDimAndAxisOfOtherRefusals) {
  const hp::layout_value a = placed(2, -1, -1), packed = placed(5, -1, 3), sums = placed(5, -1, -1, sum);
  hp::layout_value elsewhere = a;
  elsewhere.mesh.size[1] = 4;
  EXPECT_EQ(status(product, a, elsewhere), (hp::propagation_status{code::operands_are_on_different_meshes, 1, 0, 0}));
  const hp::layout_value* one[] = {&packed};
  EXPECT_EQ(hp::propagate(hp::ops::swiglu::rule, one, 1).status,
            (hp::propagation_status{code::dim_must_be_whole, 0, 3, 1}));
  one[0] = &sums;
  EXPECT_EQ(hp::propagate(hp::ops::swiglu::rule, one, 1).status,
            (hp::propagation_status{code::partial_operand_is_refused, 0, -1, 0}));
  EXPECT_EQ(hp::propagate(product, one, 1).status,
            (hp::propagation_status{code::operand_count_differs_from_rule, 1, 0, 0}));
  EXPECT_EQ(hp::propagate(hp::ops::swiglu::rule, one, 1).layout, hp::replicated(mesh22, 4));
}

// The same function at compile time and at run time, on every pair: verdicts and layouts folded into one number.
constexpr std::uint64_t fold_all_pairs() {
  std::uint64_t h = 0;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      const hp::layout_value a = placed(2, i % 4 - 1, i / 4 - 1, i % 4 == 3 ? sum : hp::reduce_op::none);
      const hp::layout_value b = placed(2, j % 4 - 1, j / 4 - 1, j % 4 == 3 ? sum : hp::reduce_op::none);
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
