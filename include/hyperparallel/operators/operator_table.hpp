// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operators of the library, as tag types that carry nothing but their rule.
//
// An operator is any type with `static constexpr factor_rule rule`; a user's own stands beside these. A packed gate|up
// dim is written as its two factors (2, f), so that sharding f keeps each gate beside its up and the 2 stays whole.
// Experts are two factors: g ranks, of e local experts each. Rows of one expert on one rank are c.

#include <hyperparallel/operators/factor_extents.hpp>

namespace hyperparallel {

namespace ops {

/// x · w. An axis on k leaves the product a partial sum.
struct matmul {
  static constexpr factor_rule rule = rule_from("matmul", "mk,kn->mn", contraction).rule;
};

/// One product per expert.
struct grouped_matmul {
  static constexpr factor_rule rule = rule_from("grouped_matmul", "egch,eghf->egcf", contraction).rule;
};

/// One product per expert with gate and up side by side.
struct grouped_matmul_gate_up {
  static constexpr factor_rule rule = rule_from("grouped_matmul_gate_up", "egch,egh2f->egc2f", contraction).rule;
};

/// silu(gate) · up = gate / (1 + exp(-gate)) · up: four operations per pair, counted as two for each half of the pair.
struct swiglu {
  static constexpr factor_rule rule = rule_from("swiglu", "egc2f->egcf", {reduce_op::none, 0, false, 2}).rule;
};

/// Scores of tokens for experts, before any softmax or choice, which read all scores of a token.
struct router {
  static constexpr factor_rule rule = rule_from("router", "th,he->te", contraction).rule;
};

/// Elementwise sum of two tensors of `Rank` dims. Partial sums pass where both operands are partial.
template <int Rank>
  requires(Rank >= 0 && Rank <= max_dims)
struct add {
  static constexpr factor_rule evaluate() {
    char text[3 * max_dims + 4] = {};
    int at = 0;
    const char* const separator[3] = {"", ",", "->"};
    for (int tensor = 0; tensor < 3; ++tensor) {
      for (const char* c = separator[tensor]; *c != '\0'; ++c) text[at++] = *c;
      for (int d = 0; d < Rank; ++d) text[at++] = static_cast<char>('a' + d);
    }
    return rule_from("add", text, {reduce_op::none, 0b11u, true, 1}).rule;
  }
  static constexpr factor_rule rule = evaluate();
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

}  // namespace hyperparallel
