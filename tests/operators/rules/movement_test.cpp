// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/movement.hpp>

#include <algorithm>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

const hp::mesh_shape square = numeric::mesh_of({2, 2});

/// Every reduction, on a tensor of shape `s`.
laws::verdict hold(const hp::rule_result& r, const laws::compute& run, const shape& s) {
  EXPECT_EQ(r.status.code, rule_code::ok);
  return laws::hold_by_all(
      r.rule, run, [&](bool truth) { return std::vector<tensor>{laws::values(s, truth)}; }, square);
}

TEST(Movement, PermutationsHoldOnNumbers) {
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    const shape s = x[0].shape;
    y = laws::made(shape{s.extent[2], s.extent[0], s.extent[1]},
                   [&](const index& at) { return laws::element(x[0], {at[1], at[2], at[0]}); });
    return true;
  };
  EXPECT_EQ(hold(rules::permute(3, {2, 0, 1}), run, shape{4, 4, 4}).refused, 0);
  for (int a = -3; a < 3; ++a)
    for (int b = -3; b < 3; ++b) {
      const hp::factor_rule r = rules::transpose(3, a, b).rule;
      rules::dim_list order = rules::all_dims(3);
      std::swap(order.at[(a + 3) % 3], order.at[(b + 3) % 3]);
      EXPECT_EQ(r.result[0], rules::permute(3, order).rule.result[0]);
    }
}

TEST(Movement, DimsOfSizeOneComeAndGo) {
  const laws::compute expand = [](std::vector<tensor>& x, tensor& y) {
    y = tensor(shape{x[0].shape.extent[0], 1, x[0].shape.extent[1]});
    y.element = x[0].element;
    return true;
  };
  EXPECT_EQ(hold(rules::expand_dims(2, 1), expand, shape{4, 4}).refused, 0);
  EXPECT_EQ(rules::expand_dims(2, -2).rule, rules::expand_dims(2, 1).rule);
  const laws::compute squeeze = [](std::vector<tensor>& x, tensor& y) {
    y = tensor(shape{x[0].shape.extent[0], x[0].shape.extent[2]});
    y.element = x[0].element;
    return true;
  };
  EXPECT_EQ(hold(rules::squeeze(shape{4, 1, 4}), squeeze, shape{4, 1, 4}).refused, 0);
  EXPECT_EQ(rules::squeeze(shape{4, 1, 4}, -2).rule, rules::squeeze(shape{4, 1, 4}).rule);
  for (int rank = 0; rank < hp::max_dims; ++rank)
    for (int d = -rank - 1; d <= rank; ++d) EXPECT_TRUE(laws::same(rules::expand_dims(rank, d), rule_code::ok));
}

TEST(Movement, RepetitionHoldsOnNumbers) {
  const laws::compute in_a_row = [](std::vector<tensor>& x, tensor& y) {
    const shape s = x[0].shape;
    y = laws::made(shape{s.extent[0], 3 * s.extent[1]}, [&](const index& at) { return x[0].at(at[0], at[1] / 3); });
    return true;
  };
  EXPECT_EQ(hold(rules::repeat_interleave(2, 1, 3), in_a_row, shape{4, 4}).refused, 0);
  const laws::compute expand = [](std::vector<tensor>& x, tensor& y) {
    y = laws::made(shape{3, x[0].shape.extent[0], 5}, [&](const index& at) { return x[0].at(at[1], 0); });
    return true;
  };
  EXPECT_EQ(hold(rules::expand(shape{4, 1}, shape{3, 4, 5}), expand, shape{4, 1}).refused, 0);
}

TEST(Movement, NeighboursAreNeededWhereElementsMoveAlongADim) {
  hp::layout_value l = hp::replicated(square, 2);
  hp::append_cut(l, {1, 0, 1, 2});
  const hp::layout_value* const operand = &l;
  const auto code = [&](const hp::rule_result& r) { return hp::propagate(r.rule, &operand, 1).status.code; };
  EXPECT_EQ(code(rules::roll(2, 1)), hp::propagation_code::dim_needs_a_halo);
  EXPECT_EQ(code(rules::flip(2)), hp::propagation_code::dim_needs_a_halo);
  EXPECT_EQ(code(rules::roll(2, 0)), hp::propagation_code::ok);
  EXPECT_EQ(code(rules::tril(2)), hp::propagation_code::dim_must_be_whole);
}

TEST(Movement, FlattenIsAReshape) {
  const shape s{2, 3, 4, 5};
  EXPECT_EQ(rules::flatten(s, 1, 2).rule.result[0], rules::reshape(s, shape{2, 12, 5}).rule.result[0]);
  EXPECT_EQ(rules::flatten(s).rule.result[0].rank, 1);
  EXPECT_EQ(rules::flatten(shape()).rule.result[0].rank, 1);
  EXPECT_TRUE(laws::same(rules::flatten(s, 2, 1), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::flatten(s, 0, 4), rule_code::axis_is_out_of_range));
}

TEST(Movement, RefusesBadAttributes) {
  EXPECT_TRUE(laws::same(rules::permute(3, {0, 1}), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(rules::permute(2, {0, 2}), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::permute(2, {1, 1}), rule_code::axes_repeat));
  EXPECT_TRUE(laws::same(rules::transpose(2, 0, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::expand_dims(3, 5), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::expand_dims(8, 0), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::squeeze(shape{4, 2}, 1), rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::squeeze(shape{1, 1}, {0, -2}), rule_code::axes_repeat));
  EXPECT_TRUE(laws::same(rules::expand(shape{4, 2}, shape{4, 3}), rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::expand(shape{4, 2}, shape(2)), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(rules::repeat_interleave(2, 5, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::repeat_interleave(2, 0, 0), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::tril(1), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::roll(2, 2), rule_code::axis_is_out_of_range));
}

static_assert(rules::permute(2, {1, 0}).rule.result[0].term[0] == 1);

}  // namespace
