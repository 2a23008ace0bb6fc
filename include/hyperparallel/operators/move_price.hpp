// SPDX-License-Identifier: Apache-2.0
#pragma once
// What it costs to bring an operand into another layout: the most elements that any device receives.
//
// Partial-free moves are priced by their plan, which is at the bound. Where the target no longer waits for a reduction
// over p devices, each of the p terms of a slice S has to meet the others:
//
//   reduce-scatter   |S| · (p − 1) / p, the slice then cut by the reduced axes, and from there to the target;
//   by exchange      |T| · (p − 1) and what a device does not hold of its own term, where no dim can be cut or T is
//                    already smaller than the share of a reduce-scatter.
//
// Law: with the target cut by the reduced axes the price is that of the native reduce-scatter, with a whole target that
// of reduce-scatter and all-gather. Source: redistribution-sota §1, element-wise bounds.

#include <hyperparallel/redistribution/plan.hpp>

namespace hyperparallel {

struct move_price {
  bool possible = true;   ///< false: a side refuses the shape, meshes differ, or a reduction would have to be undone
  extent_t received = 0;  ///< elements, of the device that receives most
};

namespace detail {

/// `l` without the partial states along the axes of `mask`.
constexpr layout_value without_partial(layout_value l, unsigned mask) {
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if ((mask >> a & 1u) != 0) l.partial[a] = reduce_op::none;
  return l;
}

/// `l` with dim `dim` cut further by the whole axes of `mask`, outer to inner, below the cuts that are there.
constexpr layout_value cut_below(const layout_value& l, int dim, unsigned mask) {
  layout_value r = l;
  r.cut_count = 0;
  int i = 0;
  for (; i < l.cut_count && l.cut[i].dim <= dim; ++i) append_cut(r, l.cut[i]);
  for (int a = 0; a < l.mesh.axis_count; ++a)
    if ((mask >> a & 1u) != 0) append_cut(r, {dim, a, 1, l.mesh.size[a]});
  for (; i < l.cut_count; ++i) append_cut(r, l.cut[i]);
  return r;
}

constexpr int cuts_with(const layout_value& l, unsigned mask) {
  int n = l.cut_count;
  for (int a = 0; a < l.mesh.axis_count; ++a) n += static_cast<int>(mask >> a & 1u);
  return n;
}

}  // namespace detail

/// Price of `source` → `target` for a tensor of shape `s`. Axes that are partial on both sides stay so; a whole source
/// becomes partial by a fill, which moves nothing. O(dims · cuts²) where cut points refine, else O(dims · positions).
constexpr move_price price_of_move(const layout_value& source, const layout_value& target, const shape& s) {
  unsigned reduced = 0, all = 0;
  extent_t terms = 1;
  for (int a = 0; a < source.mesh.axis_count; ++a) {
    all |= 1u << a;
    const reduce_op from = source.partial[a], to = target.partial[a];
    if (from == reduce_op::none || from == to) continue;
    if (to != reduce_op::none) return {false, 0};
    reduced |= 1u << a;
    terms *= source.mesh.size[a];
  }
  const layout_value held = detail::without_partial(source, all), wanted = detail::without_partial(target, all);
  const redistribution_plan direct = plan_redistribution(held, wanted, s);
  if (direct.status.code != plan_code::ok) return {false, 0};
  if (reduced == 0) return {true, direct.received_maximum};
  extent_t best = direct.target_elements * (terms - 1) + direct.received_maximum;
  if (detail::cuts_with(held, reduced) > max_cuts) return {true, best};
  for (int d = 0; d < s.rank; ++d) {
    const redistribution_plan after = plan_redistribution(detail::cut_below(held, d, reduced), wanted, s);
    if (after.status.code != plan_code::ok) continue;
    best = smaller(best, direct.source_elements / terms * (terms - 1) + after.received_maximum);
  }
  return {true, best};
}

}  // namespace hyperparallel
