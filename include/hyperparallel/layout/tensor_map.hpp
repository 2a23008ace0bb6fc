// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps: how people write a layout, and how it becomes a value.
//
// One entry per tensor dim: nothing, one axis name, or several names in order, the first outermost. As text the names
// of an entry are separated by commas; "None" and the empty entry shard nothing. The MindSpore numeric form counts axes
// from the right (innermost axis = 0, -1 = none) and is for input and output only.
// Laws: numeric → value → numeric is the identity on canonical maps; a size-1 axis in a map changes nothing.

#include <hyperparallel/layout/layout_number.hpp>

namespace hyperparallel { inline namespace v0_2 {

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

namespace detail {

/// What one entry of a map adds to the layout. The entries of a program repeat, so the type form reads each once.
struct entry_reading {
  int scale = 1;            ///< ten to the number of digits; 1 where the entry is no dim
  unsigned axes = 0;        ///< the set of its axes; with `refused_axis` the entry says nothing that can be
  extent_t digits = 0;      ///< of a dim: those of its axes, outermost first, and a separator
  unsigned reductions = 0;  ///< of a partial axis: the operation, in the three bits of its axis
};

/// In front of the names of an entry: the dim is cut into flat ceil chunks and need not divide.
inline constexpr char padding_mark = '~';

inline constexpr unsigned refused_axis = 1u << max_axes;
inline constexpr int reduction_bits = 3;

}  // namespace detail
static_assert(static_cast<int>(reduce_op::any) < 1 << detail::reduction_bits &&
              max_axes * detail::reduction_bits <= 32);

namespace detail {

/// Reads an entry whose axes may not be in `used`. Fills `why`, where given, except its dim, when an axis is unknown,
/// used, or in the entry twice. O(text · axes).
constexpr entry_reading read_entry(const mesh_value& m, const char* text, reduce_op reduction, unsigned used = 0,
                                   layout_status* why = nullptr) {
  const int axes = m.shape.axis_count;
  entry_reading r;
  if (reduction != reduce_op::none) {
    const int a = axis_index(m, text);
    if (a < 0 || (used >> a & 1u) != 0) {
      if (why != nullptr)
        *why = a < 0 ? layout_status{layout_code::axis_is_not_in_the_mesh, 0, 0, 0, 0, 0}
                     : layout_status{layout_code::axis_shards_and_is_partial, 0, 0, a, 0, 0};
      r.axes = refused_axis;
      return r;
    }
    r.axes = 1u << a;
    if (m.shape.size[a] > 1) r.reductions = static_cast<unsigned>(reduction) << reduction_bits * a;
    return r;
  }
  const bool padded = *text == padding_mark;
  if (padded) ++text;
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
    if (a < axes && ((used | r.axes) >> a & 1u) == 0) {
      r.axes |= 1u << a;
      if (m.shape.size[a] > 1) {
        r.digits = r.digits * 10 + a + 1;
        r.scale *= 10;
      }
    } else {
      const char* const end = detail::name_end(text);
      if (a < axes || !same_text("None", text, end)) {
        if (why != nullptr)
          *why = a < axes ? layout_status{layout_code::axis_is_used_twice, 0, slot, a, 0, 0}
                          : layout_status{layout_code::axis_is_not_in_the_mesh, 0, slot, 0, 0, 0};
        r.axes = refused_axis;
        break;
      }
      text = end;
    }
    if (*text == ',') ++text;
  }
  if (padded && r.digits > 0) {
    r.digits *= 10;
    r.scale *= 10;
  }
  r.digits = r.digits * 10 + dim_separator;
  r.scale *= 10;
  return r;
}

/// A map on its way to digits. Starts as `{rank, rank + 1}`.
struct map_reading {
  int rank;
  extent_t digits;
  unsigned axes = refused_axis;
  unsigned reductions = 0;
};

/// Takes the next entry, unless it is refused or one of its axes has a role already.
constexpr bool append_entry(map_reading& m, const entry_reading& e) {
  if ((m.axes & e.axes) != 0) return false;
  m.axes |= e.axes;
  m.reductions |= e.reductions;
  m.digits = m.digits * e.scale + e.digits;
  return true;
}

/// The digits of a map that has all its entries; 0 where they are too many.
constexpr extent_t digits_of_map(const map_reading& m) {
  extent_t digits = m.rank > 0 ? m.digits / 10 : m.digits;  // the last separator has nothing to separate
  if (m.reductions == 0) return digits;
  digits *= 10;
  for (int a = 0; a < max_axes; ++a) {
    const unsigned reduction = m.reductions >> reduction_bits * a & ((1u << reduction_bits) - 1);
    if (reduction == 0) continue;
    if (digits > largest_digits / 100) return 0;
    digits = (digits * 10 + a + 1) * 10 + reduction;
  }
  return digits;
}

/// Reads text entries to digits. With `reductions`, an entry whose reduction is not `none` is no dim: its axis is
/// partial. On an unknown axis, a second use of an axis, an axis that shards and is partial, more dims than `max_dims`,
/// or too many digits fills `why`, where given, and returns the negative of the digits that shard nothing in as many
/// dims; dim and slot point at the entry. O(total text · axes).
constexpr extent_t read_map(const mesh_value& m, const char* const* entries, const reduce_op* reductions, int count,
                            layout_status* why = nullptr) {
  int rank = count;
  for (int e = 0; reductions != nullptr && e < count; ++e)
    if (reductions[e] != reduce_op::none) --rank;
  map_reading map{rank, rank + 1};
  const bool too_many = rank > max_dims;
  if (too_many) map.rank = 0;
  for (int partial = 0; partial <= 1 && !too_many; ++partial)  // a partial axis that shards as well is to blame itself
    for (int e = 0; e < count; ++e) {
      const reduce_op reduction = reductions != nullptr ? reductions[e] : reduce_op::none;
      if ((reduction != reduce_op::none) != (partial == 1)) continue;
      if (append_entry(map, read_entry(m, entries[e], reduction))) continue;
      if (why != nullptr) {
        read_entry(m, entries[e], reduction, map.axes, why);
        why->dim = e;
      }
      return -replicated_digits(map.rank);
    }
  const extent_t digits = too_many ? 0 : digits_of_map(map);
  if (digits > 0) return digits;
  if (why != nullptr) *why = {layout_code::too_many_dims, 0, 0, 0, count, max_dims};
  return -replicated_digits(map.rank);
}

}  // namespace detail

/// The layout that the text entries describe; fails as `read_map`, then with nothing sharded, and on a mesh that is
/// none.
constexpr layout_result layout_from_map(const mesh_value& m, const char* const* entries, int count) {
  if (!detail::is_valid(m.shape)) return {{layout_code::mesh_is_not_valid, 0, 0, 0, 0, 0}, {}};
  if (count < 0) return {{layout_code::too_many_dims, 0, 0, 0, count, max_dims}, {}};
  layout_result r;
  const extent_t digits = detail::read_map(m, entries, nullptr, count, &r.status);
  r.layout = detail::layout_of_digits(m.shape, digits);
  return r;
}

/// One entry of the numeric form: `count` axis numbers counted from the right, outermost first; -1 shards nothing.
struct numeric_entry {
  int count = 0;
  int number[max_axes] = {};
  friend constexpr bool operator==(const numeric_entry&, const numeric_entry&) = default;
};

/// The layout of a MindSpore tensor map. A number outside [-1, axes) is `axis_is_not_in_the_mesh`, an entry of more
/// numbers than `max_axes` uses an axis twice.
constexpr layout_result layout_from_numeric(const mesh_shape& m, const numeric_entry* entries, int count) {
  layout_result r;
  if (!detail::is_valid(m)) return {{layout_code::mesh_is_not_valid, 0, 0, 0, 0, 0}, {}};
  if (count < 0 || count > max_dims) return {{layout_code::too_many_dims, 0, 0, 0, count, max_dims}, {}};
  r.layout = replicated(m, count);
  bool used[max_axes] = {};
  for (int d = 0; d < count; ++d) {
    if (entries[d].count > max_axes) return {{layout_code::axis_is_used_twice, d, max_axes, 0, 0, 0}, r.layout};
    for (int slot = 0; slot < entries[d].count; ++slot) {
      const int number = entries[d].number[slot];
      if (number == -1) continue;
      if (number < -1 || number >= m.axis_count)
        return {{layout_code::axis_is_not_in_the_mesh, d, slot, number, 0, 0}, r.layout};
      const layout_status s = detail::take_axis(r.layout, used, d, slot, m.axis_count - 1 - number);
      if (s.code != layout_code::ok) return {s, r.layout};
    }
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

/// Marks `axis` as partial. Fails when the mesh has no such axis, when it shards a dim or `op` is `none`; an axis of
/// size 1 stays a no-op.
constexpr layout_status set_partial(layout_value& l, int axis, reduce_op op) {
  if (axis < 0 || axis >= l.mesh.axis_count) return {layout_code::axis_is_not_in_the_mesh, 0, 0, axis, 0, 0};
  if (op == reduce_op::none) return {layout_code::reduction_is_unknown, 0, 0, axis, 0, 0};
  for (int i = 0; i < l.cut_count; ++i)
    if (l.cut[i].axis == axis) return {layout_code::axis_shards_and_is_partial, l.cut[i].dim, 0, axis, 0, 0};
  if (l.mesh.size[axis] > 1) l.partial[axis] = op;
  return {};
}

/// The reduction called `name`; `none` when there is no such.
constexpr reduce_op reduction_called(const char* name) {
  for (int op = 1; op <= static_cast<int>(reduce_op::any); ++op)
    if (detail::same_text(name_of(static_cast<reduce_op>(op)), name)) return static_cast<reduce_op>(op);
  return reduce_op::none;
}

}}  // namespace hyperparallel::v0_2
