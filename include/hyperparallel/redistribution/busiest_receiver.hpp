// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the busiest rank of a move receives, without walking over ranks where digits tell.
//
// A reducer has the coordinates of its source piece and of its target piece on the axes that cut only the target, so of
// its source block S it reduces C = |S| ÷ (what those axes slice) ÷ shares, and receives the g − 1 other terms of that.
// The first share is the largest where they are uneven. Of its target block T it then misses all but the part O of its own
// shares that it wants:
//   received = (g − 1) C + |T| − O
// where O is 0 if some other digit moves between axes, else C ÷ (what the axes that cut both sides slice).
// Law: most_received(p) == certify(p).received_maximum for every plan by fewest bytes. Units: elements.

#include <hyperparallel/redistribution/certificate.hpp>
#include <hyperparallel/support/compiled.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What `position` receives in all steps of `p`. O(transfers of a receiver).
constexpr extent_t received_at(const move_plan& p, int position) {
  extent_t n = 0;
  for (int i = 0; i < p.step_count; ++i) {
    const step_receiver r = receiver_of(p.step[i], p.shape, position);
    for (extent_t k = 0; k < r.transfers; ++k) {
      const transfer t = transfer_at(p.step[i], r, k);
      if (!detail::is_own(r, t)) n += volume(t.part);
    }
  }
  return n;
}

namespace detail {

constexpr extent_t most_by_enumeration(const move_plan& p) {
  extent_t most = 0;
  for (int q = 0; q < position_count(p.step[0].target.mesh); ++q) most = larger(most, received_at(p, q));
  return most;
}

/// Over the positions whose coordinates are each the first or the last of their axis.
constexpr extent_t most_at_corners(const move_plan& p) {
  const mesh_shape& m = p.step[0].target.mesh;
  extent_t most = 0;
  for (unsigned corner = 0; corner < 1u << m.axis_count; ++corner) {
    coordinate at;
    bool is_new = true;
    for (int a = 0; a < m.axis_count; ++a) {
      const bool last = (corner >> a & 1u) != 0;
      at.at[a] = last ? m.size[a] - 1 : 0;
      is_new = is_new && (!last || m.size[a] > 1);
    }
    if (is_new) most = larger(most, received_at(p, position_of(m, at)));
  }
  return most;
}

/// Whether positions differ in the pieces of one padded dim alone: no digit of the longer tensor (padded_move.hpp)
/// moves between axes. Pieces get smaller along their axes, and with them what is reduced and what a position has of what
/// it gathers; so the busiest is at a corner.
constexpr bool is_busiest_at_a_corner(const move_plan& p) {
  const extended_pair longer = extend(p.step[0].source, p.step[p.step_count - 1].target, p.shape);
  if (!longer.exists) return false;
  const digit_figures f =
      compare_cuts(longer.source, index_cuts(longer.source), longer.target, index_cuts(longer.target), longer.shape);
  return f.refinable && !f.moved;
}

/// Products of digits that the closed forms need.
struct reducer_figures {
  extent_t sliced_by_target_only = 1;
  extent_t sliced_by_both = 1;
  bool moved_into_both = false;
};

constexpr reducer_figures reducers_of(const digit_table& t, unsigned sharding) {
  reducer_figures f;
  for (int i = 0; i < t.count; ++i) {
    const digit& x = t.digit[i];
    if (x.target_axis < 0 || is_kept(x)) continue;
    const bool in_source = (sharding >> x.target_axis & 1u) != 0;
    if (is_moved(x))
      f.moved_into_both = f.moved_into_both || in_source;
    else if (in_source)
      f.sliced_by_both *= x.size;
    else
      f.sliced_by_target_only *= x.size;
  }
  return f;
}

/// Elements that a device takes in a pull that fills: of each digit of a filled axis it takes its own value.
constexpr extent_t received_by_fill(const digit_table& t, unsigned filled, extent_t target_elements) {
  extent_t gathered = 1, own = 1;
  bool moved = false;
  for (int i = 0; i < t.count; ++i) {
    const digit& x = t.digit[i];
    const bool filling = x.source_axis >= 0 && (filled >> x.source_axis & 1u) != 0;
    if (is_gathered(x)) (filling ? own : gathered) *= x.size;
    if (is_moved(x)) moved = moved || !filling;
  }
  const extent_t taken = target_elements / own;
  return moved ? taken : taken - taken / gathered;
}

/// A cell, where one source piece meets one target piece; all cells are alike where cut points refine.
constexpr box first_cell(const layout_value& source, const layout_value& target, const shape& s) {
  box cell;
  cell.rank = s.rank;
  for (int d = 0; d < s.rank; ++d) cell.dim[d] = {0, s.extent[d] / larger(shards_of(source, d), shards_of(target, d))};
  return cell;
}

extent_t most_received_in_library(const move_plan& p);
constexpr extent_t most_received_here(const move_plan& p) {
  if (p.step_count == 0) return 0;
  const move_step &first = p.step[0], &last = p.step[p.step_count - 1];
  const layout_value &source = first.source, &target = last.target;
  const digit_table t = refine(source, target, p.shape);
  const shape_result held = local_shape(source, p.shape), wanted = local_shape(target, p.shape);
  const extent_t s_elements = element_count(held.shape).value, t_elements = element_count(wanted.shape).value;
  if (!t.refinable || t_elements == 0)
    return detail::is_busiest_at_a_corner(p) ? detail::most_at_corners(p) : detail::most_by_enumeration(p);
  const extent_t terms = group_size(source.mesh, detail::axes_of(source.mesh, p.reduced));
  const extent_t passed_on = detail::received_by_fill(t, last.filled, t_elements);
  if (first.kind == step_kind::pull) return passed_on;
  if (last.filled != 0) return detail::most_by_enumeration(p);
  if (first.kind == step_kind::reduce) return (terms - 1) * t_elements + passed_on;
  const int shares = group_size(source.mesh, detail::axes_of(source.mesh, first.shared));
  if (terms < 2) return detail::most_by_enumeration(p);
  const detail::reducer_figures f = detail::reducers_of(t, detail::cut_axes(source));
  const box cell = detail::first_cell(source, target, p.shape);
  // Shares differ by cell alone, and who reduces more receives more.
  const extent_t reduced =
      s_elements / f.sliced_by_target_only / volume(cell) * volume(detail::part_of(cell, 0, shares));
  const extent_t own = f.moved_into_both ? 0 : reduced / f.sliced_by_both;
  return (terms - 1) * reduced + t_elements - own;
}

}  // namespace detail

/// What the rank that receives most receives in all steps. Domain: p.code is ok and `p` is a plan by fewest bytes on
/// one mesh. O(cuts²) where cut points refine, O(2^axes · transfers of a receiver) where one padded dim alone does not,
/// else O(positions · transfers of a receiver).
constexpr extent_t most_received(const move_plan& p) {
  HYPERPARALLEL_TWIN(detail::most_received_in_library(p));
  return detail::most_received_here(p);
}

}}  // namespace hyperparallel::v0_2
