// SPDX-License-Identifier: Apache-2.0
#pragma once
// Mixture of experts: which experts a token chooses, its way to their slots, and the weighted sum of what they say.
//
// Experts are two factors, e on each of g groups of devices; a slot is a row of one expert. Dispatch fills slots from
// all tokens and needs them whole: with tokens sharded it is an exchange, which redistribution plans. Combine reads,
// for each token, the slots that a device holds and takes zero for the others, so experts that are sharded leave a
// partial sum.

#include <hyperparallel/operators/rules/attributes.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace rules {

/// The `chosen` largest scores of each token and their experts: two results. Operand: scores, tokens × experts.
constexpr rule_result choose_experts(extent_t chosen) {
  if (chosen < 1) return no_rule("choose_experts", rule_code::attribute_is_invalid);
  factor_rule r = rule_called("choose_experts", refuse_partials(), 1);
  const int tokens = add_factor(r), experts = add_whole(r), choices = add_whole(r, chosen);
  add_dim(add_operand(r), tokens);
  add_dim(r.operand[0], experts);
  for (int result = 0; result < 2; ++result) {
    tensor_factors& t = add_result(r);
    add_dim(t, tokens);
    add_dim(t, choices);
  }
  return checked_rule(r);
}

/// Tokens into slots e × g × slot × width. Operands: tokens × width, and the slot of each choice, tokens × choices.
/// Fails with attribute_is_invalid where there is no expert, group or slot.
constexpr rule_result dispatch(extent_t experts, extent_t groups, extent_t slots) {
  if (experts < 1 || groups < 1 || slots < 1) return no_rule("dispatch", rule_code::attribute_is_invalid);
  factor_rule r = rule_called("dispatch", moves_elements(0b01u), 0);
  const int tokens = add_whole(r), width = add_factor(r), choices = add_whole(r);
  add_dim(add_operand(r), tokens);
  add_dim(r.operand[0], width);
  add_dim(add_operand(r), tokens);
  add_dim(r.operand[1], choices);
  tensor_factors& rows = add_result(r);
  add_dim(rows, add_factor(r, factor_kind::pass_through, experts));
  add_dim(rows, add_factor(r, factor_kind::pass_through, groups));
  add_dim(rows, add_whole(r, slots));
  add_dim(rows, width);
  return checked_rule(r);
}

/// Σ over a token's choices of weight · row. Operands: rows as `dispatch` makes them, weights and slots, both tokens ×
/// choices. Linear in rows and in weights. Tokens yield: weights and slots of other tokens are not read.
constexpr rule_result combine() {
  factor_rule r = rule_called("combine", linear_in_each(0b011u), 2);
  const int experts = add_factor(r, factor_kind::reduction, 0, reduce_op::sum);
  add_factor(r, factor_kind::reduction, 0, reduce_op::sum);
  add_whole(r);
  const int width = add_factor(r), tokens = add_factors(r, 1, true), choices = add_whole(r);
  add_dims(add_operand(r), experts, 4);  // experts, groups, slots, width
  for (int o = 0; o < 2; ++o) {
    tensor_factors& t = add_operand(r);
    add_dim(t, tokens);
    add_dim(t, choices);
  }
  add_dim(add_result(r), tokens);
  add_dim(r.result[0], width);
  return checked_rule(r);
}

}}}  // namespace hyperparallel::v0_2::rules
