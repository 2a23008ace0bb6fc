// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor's layout and shape as one value, and the step of graph building: from operands to the result of a rule.
//
// Law: `derive_into` gives what `propagate`, `result_shape` and `check_shape` give together. Models ask it once per
// operator inside one constant evaluation, so rules whose tensors are plain go through a loop without calls: under
// g++ 12 a call costs as much as ten statements. Everything unusual takes the general way.

#include <hyperparallel/operators/factor_extents.hpp>
#include <hyperparallel/operators/propagate.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct placed_value {
  layout_value layout{};
  hyperparallel::shape shape{};
  friend constexpr bool operator==(const placed_value&, const placed_value&) = default;
};

/// The first of the three that is not ok says why there is no result; where sizes disagree, layouts are not asked.
struct derivation_status {
  propagation_status propagation{};
  extents_status extents{};
  layout_status layout{};  ///< of the result: its layout refuses its shape
};

namespace detail {

/// The general way, one function for each question.
constexpr bool derive_generally(const factor_rule& rule, const placed_value* const* operand, int count,
                                placed_value& result, derivation_status& s) {
  const layout_value* layouts[max_operands] = {};
  shape shapes[max_operands] = {};
  for (int o = 0; o < count && o < max_operands; ++o) {
    layouts[o] = &operand[o]->layout;
    shapes[o] = operand[o]->shape;
  }
  s = {};
  const result_shape_result r = result_shape(rule, shapes, count);
  s.extents = r.status;
  if (sizes_disagree(r.status.code)) return false;
  const propagation_result p = propagate(rule, layouts, count);
  s.propagation = p.status;
  if (p.status.code != propagation_code::ok || r.status.code != extents_code::ok) return false;
  result = {p.layout, r.shape};
  s.layout = check_shape(result.layout, result.shape);
  return s.layout.code == layout_code::ok;
}

/// Whether dims that a rule takes from a dim before them are as long.
constexpr bool repeats_agree(const factor_rule& rule, const placed_value* const* operand) {
  for (int i = 0; i < rule.repeat_count; ++i) {
    const factor_repeat x = rule.repeat[i];
    if (operand[x.here.operand]->shape.extent[x.here.dim] != operand[x.first.operand]->shape.extent[x.first.dim])
      return false;
  }
  return true;
}

/// Plain rules on operands of one mesh that are not partial or padded, where every dim is cut by one whole axis at most
/// and all agree. False: not such a case, and `result` has no meaning.
constexpr bool derive_plainly(const factor_rule& rule, const placed_value* const* operand, int count,
                              placed_value& result) {
  int axis_of[max_factors] = {};
  unsigned met = 0, sharded = 0, used = 0, here = 0, bit = 0;
  int rank = 0, cuts = 0, f = 0;
  extent_t n = 0, volume = 1;
  layout_value& out = result.layout;
  if (rule.keeps_first)
    result = *operand[0];
  else
    out.mesh = operand[0]->layout.mesh;
  const int axes = out.mesh.axis_count;
  for (int o = 0; o < count; ++o) {
    const layout_value& l = operand[o]->layout;
    const tensor_factors& t = rule.operand[o];
    if (l.rank != t.rank || l.padded != 0 || l.mesh.axis_count != axes) return false;
    for (int a = 0; a < axes; ++a)
      if (l.partial[a] != reduce_op::none || l.mesh.size[a] != out.mesh.size[a]) return false;
    here = 0;
    cuts = l.cut_count;
    for (int i = 0; i < cuts; ++i) {
      const cut x = l.cut[i];
      f = t.term[x.dim];
      bit = 1u << f;
      if ((here & bit) != 0 || x.size != out.mesh.size[x.axis]) return false;
      here |= bit;
      if ((sharded & bit) != 0) {
        if (axis_of[f] != x.axis) return false;
      } else {
        if ((((met | rule.fixed) & bit) | (used >> x.axis & 1u)) != 0) return false;
        if ((rule.reduced & bit) != 0) out.partial[x.axis] = rule.factor[f].op;
        used |= 1u << x.axis;
        sharded |= bit;
        axis_of[f] = x.axis;
      }
    }
    if ((sharded & t.mask) != here) return false;  // it holds whole what another shards
    met |= t.mask;
  }
  if (rule.repeat_count > 0 && !repeats_agree(rule, operand)) return false;
  if (rule.keeps_first) return true;
  const tensor_factors& t = rule.result[0];
  rank = t.rank;
  cuts = 0;
  for (int d = 0; d < rank; ++d) {
    n = operand[rule.origin[d].operand]->shape.extent[rule.origin[d].dim];
    result.shape.extent[d] = n;
    if (multiply_overflows(volume, n, volume)) return false;
    if ((sharded >> t.term[d] & 1u) == 0) continue;
    const int axis = axis_of[t.term[d]], size = out.mesh.size[axis];
    if (n % size != 0) return false;
    out.cut[cuts++] = {d, axis, 1, size};
  }
  out.cut_count = cuts;
  out.rank = result.shape.rank = rank;
  return true;
}

}  // namespace detail

/// Writes to `result`, a fresh `placed_value{}`, the layout and shape of the first result of `rule`. False:
/// there is none, `status` names operand, dim and axis, and `result` has no meaning; else `status` is not touched.
/// Domain: a rule from `checked_rule`, count > 0, layouts are canonical and accept their shapes. O(operands · axes +
/// cuts + dims).
constexpr bool derive_into(const factor_rule& rule, const placed_value* const* operand, int count, placed_value& result,
                           derivation_status& status) {
  if (rule.plain && count == rule.operand_count && detail::derive_plainly(rule, operand, count, result)) return true;
  return detail::derive_generally(rule, operand, count, result, status);
}

}}  // namespace hyperparallel::v0_2
