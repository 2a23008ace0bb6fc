// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layouts over the terms of a tensor: what a dim of several factors looks like from inside.
//
// A dim that runs over factors (i, j) of extents (I, J) is the flat index i · J + j. An axis that cuts it cuts i first;
// only where i is cut to single elements does it reach j, if need be as a sub-axis. Law: `merge_terms` undoes
// `split_terms`, and neither moves an element.

#include <hyperparallel/operators/factor_rule.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class terms_code : unsigned char {
  ok,
  dim_has_no_factor,        ///< a cut of a dim of no factor
  cut_crosses_factors,      ///< shards and extent of a factor do not divide each other
  factor_is_not_leading,    ///< a factor is cut while a more major one of its dim is not cut to single elements
  factor_extent_is_needed,  ///< the dim has several factors and the extent of one is not known
  padded_dim_has_factors,   ///< ceil chunks of a dim of several factors
  too_many_cuts,
};

struct terms_result {
  terms_code code = terms_code::ok;
  int dim = 0;
  int axis = 0;
  layout_value layout{};
};

namespace detail {

constexpr terms_result no_terms(terms_code code, int dim, int axis) { return {code, dim, axis, {}}; }

constexpr int dim_of_term(const tensor_factors& t, int term) {
  int d = 0;
  while (t.first[d + 1] <= term) ++d;
  return d;
}

}  // namespace detail

/// The layout `l` of a tensor, over its terms: cut.dim counts terms. `extent`: of each factor, 0 where not known, which
/// only the last factor of a cut dim may be. O(cuts + terms).
constexpr terms_result split_terms(const layout_value& l, const tensor_factors& t, const extent_t* extent) {
  terms_result r;
  r.layout.mesh = l.mesh;
  r.layout.rank = t.first[t.rank];
  for (int a = 0; a < l.mesh.axis_count; ++a) r.layout.partial[a] = l.partial[a];
  int dim = -1, term = 0;
  extent_t left = 0;  // of the term: 0 without limit
  for (int i = 0; i < l.cut_count; ++i) {
    const cut x = l.cut[i];
    const int begin = t.first[x.dim], end = t.first[x.dim + 1];
    if (begin == end) return detail::no_terms(terms_code::dim_has_no_factor, x.dim, x.axis);
    if (is_padded(l, x.dim)) {
      if (end - begin > 1) return detail::no_terms(terms_code::padded_dim_has_factors, x.dim, x.axis);
      r.layout.padded |= 1u << begin;
    }
    if (dim != x.dim) {
      dim = x.dim;
      term = begin;
      left = end - begin > 1 ? extent[t.term[term]] : 0;
    }
    int pre = x.pre, size = x.size;
    while (size > 1) {
      if (left == 0 && term + 1 < end) return detail::no_terms(terms_code::factor_extent_is_needed, x.dim, x.axis);
      if (left == 1) {
        if (++term == end) return detail::no_terms(terms_code::cut_crosses_factors, x.dim, x.axis);
        left = extent[t.term[term]];
        continue;
      }
      const bool inside = left == 0 || left % size == 0;
      if (!inside && size % left != 0) return detail::no_terms(terms_code::cut_crosses_factors, x.dim, x.axis);
      const int piece = inside ? size : static_cast<int>(left);
      if (r.layout.cut_count == max_cuts) return detail::no_terms(terms_code::too_many_cuts, x.dim, x.axis);
      append_cut(r.layout, {term, x.axis, pre, piece});
      pre *= piece;
      size /= piece;
      if (left != 0) left /= piece;
    }
  }
  return r;
}

/// The way back: the layout over dims of a layout over terms. O(cuts + terms).
constexpr terms_result merge_terms(const layout_value& l, const tensor_factors& t, const extent_t* extent) {
  terms_result r;
  r.layout.mesh = l.mesh;
  r.layout.rank = t.rank;
  for (int a = 0; a < l.mesh.axis_count; ++a) r.layout.partial[a] = l.partial[a];
  for (int i = 0; i < l.cut_count; ++i) {
    const cut x = l.cut[i];
    const int d = detail::dim_of_term(t, x.dim);
    for (int major = t.first[d]; major < x.dim; ++major) {
      extent_t shards = 1;
      for (int k = 0; k < i; ++k)
        if (l.cut[k].dim == major) shards *= l.cut[k].size;
      if (shards != extent[t.term[major]]) return detail::no_terms(terms_code::factor_is_not_leading, d, x.axis);
    }
    if (is_padded(l, x.dim)) {
      if (t.first[d + 1] - t.first[d] > 1) return detail::no_terms(terms_code::padded_dim_has_factors, d, x.axis);
      r.layout.padded |= 1u << d;
    }
    append_cut(r.layout, {d, x.axis, x.pre, x.size});
  }
  return r;
}

}}  // namespace hyperparallel::v0_2
