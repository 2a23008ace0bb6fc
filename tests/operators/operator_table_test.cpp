// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/operator_table.hpp>

#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/indexing.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

template <class... Operators>
constexpr bool all_valid =
    ((hp::operator_type<Operators> && hp::check_rule(Operators::rule).code == hp::rule_code::ok) && ...);
static_assert(
    all_valid<hp::ops::matmul, hp::ops::grouped_matmul, hp::ops::grouped_matmul_gate_up, hp::ops::grouped_swiglu,
              hp::ops::router, hp::ops::add<0>, hp::ops::add<1>, hp::ops::add<4>, hp::ops::add<8>>);
static_assert(!hp::operator_type<int>);

// Sums of tensors meet whole operands by slices and fills; products wait for operands that fit.
constexpr bool yields(const hp::factor_rule& r) {
  for (int f = 0; f < r.factor_count; ++f)
    if (!r.factor[f].yields) return false;
  return true;
}
static_assert(yields(hp::ops::add<3>::rule) && !yields(hp::ops::matmul::rule) &&
              !yields(hp::ops::grouped_swiglu::rule));
constexpr hp::partial_mode mode_of_sums(const hp::factor_rule& r, int operand) {
  return hp::word_of(r.partials, operand, hp::reduce_op::sum).mode;
}
static_assert(mode_of_sums(hp::ops::add<2>::rule, 0) == hp::partial_mode::together &&
              mode_of_sums(hp::ops::add<2>::rule, 1) == hp::partial_mode::together);
static_assert(mode_of_sums(hp::ops::matmul::rule, 0) == hp::partial_mode::each &&
              mode_of_sums(hp::ops::matmul::rule, 1) == hp::partial_mode::each);
static_assert(hp::ops::grouped_swiglu::rule.partials == hp::refuse_partials());

// The experts of a DeepSeek-V3-like layer: 8 ranks of 8 experts, 4096 tokens of a rank choose 8 of 64, so 4096 rows an
// expert. Forward work of both products is 6 · rows · H · I.
constexpr hp::shape rows{8, 8, 4096, 7168}, up{8, 8, 7168, 2, 2048}, down{8, 8, 2048, 7168};
constexpr hp::shape packed = hp::result_shape<hp::ops::grouped_matmul_gate_up>(rows, up).shape;
constexpr hp::shape hidden = hp::result_shape<hp::ops::grouped_swiglu>(packed).shape;
static_assert(packed == hp::shape{8, 8, 4096, 2, 2048} && hidden == hp::shape{8, 8, 4096, 2048});
static_assert(hp::result_shape<hp::ops::grouped_matmul>(hidden, down).shape == rows);
static_assert(hp::flops<hp::ops::grouped_matmul_gate_up>(rows, up).flops +
                  hp::flops<hp::ops::grouped_matmul>(hidden, down).flops ==
              hp::extent_t{6} * 8 * 8 * 4096 * 7168 * 2048);

TEST(OperatorTable, ElementwiseWorkIsPerElement) {
  const hp::shape s{3, 4};
  EXPECT_EQ(hp::flops<hp::ops::add<2>>(s, s).flops, 12);
  EXPECT_EQ(hp::flops<hp::ops::grouped_swiglu>(hp::shape{1, 1, 3, 2, 4}).flops, 4 * 3 * 4);
  EXPECT_EQ(hp::flops<hp::ops::router>(hp::shape{3, 4}, hp::shape{4, 5}).flops, 2 * 3 * 4 * 5);
}

TEST(OperatorTable, RefusedShapesComeBackAsStatus) {
  EXPECT_EQ(hp::flops<hp::ops::grouped_swiglu>(hp::shape{1, 1, 3, 4, 4}).status.code,
            hp::extents_code::factor_extent_is_fixed);
  EXPECT_EQ(hp::flops<hp::ops::matmul>(hp::shape{3, 4}).status.code, hp::extents_code::operand_count_differs_from_rule);
}

// The rule of a function with its attributes, as a type.
using softmax = hp::ops::by_rule<[] { return hp::rules::softmax(3, 1); }>;
using nothing = hp::ops::by_rule<[] { return hp::rules::softmax(3, 7); }>;
static_assert(hp::operator_type<softmax> && softmax::rule == hp::rules::softmax(3, 1).rule);
static_assert(nothing::built.status.code != hp::rule_code::ok);

/// Whether a rule from attributes runs over the loops of a listed operator: the same kinds of factors in the same dims of the
/// operands and of those results that the operator has.
template <class Operator>
constexpr bool is_listed(const hp::rule_result& made, const hp::operand_ranks& ranks,
                         const char* text = Operator::text) {
  const hp::rule_result listed = hp::rule_from(Operator::name, text, {}, ranks);
  const hp::factor_rule &a = made.rule, &b = listed.rule;
  bool same = made.status.code == hp::rule_code::ok && listed.status.code == hp::rule_code::ok;
  same = same && a.factor_count == b.factor_count && a.operand_count == b.operand_count;
  for (int f = 0; f < b.factor_count && same; ++f)
    same = a.factor[f].kind == b.factor[f].kind && a.factor[f].op == b.factor[f].op;
  for (int i = 0; i < b.operand_count && same; ++i) same = hp::same_factors(a.operand[i], b.operand[i]);
  for (int i = 0; i < b.result_count && same; ++i) same = hp::same_factors(a.result[i], b.result[i]);
  return same;
}
constexpr bool are_listed() {
  for (int rank = 1; rank < hp::max_dims; ++rank) {
    const hp::operand_ranks one{1, {rank}}, two{2, {rank, rank}}, matrix{2, {rank, 2}};
    const bool same = is_listed<hp::ops::softmax>(hp::rules::softmax(rank), one) &&
                      is_listed<hp::ops::rms_norm>(hp::rules::rms_norm(rank), {2, {rank, 1}}) &&
                      is_listed<hp::ops::layer_norm>(hp::rules::layer_norm(rank, 1, 2), {3, {rank, 1, 1}}) &&
                      is_listed<hp::ops::embed>(hp::rules::embedding(rank), matrix) &&
                      is_listed<hp::ops::contract>(hp::rules::linear(rank), matrix, "*k,nk->*n") &&
                      is_listed<hp::ops::reduce>(hp::rules::reduce("sum", rank), one, "*->") &&
                      is_listed<hp::ops::exp>(hp::rules::elementwise("exp", rank), one) &&
                      is_listed<hp::ops::sum>(hp::rules::elementwise("add", rank), two) &&
                      is_listed<hp::ops::swiglu>(hp::rules::elementwise("swiglu_pair", rank), two);
    if (!same) return false;
  }
  return is_listed<hp::ops::contract>(hp::rules::matmul(2, 2), {}, "mk,kn->mn");
}
static_assert(are_listed());

}  // namespace
