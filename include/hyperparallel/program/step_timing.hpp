// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a step of training takes on given hardware: an estimate from a program's operations, bytes and moves, by the
// clock of step_clock.hpp.
//
// Compute takes what step_times.hpp says; a move takes latencies and bytes by link level (move_loads.hpp).
// Units: picoseconds. O(steps · repetitions played).

#include <hyperparallel/program/step_clock.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// What each step of a program costs by itself, from its kinds of moves and their loads.
struct program_prices {
  const sharded_program& p;
  const program_moves& moves;
  const growing_array<move_load>& load;
  const device_value& device;
  const interconnect& links;

  constexpr priced_step of_compute(int c) const { return price_of_compute(device, p, c); }
  constexpr bool travels(int m) const { return kind_of(moves, m).received > 0; }
  constexpr const move_load& load_of(int m) const { return load[moves.of[m]]; }
  constexpr time_cost of_move(int m) const {
    if (travels(m))
      return time_of(load_of(m), bytes_of(p.graph.tensor.item[p.value.item[p.move.item[m].source].tensor].type), links);
    if (kind_of(moves, m).steps == 0) return {};
    return vector_time(device, 2 * local_bytes(p, p.move.item[m].target), 1);
  }
};

}  // namespace detail

/// Times of a step of training. `load` is of the kinds of moves on `net`; `d` a device that `check`
/// accepts. `block_duration` becomes what each block of steps (storage_uses.hpp) takes with all of its repetitions in
/// one micro-batch: by how much it moves the end of what is done, so that with one micro-batch they add up to the step.
constexpr step_times time_step(const sharded_program& p, const program_moves& moves,
                               const growing_array<move_load>& load, const device_value& d, const interconnect& net,
                               growing_array<extent_t>& block_duration) {
  const detail::program_prices prices{p, moves, load, d, net};
  detail::two_queues queues(p, prices, pipeline_form(p.graph, 1), net);
  const step_times times = queues.run();
  block_duration.clear();
  for (int i = 0; i < p.step.size; ++i)
    if (i == 0 || p.step.item[i].segment != p.step.item[i - 1].segment ||
        p.step.item[i].phase != p.step.item[i - 1].phase)
      block_duration.push(queues.taken[i]);
  return times;
}
constexpr step_times time_step(const sharded_program& p, const program_moves& moves,
                               const growing_array<move_load>& load, const device_value& d, const interconnect& net) {
  const detail::program_prices prices{p, moves, load, d, net};
  return detail::two_queues(p, prices, pipeline_form(p.graph, 1), net).run();
}

}}  // namespace hyperparallel::v0_2
