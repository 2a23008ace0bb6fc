// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far behind the weights are that a sample was made with, when it is trained on: a bound that the graph proves.
//
//   weights: train → rollout, ready 2; samples: rollout → train, ready 0
//   hp::staleness_of(graph, weights).behind       1: firing k of train reads what was made with k − 1 updates or more
//
// Firing k of the writer of an edge has k firings before it. What it reads was made from a version of the edge, over any
// path of edges from the reader back to the writer; `behind` is how many of those k firings that version has not seen, the
// most over all paths and all orders of play. Versions that are ready at the start count as of the start.
// Of an edge that is read in every version, firing k reads what firing k − ready wrote. Of one that is read newest it reads
// that or a later one: at least that of the last firing that every order of play has had by then, the least `back` of a
// path of waits (program_waits.hpp); a version that takes time to move counts from where the reader waits for it. Law: no
// order of play exceeds the bound, and some order reaches it, also with newest edges. Where data goes round without the writer
// (caches that a rollout hands to itself), no bound holds and it says so. Complexity: O(programs · edges + programs³).

#include <hyperparallel/groups/program_waits.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct staleness {
  programs_status status{};
  int behind = -1;            ///< firings; -1: nothing that is made with the edge comes back to its writer
  growing_array<int> path{};  ///< edges that reach it, from this one to the writer
};

namespace detail {

/// How many firings the reader may be ahead of the writer whose version it reads, for every edge.
constexpr growing_array<int> delays_of_edges(const program_graph& g) {
  const growing_array<int> least = least_backs(g.program.size, waits_of(g));
  growing_array<int> delay;
  for (const program_edge& e : g.edge) {
    const int sure = least.item[e.from * g.program.size + e.to];
    delay.push(e.reads == edge_reads::newest && e.move == 0 && sure < e.ready ? sure : e.ready);
  }
  return delay;
}

/// Programs from which edges lead to the writer; paths end at it.
constexpr growing_array<bool> programs_that_reach(const program_graph& g, int writer) {
  growing_array<bool> reach(g.program.size, false);
  reach.item[writer] = true;
  for (bool more = true; more;) {
    more = false;
    for (const program_edge& e : g.edge) {
      if (!reach.item[e.to] || reach.item[e.from]) continue;
      reach.item[e.from] = more = true;
    }
  }
  return reach;
}

}  // namespace detail

/// Domain: `edge` is of the graph, whose programs do not wait for each other.
constexpr staleness staleness_of(const program_graph& g, int edge) {
  staleness s;
  const program_edge& weights = g.edge.item[edge];
  const growing_array<int> delay = detail::delays_of_edges(g);
  const growing_array<bool> reach = detail::programs_that_reach(g, weights.from);
  growing_array<int> most(g.program.size, -1), by(g.program.size, -1);
  most.item[weights.to] = delay.item[edge];
  by.item[weights.to] = edge;
  int changed = weights.to;
  for (int round = 0; changed >= 0 && round <= g.program.size; ++round) {
    changed = -1;
    for (int i = 0; i < g.edge.size; ++i) {
      const program_edge& e = g.edge.item[i];
      const int before = most.item[e.from];
      if (e.from == weights.from || before < 0 || !reach.item[e.to] || before + delay.item[i] <= most.item[e.to])
        continue;
      most.item[e.to] = before + delay.item[i];
      by.item[e.to] = i;
      changed = e.to;
    }
  }
  if (changed >= 0) {
    s.status = {.code = programs_code::staleness_is_unbounded, .program = changed, .edge = edge};
    return s;
  }
  if (most.item[weights.from] < 0) return s;
  s.behind = most.item[weights.from] - 1;
  growing_array<int> back;
  int at = weights.from;
  do {
    back.push(by.item[at]);
    at = g.edge.item[back.last()].from;
  } while (back.last() != edge);
  for (int i = back.size; i-- > 0;) s.path.push(back.item[i]);
  return s;
}

namespace detail {

/// The first edge that claims less than what holds. Domain: as before.
constexpr programs_status check_staleness(const program_graph& g) {
  for (int i = 0; i < g.edge.size; ++i) {
    const int claimed = g.edge.item[i].behind;
    if (claimed < 0) continue;
    const staleness s = staleness_of(g, i);
    if (!s.status.ok()) return s.status;
    if (s.behind > claimed)
      return {.code = programs_code::staleness_is_exceeded, .edge = i, .given = claimed, .expected = s.behind};
  }
  return {};
}

}  // namespace detail

}}  // namespace hyperparallel::v0_2
