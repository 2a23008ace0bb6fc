// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an operator says of its gradient, in one word: tables and tests ask it of every operator of a list.
//
// Law: a built-in operator that no gradient names as a backward operator says something.

#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class gradient_statement : unsigned char {
  nothing,             ///< a loss that depends on it is refused, though the operator does not say so
  backward_operators,  ///< those that its `gradient` names
  passes_on,           ///< operands get the result's gradient as it is, and no operator is named: `sum`
  of_the_loss,         ///< one backward operator for it and the operators before it: `token_loss`
  constant,            ///< no result changes with the operands: no gradient passes
  refused,             ///< a loss that depends on it is refused
};

constexpr const char* name_of(gradient_statement s) {
  return detail::enum_name("nothing\0backward_operators\0passes_on\0of_the_loss\0constant\0refused", s);
}

/// The backward operators of an instance with as many operands as a rule may have: all that the operator ever names.
constexpr gradient_writer backward_operators_of(const operator_value& o) {
  gradient_writer w(builtin_list, max_operands);
  o.gradient(w);
  return w;
}

constexpr gradient_statement gradient_statement_of(const operator_value& o) {
  if (o.logits.exist()) return gradient_statement::of_the_loss;
  if (backward_operators_of(o).count > 0) return gradient_statement::backward_operators;
  if (o.passes_gradient != 0) return gradient_statement::passes_on;
  if (o.constant == ~0u) return gradient_statement::constant;
  return o.without_gradient == ~0u ? gradient_statement::refused : gradient_statement::nothing;
}

/// Whether a loss may depend on the operator.
constexpr bool is_differentiable(const operator_value& o) {
  const gradient_statement s = gradient_statement_of(o);
  return s == gradient_statement::backward_operators || s == gradient_statement::passes_on ||
         s == gradient_statement::of_the_loss;
}

}}  // namespace hyperparallel::v0_2
