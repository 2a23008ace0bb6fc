// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backward propagation: from the layout that a result is wanted in to the operands that give it without communication.
//
// Every factor of the result carries its cuts back to the operands that hold it; reductions stay whole, and so do
// factors that the result does not hold. A result that is wanted partial(op) along an axis is asked of the operands
// whose words pass that op. Law: forward propagation of what comes back is the wanted layout, where the result's
// factors come from operands; a factor that the operator creates is made in its slices on the spot.

#include <hyperparallel/operators/propagate.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Gives operands the partial state on axis `a` that the rule passes to results as `wanted`; false where none can.
constexpr bool pass_partial(const factor_rule& rule, reduce_op wanted, int a, full_propagation& r) {
  for (int o = 0; o < rule.operand_count; ++o)
    for (int op = 1; op < reduce_op_count; ++op) {
      const reduce_op given = static_cast<reduce_op>(op);
      const partial_word word = word_of(rule.partials, o, given);
      if (word.mode == partial_mode::joins || word.mode == partial_mode::refuses || word.out != wanted) continue;
      r.operand[o].partial[a] = given;
      for (int q = 0; q < rule.operand_count && word.mode == partial_mode::together; ++q)
        if (word_of(rule.partials, q, given).mode == partial_mode::together) r.operand[q].partial[a] = given;
      return true;
    }
  return false;
}

}  // namespace detail

/// The operands for result `index` placed as `wanted`. Domain: `check_rule(rule)` is ok, `wanted` is canonical.
/// Fails as propagation does, counting results after the operands: a cut of a factor that must be whole, of a dim of no
/// factor, and a partial state that no operand could pass. O(operands · (cuts + axes)).
constexpr full_propagation propagate_backward(const factor_rule& rule, const layout_value& wanted, int index = 0) {
  full_propagation r;
  const int place = rule.operand_count + index;
  if (wanted.rank != rule.result[index].rank) {
    r.status = {propagation_code::operand_rank_differs_from_rule, place, wanted.rank, 0};
    return r;
  }
  extent_t extent[max_factors] = {};
  for (int f = 0; f < rule.factor_count; ++f) extent[f] = rule.factor[f].extent;
  const terms_result terms = split_terms(wanted, rule.result[index], extent);
  if (terms.code != terms_code::ok) {
    detail::refuse_terms(terms, place, r.status);
    return r;
  }
  const layout_value* source[max_operands + max_results] = {};
  source[place] = &terms.layout;
  detail::factor_claims t;
  const layout_value& l = terms.layout;
  for (int i = 0, start = 0; i < l.cut_count; ++i) {
    if (l.cut[start].dim != l.cut[i].dim) start = i;
    const int f = rule.result[index].term[l.cut[i].dim];
    const factor_kind kind = rule.factor[f].kind;
    if (kind == factor_kind::need_replication || kind == factor_kind::permutation) {
      r.status = {
          kind == factor_kind::permutation ? propagation_code::dim_needs_a_halo : propagation_code::dim_must_be_whole,
          place, detail::dim_of_term(rule.result[index], l.cut[i].dim), l.cut[i].axis};
      return r;
    }
    t.sharded |= 1u << f;
    t.place[f] = detail::place_of(place, start, i + 1 - start);
  }
  layout_value common;
  common.mesh = wanted.mesh;
  for (int o = 0; o < rule.operand_count; ++o) {
    r.operand[o] = common;
    if (!detail::write_tensor(rule.operand[o], o, source, t, extent, r.operand[o], r.status)) return r;
  }
  for (int a = 0; a < wanted.mesh.axis_count; ++a)
    if (wanted.partial[a] != reduce_op::none && !detail::pass_partial(rule, wanted.partial[a], a, r)) {
      r.status = {propagation_code::partial_operand_is_refused, place, -1, a};
      return r;
    }
  const layout_value* operand[max_operands] = {};
  for (int o = 0; o < rule.operand_count; ++o) operand[o] = &r.operand[o];
  const full_propagation forward = propagate_fully(rule, operand, rule.operand_count);
  r.status = forward.status;
  r.notes = forward.notes;
  for (int i = 0; i < rule.result_count; ++i) r.result[i] = i == index ? wanted : forward.result[i];
  return r;
}

}}  // namespace hyperparallel::v0_2
