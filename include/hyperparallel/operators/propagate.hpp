// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forward propagation: from the operands' layouts and a factor rule to the layouts of the results, without
// communication.
//
// Laws. (1) Wherever a factor occurs, it is sharded alike: the same axes in the same order; where it `yields`, an
// operand that holds it whole is sliced to that, which moves nothing. (2) Different factors use different axes. (3) A
// factor that must be whole is not sharded, nor is one that needs a halo. (4) An axis of a reduction factor is partial
// in the results, one of another factor in those results that lack it and are reduced over it. (5) Partial operands pass as the rule's words say, with fills where they ask for them; reductions
// that wait on one tensor commute.
// Then each device applies the operator to its slices and holds its slice of the results, or its terms of them.

#include <hyperparallel/operators/factor_claims.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct propagation_result {
  propagation_status status{};
  propagation_notes notes{};
  layout_value layout{};  ///< of the first result; unsharded where the status is not ok
};

/// All of it: every result, and every operand as it meets the operator.
struct full_propagation {
  propagation_status status{};
  propagation_notes notes{};
  layout_value operand[max_operands] = {};
  layout_value result[max_results] = {};
};

namespace detail {

/// Operands over their terms, for rules in which a dim runs over several factors or over none.
struct split_operands {
  extent_t extent[max_factors] = {};
  layout_value layout[max_operands] = {};
  const layout_value* at[max_operands] = {};
};

constexpr bool split(const factor_rule& rule, const layout_value* const* operand, split_operands& x,
                     propagation_status& s) {
  for (int f = 0; f < rule.factor_count; ++f) x.extent[f] = rule.factor[f].extent;
  for (int o = 0; o < rule.operand_count; ++o) {
    const terms_result r = split_terms(*operand[o], rule.operand[o], x.extent);
    if (r.code != terms_code::ok) return refuse_terms(r, o, s);
    x.layout[o] = r.layout;
    x.at[o] = &x.layout[o];
  }
  return true;
}

/// `read_operands` on operands over their terms; a status names dims again.
constexpr bool read_split(const factor_rule& rule, const split_operands& x, factor_claims& t, layout_value& result,
                          propagation_notes& notes, propagation_status& s) {
  if (read_operands(rule, x.at, t, result, notes, s)) return true;
  if (s.operand < rule.operand_count && s.dim >= 0) s.dim = dim_of_term(rule.operand[s.operand], s.dim);
  return false;
}

/// The tensor `index`, over `tensor`, with the claims' cuts and the partial states that `l` comes with.
constexpr bool write_tensor(const tensor_factors& tensor, int index, const layout_value* const* operand,
                            const factor_claims& t, const extent_t* extent, layout_value& l, propagation_status& s) {
  if (!write_cuts(tensor, index, operand, t, l, s)) {
    s.dim = dim_of_term(tensor, s.dim);
    return false;
  }
  if (tensor.plain) return true;
  const terms_result r = merge_terms(l, tensor, extent);
  if (r.code != terms_code::ok) return refuse_terms(r, index, s);
  l = r.layout;
  return true;
}

/// Result `index`, with the partial states that all results have in `l`.
constexpr bool write_result(const factor_rule& rule, int index, const layout_value* const* operand,
                            const factor_claims& t, const extent_t* extent, layout_value& l, propagation_status& s) {
  leave_partial(rule, rule.result[index], operand, t, l);
  return write_tensor(rule.result[index], rule.operand_count + index, operand, t, extent, l, s);
}

constexpr bool is_plain(const factor_rule& rule) {
  bool plain = rule.result[0].plain;
  for (int o = 0; o < rule.operand_count; ++o) plain = plain && rule.operand[o].plain;
  return plain;
}

constexpr void propagate_terms(const factor_rule& rule, const layout_value* const* operand, layout_value& result,
                               propagation_notes& notes, propagation_status& s) {
  split_operands x;
  factor_claims t;
  if (split(rule, operand, x, s) && read_split(rule, x, t, result, notes, s))
    write_result(rule, 0, x.at, t, x.extent, result, s);
}

}  // namespace detail

/// Writes to `result` the layout of the first result of `rule` on operands placed as `operand[0..count)`.
/// Domain: `check_rule(rule)` is ok, count > 0, layouts are canonical, `result` is a fresh `layout_value{}`. Fails with
/// the first broken law, naming operand, dim and axis; `result` is then unspecified. O(operands · axes + cuts + dims);
/// sub-axes of one axis on several factors add O(cuts²).
constexpr propagation_status propagate_into(const factor_rule& rule, const layout_value* const* operand, int count,
                                            layout_value& result, propagation_notes& notes) {
  propagation_status s;
  if (!detail::check_operands(rule, operand, count, s)) return s;
  const mesh_shape& mesh = operand[0]->mesh;
  const int axes = mesh.axis_count;
  result.mesh.axis_count = axes;
  for (int a = 0; a < axes; ++a) result.mesh.size[a] = mesh.size[a];
  if (!detail::is_plain(rule)) {
    detail::propagate_terms(rule, operand, result, notes, s);
    return s;
  }
  detail::factor_claims t;
  if (!detail::read_operands(rule, operand, t, result, notes, s)) return s;
  detail::leave_partial(rule, rule.result[0], operand, t, result);
  detail::write_cuts(rule.result[0], count, operand, t, result, s);
  return s;
}

/// The same as a value; a refused layout is unsharded.
constexpr propagation_result propagate(const factor_rule& rule, const layout_value* const* operand, int count) {
  propagation_result r;
  r.status = propagate_into(rule, operand, count, r.layout, r.notes);
  if (r.status.code == propagation_code::ok) return r;
  r.layout = {};
  if (count > 0) r.layout.mesh = operand[0]->mesh;
  r.layout.rank = rule.result[0].rank;
  return r;
}

/// Every result, and every operand after the slices and fills that `notes` speaks of. Domain and failure as
/// `propagate_into`; layouts of a refused propagation are unspecified.
constexpr full_propagation propagate_fully(const factor_rule& rule, const layout_value* const* operand, int count) {
  full_propagation r;
  if (!detail::check_operands(rule, operand, count, r.status)) return r;
  detail::split_operands x;
  detail::factor_claims t;
  layout_value common;
  common.mesh = operand[0]->mesh;
  if (!detail::split(rule, operand, x, r.status) || !detail::read_split(rule, x, t, common, r.notes, r.status))
    return r;
  for (int o = 0; o < rule.result_count; ++o) {
    r.result[o] = common;
    if (!detail::write_result(rule, o, x.at, t, x.extent, r.result[o], r.status)) return r;
  }
  for (int o = 0; o < count; ++o) {
    const bool filled = (r.notes.filled >> o & 1u) != 0;
    r.operand[o].mesh = common.mesh;
    for (int a = 0; a < common.mesh.axis_count; ++a) {
      const reduce_op own = operand[o]->partial[a];
      const bool fill = filled && own == reduce_op::none;
      r.operand[o].partial[a] = fill ? detail::fill_along(rule, operand, o, a, t, common) : own;
    }
    if (!detail::write_tensor(rule.operand[o], o, x.at, t, x.extent, r.operand[o], r.status)) return r;
  }
  return r;
}

}}  // namespace hyperparallel::v0_2
