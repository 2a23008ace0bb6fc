// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long each step of a program takes by itself on one device, at stated rates: what orders tasks that are ready, and
// what tells a planner of memory tiers which copies hide behind what.
//
// Law: a step takes its overhead, and the longer of its operations and its bytes at their rates, which are those of the
// account (`work_of`); a move its bytes that others bring; a copy between tiers all of its bytes. Units: picoseconds.
// O(steps · operands).

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/strategy/move_kinds.hpp>
#include <hyperparallel/strategy/operator_work.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct step_rates {
  std::int64_t operations_per_nanosecond = 10;
  std::int64_t bytes_per_nanosecond = 10;
  std::int64_t overhead = 500'000;
};

namespace detail {

/// Of bytes that others bring, or that a copy between tiers takes, without overhead.
constexpr extent_t transfer_duration(extent_t bytes, const step_rates& rates) {
  return work_time(bytes, 1, 1, rates.bytes_per_nanosecond * gigabyte).picoseconds;
}

/// Of a compute step on one device, without overhead.
constexpr extent_t compute_duration(const sharded_program& p, const program_compute& c, const step_rates& rates) {
  const operator_work w = work_of(p, c);
  return larger(work_time(w.flops, 1, 1, rates.operations_per_nanosecond * gigaflops).picoseconds,
                transfer_duration(w.bytes_read + w.bytes_written, rates));
}

}  // namespace detail

/// Of each step. Domain: a program without tiers.
constexpr growing_array<extent_t> step_durations(const sharded_program& p, const program_moves& moves,
                                                 const step_rates& rates = {}) {
  growing_array<extent_t> duration;
  for (const program_step& s : p.step) {
    extent_t work = 0;
    if (s.is_move)
      work = detail::transfer_duration(
          kind_of(moves, s.index).received * bytes_of(p.graph.tensor[p.value[p.move[s.index].source].tensor].type),
          rates);
    else
      work = detail::compute_duration(p, p.compute[s.index], rates);
    duration.push(rates.overhead + work);
  }
  return duration;
}

}}  // namespace hyperparallel::v0_2
