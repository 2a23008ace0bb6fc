// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a firing of a program waits for, from edges and rows: firings of other programs that are done.
//
//   firing k of a reader waits for firing k - ready of the writer, one of the writer for firing k + ready - room of a reader that
//   takes every version; in a row for firing k of the program whose turn is before, the first of a row for firing k - 1 of the last
//
// Law: a graph is live, so every program can fire for ever, where each can fire once from the beginning: firing all once
// leaves all waits as they were. `check_waits` tries that. O(programs · waits).

#include <hyperparallel/groups/program_graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Firing k of its program waits until `program` has done k + `ahead` firings.
struct firing_wait {
  int program = -1;
  extent_t ahead = 0;
  int edge = -1;  ///< for a version of it, or for room in it; -1: for a turn
  int row = -1;
};

enum class wait_code : unsigned char {
  ok,
  edge_has_no_such_program,  ///< `program` is its writer or reader
  edge_has_no_room,          ///< `given` versions may be held, `expected` are there or one is needed
  row_has_no_such_program,
  programs_wait_for_each_other,  ///< `program` waits by `edge` or `row` for `other`, which cannot fire
};

struct wait_status {
  wait_code code = wait_code::ok;
  int program = -1, other = -1, edge = -1, row = -1, given = 0, expected = 0;
  constexpr bool ok() const { return code == wait_code::ok; }
};

/// Of each program. Domain: `check_waits` refuses no number of a program.
constexpr growing_array<growing_array<firing_wait>> waits_of(const program_graph& g) {
  growing_array<growing_array<firing_wait>> of(g.program.size);
  for (int e = 0; e < g.edge.size; ++e) {
    const program_edge& one = g.edge.item[e];
    of[one.to].push({one.from, extent_t{1} - one.ready, e});
    if (one.reads == edge_reads::every) of[one.from].push({one.to, extent_t{1} + one.ready - one.room, e});
  }
  for (int r = 0; r < g.row.size; ++r) {
    const growing_array<int>& turn = g.row.item[r].turn;
    for (int i = 0; i < turn.size && turn.size > 1; ++i)
      of[turn.item[i]].push({turn.item[i == 0 ? turn.size - 1 : i - 1], i == 0 ? 0 : 1, -1, r});
  }
  return of;
}

/// Whether the programs of a graph can fire for ever.
constexpr wait_status check_waits(const program_graph& g) {
  const auto is_one = [&](int p) { return p >= 0 && p < g.program.size; };
  for (int e = 0; e < g.edge.size; ++e) {
    const program_edge& one = g.edge.item[e];
    for (const int p : {one.from, one.to})
      if (!is_one(p)) return {wait_code::edge_has_no_such_program, p, -1, e};
    const int least = one.ready > 1 ? one.ready : 1;
    if (one.room < least || one.ready < 0)
      return {wait_code::edge_has_no_room, -1, -1, e, -1, one.ready < 0 ? one.ready : one.room, least};
  }
  for (int r = 0; r < g.row.size; ++r)
    for (const int p : g.row.item[r].turn)
      if (!is_one(p)) return {wait_code::row_has_no_such_program, p, -1, -1, r};
  const growing_array<growing_array<firing_wait>> waits = waits_of(g);
  growing_array<extent_t> done(g.program.size);
  wait_status stuck;
  for (bool fired = true; fired;) {
    fired = false;
    stuck = {};
    for (int p = 0; p < g.program.size; ++p) {
      if (done[p] > 0) continue;
      const firing_wait* blocked = nullptr;
      for (const firing_wait& w : waits[p])
        if (done[w.program] < w.ahead) blocked = &w;
      if (blocked == nullptr) {
        done[p] = 1;
        fired = true;
      } else if (stuck.ok()) {
        stuck = {wait_code::programs_wait_for_each_other, p, blocked->program, blocked->edge, blocked->row};
      }
    }
  }
  return stuck;
}

}}  // namespace hyperparallel::v0_2
