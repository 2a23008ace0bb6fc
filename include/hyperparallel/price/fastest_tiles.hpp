// SPDX-License-Identifier: Apache-2.0
#pragma once
// In how many tiles a step is fastest: none, or the number of at most 64 with which the clock of its plan ends first.
//
//   hp::lowering_options how{.topology = links};
//   how.tiles.push("*.experts.*");
//   const hp::tiles_chosen c = hp::lower_in_fastest_tiles(program, how, device, device.tier[0].bytes);
//   c.lowered.times.makespan, c.tiles, c.untiled
//
// More tiles hide more of a move; but a device takes its time to begin each, small products fill it less, what has not the
// dim of tiles is read again, and tiled values live longer. Tried are 1, 2, 4, … 64.
// The clock of each waits `how.synchronisation` between queues, as the order of its tiles does.
// Laws: the plan is one of those tried; none of them that stays within the memory is faster, and of equals it has fewest tiles. So
// it is never slower than the plan without tiles. Where the patterns name nothing, or nothing beside a move, it is that plan.
// O(numbers tried · lower_training).

#include <hyperparallel/price/clock.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr int most_tiles_tried = 64;

}  // namespace detail

struct tiles_chosen {
  lowered_program lowered;  ///< with its times
  int tiles = 1;            ///< at most so many of a step; 1: none
  extent_t untiled = 0;     ///< makespan without

  constexpr bool ok() const { return lowered.status.ok() && lowered.times.ok(); }
};

/// Where the plan without tiles is refused, that. Domain: moves can be priced on the device; `how.most_tiles` and
/// `how.step_duration` are not read.
constexpr tiles_chosen lower_in_fastest_tiles(const sharded_program& p, lowering_options how, const device_value& d,
                                              extent_t memory) {
  lowering_options whole = how;
  whole.tiles.clear();
  tiles_chosen best;
  best.lowered = clocked(lower_training(p, whole), d, how.synchronisation);
  best.untiled = best.lowered.times.makespan;
  if (!how.tiles.empty()) how.step_duration = prices_of_steps(p, kinds_of_moves(p, how.topology), d).duration;
  for (int tiles = 2; tiles <= detail::most_tiles_tried && best.ok() && !how.tiles.empty(); tiles *= 2) {
    how.most_tiles = tiles;
    lowered_program next = clocked(lower_training(p, how), d, how.synchronisation);
    if (next.status.code == lowering_code::tiles_match_nothing ||
        next.status.code == lowering_code::tiles_have_no_moves)
      break;
    const bool fits = next.status.ok() && next.times.ok() && next.addresses.high_water[0] <= memory;
    if (!fits || next.times.makespan >= best.lowered.times.makespan) continue;
    best.lowered = static_cast<lowered_program&&>(next);
    best.tiles = tiles;
  }
  return best;
}

}}  // namespace hyperparallel::v0_2
