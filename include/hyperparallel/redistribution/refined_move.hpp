// SPDX-License-Identifier: Apache-2.0
#pragma once
// A move seen through its digits: a shape in which each digit is a dim of its own, and layouts as lists of owners.
//
// The digits of the pair (digits.hpp) and spare factors for axes that have nothing to hold, or to wait with, become
// dims; local elements between them are dims that nobody owns. A layout on the way is then any choice of one owner per
// digit, and a step is two such choices. The devices may be seen through a finer matrix, whose axes end where levels of
// links do, so that a step can be confined to one level. Laws: every position keeps its flat set of elements, in its
// flat order, on both sides; owners of an axis hold independent parts of it (axis_part.hpp).

#include <hyperparallel/layout/unify.hpp>
#include <hyperparallel/redistribution/move_parts.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class refined_code : unsigned char { ok, tensor_is_empty, cut_points_do_not_refine, too_many_dims };

/// Whole digits sit on the part [stride, size of the digit] of an axis; -1: every device has all of it.
struct digit_owner {
  int axis = -1;
  int stride = 0;
  friend constexpr bool operator==(const digit_owner&, const digit_owner&) = default;
};

/// Who owns each dim of the refined shape, and which axes still wait for their reduction.
struct move_state {
  digit_owner owner[max_dims] = {};
  unsigned waiting = 0;
  friend constexpr bool operator==(const move_state&, const move_state&) = default;
};

/// A plan without its steps.
struct blank_plan : move_axes {
  plan_kind kind = plan_kind::no_op;
  hyperparallel::shape shape{};
};

struct refined_move {
  refined_code code = refined_code::ok;
  blank_plan blank{};  ///< of the refined pair
  mesh_shape mesh{};
  reduce_op waiting[max_axes] = {};  ///< partial states of the source
  reduce_op leaving[max_axes] = {};  ///< of the target
  move_state source{};
  move_state target{};                                        ///< without what is filled
  int spare_of[max_dims] = {-1, -1, -1, -1, -1, -1, -1, -1};  ///< axis that may hold this dim on the way
};

namespace detail {

/// How many consecutive ranks each link joins, or a full mesh up to each axis; innermost first.
struct link_groups {
  int count = 0;
  extent_t group[max_axes] = {};
};
constexpr link_groups groups_of(const interconnect& net) {
  link_groups g;
  if (net.kind != interconnect_kind::full_mesh) {
    for (; g.count < net.topology.level_count; ++g.count) g.group[g.count] = net.topology.level[g.count].group;
    return g;
  }
  extent_t inner = 1;
  for (int a = net.mesh.axis_count - 1; a >= 0; --a)
    if (net.mesh.size[a] > 1) g.group[g.count++] = inner *= net.mesh.size[a];
  return g;
}

/// The matrix with its axes cut where groups of links end; itself where they do not divide it.
constexpr mesh_shape cut_at_links(const mesh_shape& m, const interconnect& net) {
  if (net.ranks.count > 0) return m;
  const extent_t rest = position_count(m);
  const link_groups known = groups_of(net);
  extent_t sizes[max_axes] = {}, inner = 1;
  int count = 0;
  for (; count < known.count; ++count) {
    const extent_t group = known.group[count];
    if (group >= rest || rest % group != 0) break;
    sizes[count] = group / inner;
    inner = group;
  }
  factor_list links;
  links.push(static_cast<int>(rest / inner));
  while (count > 0) links.push(static_cast<int>(sizes[--count]));
  const factor_result common = unify_factors(factors_of(m), links);
  mesh_shape finer;
  return common.status.code == refinement_code::ok && to_mesh(common.factors, finer) ? finer : m;
}

constexpr bool owns_any(const move_state& s, int rank, int axis) {
  for (int d = 0; d < rank; ++d)
    if (s.owner[d].axis == axis) return true;
  return false;
}

/// Appends a dim; false where there are too many.
constexpr bool push_dim(refined_move& r, extent_t extent, digit_owner source, digit_owner target) {
  shape& s = r.blank.shape;
  if (s.rank == max_dims) return false;
  r.source.owner[s.rank] = source;
  r.target.owner[s.rank] = target;
  s.extent[s.rank++] = extent;
  return true;
}

constexpr bool is_unowned(const refined_move& r, int d) {
  return r.source.owner[d].axis < 0 && r.target.owner[d].axis < 0 && r.spare_of[d] < 0;
}

/// The largest dim that nobody owns and that `size` divides, or -1.
constexpr int largest_unowned(const refined_move& r, int size) {
  int best = -1;
  for (int d = 0; d < r.blank.shape.rank; ++d) {
    const extent_t n = r.blank.shape.extent[d];
    if (is_unowned(r, d) && n % size == 0 && (best < 0 || n > r.blank.shape.extent[best])) best = d;
  }
  return best;
}

/// Cuts a factor for `axis` off an unowned dim, unless there is none or no room.
constexpr void add_spare(refined_move& r, int axis) {
  shape& s = r.blank.shape;
  const int size = r.mesh.size[axis], at = largest_unowned(r, size);
  if (at < 0 || (s.extent[at] > size && s.rank == max_dims)) return;
  if (s.extent[at] > size) {
    for (int d = s.rank++; d > at; --d) {
      s.extent[d] = s.extent[d - 1];
      r.source.owner[d] = r.source.owner[d - 1];
      r.target.owner[d] = r.target.owner[d - 1];
      r.spare_of[d] = r.spare_of[d - 1];
    }
    s.extent[at + 1] /= size;
    s.extent[at] = size;
  }
  r.spare_of[at] = axis;
}

/// Whether a digit of the source on `axis` goes to an axis that holds something itself.
constexpr bool is_blocked(const refined_move& r, int axis) {
  for (int d = 0; d < r.blank.shape.rank; ++d) {
    const int to = r.target.owner[d].axis;
    if (r.source.owner[d].axis == axis && to >= 0 && to != axis && owns_any(r.source, r.blank.shape.rank, to))
      return true;
  }
  return false;
}

/// Whether `axis` holds nothing in the source and can take nothing of its target at once, or has to wait for another.
constexpr bool wants_spare(const refined_move& r, int axis) {
  if (r.mesh.size[axis] == 1 || (r.blank.kept >> axis & 1u) != 0) return false;
  if (owns_any(r.source, r.blank.shape.rank, axis)) return is_blocked(r, axis);
  for (int d = 0; d < r.blank.shape.rank; ++d)
    if (r.target.owner[d].axis == axis && r.source.owner[d].axis < 0) return false;
  return true;
}

/// The most useful first, should there be no room for all: of axes that reduce, of idle ones, of those that wait; the
/// innermost first.
constexpr void add_spares(refined_move& r) {
  for (int use = 0; use < 3; ++use)
    for (int a = r.mesh.axis_count - 1; a >= 0; --a) {
      const bool reduces = (r.blank.reduced >> a & 1u) != 0, holds = owns_any(r.source, r.blank.shape.rank, a);
      if (wants_spare(r, a) && use == (reduces ? 0 : holds ? 2 : 1)) add_spare(r, a);
    }
}

constexpr bool push_digits(refined_move& r, const digit_table& t, const shape& s) {
  extent_t rest = 1;  // local elements since the last digit
  int k = 0;
  for (int d = 0; d < s.rank; ++d) {
    extent_t inner = s.extent[d];
    for (; k < t.count && t.digit[k].dim == d; ++k) {
      const digit& x = t.digit[k];
      if (rest > 1 && !push_dim(r, rest, {}, {})) return false;
      rest = 1;
      if (!push_dim(r, x.size, {x.source_axis, x.source_stride}, {x.target_axis, x.target_stride})) return false;
      inner = x.inner;
    }
    rest *= inner;
  }
  return rest == 1 || push_dim(r, rest, {}, {});
}

/// Refines `source` → `target`. Domain: `plan_move` accepts the pair and calls it `kind`. O(dims · (dims + cuts)).
constexpr refined_move refine_move(layout_value source, layout_value target, const shape& s, plan_kind kind,
                                   const interconnect& net) {
  refined_move r;
  const mesh_shape finer = detail::cut_at_links(source.mesh, net);
  const refined_layout from = on_refined_mesh(source, finer), to = on_refined_mesh(target, finer);
  if (from.status.code == refinement_code::ok && to.status.code == refinement_code::ok) {
    source = from.layout;
    target = to.layout;
  }
  r.mesh = source.mesh;
  r.blank.kind = kind;
  for (int a = 0; a < r.mesh.axis_count; ++a) {
    r.waiting[a] = source.partial[a];
    r.leaving[a] = target.partial[a];
  }
  static_cast<move_axes&>(r.blank) = sort_axes(source, target);
  const unsigned all = detail::all_axes(r.mesh);
  source = detail::without_partial(source, all);
  target = detail::without_partial(target, all);
  if (element_count(s).value == 0) {
    r.code = refined_code::tensor_is_empty;
    return r;
  }
  const digit_table t = refine(source, target, s);
  const bool refinable = t.refinable && digits_nest(t.digit, t.count);
  if (!refinable || !detail::push_digits(r, t, s)) {
    r.code = refinable ? refined_code::too_many_dims : refined_code::cut_points_do_not_refine;
    return r;
  }
  r.source.waiting = r.blank.reduced;
  detail::add_spares(r);
  return r;
}

}  // namespace detail

/// The layout of a state. O(dims).
constexpr layout_value layout_of(const refined_move& r, const move_state& s) {
  layout_value l;
  l.mesh = r.mesh;
  l.rank = r.blank.shape.rank;
  for (int d = 0; d < l.rank; ++d) {
    const digit_owner& o = s.owner[d];
    const int size = static_cast<int>(r.blank.shape.extent[d]);
    if (o.axis >= 0) append_cut(l, {d, o.axis, r.mesh.size[o.axis] / (o.stride * size), size});
  }
  for (int a = 0; a < r.mesh.axis_count; ++a)
    if (((r.blank.kept | s.waiting) >> a & 1u) != 0) l.partial[a] = r.waiting[a];
  return l;
}

namespace detail {

/// Whether the part of `axis` that a digit of `size` at `stride` takes is not in use.
constexpr bool is_free(const refined_move& r, const move_state& s, const digit_owner& o, extent_t size) {
  if (((r.blank.kept | s.waiting) >> o.axis & 1u) != 0) return false;
  for (int d = 0; d < r.blank.shape.rank; ++d) {
    const digit_owner& x = s.owner[d];
    const int own = static_cast<int>(r.blank.shape.extent[d]);
    if (x.axis >= 0 && overlap({x.axis, x.stride, own}, {o.axis, o.stride, static_cast<int>(size)})) return false;
  }
  return true;
}

/// Pieces that the tensor is cut into.
constexpr extent_t pieces_of(const refined_move& r, const move_state& s) {
  extent_t n = 1;
  for (int d = 0; d < r.blank.shape.rank; ++d)
    if (s.owner[d].axis >= 0) n *= r.blank.shape.extent[d];
  return n;
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
