// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long each step of a program takes by itself on one device, at stated rates: what orders tasks that are ready, and
// what tells a planner of memory tiers which copies hide behind what.
//
// Law: a step takes its overhead, and the longer of its operations and its bytes at their rates; a move its bytes that
// others bring; a copy between tiers all of its bytes. Units: picoseconds. O(steps · operands).

#include <hyperparallel/strategy/move_kinds.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct step_rates {
  std::int64_t operations_per_nanosecond = 10;
  std::int64_t bytes_per_nanosecond = 10;
  std::int64_t overhead = 500'000;
};

/// Of a compute step on one device, without overhead.
constexpr extent_t compute_duration(const sharded_program& p, const program_compute& c, const step_rates& rates) {
  const graph_operator& op = p.graph.op[c.op];
  extent_t points = p.graph.value_of(op).flops_per_point, bytes = 0;
  for (int l = 0; l < op.loop_count; ++l) points *= op.loop[l].extent / pieces_of_loop(c.placement, p.mesh.shape, l);
  for (int i = 0; i < op.operand_count; ++i) bytes += local_bytes(p, c.operand[i]);
  for (int i = 0; i < op.result_count; ++i) bytes += local_bytes(p, c.result[i]);
  return larger(points * 1000 / rates.operations_per_nanosecond, bytes * 1000 / rates.bytes_per_nanosecond);
}

/// Of bytes that others bring, or that a copy between tiers takes, without overhead.
constexpr extent_t transfer_duration(extent_t bytes, const step_rates& rates) {
  return bytes * 1000 / rates.bytes_per_nanosecond;
}

/// Of each step. Domain: a program without tiers.
constexpr growing_array<extent_t> step_durations(const sharded_program& p, const program_moves& moves,
                                                 const step_rates& rates = {}) {
  growing_array<extent_t> duration;
  for (const program_step& s : p.step) {
    extent_t work = 0;
    if (s.is_move)
      work = transfer_duration(
          kind_of(moves, s.index).received * bytes_of(p.graph.tensor[p.value[p.move[s.index].source].tensor].type),
          rates);
    else
      work = compute_duration(p, p.compute[s.index], rates);
    duration.push(rates.overhead + work);
  }
  return duration;
}

}}  // namespace hyperparallel::v0_2
