// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators as tag types that carry nothing but their rule: the few that a layer of experts is made of. `ops::by_rule`
// makes one of any function in rules/.
//
// An operator is any type with `static constexpr factor_rule rule`; a user's own stands beside these. A packed gate|up
// dim is written as its two factors (2, f), so that sharding f keeps each gate beside its up and the 2 stays whole.
// Experts are two factors: g ranks, of e local experts each. Rows of one expert on one rank are c.

#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/rule_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The rule that `Operator` writes as text, read where it is used and not by all who include this.
template <class Operator>
struct rule_by_text {
  static constexpr factor_rule rule = rule_from(Operator::name, Operator::text, Operator::traits()).rule;
};

/// An operator that sums products.
struct sums_products {
  static constexpr rule_traits traits() { return contraction; }
};

}  // namespace detail

namespace ops {

/// x · w. An axis on k leaves the product a partial sum.
struct matmul : detail::rule_by_text<matmul>, detail::sums_products {
  static constexpr const char *name = "matmul", *text = "mk,kn->mn";
};

/// One product per expert.
struct grouped_matmul : detail::rule_by_text<grouped_matmul>, detail::sums_products {
  static constexpr const char *name = "grouped_matmul", *text = "egch,eghf->egcf";
};

/// One product per expert with gate and up side by side.
struct grouped_matmul_gate_up : detail::rule_by_text<grouped_matmul_gate_up>, detail::sums_products {
  static constexpr const char *name = "grouped_matmul_gate_up", *text = "egch,egh2f->egc2f";
};

/// silu(gate) · up = gate / (1 + exp(-gate)) · up: four operations per pair, counted as two for each half of the pair.
struct grouped_swiglu : detail::rule_by_text<grouped_swiglu> {
  static constexpr const char *name = "grouped_swiglu", *text = "egc2f->egcf";
  static constexpr rule_traits traits() { return {reduce_op::none, refuse_partials(), 2}; }
};

/// Scores of tokens for experts, before any softmax or choice, which read all scores of a token.
struct router : detail::rule_by_text<router>, detail::sums_products {
  static constexpr const char *name = "router", *text = "th,he->te";
};

/// Sum of two tensors of `Rank` dims, element by element: rules::elementwise("add", Rank) without the table of names.
/// Partial sums pass where both operands are partial, or one is and the other is filled.
template <int Rank>
  requires(Rank >= 0 && Rank <= max_dims)
struct add {
  static constexpr partial_words words() {
    partial_words w = linear_together(0b11u);
    for (int o = 0; o < 2; ++o) rising(w, o);
    return w;
  }
  static constexpr factor_rule rule =
      rule_from("add", "*->*", {reduce_op::none, words(), 1, true}, {2, {Rank, Rank}}).rule;
};

/// The operator that a function without arguments makes the rule of, with attributes at its will:
/// `ops::by_rule<[] { return hp::rules::softmax(2); }>`. `built` has the status, too.
template <auto Rule>
struct by_rule {
  static constexpr rule_result built = Rule();
  static constexpr const auto& rule = built.rule;
};

}  // namespace ops

/// Any type that carries a factor rule.
template <class Operator>
concept operator_type = requires {
  { Operator::rule.operand_count };
  { Operator::rule.flops_per_point };
};

/// Floating-point operations of `Operator` on operands of these shapes; see `work_of`.
template <operator_type Operator, class... Shapes>
constexpr work_result flops(const Shapes&... operands) {
  const shape list[sizeof...(Shapes) + 1] = {operands...};
  return work_of(Operator::rule, list, static_cast<int>(sizeof...(Shapes)));
}

/// Shape of the result of `Operator` on operands of these shapes; see the function of the same name on values.
template <operator_type Operator, class... Shapes>
constexpr result_shape_result result_shape(const Shapes&... operands) {
  const shape list[sizeof...(Shapes) + 1] = {operands...};
  return result_shape(Operator::rule, list, static_cast<int>(sizeof...(Shapes)));
}

}}  // namespace hyperparallel::v0_2
