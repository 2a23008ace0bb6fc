// SPDX-License-Identifier: Apache-2.0
#pragma once
// What it costs to bring an operand into another layout: the most elements that any device receives in the move that
// the planner of redistribution/ would emit.
//
// Laws: without partial states the price is the lower bound of the pair; a slice, a fill and a partial state that stays
// cost nothing; a reduction costs at most what the native collectives do, and less where idle replicas help.

#include <hyperparallel/redistribution/busiest_receiver.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct move_price {
  bool possible = true;   ///< false: a side refuses the shape, meshes differ, or reductions do not commute
  extent_t received = 0;  ///< elements, of the device that receives most
};

/// Price of `source` → `target` for a tensor of shape `s`. O(cuts²) where cut points refine, else O(positions · cuts).
constexpr move_price price_of_move(const layout_value& source, const layout_value& target, const shape& s) {
  if (!is_partial(source) && !is_partial(target)) {  // the common case needs no steps
    const redistribution_plan direct = plan_redistribution(source, target, s);
    return {direct.status.code == plan_code::ok, direct.received_maximum};
  }
  const move_plan p = plan_move(source, target, s);
  return {p.code == move_code::ok, p.code == move_code::ok ? most_received(p) : 0};
}

}}  // namespace hyperparallel::v0_2
