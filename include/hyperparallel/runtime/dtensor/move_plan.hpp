// SPDX-License-Identifier: Apache-2.0
#pragma once
// What has to happen to a tensor for it to come into another layout, partial states included.
//
//   reduce    terms along axes that stop being partial meet; where the target shards such an axis, a device reduces
//             only the part that it keeps (reduce-scatter), else all of it (all-reduce)
//   exchange  the partial-free plan from there
//   fill      axes that become partial: the value on the first device, the identity on the others; moves nothing
//
// Axes that are partial by the same operation on both sides stay so: their terms move beside each other. Laws: what is
// partial means its reduced value, so a → b → a is the identity on values; equal layouts are no plan at all. Terms are
// reduced in the order of positions.

#include <hyperparallel/operators/move_price.hpp>
#include <hyperparallel/operators/partial_words.hpp>
#include <hyperparallel/redistribution/plan.hpp>

namespace hyperparallel {

enum class move_code : unsigned char {
  ok,
  layouts_are_on_different_meshes,
  source_is_refused,
  target_is_refused,
  reductions_do_not_commute,
};

struct move_plan {
  move_code code = move_code::ok;
  layout_status layout{};    ///< of the refused side
  int axis = 0;              ///< whose reduction does not commute with an earlier axis'
  unsigned reduced = 0;      ///< axes whose terms meet
  unsigned filled = 0;       ///< axes that become partial
  layout_value between{};    ///< after the reduction
  layout_value exchanged{};  ///< after the exchange
  redistribution_plan exchange{};
};

/// O(cuts²) where the cut points refine, else O(positions · cuts). Fails naming the side, or the axis.
constexpr move_plan plan_move(const layout_value& source, const layout_value& target, const shape& s) {
  move_plan p;
  const layout_status held = check_shape(source, s), wanted = check_shape(target, s);
  if (held.code != layout_code::ok || wanted.code != layout_code::ok) {
    const bool at_source = held.code != layout_code::ok;
    p.code = at_source ? move_code::source_is_refused : move_code::target_is_refused;
    p.layout = at_source ? held : wanted;
    return p;
  }
  if (!(source.mesh == target.mesh)) {
    p.code = move_code::layouts_are_on_different_meshes;
    return p;
  }
  unsigned all = 0;
  reduce_op waiting = reduce_op::none;
  p.between = source;
  p.exchanged = target;
  for (int a = 0; a < source.mesh.axis_count; ++a) {
    const reduce_op from = source.partial[a], to = target.partial[a];
    all |= 1u << a;
    if (from != to && from != reduce_op::none) p.reduced |= 1u << a;
    if (from != to && to != reduce_op::none) p.filled |= 1u << a;
    // An axis that stays partial is reduced after the others, so it has to commute with them as well.
    if (from != reduce_op::none && waiting != reduce_op::none && !commute(waiting, from)) {
      p.code = move_code::reductions_do_not_commute;
      p.axis = a;
      return p;
    }
    if (from != reduce_op::none) waiting = from;
    if (from != to) p.between.partial[a] = p.exchanged.partial[a] = reduce_op::none;
  }
  for (int i = 0; i < target.cut_count; ++i) {
    const cut& x = target.cut[i];
    const bool whole = x.size == target.mesh.size[x.axis];
    if ((p.reduced >> x.axis & 1u) == 0 || !whole || p.between.cut_count == max_cuts) continue;
    const layout_value part = detail::cut_below(p.between, x.dim, 1u << x.axis);
    if (check_shape(part, s).code == layout_code::ok) p.between = part;
  }
  p.exchange = plan_redistribution(detail::without_partial(p.between, all), detail::without_partial(target, all), s);
  return p;
}

}  // namespace hyperparallel
