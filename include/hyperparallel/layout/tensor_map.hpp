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

/// A layout of whole axes as one integer, whose digits read: the rank plus one, then the axis numbers (from 1) of each
/// dim, outermost first, with a 9 between dims; after a 0, pairs of a partial axis and its reduction. 419923 is rank 3,
/// axis 1 on dim 0, nothing on dim 1, axes 2 and 3 on dim 2; 319031 is (axis 1, None) with axis 3 partial(sum).
/// Law: equal integers are equal layouts. Longer than 18 digits is refused.
inline constexpr int dim_separator = max_axes + 1;
inline constexpr extent_t largest_digits = 999'999'999'999'999'999;
inline constexpr extent_t refused_digits = -1;

/// The digits of a layout that shards nothing.
constexpr extent_t replicated_digits(int rank) {
  extent_t digits = rank + 1;
  for (int d = 1; d < rank; ++d) digits = digits * 10 + dim_separator;
  return digits;
}

/// Reads text entries to digits. With `reductions`, an entry whose reduction is not `none` is no dim: its axis is
/// partial. Returns `refused_digits` and fills `why`, where given, on an unknown axis, a second use of an axis, an axis
/// that shards and is partial, more dims than `max_dims`, or too many digits; dim and slot point at the entry.
/// Written without calls, because a call costs a constant evaluation as much as ten statements. O(total text · axes).
constexpr extent_t read_map(const mesh_value& m, const char* const* entries, const reduce_op* reductions, int count,
                            layout_status* why = nullptr) {
  const int axes = m.shape.axis_count;
  extent_t digits = count + 1;
  for (int e = 0; reductions != nullptr && e < count; ++e)
    if (reductions[e] != reduce_op::none) --digits;
  layout_code code = digits > max_dims + 1 ? layout_code::too_many_dims : layout_code::ok;
  unsigned used = 0;
  for (int e = 0, d = 0; e < count && code == layout_code::ok; ++e) {
    if (reductions != nullptr && reductions[e] != reduce_op::none) continue;
    if (d++ > 0) digits = digits * 10 + dim_separator;
    const char* text = entries[e];
    for (int slot = 0; *text != '\0'; ++slot) {
      int a = 0;
      for (; a < axes; ++a) {
        const char* const name = m.label[a].text;
        if (name[0] != *text) continue;
        int n = 1;
        while (name[n] != '\0' && name[n] == text[n]) ++n;
        if (name[n] == '\0' && (text[n] == '\0' || text[n] == ',')) {
          text += n;
          break;
        }
      }
      if (a < axes && (used >> a & 1u) == 0) {
        used |= 1u << a;
        if (m.shape.size[a] > 1) digits = digits * 10 + a + 1;
      } else {
        const char* const end = detail::name_end(text);
        if (a == axes && same_text("None", text, end)) {
          text = end;
        } else {
          code = a == axes ? layout_code::axis_is_not_in_the_mesh : layout_code::axis_is_used_twice;
          if (why != nullptr) *why = {code, e, slot, a == axes ? 0 : a, 0, 0};
          return refused_digits;
        }
      }
      if (*text == ',') ++text;
    }
  }
  bool first = true;
  for (int e = 0; reductions != nullptr && e < count && code == layout_code::ok; ++e) {
    if (reductions[e] == reduce_op::none) continue;
    const int a = axis_index(m, entries[e]);
    if (a < 0 || (used >> a & 1u) != 0) {
      code = a < 0 ? layout_code::axis_is_not_in_the_mesh : layout_code::axis_shards_and_is_partial;
      if (why != nullptr) *why = {code, e, 0, a < 0 ? 0 : a, 0, 0};
      return refused_digits;
    }
    used |= 1u << a;
    if (m.shape.size[a] == 1) continue;
    if (digits > largest_digits / 1000) code = layout_code::too_many_dims;
    if (first) digits *= 10;
    first = false;
    digits = (digits * 10 + a + 1) * 10 + static_cast<int>(reductions[e]);
  }
  if (code == layout_code::ok) return digits;
  if (why != nullptr) *why = {code, 0, 0, 0, count, max_dims};
  return refused_digits;
}

/// The layout that digits describe. O(digits).
constexpr layout_value layout_of_digits(const mesh_shape& m, extent_t digits) {
  layout_value l;
  l.mesh = m;
  extent_t power = 1;
  while (digits / power > 9) power *= 10;
  l.rank = static_cast<int>(digits / power) - 1;
  bool sharding = true;
  for (int d = 0; power > 1;) {
    digits %= power;
    power /= 10;
    const int digit = static_cast<int>(digits / power);
    if (!sharding) {
      digits %= power;
      power /= 10;
      l.partial[digit - 1] = static_cast<reduce_op>(digits / power);
    } else if (digit == dim_separator) {
      ++d;
    } else if (digit == 0) {
      sharding = false;
    } else {
      l.cut[l.cut_count++] = {d, digit - 1, 1, m.size[digit - 1]};
    }
  }
  return l;
}

/// The shards that digits describe, without building the layout. O(digits).
constexpr shard_counts count_shards(const mesh_shape& m, extent_t digits) {
  shard_counts n;
  extent_t pieces = 1, last_first[max_dims] = {};
  int dims = 0;  // from the last dim backwards, as the digits come
  for (; digits > 9; digits /= 10) {
    const int digit = static_cast<int>(digits % 10);
    if (digit == 0) {
      pieces = 1;  // what came so far were partial axes
    } else if (digit != dim_separator) {
      pieces *= m.size[digit - 1];
    } else {
      last_first[dims++] = pieces;
      pieces = 1;
    }
  }
  n.rank = static_cast<int>(digits) - 1;
  last_first[dims] = pieces;
  for (int d = 0; d < n.rank; ++d) n.of[d] = last_first[n.rank - 1 - d];
  return n;
}

/// Inverse of `layout_of_digits`. Domain: whole axes, at most 18 digits. O(dims + cuts + axes).
constexpr extent_t digits_of_layout(const layout_value& l) {
  extent_t digits = l.rank + 1;
  for (int d = 0, i = 0; d < l.rank; ++d) {
    if (d > 0) digits = digits * 10 + dim_separator;
    for (; i < l.cut_count && l.cut[i].dim == d; ++i) digits = digits * 10 + l.cut[i].axis + 1;
  }
  bool first = true;
  for (int a = 0; a < l.mesh.axis_count; ++a) {
    if (l.partial[a] == reduce_op::none) continue;
    if (first) digits *= 10;
    first = false;
    digits = (digits * 10 + a + 1) * 10 + static_cast<int>(l.partial[a]);
  }
  return digits;
}

/// The layout that the text entries describe; fails as `read_map`, then with nothing sharded.
constexpr layout_result layout_from_map(const mesh_value& m, const char* const* entries, int count) {
  layout_result r;
  const extent_t digits = read_map(m, entries, nullptr, count, &r.status);
  if (digits != refused_digits)
    r.layout = layout_of_digits(m.shape, digits);
  else
    r.layout = replicated(m.shape, count > max_dims ? 0 : count);
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
