// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common refinement of two device matrices and of two shapes: what makes a move between different meshes over the
// same rank list, and a reshape, an ordinary redistribution.
//
// A list of factors is cut at its cumulative products; two lists of one product have a common refinement iff the merged
// cuts form a divisibility chain: [8, 4] and [2, 16] give [2, 4, 4]. Axes and dims of size 1 are dropped on the way.
// Law: a refined layout gives every rank the same flat set of elements as the layout it came from.
// Source: unified device arrangements of MindSpore's tensor redistribution, restated with sub-axes and without tuples
// being a special case.

#include <hyperparallel/layout/slice.hpp>
#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/support/static_vector.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class refinement_code : unsigned char {
  ok,
  factor_is_not_positive,
  product_overflows,
  too_many_factors,
  products_differ,
  products_do_not_divide,     ///< `value` follows `other` among the merged products and is no multiple of it
  mesh_is_not_a_refinement,   ///< axis `value` of size `other` is no product of the finer axes
  shape_is_not_a_refinement,  ///< dim `value` of extent `other` is no product of the finer extents
  cuts_do_not_fit_the_dims,   ///< `value` pieces do not fall on the finer dims, of which one has `other` places left
  layout_is_refused,          ///< by its shape; see the layout status
  layout_is_partial,
  dim_is_padded,
};

struct refinement_status {
  refinement_code code = refinement_code::ok;
  extent_t value = 0;
  extent_t other = 0;
  layout_status layout{};
};

inline constexpr int max_refined_factors = 32;
using factor_list = static_vector<extent_t, max_refined_factors>;

struct factor_result {
  refinement_status status{};
  factor_list factors{};
};

/// [2, 8, 32] → [2, 16, 512]; reversed → [512, 256, 32]. Fails on a factor below 1 and on overflow. O(factors).
constexpr factor_result cumulative_products(const factor_list& f, bool reversed = false) {
  factor_result r{{}, f};
  checked_extent product{1, false};
  for (int i = 0; i < f.size; ++i) {
    const int at = reversed ? f.size - 1 - i : i;
    if (f.item[at] < 1) return {{refinement_code::factor_is_not_positive, f.item[at], at, {}}, {}};
    product = checked_multiply(product.value, f.item[at]);
    if (product.overflow) return {{refinement_code::product_overflows, f.item[at], at, {}}, {}};
    r.factors.item[at] = product.value;
  }
  return r;
}

/// Inverse of `cumulative_products` on lists that grow (fall, if reversed) by whole factors. O(factors).
constexpr factor_result factors_between(const factor_list& products, bool reversed = false) {
  factor_result r{{}, products};
  extent_t before = 1;
  for (int i = 0; i < products.size; ++i) {
    const int at = reversed ? products.size - 1 - i : i;
    const extent_t product = products.item[at];
    if (product < 1) return {{refinement_code::factor_is_not_positive, product, at, {}}, {}};
    if (product % before != 0) return {{refinement_code::products_do_not_divide, product, before, {}}, {}};
    r.factors.item[at] = product / before;
    before = product;
  }
  return r;
}

/// The values of two sorted lists in one, each once; `falling` for lists sorted from large to small. O(factors).
constexpr factor_result merge_sorted(const factor_list& a, const factor_list& b, bool falling = false) {
  factor_result r;
  for (int i = 0, j = 0; i < a.size || j < b.size;) {
    const bool first = j == b.size || (i < a.size && (falling ? a.item[i] >= b.item[j] : a.item[i] <= b.item[j]));
    const extent_t value = first ? a.item[i++] : b.item[j++];
    if (!r.factors.empty() && r.factors.item[r.factors.size - 1] == value) continue;
    if (!r.factors.push(value)) return {{refinement_code::too_many_factors, value, max_refined_factors, {}}, {}};
  }
  return r;
}

/// `f` cut also where `by` is cut, both seen from their right ends: [2, 8, 32] by [16, 4, 8] → [2, 8, 4, 8]. `by` may
/// have a smaller product, not a larger one. Factors of 1 vanish. Fails where the cuts do not divide. O(factors).
constexpr factor_result expand_factors(const factor_list& f, const factor_list& by) {
  const factor_result a = cumulative_products(f, true), b = cumulative_products(by, true);
  if (a.status.code != refinement_code::ok) return a;
  if (b.status.code != refinement_code::ok) return b;
  const extent_t whole = a.factors.empty() ? 1 : a.factors.item[0], other = b.factors.empty() ? 1 : b.factors.item[0];
  if (other > whole) return {{refinement_code::products_differ, whole, other, {}}, {}};
  factor_result r = merge_sorted(a.factors, b.factors, true);
  if (r.status.code != refinement_code::ok) return r;
  if (!r.factors.empty() && r.factors.item[r.factors.size - 1] == 1) r.factors.item[--r.factors.size] = 0;
  return factors_between(r.factors, true);
}

/// The coarsest list that refines both. Fails where the products differ or the cuts do not divide. O(factors).
constexpr factor_result unify_factors(const factor_list& a, const factor_list& b) {
  extent_t product[2] = {1, 1};
  for (int i = 0; i < a.size; ++i) product[0] = checked_multiply(product[0], a.item[i]).value;
  for (int i = 0; i < b.size; ++i) product[1] = checked_multiply(product[1], b.item[i]).value;
  if (product[0] != product[1]) return {{refinement_code::products_differ, product[0], product[1], {}}, {}};
  return expand_factors(a, b);
}

namespace detail {

constexpr factor_list factors_of(const mesh_shape& m) {
  factor_list f;
  for (int a = 0; a < m.axis_count; ++a) f.push(m.size[a]);
  return f;
}

constexpr factor_list factors_of(const shape& s) {
  factor_list f;
  for (int d = 0; d < s.rank; ++d) f.push(s.extent[d]);
  return f;
}

}  // namespace detail

/// The matrix without its axes of size 1.
constexpr mesh_shape without_ones(const mesh_shape& m) {
  mesh_shape r;
  for (int a = 0; a < m.axis_count; ++a)
    if (m.size[a] > 1) r.size[r.axis_count++] = m.size[a];
  return r;
}

struct refined_layout {
  refinement_status status{};
  layout_value layout{};
};

namespace detail {

/// Appends a cut unless there is no room for one more.
constexpr bool append_checked(layout_value& l, const cut& c) {
  if (l.cut_count == max_cuts) return false;
  append_cut(l, c);
  return true;
}

}  // namespace detail

/// `l` over the matrix `finer`, each of whose axes is a factor of one axis of `l.mesh` (size 1 may come and go). A
/// partial axis is partial in all its factors. O(cuts · axes).
constexpr refined_layout on_refined_mesh(const layout_value& l, const mesh_shape& finer) {
  if (const layout_status own = check_layout(l); own.code != layout_code::ok)
    return {{refinement_code::layout_is_refused, 0, 0, own}, {}};
  if (!detail::is_valid(finer)) return {{refinement_code::mesh_is_not_a_refinement, 0, 0, {}}, {}};
  refined_layout r{{}, replicated(finer, l.rank)};
  r.layout.padded = l.padded;
  int first[max_axes + 1] = {};
  int next = 0;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    int rest = l.mesh.size[a];
    for (first[a] = next; rest > 1; ++next) {
      if (next == finer.axis_count || rest % finer.size[next] != 0)
        return {{refinement_code::mesh_is_not_a_refinement, a, l.mesh.size[a], {}}, {}};
      rest /= finer.size[next];
      if (finer.size[next] > 1) r.layout.partial[next] = l.partial[a];
    }
  }
  first[l.mesh.axis_count] = next;
  for (; next < finer.axis_count; ++next)
    if (finer.size[next] != 1) return {{refinement_code::mesh_is_not_a_refinement, next, finer.size[next], {}}, {}};
  for (int i = 0; i < l.cut_count; ++i) {
    const cut& c = l.cut[i];
    int before = 1;  // of the axis: the product of its factors above `a`
    for (int a = first[c.axis]; a < first[c.axis + 1]; before *= finer.size[a++]) {
      const int begin = before < c.pre ? c.pre : before, end = before * finer.size[a];
      const int stop = c.pre * c.size < end ? c.pre * c.size : end;
      if (begin >= stop) continue;
      if (begin % before != 0 || stop % begin != 0 || end % stop != 0)
        return {{refinement_code::mesh_is_not_a_refinement, c.axis, l.mesh.size[c.axis], {}}, {}};
      if (!detail::append_checked(r.layout, {c.dim, a, begin / before, stop / begin}))
        return {{refinement_code::too_many_factors, max_cuts + 1, max_cuts, {}}, {}};
    }
  }
  return r;
}

/// `l` over one axis of all devices, its axes as sub-axes: possible for every partial-free layout. O(cuts · axes).
constexpr refined_layout on_flat_mesh(const layout_value& l) {
  if (const layout_status own = check_layout(l); own.code != layout_code::ok)
    return {{refinement_code::layout_is_refused, 0, 0, own}, {}};
  if (is_partial(l)) return {{refinement_code::layout_is_partial, 0, 0, {}}, {}};
  refined_layout r{{}, replicated({1, {position_count(l.mesh)}}, l.rank)};
  r.layout.padded = l.padded;
  for (int i = 0; i < l.cut_count; ++i) {
    int before = 1;
    for (int a = 0; a < l.cut[i].axis; ++a) before *= l.mesh.size[a];
    append_cut(r.layout, {l.cut[i].dim, 0, before * l.cut[i].pre, l.cut[i].size});
  }
  return r;
}

/// `l`, a layout of `s`, over `finer`, each of whose dims is a factor of one dim of `s` (size 1 may come and go). The
/// outer dims are cut first; an axis that spans two dims becomes two sub-axes. Fails where a piece would be no box in
/// `finer`, and on padded dims unless the shapes agree. O(cuts + dims).
constexpr refined_layout on_refined_shape(const layout_value& l, const shape& s, const shape& finer) {
  const layout_status status = check_shape(l, s);
  if (status.code != layout_code::ok) return {{refinement_code::layout_is_refused, 0, 0, status}, {}};
  if (finer.rank < 0 || finer.rank > max_dims)
    return {{refinement_code::too_many_factors, finer.rank, max_dims, {}}, {}};
  if (s == finer) return {{}, l};
  if (l.padded != 0) return {{refinement_code::dim_is_padded, static_cast<extent_t>(l.padded), 0, {}}, {}};
  refined_layout r{{}, replicated(l.mesh, finer.rank)};
  for (int a = 0; a < l.mesh.axis_count; ++a) r.layout.partial[a] = l.partial[a];
  int to = 0, i = 0;
  for (int d = 0; d < s.rank; ++d) {
    if (s.extent[d] < 1) return {{refinement_code::shape_is_not_a_refinement, d, s.extent[d], {}}, {}};
    cut left{d, 0, 1, 1};  // what the current cut still has to give
    for (extent_t rest = s.extent[d]; rest > 1; ++to) {
      const extent_t extent = to < finer.rank ? finer.extent[to] : 0;
      if (extent < 1 || rest % extent != 0)
        return {{refinement_code::shape_is_not_a_refinement, d, s.extent[d], {}}, {}};
      rest /= extent;
      for (extent_t room = extent; room > 1;) {
        if (left.size == 1) {
          if (i == l.cut_count || l.cut[i].dim != d) break;
          left = l.cut[i++];
        }
        const int take = static_cast<int>(smaller(left.size, room));
        if (left.size % take != 0 || room % take != 0)
          return {{refinement_code::cuts_do_not_fit_the_dims, left.size, room, {}}, {}};
        if (!detail::append_checked(r.layout, {to, left.axis, left.pre, take}))
          return {{refinement_code::too_many_factors, max_cuts + 1, max_cuts, {}}, {}};
        left.pre *= take;
        left.size /= take;
        room /= take;
      }
    }
  }
  for (; to < finer.rank; ++to)
    if (finer.extent[to] != 1) return {{refinement_code::shape_is_not_a_refinement, to, finer.extent[to], {}}, {}};
  return r;
}

}}  // namespace hyperparallel::v0_2
