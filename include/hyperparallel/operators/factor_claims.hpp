// SPDX-License-Identifier: Apache-2.0
#pragma once
// The working half of propagation: operands are read in turn into claims, which axes shard which factor, and claims are
// written out as the cuts of a tensor. Dims here are terms: each runs over one factor (`split_terms`).

#include <hyperparallel/operators/factor_terms.hpp>
#include <hyperparallel/operators/propagation_status.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// What is known of factors and axes while operands are read in turn. Masks have one bit per factor or axis.
struct factor_claims {
  unsigned sharded = 0;                ///< those of them that are sharded
  unsigned axes = 0;                   ///< axes that shard them
  unsigned reduced = 0;                ///< axes that shard reductions
  reduce_op lacked = reduce_op::none;  ///< what leaves only some results partial: those that lack a sharded factor
  unsigned cut[max_operands]{};        ///< the sharded factors of each operand, as it came
  int place[max_factors] = {};         ///< of a sharded factor: where it was first met, as `place_of`
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

/// Laws (2) to (4) for cut `i` of operand `o`, of a factor `f` that no earlier operand shards; `start` is the dim's
/// first cut.
constexpr bool claim(const factor_rule& rule, const layout_value* const* operand, int o, int start, int i, int f,
                     factor_claims& t, layout_value& result, propagation_status& s) {
  const cut& x = operand[o]->cut[i];
  const factor_kind kind = rule.factor[f].kind;
  if (kind == factor_kind::need_replication) return refuse(s, propagation_code::dim_must_be_whole, o, x.dim, x.axis);
  if (kind == factor_kind::permutation) return refuse(s, propagation_code::dim_needs_a_halo, o, x.dim, x.axis);
  if ((t.axes >> x.axis & 1u) != 0 && meets_claimed(t, operand, x, f))
    return refuse(s, propagation_code::axis_shards_two_factors, o, x.dim, x.axis);
  t.axes |= 1u << x.axis;
  t.sharded |= 1u << f;
  t.place[f] = place_of(o, start, i + 1 - start);
  if (rule.factor[f].op == reduce_op::none) return true;
  if (x.size != result.mesh.size[x.axis])
    return refuse(s, propagation_code::sub_axis_can_not_be_partial, o, x.dim, x.axis);
  // Padded slices are of unequal size, so the average of their averages is not the average.
  if (rule.factor[f].op == reduce_op::avg && (operand[o]->padded >> x.dim & 1u) != 0)
    return refuse(s, propagation_code::dim_must_be_whole, o, x.dim, x.axis);
  if (kind == factor_kind::reduction) {
    t.reduced |= 1u << x.axis;
    result.partial[x.axis] = rule.factor[f].op;
  } else {
    t.lacked = rule.factor[f].op;
  }
  return true;
}

/// Law (1) for cut `i` of operand `o`, of a factor `f` that an earlier operand shards.
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

/// Reads the cuts of operand `o`, whose dims here are its terms.
constexpr bool read_cuts(const factor_rule& rule, const layout_value* const* operand, int o, factor_claims& t,
                         layout_value& result, propagation_status& s) {
  const layout_value& l = *operand[o];
  const tensor_factors& dims = rule.operand[o];
  unsigned cut = 0;
  const unsigned before = t.sharded;
  const int cuts = l.cut_count;
  for (int i = 0, start = 0; i < cuts; ++i) {
    const int d = l.cut[i].dim, f = dims.term[d];
    if (l.cut[start].dim != d) start = i;
    cut |= 1u << f;
    const bool ok = (before >> f & 1u) == 0 ? claim(rule, operand, o, start, i, f, t, result, s)
                                            : agree(operand, o, start, i, f, t, s);
    if (!ok) return false;
  }
  t.cut[o] = cut;
  return true;
}

/// Law (1) for factors that operand `o` holds whole and another shards: it is sliced, or it disagrees.
constexpr bool slice_whole(const factor_rule& rule, const layout_value* const* operand, int o, unsigned missing,
                           const factor_claims& t, propagation_notes& notes, propagation_status& s) {
  const tensor_factors& dims = rule.operand[o];
  for (int d = 0; d < dims.first[dims.rank]; ++d) {
    const int f = dims.term[d];
    if ((missing >> f & 1u) == 0 || rule.factor[f].yields) continue;
    return refuse(s, propagation_code::operands_disagree, o, d,
                  operand[operand_at(t.place[f])]->cut[first_at(t.place[f])].axis);
  }
  notes.sliced |= 1u << o;
  return true;
}

/// Whether an operand that is `own` along an axis takes part, by a fill, in terms that another is `leading` in.
constexpr bool joins_in(partial_mode leading, partial_mode own) {
  return own == partial_mode::joins || (leading == partial_mode::together && own == partial_mode::together);
}

/// Law (5) along `axis`, along which operand `o` is the first to be partial.
constexpr bool pass_partial(const factor_rule& rule, const layout_value* const* operand, int o, int axis,
                            layout_value& result, propagation_notes& notes, propagation_status& s) {
  const reduce_op op = operand[o]->partial[axis];
  const partial_word word = word_of(rule.partials, o, op);
  if (!rule.partials.stated) return refuse(s, propagation_code::rule_says_nothing_about_partial_operands, o, -1, axis);
  if (word.mode == partial_mode::refuses || word.mode == partial_mode::joins)
    return refuse(s, propagation_code::partial_operand_is_refused, o, -1, axis);
  for (int q = 0; q < rule.operand_count; ++q) {
    if (q == o) continue;
    const layout_value& other = *operand[q];
    for (int i = 0; i < other.cut_count; ++i)
      if (other.cut[i].axis == axis)
        return refuse(s, propagation_code::partial_axis_is_used_by_another_operand, q, other.cut[i].dim, axis);
    const partial_mode mode = word_of(rule.partials, q, op).mode;
    const bool joins = joins_in(word.mode, mode);
    if (other.partial[axis] == op && joins && mode == partial_mode::together) continue;
    if (other.partial[axis] != reduce_op::none)
      return refuse(s,
                    word.mode == partial_mode::each ? propagation_code::partial_axis_is_used_by_another_operand
                                                    : propagation_code::partial_operands_differ,
                    q, -1, axis);
    if (joins) notes.filled |= 1u << q;
  }
  result.partial[axis] = word.out;
  return true;
}

constexpr bool read_partials(const factor_rule& rule, const layout_value* const* operand, const factor_claims& t,
                             layout_value& result, propagation_notes& notes, propagation_status& s) {
  const int axes = result.mesh.axis_count, operands = rule.operand_count;
  reduce_op waiting = t.lacked;
  for (int a = 0; a < axes; ++a) {
    for (int o = 0; o < operands; ++o)
      if (operand[o]->partial[a] != reduce_op::none) {
        if (!pass_partial(rule, operand, o, a, result, notes, s)) return false;
        break;
      }
    const reduce_op op = result.partial[a];
    if (op == reduce_op::none) continue;
    if (waiting != reduce_op::none && !commute(waiting, op))
      return refuse(s, propagation_code::reductions_do_not_commute, operands, -1, a);
    waiting = op;
  }
  if (t.reduced != 0) notes.filled |= rule.outside;
  return true;
}

/// The reduction whose terms operand `q`, one of `notes.filled`, becomes by a fill along `axis`: one that it is outside
/// of, or that of the operand which is partial along the axis. None where it stays whole.
constexpr reduce_op fill_along(const factor_rule& rule, const layout_value* const* operand, int q, int axis,
                               const factor_claims& t, const layout_value& result) {
  const bool outside = (rule.outside >> q & 1u) != 0;
  if ((t.reduced >> axis & 1u) != 0) return outside ? result.partial[axis] : reduce_op::none;
  for (int o = 0; o < rule.operand_count; ++o) {
    const reduce_op op = operand[o]->partial[axis];
    if (op == reduce_op::none) continue;
    return joins_in(word_of(rule.partials, o, op).mode, word_of(rule.partials, q, op).mode) ? op : reduce_op::none;
  }
  return reduce_op::none;
}

/// Reads all operands, whose dims are terms, into claims; `result` gets mesh and partial states.
constexpr bool read_operands(const factor_rule& rule, const layout_value* const* operand, factor_claims& t,
                             layout_value& result, propagation_notes& notes, propagation_status& s) {
  const int operands = rule.operand_count;
  for (int o = 0; o < operands; ++o)
    if (!read_cuts(rule, operand, o, t, result, s)) return false;
  for (int o = 0; o < operands; ++o) {
    const unsigned missing = t.sharded & rule.operand[o].mask & ~t.cut[o];
    if (missing != 0 && !slice_whole(rule, operand, o, missing, t, notes, s)) return false;
  }
  return read_partials(rule, operand, t, result, notes, s);
}

/// Adds to `l` the cuts that the claims give to a tensor, term by term; `index` names it in a status.
constexpr bool write_cuts(const tensor_factors& tensor, int index, const layout_value* const* operand,
                          const factor_claims& t, layout_value& l, propagation_status& s) {
  const int terms = tensor.first[tensor.rank];
  l.rank = terms;
  if ((t.sharded & tensor.mask) == 0) return true;
  for (int d = 0; d < terms; ++d) {
    const int f = tensor.term[d];
    if ((t.sharded >> f & 1u) == 0) continue;
    const layout_value& from = *operand[operand_at(t.place[f])];
    const int first = first_at(t.place[f]), count = count_at(t.place[f]);
    if ((from.padded >> from.cut[first].dim & 1u) != 0) l.padded |= 1u << d;
    for (int i = 0; i < count; ++i) {
      const cut& x = from.cut[first + i];
      if (l.cut_count == max_cuts) return refuse(s, propagation_code::result_has_too_many_cuts, index, d, x.axis);
      l.cut[l.cut_count++] = {d, x.axis, x.pre, x.size};
    }
  }
  return true;
}

/// A result's partial states along the axes of sharded factors that it lacks and other results have.
constexpr void leave_partial(const factor_rule& rule, const tensor_factors& tensor, const layout_value* const* operand,
                             const factor_claims& t, layout_value& l) {
  if (t.lacked == reduce_op::none) return;
  const unsigned lacking = t.sharded & ~tensor.mask & ~rule.reduced;
  for (int f = 0; lacking >> f != 0; ++f) {
    if ((lacking >> f & 1u) == 0 || rule.factor[f].op == reduce_op::none) continue;
    const layout_value& from = *operand[operand_at(t.place[f])];
    for (int i = 0; i < count_at(t.place[f]); ++i)
      l.partial[from.cut[first_at(t.place[f]) + i].axis] = rule.factor[f].op;
  }
}

constexpr bool refuse_terms(const terms_result& r, int index, propagation_status& s) {
  const bool whole = r.code == terms_code::dim_has_no_factor;
  return refuse(s, whole ? propagation_code::dim_must_be_whole : propagation_code::factors_of_dim_do_not_fit, index,
                r.dim, r.axis);
}

constexpr bool check_operands(const factor_rule& rule, const layout_value* const* operand, int count,
                              propagation_status& s) {
  if (count != rule.operand_count) return refuse(s, propagation_code::operand_count_differs_from_rule, count, 0, 0);
  for (int o = 0; o < count; ++o) {
    if (operand[o]->rank != rule.operand[o].rank)
      return refuse(s, propagation_code::operand_rank_differs_from_rule, o, operand[o]->rank, 0);
    if (o > 0 && !same_shape(operand[o]->mesh, operand[0]->mesh))
      return refuse(s, propagation_code::operands_are_on_different_meshes, o, 0, 0);
  }
  return true;
}

}}}  // namespace hyperparallel::v0_2::detail
