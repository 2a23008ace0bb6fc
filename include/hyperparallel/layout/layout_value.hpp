// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout of a tensor over a device matrix, as a value.
//
// Per dim an ordered list of axes shards it, the first one outermost (major). Each axis has exactly one role: it shards
// one dim at one place, it is partial with a reduction, or it replicates. Internally an axis may be cut into sub-axes
// (axis, pre, size): the axis of size n is seen as [pre, size, n / (pre · size)] and the middle part is used.
//
// Law (canonical form): cuts are sorted by dim, major to minor; cuts and partial states of size 1 are absent; sub-axes
// that continue each other in one dim are one cut. Two canonical layouts place every element alike iff they are equal.

#include <hyperparallel/layout/axis_part.hpp>
#include <hyperparallel/layout/layout_status.hpp>
#include <hyperparallel/layout/shape.hpp>
#include <hyperparallel/mesh/coordinates.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class reduce_op : unsigned char { none, sum, max, min, avg, prod, all, any };

constexpr const char* name_of(reduce_op op) {
  return detail::enum_name("none\0sum\0max\0min\0avg\0prod\0all\0any", op);
}

namespace detail {

/// Whether a whole tensor is its own term of `op` on every device, so that a fill changes nothing.
constexpr bool is_idempotent(reduce_op op) { return op != reduce_op::sum && op != reduce_op::prod; }

}  // namespace detail

/// Whether terms of both reductions may wait on one tensor, along different axes: only where their order does not
/// matter. Sums and averages commute with each other, every reduction with itself.
constexpr bool commute(reduce_op a, reduce_op b) {
  const bool linear = (a == reduce_op::sum || a == reduce_op::avg) && (b == reduce_op::sum || b == reduce_op::avg);
  return a == b || linear;
}

/// `dim` is sharded by the part [pre, size, …] of `axis`. A whole axis has pre = 1 and its full size. No default member
/// values: an array of cuts is then zeroed at once, which costs a constant evaluation nothing.
struct cut {
  int dim;
  int axis;
  int pre;
  int size;
  friend constexpr bool operator==(const cut&, const cut&) = default;
};

inline constexpr int max_cuts = 16;

struct layout_value {
  mesh_shape mesh{};
  int rank = 0;  ///< dims of the tensor
  int cut_count = 0;
  hyperparallel::cut cut[max_cuts] = {};
  reduce_op partial[max_axes] = {};
  unsigned padded = 0;  ///< bit d: dim d is cut into flat ceil chunks and need not divide
  /// Cuts and axes that are not there have no say.
  friend constexpr bool operator==(const layout_value& a, const layout_value& b) {
    if (a.rank != b.rank || a.cut_count != b.cut_count || a.padded != b.padded || !(a.mesh == b.mesh)) return false;
    for (int i = 0; i < a.cut_count; ++i)
      if (!(a.cut[i] == b.cut[i])) return false;
    for (int i = 0; i < a.mesh.axis_count; ++i)
      if (a.partial[i] != b.partial[i]) return false;
    return true;
  }
};

struct layout_result {
  layout_status status{};
  layout_value layout{};
};

namespace detail {

/// Elements of the axis below the sub-axis: the stride of its digit in the axis coordinate.
constexpr int stride_of(const mesh_shape& m, const cut& c) { return m.size[c.axis] / (c.pre * c.size); }

}  // namespace detail

/// The sub-axis digit of coordinate `at`.
constexpr int digit_of(const mesh_shape& m, const cut& c, int at) { return at / detail::stride_of(m, c) % c.size; }

/// Number of pieces that `dim` is cut into.
constexpr extent_t shards_of(const layout_value& l, int dim) {
  extent_t n = 1;
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].dim == dim) n *= l.cut[i].size;
  return n;
}

constexpr bool is_padded(const layout_value& l, int dim) { return (l.padded >> dim & 1u) != 0; }

constexpr bool is_partial(const layout_value& l) {
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if (l.partial[a] != reduce_op::none) return true;
  return false;
}

namespace detail {

/// The digits of its axis that a cut takes.
constexpr axis_part axis_part_of(const mesh_shape& m, const cut& c) { return {c.axis, stride_of(m, c), c.size}; }

}  // namespace detail

/// Whether `l` is a layout: a valid mesh, cuts dim by dim, each a part of its axis, and every axis with one role at
/// most, of which several parts are independent. Whatever takes a layout value checks it first; the maps of
/// tensor_map.hpp give no other. O(axes + cuts²).
constexpr layout_status check_layout(const layout_value& l) {
  const mesh_shape& m = l.mesh;
  if (!detail::is_valid(m)) return {layout_code::mesh_is_not_valid, 0, 0, 0, 0, 0};
  if (l.rank < 0 || l.rank > max_dims) return {layout_code::too_many_dims, 0, 0, 0, l.rank, max_dims};
  if (l.cut_count < 0 || l.cut_count > max_cuts) return {layout_code::too_many_cuts, 0, 0, 0, l.cut_count, max_cuts};
  unsigned sharding = 0;
  for (int i = 0; i < l.cut_count; ++i) {
    const cut& c = l.cut[i];
    if (c.dim < 0 || c.dim >= l.rank) return {layout_code::dim_is_out_of_range, c.dim, 0, c.axis, l.rank, 0};
    if (i > 0 && c.dim < l.cut[i - 1].dim) return {layout_code::cuts_are_not_in_order, c.dim, 0, c.axis, 0, 0};
    if (c.axis < 0 || c.axis >= m.axis_count) return {layout_code::axis_is_not_in_the_mesh, c.dim, 0, c.axis, 0, 0};
    const int size = m.size[c.axis];
    if (c.pre < 1 || c.size < 1 || size % c.pre != 0 || size / c.pre % c.size != 0)
      return {layout_code::sub_axis_does_not_fit_its_axis, c.dim, 0, c.axis, size, c.size};
    if (l.partial[c.axis] != reduce_op::none) return {layout_code::axis_shards_and_is_partial, c.dim, 0, c.axis, 0, 0};
    for (int j = 0; (sharding >> c.axis & 1u) != 0 && j < i; ++j) {
      const axis_part own = detail::axis_part_of(m, c), other = detail::axis_part_of(m, l.cut[j]);
      if (are_independent(own, other)) continue;
      const bool nested = nest(own, other);
      return {nested ? layout_code::axis_is_used_twice : layout_code::sub_axes_do_not_nest, c.dim, 0, c.axis, 0, 0};
    }
    sharding |= 1u << c.axis;
  }
  return {};
}

/// Appends a cut in canonical form: drops size 1, joins a sub-axis that continues the last cut of the same dim.
/// Domain: cuts come dim by dim, major to minor; `l.cut_count < max_cuts`.
constexpr void append_cut(layout_value& l, const cut& c) {
  if (c.size == 1) return;
  if (l.cut_count > 0) {
    cut& last = l.cut[l.cut_count - 1];
    if (last.dim == c.dim && last.axis == c.axis && last.pre * last.size == c.pre) {
      last.size *= c.size;
      return;
    }
  }
  l.cut[l.cut_count++] = c;
}

/// How many pieces each dim is cut into: all that a shape has to fit.
struct shard_counts {
  int rank = 0;
  unsigned padded = 0;
  extent_t of[max_dims] = {};
};

namespace detail {

/// O(dims + cuts).
constexpr shard_counts count_shards(const layout_value& l) {
  shard_counts n;
  n.rank = l.rank;
  n.padded = l.padded;
  for (int d = 0; d < l.rank; ++d) n.of[d] = 1;
  for (int i = 0; i < l.cut_count; ++i) n.of[l.cut[i].dim] *= l.cut[i].size;
  return n;
}

}  // namespace detail

struct shape_result {
  layout_status status{};
  hyperparallel::shape shape{};
};

/// The largest piece of any device, where every dim divides by its shards (padded dims excepted) and the volume fits 64
/// bits; else why not, and the shape itself. O(dims).
constexpr shape_result fit(const shard_counts& n, const shape& s) {
  shape_result r;
  r.shape = s;
  if (s.rank != n.rank) {
    r.status = {layout_code::map_length_differs_from_tensor_rank, 0, 0, 0, s.rank, n.rank};
    return r;
  }
  extent_t volume = 1;
  for (int d = 0; d < s.rank; ++d) {
    const extent_t extent = s.extent[d], pieces = n.of[d];
    if (extent < 0) {
      r.status = {layout_code::extent_is_negative, d, 0, 0, extent, 0};
      return r;
    }
    if (extent > 0 && multiply_overflows(volume, extent, volume)) {  // an empty dim hides no overflow
      r.status.code = layout_code::element_count_overflows;
      return r;
    }
    if (extent % pieces == 0) {
      r.shape.extent[d] = extent / pieces;
    } else if ((n.padded >> d & 1u) != 0) {
      r.shape.extent[d] = extent / pieces + 1;
      if (checked_multiply(r.shape.extent[d], pieces).overflow) {  // the last piece would end beyond 64 bits
        r.status.code = layout_code::element_count_overflows;
        return r;
      }
    } else {
      r.status = {layout_code::extent_is_not_divisible_by_its_shards, d, 0, 0, extent, pieces};
      return r;
    }
  }
  return r;
}

/// The shape of the largest box of any device (the only one, where nothing is padded), or why `l` is no layout or does
/// not accept `s`. O(dims + axes + cuts²).
constexpr shape_result local_shape(const layout_value& l, const shape& s) {
  const layout_status status = check_layout(l);
  if (status.code != layout_code::ok) return {status, s};
  return fit(detail::count_shards(l), s);
}

/// Whether `l` is a layout and accepts the shape. O(dims + axes + cuts²).
constexpr layout_status check_shape(const layout_value& l, const shape& s) { return local_shape(l, s).status; }

}}  // namespace hyperparallel::v0_2
