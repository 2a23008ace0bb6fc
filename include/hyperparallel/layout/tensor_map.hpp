// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps: how people write a layout, and how it becomes a value.
//
// One entry per tensor dim: nothing, one axis name, or several names in order, the first outermost. As text the names
// of an entry are separated by commas; "None" and the empty entry shard nothing. The MindSpore numeric form counts axes
// from the right (innermost axis = 0, -1 = none) and is for input and output only.
// Laws: numeric → value → numeric is the identity on canonical maps; a size-1 axis in a map changes nothing.

#include <hyperparallel/layout/layout_value.hpp>

namespace hyperparallel {

namespace detail {

/// End of the name that starts at `text`: the next comma or the end.
constexpr const char* name_end(const char* text) {
  while (*text != '\0' && *text != ',') ++text;
  return text;
}

constexpr int axis_called(const mesh_value& m, const char* begin, const char* end) {
  for (int a = 0; a < m.shape.axis_count; ++a)
    if (same_text(m.label[a].text, begin, end)) return a;
  return -1;
}

/// Gives `axis` the role "shards `dim`", or says why not. `used` collects the axes that have a role.
constexpr layout_status take_axis(layout_value& l, bool (&used)[max_axes], int dim, int slot, int axis) {
  if (used[axis]) return {layout_code::axis_is_used_twice, dim, slot, axis, 0, 0};
  if (l.partial[axis] != reduce_op::none) return {layout_code::axis_shards_and_is_partial, dim, slot, axis, 0, 0};
  used[axis] = true;
  append_cut(l, {dim, axis, 1, l.mesh.size[axis]});
  return {};
}

}  // namespace detail

/// A layout without sharding: every device holds everything.
constexpr layout_value replicated(const mesh_shape& m, int rank) {
  layout_value l;
  l.mesh = m;
  l.rank = rank;
  return l;
}

/// The layout that the text entries describe. Fails on an unknown axis, on a second use of an axis, and on more dims
/// than `max_dims`; dim and slot point at the entry. O(total text · axes).
constexpr layout_result layout_from_map(const mesh_value& m, const char* const* entries, int count) {
  layout_result r;
  if (count > max_dims) return {{layout_code::too_many_dims, 0, 0, 0, count, max_dims}, {}};
  r.layout = replicated(m.shape, count);
  bool used[max_axes] = {};
  for (int d = 0; d < count; ++d) {
    const char* begin = entries[d];
    for (int slot = 0; *begin != '\0'; ++slot) {
      const char* end = detail::name_end(begin);
      if (!same_text("None", begin, end)) {
        const int a = detail::axis_called(m, begin, end);
        if (a < 0) return {{layout_code::axis_is_not_in_the_mesh, d, slot, 0, 0, 0}, r.layout};
        const layout_status s = detail::take_axis(r.layout, used, d, slot, a);
        if (s.code != layout_code::ok) return {s, r.layout};
      }
      begin = *end == ',' ? end + 1 : end;
    }
  }
  return r;
}

/// One entry of the numeric form: `count` axis numbers counted from the right, outermost first; -1 shards nothing.
struct numeric_entry {
  int count = 0;
  int number[max_axes] = {};
  friend constexpr bool operator==(const numeric_entry&, const numeric_entry&) = default;
};

/// The layout of a MindSpore tensor map. A number outside [-1, axes) is `axis_is_not_in_the_mesh`.
constexpr layout_result layout_from_numeric(const mesh_shape& m, const numeric_entry* entries, int count) {
  layout_result r;
  if (count > max_dims) return {{layout_code::too_many_dims, 0, 0, 0, count, max_dims}, {}};
  r.layout = replicated(m, count);
  bool used[max_axes] = {};
  for (int d = 0; d < count; ++d)
    for (int slot = 0; slot < entries[d].count; ++slot) {
      const int number = entries[d].number[slot];
      if (number == -1) continue;
      if (number < -1 || number >= m.axis_count)
        return {{layout_code::axis_is_not_in_the_mesh, d, slot, number, 0, 0}, r.layout};
      const layout_status s = detail::take_axis(r.layout, used, d, slot, m.axis_count - 1 - number);
      if (s.code != layout_code::ok) return {s, r.layout};
    }
  return r;
}

/// The numeric entry of `dim`; count 0 where nothing shards it. Domain: whole axes only.
constexpr numeric_entry numeric_of(const layout_value& l, int dim) {
  numeric_entry e;
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].dim == dim) e.number[e.count++] = l.mesh.axis_count - 1 - l.cut[i].axis;
  return e;
}

/// Marks `axis` as partial. Fails when the axis shards a dim or `op` is `none`; an axis of size 1 stays a no-op.
constexpr layout_status set_partial(layout_value& l, int axis, reduce_op op) {
  if (op == reduce_op::none) return {layout_code::reduction_is_unknown, 0, 0, axis, 0, 0};
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].axis == axis) return {layout_code::axis_shards_and_is_partial, l.cut[i].dim, 0, axis, 0, 0};
  if (l.mesh.size[axis] > 1) l.partial[axis] = op;
  return {};
}

/// The reduction called `name`; `none` when there is no such.
constexpr reduce_op reduction_called(const char* name) {
  for (int op = 1; op <= static_cast<int>(reduce_op::any); ++op)
    if (same_text(name_of(static_cast<reduce_op>(op)), name)) return static_cast<reduce_op>(op);
  return reduce_op::none;
}

}  // namespace hyperparallel
