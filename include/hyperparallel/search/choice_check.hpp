// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a choice graph is well formed, and what one of its choices costs.
//
// Law: check_choice recomputes time and memory of a choice from the description alone, with nothing of a search in it;
// every answer of a search is held against it.

#include <hyperparallel/search/choice_graph.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// No choice of a graph may take longer or hold more: sums of two stay far from the end of 64 bits.
inline constexpr std::int64_t most_choice_total = std::int64_t{1} << 60;

enum class choice_graph_code : unsigned char {
  ok,
  no_nodes,
  no_candidates,    ///< `node` has none, or not all of them are stored
  bad_tie,          ///< the root of `node` is not an earlier node, is tied itself, or has another number of candidates
  bad_edge,         ///< `edge` has an end that is no node, or fewer entries than its ends have candidates
  negative_number,  ///< a time, memory, times or copies of `node` or `edge`
  too_large,        ///< up to `node` or `edge`, the most a choice takes or holds exceeds most_choice_total
};

/// `node` and `edge` are -1 where the fault is not theirs.
struct choice_graph_status {
  choice_graph_code code = choice_graph_code::ok;
  int node = -1, edge = -1;
  friend constexpr bool operator==(const choice_graph_status&, const choice_graph_status&) = default;
};

namespace detail {

/// Adds count · most to `total`; false where that exceeds most_choice_total.
constexpr bool add_most(std::int64_t& total, std::int64_t count, std::int64_t most) {
  if (most != 0 && count > (most_choice_total - total) / most) return false;
  total += count * most;
  return true;
}

}  // namespace detail

/// Whether the graph is well formed; every search starts with it. O(nodes + candidates + Σ entries of each edge).
template <class Graph>
constexpr choice_graph_status check_choice_graph(const Graph& g) {
  using enum choice_graph_code;
  if (g.size.nodes == 0) return {no_nodes};
  std::int64_t time = 0, memory = 0;
  for (int n = 0; n < g.size.nodes; ++n) {
    const choice_node& v = g.node[n];
    if (v.candidates <= 0 || v.first < 0 || v.first + v.candidates > g.size.candidates) return {no_candidates, n};
    if (v.root < 0 || v.root > n || g.node[v.root].root != v.root || g.node[v.root].candidates != v.candidates)
      return {bad_tie, n};
    std::int64_t most_time = 0, most_memory = 0;
    for (int c = v.first; c < v.first + v.candidates; ++c) {
      const choice_candidate& x = g.candidate[c];
      if (x.time < 0 || x.memory < 0) return {negative_number, n};
      if (x.time != impossible_time && x.time > most_time) most_time = x.time;
      if (x.memory > most_memory) most_memory = x.memory;
    }
    if (v.times < 0 || v.copies < 0) return {negative_number, n};
    if (!detail::add_most(time, v.times, most_time) || !detail::add_most(memory, v.copies, most_memory))
      return {too_large, n};
  }
  for (int e = 0; e < g.size.edges; ++e) {
    const choice_edge& x = g.edge[e];
    if (x.from < 0 || x.from >= g.size.nodes || x.to < 0 || x.to >= g.size.nodes || x.first < 0)
      return {bad_edge, -1, e};
    const std::int64_t entries = std::int64_t{g.node[x.from].candidates} * g.node[x.to].candidates;
    if (x.first + entries > g.size.entries) return {bad_edge, -1, e};
    if (x.times < 0) return {negative_number, -1, e};
    std::int64_t most_time = 0;
    for (int i = x.first, end = x.first + static_cast<int>(entries); i < end; ++i) {
      if (g.entry[i] < 0) return {negative_number, -1, e};
      if (g.entry[i] != impossible_time && g.entry[i] > most_time) most_time = g.entry[i];
    }
    if (!detail::add_most(time, x.times, most_time)) return {too_large, -1, e};
  }
  return {};
}

enum class choice_check_code : unsigned char {
  ok,
  out_of_range,          ///< `node` has no candidate of that number
  tie_broken,            ///< `node` takes another candidate than its root
  impossible_candidate,  ///< of `node`
  impossible_edge,       ///< `edge` between the candidates taken
};

/// Time and memory count where the code is ok.
struct choice_check {
  choice_check_code code = choice_check_code::ok;
  int node = -1, edge = -1;
  std::int64_t time = 0, memory = 0;
  friend constexpr bool operator==(const choice_check&, const choice_check&) = default;
};

/// What `choice` (node -> candidate) costs, straight from the definition. Domain: check_choice_graph(g) is ok.
/// O(nodes + edges).
template <class Graph>
constexpr choice_check check_choice(const Graph& g, const int* choice) {
  using enum choice_check_code;
  choice_check sum;
  for (int n = 0; n < g.size.nodes; ++n) {
    const choice_node& v = g.node[n];
    if (choice[n] < 0 || choice[n] >= v.candidates) return {out_of_range, n};
    if (choice[n] != choice[v.root]) return {tie_broken, n};
    const choice_candidate& x = g.candidate[v.first + choice[n]];
    if (x.time == impossible_time) return {impossible_candidate, n};
    sum.time += v.times * x.time;
    sum.memory += v.copies * x.memory;
  }
  for (int e = 0; e < g.size.edges; ++e) {
    const choice_edge& x = g.edge[e];
    if (x.times == 0) continue;
    const std::int64_t time = g.entry[x.first + choice[x.from] * g.node[x.to].candidates + choice[x.to]];
    if (time == impossible_time) return {impossible_edge, -1, e};
    sum.time += x.times * time;
  }
  return sum;
}

}}  // namespace hyperparallel::v0_2
