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
  rule_result r = written("choose_experts", "tE->tK,tK", {reduce_op::none, refuse_partials(), 1});
  r.rule.factor[2].extent = chosen;
  return r;
}

/// Tokens into slots e × g × slot × width. Operands: tokens × width, and the slot of each choice, tokens × choices.
/// Fails with attribute_is_invalid where there is no expert, group or slot.
constexpr rule_result dispatch(extent_t experts, extent_t groups, extent_t slots) {
  if (experts < 1 || groups < 1 || slots < 1) return no_rule("dispatch", rule_code::attribute_is_invalid);
  rule_result r = written("dispatch", "Th,TK->egSh", {reduce_op::none, moves_elements(0b01u)});
  const extent_t made[] = {experts, groups, slots};
  for (int i = 0; i < 3; ++i) r.rule.factor[3 + i].extent = made[i];
  return r;
}

/// Σ over a token's choices of weight · row. Operands: rows as `dispatch` makes them, weights and slots, both tokens ×
/// choices. Linear in rows and in weights. Tokens yield: weights and slots of other tokens are not read.
constexpr rule_result combine() {
  rule_result r = written("combine", "egSh,tK,tK->th", {reduce_op::sum, linear_in_each(0b011u), 2});
  r.rule.factor[4].yields = true;
  return r;
}

}}}  // namespace hyperparallel::v0_2::rules
