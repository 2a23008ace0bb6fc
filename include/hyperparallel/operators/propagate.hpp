// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forward propagation: from the operands' layouts and a factor rule to the layout of the result, without communication.
//
// Laws. (1) Wherever a factor occurs, it is sharded alike: the same axes in the same order. (2) Different factors use
// different axes. (3) A factor that must be whole is not sharded. (4) An axis of a reduction factor is partial in the
// result. (5) A partial sum passes through a rule that is linear: in each, when every other operand is replicated along
// the axis; jointly, when all of the linear operands are partial sums along it and the others are replicated.
// Then each device applies the operator to its slices and holds its slice of the result, or its term of a partial sum.

#include <hyperparallel/operators/factor_rule.hpp>

namespace hyperparallel {

enum class propagation_code : unsigned char {
  ok,
  operand_count_differs_from_rule,
  operand_rank_differs_from_rule,
  operands_are_on_different_meshes,
  operands_disagree,
  axis_shards_two_factors,
  dim_must_be_whole,
  partial_operand_is_refused,
  partial_axis_is_used_by_another_operand,
  partial_operand_stands_alone,
  sub_axis_can_not_be_partial,
  result_has_too_many_cuts,
};

/// Why there is no result layout: which dim of which operand, and the mesh axis. Fields that the code does not speak of
/// are 0; `dim` is -1 where the operand is partial along the axis.
struct propagation_status {
  propagation_code code = propagation_code::ok;
  int operand = 0;  ///< or the number of operands given
  int dim = 0;      ///< or the operand's rank
  int axis = 0;
  friend constexpr bool operator==(const propagation_status&, const propagation_status&) = default;
};

struct propagation_result {
  propagation_status status{};
  layout_value layout{};  ///< unsharded where the status is not ok
};

namespace detail {

/// What is known of factors and axes while operands are read in turn. Masks have one bit per factor or axis.
struct factor_claims {
  unsigned met = 0;             ///< factors of the operands read so far
  unsigned sharded = 0;         ///< those of them that are sharded
  unsigned axes = 0;            ///< axes that shard them
  int place[max_factors] = {};  ///< of a sharded factor: where it was first met, as `place_of`
};

/// Cuts [first, first + count) of an operand in one number: constant evaluation pays for every array it clears.
constexpr int place_of(int operand, int first, int count) { return operand << 16 | first << 8 | count; }
constexpr int operand_at(int place) { return place >> 16; }
constexpr int first_at(int place) { return place >> 8 & 0xff; }
constexpr int count_at(int place) { return place & 0xff; }

/// Writes why and where, for `return`.
constexpr bool refuse(propagation_status& s, propagation_code code, int o, int dim, int axis) {
  s = {code, o, dim, axis};
  return false;
}

constexpr bool same_shape(const mesh_shape& a, const mesh_shape& b) {
  const int axes = a.axis_count;
  if (axes != b.axis_count) return false;
  for (int i = 0; i < axes; ++i)
    if (a.size[i] != b.size[i]) return false;
  return true;
}

/// Whether a claimed factor other than `f` uses a part of the axis that meets `x`. Sub-axes [pre, pre · size) meet
/// unless one ends, in the divisor chain of the axis, where or before the other begins.
constexpr bool meets_claimed(const factor_claims& t, const layout_value* const* operand, const cut& x, int f) {
  for (int other = 0; other < max_factors; ++other) {
    if (other == f) continue;
    const int place = t.place[other];
    for (int i = first_at(place); i < first_at(place) + count_at(place); ++i) {
      const cut& y = operand[operand_at(place)]->cut[i];
      const bool apart = x.pre % (y.pre * y.size) == 0 || y.pre % (x.pre * x.size) == 0;
      if (y.axis == x.axis && !apart) return true;
    }
  }
  return false;
}

/// Laws (2) to (4) for cut `i` of operand `o`, of a factor `f` that no earlier operand has; `start` is the dim's first
/// cut.
constexpr bool claim(const factor_rule& rule, const layout_value* const* operand, int o, int start, int i, int f,
                     factor_claims& t, layout_value& result, propagation_status& s) {
  const cut& x = operand[o]->cut[i];
  if (rule.factor[f].kind == factor_kind::need_replication)
    return refuse(s, propagation_code::dim_must_be_whole, o, x.dim, x.axis);
  if ((t.axes >> x.axis & 1u) != 0 && meets_claimed(t, operand, x, f))
    return refuse(s, propagation_code::axis_shards_two_factors, o, x.dim, x.axis);
  t.axes |= 1u << x.axis;
  t.sharded |= 1u << f;
  t.place[f] = place_of(o, start, i + 1 - start);
  if (rule.factor[f].kind != factor_kind::reduction) return true;
  if (x.size != result.mesh.size[x.axis])
    return refuse(s, propagation_code::sub_axis_can_not_be_partial, o, x.dim, x.axis);
  result.partial[x.axis] = rule.factor[f].op;
  return true;
}

/// Law (1) for cut `i` of operand `o`, of a factor `f` that an earlier operand has.
constexpr bool agree(const layout_value* const* operand, int o, int start, int i, int f, const factor_claims& t,
                     propagation_status& s) {
  const layout_value& l = *operand[o];
  const cut& x = l.cut[i];
  const int place = t.place[f], first = first_at(place), count = count_at(place);
  if (i - start >= count) return refuse(s, propagation_code::operands_disagree, o, x.dim, x.axis);
  const layout_value& m = *operand[operand_at(place)];
  const cut& y = m.cut[first + i - start];
  if (x.axis != y.axis || x.pre != y.pre || x.size != y.size || (l.padded >> x.dim & 1u) != (m.padded >> y.dim & 1u))
    return refuse(s, propagation_code::operands_disagree, o, x.dim, x.axis);
  const bool last = i + 1 == l.cut_count || l.cut[i + 1].dim != x.dim;
  if (last && i + 1 - start != count)
    return refuse(s, propagation_code::operands_disagree, o, x.dim, m.cut[first + i + 1 - start].axis);
  return true;
}

/// Some factor of `missing` is sharded elsewhere and not in operand `o`: names the first such dim.
constexpr bool unsharded_here(const dim_factors& dims, const layout_value* const* operand, int o, unsigned missing,
                              const factor_claims& t, propagation_status& s) {
  int d = 0;
  while ((missing >> dims.factor[d] & 1u) == 0) ++d;
  const int place = t.place[dims.factor[d]];
  return refuse(s, propagation_code::operands_disagree, o, d, operand[operand_at(place)]->cut[first_at(place)].axis);
}

/// Law (5): operand `o` is partial along `axis`.
constexpr bool pass_partial(const factor_rule& rule, const layout_value* const* operand, int o, int axis,
                            propagation_status& s) {
  if ((rule.linear_in >> o & 1u) == 0 || operand[o]->partial[axis] != reduce_op::sum)
    return refuse(s, propagation_code::partial_operand_is_refused, o, -1, axis);
  for (int q = 0; q < rule.operand_count; ++q) {
    if (q == o) continue;
    const layout_value& other = *operand[q];
    for (int i = 0; i < other.cut_count; ++i)
      if (other.cut[i].axis == axis)
        return refuse(s, propagation_code::partial_axis_is_used_by_another_operand, q, other.cut[i].dim, axis);
    const bool must_be_partial = rule.jointly && (rule.linear_in >> q & 1u) != 0;
    if (must_be_partial && other.partial[axis] == reduce_op::none)
      return refuse(s, propagation_code::partial_operand_stands_alone, o, -1, axis);
    if (!must_be_partial && other.partial[axis] != reduce_op::none)
      return refuse(s, propagation_code::partial_axis_is_used_by_another_operand, q, -1, axis);
  }
  return true;
}

constexpr bool read_operand(const factor_rule& rule, const layout_value* const* operand, int o, factor_claims& t,
                            layout_value& result, propagation_status& s) {
  const layout_value& l = *operand[o];
  const dim_factors& dims = rule.operand[o];
  if (l.rank != dims.rank) return refuse(s, propagation_code::operand_rank_differs_from_rule, o, l.rank, 0);
  if (o > 0 && !same_shape(l.mesh, result.mesh))
    return refuse(s, propagation_code::operands_are_on_different_meshes, o, 0, 0);
  unsigned sharded = 0;
  const int cuts = l.cut_count;
  for (int i = 0, start = 0; i < cuts; ++i) {
    const int d = l.cut[i].dim, f = dims.factor[d];
    if (l.cut[start].dim != d) start = i;
    sharded |= 1u << f;
    const bool ok = (t.met >> f & 1u) == 0 ? claim(rule, operand, o, start, i, f, t, result, s)
                                           : agree(operand, o, start, i, f, t, s);
    if (!ok) return false;
  }
  const unsigned missing = t.sharded & dims.mask & ~sharded;
  if (missing != 0) return unsharded_here(dims, operand, o, missing, t, s);
  t.met |= dims.mask;
  const int axes = l.mesh.axis_count;
  for (int a = 0; a < axes; ++a) {
    if (l.partial[a] == reduce_op::none) continue;
    if (!pass_partial(rule, operand, o, a, s)) return false;
    result.partial[a] = reduce_op::sum;
  }
  return true;
}

constexpr bool write_result(const factor_rule& rule, const layout_value* const* operand, const factor_claims& t,
                            layout_value& result, propagation_status& s) {
  const int rank = rule.result.rank;
  for (int d = 0; d < rank; ++d) {
    const int f = rule.result.factor[d];
    if ((t.sharded >> f & 1u) == 0) continue;
    const layout_value& from = *operand[operand_at(t.place[f])];
    const int first = first_at(t.place[f]), count = count_at(t.place[f]);
    if ((from.padded >> from.cut[first].dim & 1u) != 0) result.padded |= 1u << d;
    for (int i = 0; i < count; ++i) {
      const cut& x = from.cut[first + i];
      if (result.cut_count == max_cuts) return refuse(s, propagation_code::result_has_too_many_cuts, 0, d, x.axis);
      result.cut[result.cut_count++] = {d, x.axis, x.pre, x.size};
    }
  }
  return true;
}

}  // namespace detail

/// Writes to `result` the layout of the result of `rule` on operands placed as `operand[0..count)`.
/// Domain: `check_rule(rule)` is ok, layouts are canonical, `result` is a fresh `layout_value{}`. Fails with the first
/// broken law, naming operand, dim and axis; `result` is then unspecified. O(operands · axes + cuts + dims); sub-axes
/// of one axis on several factors add O(cuts²).
constexpr propagation_status propagate_into(const factor_rule& rule, const layout_value* const* operand, int count,
                                            layout_value& result) {
  propagation_status s;
  if (count != rule.operand_count) return {propagation_code::operand_count_differs_from_rule, count, 0, 0};
  detail::factor_claims t;
  const mesh_shape& mesh = operand[0]->mesh;
  const int axes = mesh.axis_count;
  result.mesh.axis_count = axes;
  for (int a = 0; a < axes; ++a) result.mesh.size[a] = mesh.size[a];
  result.rank = rule.result.rank;
  for (int o = 0; o < count; ++o)
    if (!detail::read_operand(rule, operand, o, t, result, s)) return s;
  detail::write_result(rule, operand, t, result, s);
  return s;
}

/// The same as a value; a refused layout is unsharded.
constexpr propagation_result propagate(const factor_rule& rule, const layout_value* const* operand, int count) {
  propagation_result r;
  r.status = propagate_into(rule, operand, count, r.layout);
  if (r.status.code == propagation_code::ok) return r;
  r.layout = {};
  if (count > 0) r.layout.mesh = operand[0]->mesh;
  r.layout.rank = rule.result.rank;
  return r;
}

}  // namespace hyperparallel
