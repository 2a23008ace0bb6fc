// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/operator_rule.hpp>

#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/operators/rules/contraction.hpp>
#include <hyperparallel/operators/rules/elementwise.hpp>
#include <hyperparallel/operators/rules/normalization.hpp>
#include <hyperparallel/operators/rules/reduction.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace {

namespace hp = hyperparallel;

static_assert(!hp::ruled_operator_type<int> && hp::operator_type<hp::ops::matmul> && !hp::operator_type<hp::ops::sum>);

/// Whether the rule of an operator is the one that its text says, with its words and cost, on one to three operands of 2 dims.
/// Sums slice whole operands.
template <class Operator>
constexpr bool is_the_text() {
  const hp::operator_value& o = hp::operator_value_of<Operator>;
  const hp::factor_rule* const rule[] = {&hp::rule_of<Operator, 2>, &hp::rule_of<Operator, 2, 2>,
                                         &hp::rule_of<Operator, 2, 2, 2>};
  for (int count = 1; count <= 3; ++count) {
    const hp::operand_ranks ranks{count, {2, 2, 2}};
    const bool by_rank = std::string_view(o.text).find('*') != std::string_view::npos;
    if (!(*rule[count - 1] == hp::rule_from(o.name, o.text, {hp::reduce_op::sum, o.partials, o.flops_per_point, o.adds},
                                            by_rank ? ranks : hp::operand_ranks{})
                                  .rule))
      return false;
  }
  return true;
}
template <class List>
constexpr bool are_texts = false;
template <class... Operators>
constexpr bool are_texts<boost::mp11::mp_list<Operators...>> = (is_the_text<Operators>() && ...);
static_assert(are_texts<hp::builtin_operators>);

// Sums of tensors meet whole operands by slices and fills; products wait for operands that fit.
constexpr bool yields(const hp::factor_rule& r) {
  for (int f = 0; f < r.factor_count; ++f)
    if (!r.factor[f].yields) return false;
  return true;
}
static_assert(yields(hp::rule_of<hp::ops::sum, 3, 3>) && !yields(hp::ops::matmul::rule) &&
              !yields(hp::ops::grouped_swiglu::rule));
constexpr hp::partial_mode mode_of_sums(const hp::factor_rule& r, int operand) {
  return hp::detail::word_of(r.partials, operand, hp::reduce_op::sum).mode;
}
static_assert(mode_of_sums(hp::rule_of<hp::ops::sum, 2, 2>, 0) == hp::partial_mode::together &&
              mode_of_sums(hp::rule_of<hp::ops::sum, 2, 2>, 1) == hp::partial_mode::together);
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

TEST(OperatorRule, ElementwiseWorkIsPerElement) {
  const hp::shape s{3, 4};
  EXPECT_EQ(hp::flops<hp::ops::sum>(s, s).flops, 12);
  EXPECT_EQ(hp::flops<hp::ops::grouped_swiglu>(hp::shape{1, 1, 3, 2, 4}).flops, 4 * 3 * 4);
  EXPECT_EQ(hp::flops<hp::ops::matmul>(hp::shape{3, 4}, hp::shape{4, 5}).flops, 2 * 3 * 4 * 5);
}

TEST(OperatorRule, RefusedShapesComeBackAsStatus) {
  EXPECT_EQ(hp::flops<hp::ops::grouped_swiglu>(hp::shape{1, 1, 3, 4, 4}).status.code,
            hp::extents_code::factor_extent_is_fixed);
  EXPECT_EQ(hp::flops<hp::ops::matmul>(hp::shape{3, 4}).status.code, hp::extents_code::operand_count_differs_from_rule);
}

TEST(OperatorRule, AListedOperatorHasTheRanksOfItsOperands) {
  EXPECT_EQ(hp::flops<hp::ops::softmax>(hp::shape{3, 4, 5}).flops, 6 * 3 * 4 * 5);
  EXPECT_EQ((hp::result_shape<hp::ops::embed>(hp::shape{3, 4}, hp::shape{7, 5}).shape), (hp::shape{3, 4, 5}));
  EXPECT_EQ(hp::result_shape<hp::ops::rms_norm>(hp::shape{3, 4}, hp::shape{3, 4}).status.code,
            hp::extents_code::operand_count_differs_from_rule);  // no rule has a weight of two dims
}

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
  for (int i = 0; i < b.operand_count && same; ++i) same = hp::detail::same_factors(a.operand[i], b.operand[i]);
  for (int i = 0; i < b.result_count && same; ++i) same = hp::detail::same_factors(a.result[i], b.result[i]);
  return same;
}
constexpr bool are_listed() {
  for (int rank = 1; rank < hp::max_dims; ++rank) {
    const hp::operand_ranks one{1, {rank}}, two{2, {rank, rank}}, matrix{2, {rank, 2}};
    const bool same =
        is_listed<hp::ops::softmax>(hp::rules::reads_along("softmax", rank, -1, {}, 6), one) &&
        is_listed<hp::ops::rms_norm>(hp::rules::rms_norm(rank), {2, {rank, 1}}) &&
        is_listed<hp::ops::layer_norm>(hp::rules::normalize("layer_norm", rank, 1, 2, 8), {3, {rank, 1, 1}}) &&
        is_listed<hp::ops::contract>(hp::rules::linear(rank), matrix, "*k,nk->*n") &&
        is_listed<hp::ops::reduce>(hp::rules::reduce(hp::reduce_op::sum, rank), one, "*->") &&
        is_listed<hp::ops::exp>(hp::rules::same_shape("exp", rank, 1, {}), one) &&
        is_listed<hp::ops::sum>(hp::rules::same_shape("add", rank, 2, {}), two) &&
        is_listed<hp::ops::swiglu>(hp::rules::same_shape("swiglu", rank, 2, {}), two);
    if (!same) return false;
  }
  return is_listed<hp::ops::contract>(hp::rules::matmul(2, 2), {}, "mk,kn->mn");
}
static_assert(are_listed());

}  // namespace
