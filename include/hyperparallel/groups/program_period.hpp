// SPDX-License-Identifier: Apache-2.0
#pragma once
// The period of programs that run beside each other, exactly, with a proof that it is reached and that none is less.
//
//   const hp::program_period p = hp::period_of(graph);
//   p.time, p.firings   so much time for so many firings of each program, in lowest terms
//   p.cycle             waits round a cycle whose durations and firings have that ratio: nothing fires more often
//   p.start             the beginning of firing 0 in a schedule of that period, times p.firings: something fires as often
//   p.depth             versions of each edge that this schedule holds: with so much room the period stays the same,
//                       where every program takes time
//
// Times are max-plus linear: the period is the greatest ratio of durations to firings over cycles of waits. It is found by
// integers alone: a cycle that has more than the ratio so far is a positive cycle, and takes its place until there is none.
// Where programs do not wait for each other all round, as before a `newest` edge, it is the period of the slowest one.
// Law: play of the graph by program_times.hpp has in the long run exactly that period; `is_least_period` holds cycle and
// starts against the graph and reads nothing of how they were found. Complexity: O(programs · waits) for each ratio tried.

#include <hyperparallel/groups/check_programs.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct program_period {
  programs_status status{};
  extent_t time = 0, firings = 1;
  growing_array<program_wait> cycle{};  ///< in the order of time: each ends where the next begins
  growing_array<extent_t> start{};      ///< of each program, times `firings`
  growing_array<int> depth{};           ///< of each edge; of a newest one from the version that is read to that written
};

namespace detail {

/// What a wait adds to a path, times the firings of the ratio, beyond what the ratio allows.
constexpr extent_t excess(const program_graph& g, const program_wait& w, extent_t time, extent_t firings) {
  return (g.program.item[w.from].duration + w.delay) * firings - w.back * time;
}

/// Longest paths into each program; or, where there is one, a cycle that exceeds the ratio.
struct longest_paths {
  growing_array<extent_t> length{};
  growing_array<program_wait> cycle{};
};

constexpr longest_paths paths_beyond(const program_graph& g, const growing_array<program_wait>& waits, extent_t time,
                                     extent_t firings) {
  longest_paths l;
  const int programs = g.program.size;
  l.length.resize(programs, 0);
  growing_array<int> by(programs, -1);
  int changed = 0;
  for (int round = 0; changed >= 0 && round <= programs; ++round) {
    changed = -1;
    for (int i = 0; i < waits.size; ++i) {
      const program_wait& w = waits.item[i];
      const extent_t length = l.length.item[w.from] + excess(g, w, time, firings);
      if (length <= l.length.item[w.to]) continue;
      l.length.item[w.to] = length;
      by.item[w.to] = i;
      changed = w.to;
    }
  }
  if (changed < 0) return l;
  for (int i = 0; i < programs; ++i) changed = waits.item[by.item[changed]].from;  // on the cycle now
  growing_array<program_wait> back;
  for (int at = changed; back.empty() || at != changed; at = back.last().from) back.push(waits.item[by.item[at]]);
  for (int i = back.size; i-- > 0;) l.cycle.push(back.item[i]);
  return l;
}

/// ⌈a ÷ b⌉ and ⌊a ÷ b⌋ of any a, b > 0.
constexpr extent_t ratio_up(extent_t a, extent_t b) { return a / b + (a % b > 0 ? 1 : 0); }
constexpr extent_t ratio_down(extent_t a, extent_t b) { return a / b - (a % b < 0 ? 1 : 0); }

constexpr int depth_of(const program_graph& g, const program_edge& e, const program_period& p) {
  if (p.time == 0) return e.room;
  const extent_t written = p.start.item[e.from], read = p.start.item[e.to] + g.program.item[e.to].duration * p.firings;
  const extent_t there = p.start.item[e.to] - written - (g.program.item[e.from].duration + e.move) * p.firings;
  const extent_t held = e.reads == edge_reads::every ? e.ready + ratio_up(read - written, p.time)
                                                     : ratio_up(read - written, p.time) - ratio_down(there, p.time);
  return static_cast<int>(held);
}

}  // namespace detail

/// Refused as check_programs refuses.
constexpr program_period period_of(const program_graph& g) {
  program_period p;
  p.status = check_programs(g);
  if (!p.status.ok()) return p;
  const growing_array<program_wait> waits = waits_of(g);
  p.cycle.push(waits.item[0]);
  p.time = g.program.item[0].duration;
  for (;;) {
    const detail::longest_paths l = detail::paths_beyond(g, waits, p.time, p.firings);
    if (l.cycle.empty()) {
      p.start = l.length;
      break;
    }
    p.cycle = l.cycle;
    p.time = p.firings = 0;
    for (const program_wait& w : p.cycle) {
      p.time += g.program.item[w.from].duration + w.delay;
      p.firings += w.back;
    }
    const extent_t common = greatest_common_divisor(p.time, p.firings);
    p.time /= common;
    p.firings /= common;
  }
  for (const program_edge& e : g.edge) p.depth.push(detail::depth_of(g, e, p));
  return p;
}

/// Whether the cycle is one of the graph's waits and has that ratio, and the starts keep to every wait with it.
constexpr bool is_least_period(const program_graph& g, const program_period& p) {
  if (p.cycle.empty() || p.start.size != g.program.size || p.time < 0 || p.firings < 1) return false;
  const growing_array<program_wait> waits = waits_of(g);
  extent_t over = 0;
  int at = p.cycle.last().to;
  for (const program_wait& w : p.cycle) {
    bool there = false;
    for (const program_wait& each : waits) there = there || each == w;
    if (!there || w.from != at) return false;
    at = w.to;
    over += detail::excess(g, w, p.time, p.firings);
  }
  if (over != 0) return false;
  for (const program_wait& w : waits)
    if (p.start.item[w.to] < p.start.item[w.from] + detail::excess(g, w, p.time, p.firings)) return false;
  return true;
}

namespace detail {

/// How long the ranks of a row fire in one period, for one firing of each of its programs.
constexpr extent_t busy_of_row(const program_graph& g, int row) {
  extent_t busy = 0;
  for (const int p : g.row.item[row].turn) busy += g.program.item[p].duration;
  return busy;
}

}  // namespace detail

/// The share of time that the ranks of a row fire, in millionths, rounded down. Domain: the period is not refused and not 0.
constexpr extent_t utilisation_of_row(const program_graph& g, const program_period& p, int row) {
  extent_t left = detail::busy_of_row(g, row) * p.firings, share = left / p.time;
  for (int digit = 0; digit < 6; ++digit) {
    left = left % p.time * 10;
    share = share * 10 + left / p.time;
  }
  return share;
}

}}  // namespace hyperparallel::v0_2
