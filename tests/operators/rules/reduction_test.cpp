// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/reduction.hpp>

#include <algorithm>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::reduce_op;
using hp::shape;
using laws::tensor;

/// Over dim 1 of two.
laws::compute reduce(reduce_op op) {
  return [op](std::vector<tensor>& x, tensor& y) {
    y = laws::made(shape(x[0].shape.extent[0]), [&](const std::vector<std::int64_t>& at) {
      std::int64_t r = x[0].at(at[0], 0);
      for (hp::extent_t k = 1; k < x[0].shape.extent[1]; ++k) r = numeric::reduced(op, r, x[0].at(at[0], k));
      return op == reduce_op::avg ? r / x[0].shape.extent[1] : r;
    });
    return true;
  };
}

TEST(Reduction, HoldsOnNumbers) {
  const hp::mesh_shape m = numeric::mesh_of({2, 2});
  for (const reduce_op op : laws::reductions) {
    const bool truth = op == reduce_op::all || op == reduce_op::any;
    tensor x = laws::values(shape{4, 4}, truth);
    if (op == reduce_op::avg)  // so that all quotients are whole numbers
      for (std::int64_t& e : x.element) e *= 16;
    const laws::verdict v = laws::hold(rules::reduce(op, 2, 1).rule, reduce(op), {x}, m,
                                       op == reduce_op::avg ? reduce_op::sum : op, op == reduce_op::avg ? 0 : ~0u);
    EXPECT_GE(v.accepted, op == reduce_op::avg ? 11 : 18) << hp::name_of(op);
  }
}

TEST(Reduction, DimsVanishOrStay) {
  for (int rank = 0; rank <= hp::max_dims; ++rank)
    for (unsigned mask = 0; mask < 1u << rank; ++mask)
      for (const bool keep : {false, true}) {
        rules::dim_list dims;
        for (int d = 0; d < rank; ++d)
          if (rules::has(mask, d)) dims.at[dims.count++] = d % 2 == 0 ? d : d - rank;
        const hp::rule_result r = rules::reduce(reduce_op::sum, rank, dims, keep);
        ASSERT_EQ(r.status.code, hp::rule_code::ok);
        const int reduced = dims.count == 0 ? rank : dims.count;
        EXPECT_EQ(r.rule.result[0].rank, keep ? rank : rank - reduced);
        int reductions = 0;
        for (int f = 0; f < r.rule.factor_count; ++f)
          reductions += r.rule.factor[f].kind == hp::factor_kind::reduction ? 1 : 0;
        EXPECT_EQ(reductions, reduced);
      }
}

TEST(Reduction, WhatHasNoTermsWantsTheDimWhole) {
  hp::layout_value l = hp::replicated(numeric::mesh_of({2}), 2);
  hp::append_cut(l, {1, 0, 1, 2});
  const hp::layout_value* const operand = &l;
  const auto status = [&](const hp::rule_result& r) { return hp::propagate(r.rule, &operand, 1).status; };
  const hp::propagation_status whole{hp::propagation_code::dim_must_be_whole, 0, 1, 0};
  EXPECT_EQ(status(rules::reduce("var", 2, 1, false, reduce_op::none)), whole);
  EXPECT_EQ(status(rules::reduce("argmax", 2, 1, false, reduce_op::none)), whole);
  EXPECT_EQ(status(rules::reduce("argmax", 2, {}, false, reduce_op::none)), whole);
  EXPECT_EQ(status(rules::indexed_reduction("max", 2, -1)), whole);
  EXPECT_EQ(status(rules::indexed_reduction("max", 2, 0)).code, hp::propagation_code::ok);
  EXPECT_EQ(rules::indexed_reduction("max", 2, 0, true).rule.result[1].rank, 2);
}

TEST(Reduction, RefusesBadAttributes) {
  EXPECT_TRUE(laws::same(rules::reduce(reduce_op::sum, 2, 2), hp::rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::reduce(reduce_op::sum, 2, {0, -2}), hp::rule_code::axes_repeat));
  EXPECT_TRUE(laws::same(rules::reduce(reduce_op::sum, 9), hp::rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::indexed_reduction("max", 2, -3), hp::rule_code::axis_is_out_of_range));
}

static_assert(hp::detail::same_text(rules::reduce(reduce_op::avg, 2).rule.name.text, "mean"));
static_assert(rules::reduce(reduce_op::avg, 3, {0, 2}, true).rule.factor[0].op == reduce_op::avg);

}  // namespace
