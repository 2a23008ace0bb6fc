// SPDX-License-Identifier: Apache-2.0
#pragma once
// The least that any program must move to change a layout, exactly.
//
// Every device must receive the elements of its target box that are not in its source box:
//   recv(r) ≥ |T_r ∖ S_r|.
// With the digit table the maximum has a closed form: |T| if a digit moves between axes, else |T| · (1 − 1/g), where g
// is the product of the gathered digits. Derivation: docs/explanation/redistribution.md.
// Units: elements. Layouts are partial-free here; reductions have a bound of their own.

#include <hyperparallel/layout/digits.hpp>
#include <hyperparallel/layout/slice.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// |T_r ∖ S_r| of one position. Domain: both layouts accept `s`. O(dims + cuts).
constexpr extent_t least_received(const layout_value& source, const layout_value& target, const shape& s,
                                  const coordinate& c) {
  const box wanted = slice_at(target, s, c);
  return volume(wanted) - volume(intersection(wanted, slice_at(source, s, c)));
}

namespace detail {

/// Axes that shard a dim which the other side cuts differently; bit a of the mask is axis a. Positions that differ
/// along other axes alone have the same boxes, moved as a whole; where a dim is padded, coordinate 0 has the largest.
constexpr unsigned changed_axes(const layout_value& source, const layout_value& target) {
  unsigned mask = 0;
  for (int d = 0, i = 0, j = 0; d < source.rank; ++d) {
    unsigned axes = 0;
    bool same = true;
    for (; (i < source.cut_count && source.cut[i].dim == d) || (j < target.cut_count && target.cut[j].dim == d);) {
      const bool held = i < source.cut_count && source.cut[i].dim == d;
      const bool wanted = j < target.cut_count && target.cut[j].dim == d;
      same = same && held && wanted && source.cut[i] == target.cut[j];
      if (held) axes |= 1u << source.cut[i++].axis;
      if (wanted) axes |= 1u << target.cut[j++].axis;
    }
    if (!same) mask |= axes;
  }
  return mask;
}

}  // namespace detail

struct received_bound {
  extent_t maximum = 0;   ///< over positions
  extent_t sum = 0;       ///< over positions; 0 where that leaves 64 bits
  extent_t boxes = 0;     ///< most source pieces that one target box meets
  extent_t messages = 0;  ///< most of them that other devices hold
  bool overflow = false;  ///< of the sum
};

/// The bound over the positions that have coordinate 0 on all axes outside `along`, by enumeration: any shape, padded
/// dims included. A target box meets a product of source pieces, and at most one of them is the position's own. Written
/// without calls, because it is the price of every plan whose cuts do not refine. O(positions · (dims + cuts)).
constexpr received_bound enumerate_bound(const layout_value& source, const layout_value& target, const shape& s,
                                         unsigned along = ~0u) {
  received_bound b;
  int source_stride[max_cuts] = {}, target_stride[max_cuts] = {};
  for (int i = 0; i < source.cut_count; ++i) source_stride[i] = detail::stride_of(source.mesh, source.cut[i]);
  for (int i = 0; i < target.cut_count; ++i) target_stride[i] = detail::stride_of(target.mesh, target.cut[i]);
  const shard_counts held = detail::count_shards(source), wanted = detail::count_shards(target);
  extent_t source_chunk[max_dims] = {}, target_chunk[max_dims] = {};
  for (int d = 0; d < s.rank; ++d) {
    source_chunk[d] = larger(1, ceil_divide(s.extent[d], held.of[d]));
    target_chunk[d] = ceil_divide(s.extent[d], wanted.of[d]);
  }
  int at[max_axes] = {}, positions = 1;
  for (int a = 0; a < source.mesh.axis_count; ++a)
    if ((along >> a & 1u) != 0) positions *= source.mesh.size[a];
  for (int position = 0; position < positions; ++position) {
    extent_t all = 1, own = 1, boxes = 1;
    for (int d = 0, i = 0, j = 0; d < s.rank; ++d) {
      extent_t mine = 0, piece = 0;
      for (; i < source.cut_count && source.cut[i].dim == d; ++i)
        mine = mine * source.cut[i].size + at[source.cut[i].axis] / source_stride[i] % source.cut[i].size;
      for (; j < target.cut_count && target.cut[j].dim == d; ++j)
        piece = piece * target.cut[j].size + at[target.cut[j].axis] / target_stride[j] % target.cut[j].size;
      const extent_t n = s.extent[d], chunk = source_chunk[d];
      const extent_t begin = piece * target_chunk[d] < n ? piece * target_chunk[d] : n;
      const extent_t end = begin + target_chunk[d] < n ? begin + target_chunk[d] : n;
      const extent_t first = mine * chunk < begin ? begin : mine * chunk;
      const extent_t last = mine * chunk + chunk < end ? mine * chunk + chunk : end;
      all *= end - begin;
      own *= first < last ? last - first : 0;
      boxes *= begin < end ? (end - 1) / chunk - begin / chunk + 1 : 0;
    }
    if (add_overflows(b.sum, all - own, b.sum)) b.overflow = true;
    if (all - own > b.maximum) b.maximum = all - own;
    if (boxes > b.boxes) b.boxes = boxes;
    if (own > 0) --boxes;
    if (boxes > b.messages) b.messages = boxes;
    for (int a = source.mesh.axis_count - 1; a >= 0; --a) {
      if ((along >> a & 1u) == 0) continue;
      if (++at[a] < source.mesh.size[a]) break;
      at[a] = 0;
    }
  }
  if (b.overflow) b.sum = 0;
  return b;
}

/// The maximum over positions in closed form. Domain: `f.refinable`, `target_elements` = |T|. O(1).
constexpr extent_t closed_form_bound(const digit_figures& f, extent_t target_elements) {
  return f.moved ? target_elements : target_elements - target_elements / f.gathered;
}

}}  // namespace hyperparallel::v0_2
