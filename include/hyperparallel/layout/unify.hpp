// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two layouts of one flat sequence of elements, brought onto one device matrix and one shape.
//
// Both sides live on the same rank list, so that position p means the same device; the matrices and the shapes may
// differ. What comes back can be planned as a redistribution on one mesh: a cross-mesh move and a reshape are then at
// the bound like any other, and a legal view moves nothing.
// Law: every position keeps its flat set of elements, on both sides.

#include <hyperparallel/layout/refinement.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct unified_layouts {
  refinement_status status{};
  layout_value source{};
  layout_value target{};
  hyperparallel::shape shape{};
};

namespace detail {

constexpr bool to_mesh(const factor_list& f, mesh_shape& m) {
  m = {};
  if (f.size > max_axes) return false;
  for (int a = 0; a < f.size; ++a) m.size[m.axis_count++] = static_cast<int>(f.item[a]);
  return true;
}

constexpr bool to_shape(const factor_list& f, shape& s) {
  s = {};
  if (f.size > max_dims) return false;
  for (int d = 0; d < f.size; ++d) s.extent[s.rank++] = f.item[d];
  return true;
}

/// Replaces `l` by a refined form of it; false, with the reason in `status`, where there is none.
constexpr bool take_refined(layout_value& l, const refined_layout& r, refinement_status& status) {
  status = r.status;
  if (status.code != refinement_code::ok) return false;
  l = r.layout;
  return true;
}

/// Brings both sides onto the coarsest shape that refines both of theirs.
constexpr void unify_shapes(unified_layouts& u, const shape& source, const shape& target) {
  u.shape = source;
  if (source == target) return;
  const factor_result common = unify_factors(factors_of(source), factors_of(target));
  u.status = common.status;
  if (u.status.code == refinement_code::ok && !to_shape(common.factors, u.shape))
    u.status = {refinement_code::too_many_factors, common.factors.size, max_dims, {}};
  if (u.status.code != refinement_code::ok) return;
  if (take_refined(u.source, on_refined_shape(u.source, source, u.shape), u.status))
    take_refined(u.target, on_refined_shape(u.target, target, u.shape), u.status);
}

/// Brings both sides onto the coarsest matrix that refines both of theirs.
constexpr void unify_meshes(unified_layouts& u) {
  const factor_result common = unify_factors(factors_of(u.source.mesh), factors_of(u.target.mesh));
  u.status = common.status;
  mesh_shape mesh;
  if (u.status.code == refinement_code::ok && !to_mesh(common.factors, mesh))
    u.status = {refinement_code::too_many_factors, common.factors.size, max_axes, {}};
  if (u.status.code != refinement_code::ok) return;
  if (take_refined(u.source, on_refined_mesh(u.source, mesh), u.status))
    take_refined(u.target, on_refined_mesh(u.target, mesh), u.status);
}

constexpr refinement_status refused_by_shape(const layout_value& l, const shape& s) {
  const layout_status status = check_shape(l, s);
  if (status.code == layout_code::ok) return {};
  return {refinement_code::layout_is_refused, 0, 0, status};
}

constexpr unified_layouts accept_both(const layout_value& source, const shape& source_shape, const layout_value& target,
                                      const shape& target_shape) {
  unified_layouts u{refused_by_shape(source, source_shape), source, target, source_shape};
  if (u.status.code == refinement_code::ok) u.status = refused_by_shape(target, target_shape);
  return u;
}

}  // namespace detail

/// Both layouts on one mesh and one shape, changed as little as that takes. Matrices without a common refinement, such
/// as 2x3 and 3x2, meet on one flat axis of all devices. Fails where a layout refuses its shape, device or element
/// counts differ, or a piece of one side is no box in the common shape. O((cuts + dims + axes)²).
constexpr unified_layouts unify(const layout_value& source, const shape& source_shape, const layout_value& target,
                                const shape& target_shape) {
  unified_layouts u = detail::accept_both(source, source_shape, target, target_shape);
  if (u.status.code != refinement_code::ok) return u;
  if (!(source.mesh == target.mesh)) {
    detail::unify_meshes(u);
    if (u.status.code == refinement_code::products_do_not_divide ||
        u.status.code == refinement_code::too_many_factors) {
      u.source = source;
      u.target = target;
      if (detail::take_refined(u.source, on_flat_mesh(source), u.status))
        detail::take_refined(u.target, on_flat_mesh(target), u.status);
    }
  }
  if (u.status.code == refinement_code::ok) detail::unify_shapes(u, source_shape, target_shape);
  return u;
}

/// The matrix in which every cut of `l` is a whole axis. Fails where the sub-axes of an axis do not nest. O(cuts ·
/// axes).
constexpr refined_layout with_whole_axes(const layout_value& l) {
  if (const layout_status own = check_layout(l); own.code != layout_code::ok)
    return {{refinement_code::layout_is_refused, 0, 0, own}, {}};
  factor_result products = cumulative_products(detail::factors_of(without_ones(l.mesh)));
  for (int i = 0; i < l.cut_count; ++i) {
    extent_t before = 1;
    for (int a = 0; a < l.cut[i].axis; ++a) before *= l.mesh.size[a];
    factor_list ends;
    ends.push(before * l.cut[i].pre);
    ends.push(before * l.cut[i].pre * l.cut[i].size);
    products = merge_sorted(products.factors, ends);
    if (products.status.code != refinement_code::ok) return {products.status, {}};
  }
  const factor_result sizes = factors_between(products.factors);
  if (sizes.status.code != refinement_code::ok) return {sizes.status, {}};
  factor_list kept;
  for (const extent_t size : sizes.factors)
    if (size > 1) kept.push(size);
  mesh_shape mesh;
  if (!detail::to_mesh(kept, mesh)) return {{refinement_code::too_many_factors, kept.size, max_axes, {}}, {}};
  return on_refined_mesh(l, mesh);
}

struct split_shape {
  refinement_status status{};
  hyperparallel::shape shape{};
};

/// The shape in which each dim of `s` that several axes cut is one dim per axis, the last with the remaining extent.
/// Domain: `l` accepts `s`. Fails where that takes more than `max_dims` dims. O(dims + cuts).
constexpr split_shape one_axis_per_dim(const layout_value& l, const shape& s) {
  factor_list f;
  int i = 0;
  for (int d = 0; d < s.rank; ++d) {
    extent_t rest = s.extent[d];
    for (; i + 1 < l.cut_count && l.cut[i].dim == d && l.cut[i + 1].dim == d; ++i) {
      f.push(l.cut[i].size);
      rest /= l.cut[i].size;
    }
    if (i < l.cut_count && l.cut[i].dim == d) ++i;
    f.push(rest);
  }
  split_shape r;
  if (!detail::to_shape(f, r.shape)) r.status = {refinement_code::too_many_factors, f.size, max_dims, {}};
  return r;
}

/// Like `unify`, further refined until each dim is cut by one whole axis at most on either side: MindSpore's unified
/// device arrangement and tensor shape. Fails where no common refinement of the matrices exists or the limits of axes
/// and dims are met. Each round splits a factor, so it ends after at most log2(devices · elements) rounds.
constexpr unified_layouts unify_one_axis_per_dim(const layout_value& source, const shape& source_shape,
                                                 const layout_value& target, const shape& target_shape) {
  unified_layouts u = detail::accept_both(source, source_shape, target, target_shape);
  shape from = source_shape, to = target_shape;
  while (u.status.code == refinement_code::ok) {
    const layout_value source_before = u.source, target_before = u.target;
    if (!detail::take_refined(u.source, with_whole_axes(u.source), u.status)) break;
    if (!detail::take_refined(u.target, with_whole_axes(u.target), u.status)) break;
    detail::unify_meshes(u);
    if (u.status.code != refinement_code::ok) break;
    const split_shape source_split = one_axis_per_dim(u.source, from), target_split = one_axis_per_dim(u.target, to);
    u.status = source_split.status.code != refinement_code::ok ? source_split.status : target_split.status;
    if (u.status.code != refinement_code::ok) break;
    if (!detail::take_refined(u.source, on_refined_shape(u.source, from, source_split.shape), u.status)) break;
    if (!detail::take_refined(u.target, on_refined_shape(u.target, to, target_split.shape), u.status)) break;
    detail::unify_shapes(u, source_split.shape, target_split.shape);
    if (u.status.code != refinement_code::ok) break;
    const bool settled = from == u.shape && to == u.shape && u.source == source_before && u.target == target_before;
    from = to = u.shape;
    if (settled) break;
  }
  return u;
}

}}  // namespace hyperparallel::v0_2
