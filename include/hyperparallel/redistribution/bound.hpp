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

namespace hyperparallel {

/// |T_r ∖ S_r| of one position. Domain: both layouts accept `s`. O(dims + cuts).
constexpr extent_t least_received(const layout_value& source, const layout_value& target, const shape& s,
                                  const coordinate& c) {
  const box wanted = slice_at(target, s, c);
  return volume(wanted) - volume(intersection(wanted, slice_at(source, s, c)));
}

struct received_bound {
  extent_t maximum = 0;   ///< over positions
  extent_t sum = 0;       ///< over positions
  extent_t boxes = 0;     ///< most source pieces that one target box meets
  extent_t messages = 0;  ///< most of them that other devices hold
};

/// The bound over all positions by enumeration: any shape, padded dims included. A target box meets a product of source
/// pieces, and at most one of them is the position's own. Written without calls, because it is the price of every plan
/// whose cuts do not refine. O(positions · (dims + cuts)).
constexpr received_bound enumerate_bound(const layout_value& source, const layout_value& target, const shape& s) {
  received_bound b;
  int source_stride[max_cuts] = {}, target_stride[max_cuts] = {};
  for (int i = 0; i < source.cut_count; ++i) source_stride[i] = stride_of(source.mesh, source.cut[i]);
  for (int i = 0; i < target.cut_count; ++i) target_stride[i] = stride_of(target.mesh, target.cut[i]);
  const shard_counts held = count_shards(source), wanted = count_shards(target);
  extent_t source_chunk[max_dims] = {}, target_chunk[max_dims] = {};
  for (int d = 0; d < s.rank; ++d) {
    source_chunk[d] = larger(1, ceil_divide(s.extent[d], held.of[d]));
    target_chunk[d] = ceil_divide(s.extent[d], wanted.of[d]);
  }
  int at[max_axes] = {};
  const int positions = position_count(source.mesh);
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
    b.sum += all - own;
    if (all - own > b.maximum) b.maximum = all - own;
    if (boxes > b.boxes) b.boxes = boxes;
    if (own > 0) --boxes;
    if (boxes > b.messages) b.messages = boxes;
    for (int a = source.mesh.axis_count - 1; a >= 0 && ++at[a] == source.mesh.size[a]; --a) at[a] = 0;
  }
  return b;
}

/// The maximum over positions in closed form. Domain: `f.refinable`, `target_elements` = |T|. O(1).
constexpr extent_t closed_form_bound(const digit_figures& f, extent_t target_elements) {
  return f.moved ? target_elements : target_elements - target_elements / f.gathered;
}

}  // namespace hyperparallel
