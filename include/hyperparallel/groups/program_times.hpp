// SPDX-License-Identifier: Apache-2.0
#pragma once
// When programs that run beside each other fire: every firing as early as its waits let it, played one by one.
//
//   const hp::program_times t = hp::play_programs(graph, 100);
//   t.start[p * 100 + k], t.end[…]   of firing k of program p; t.idle[r] of row r until the last end
//   hp::play_programs(graph, 100, durations)   with a duration for each firing, at the same places
//
// Laws: no schedule that keeps to the waits ends any firing earlier; with the durations of the graph, the slowest program
// has in the long run exactly the period of program_period.hpp. Complexity: O(firings · waits).

#include <hyperparallel/groups/check_programs.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct program_times {
  programs_status status{};
  int firings = 0;
  growing_array<extent_t> start{}, end{};  ///< at [program · firings + k]
  growing_array<extent_t> idle{};          ///< of each row
  extent_t makespan = 0;
};

/// Refused as check_programs refuses; `times_overflow` where the sum of all durations and moves leaves 64 bits, and
/// `duration_is_negative` of a firing.
/// Domain: `duration` has an entry for each firing of each program.
constexpr program_times play_programs(const program_graph& g, int firings, const growing_array<extent_t>& duration) {
  program_times t;
  t.status = check_programs(g);
  t.firings = firings;
  extent_t sum = 0;
  for (int i = 0; i < duration.size && t.status.ok(); ++i) {
    if (duration.item[i] < 0)
      t.status = {.code = programs_code::duration_is_negative, .program = i / firings, .given = duration.item[i]};
    else if (add_overflows(sum, duration.item[i], sum))
      t.status.code = programs_code::times_overflow;
  }
  for (int e = 0; e < g.edge.size && t.status.ok(); ++e) {
    extent_t moves = 0;
    if (multiply_overflows(g.edge.item[e].move, firings, moves) || add_overflows(sum, moves, sum))
      t.status.code = programs_code::times_overflow;
  }
  if (!t.status.ok()) return t;
  const growing_array<program_wait> waits = waits_of(g);
  const detail::firing_order order = detail::order_of_firing(g.program.size, waits);
  t.start.resize(duration.size, 0);
  t.end.resize(duration.size, 0);
  for (int k = 0; k < firings; ++k)
    for (const int p : order.order) {
      extent_t start = 0;
      for (const program_wait& w : waits)
        if (w.to == p && k >= w.back) start = larger(start, t.end.item[w.from * firings + k - w.back] + w.delay);
      t.start.item[p * firings + k] = start;
      t.end.item[p * firings + k] = start + duration.item[p * firings + k];
      t.makespan = larger(t.makespan, t.end.item[p * firings + k]);
    }
  for (const program_row& row : g.row) {
    extent_t busy = 0;
    for (const int p : row.turn)
      for (int k = 0; k < firings; ++k) busy += duration.item[p * firings + k];
    t.idle.push(t.makespan - busy);
  }
  return t;
}

/// With the durations of the graph.
constexpr program_times play_programs(const program_graph& g, int firings) {
  growing_array<extent_t> duration;
  for (const group_program& p : g.program)
    for (int k = 0; k < firings; ++k) duration.push(p.duration);
  return play_programs(g, firings, duration);
}

}}  // namespace hyperparallel::v0_2
