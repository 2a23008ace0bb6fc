// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a strategy search decides, as numbers: a graph of nodes (operators, layers) that each take one of their
// candidates, and edges whose cost depends on the candidates at both ends (the redistribution between two layouts).
//
//   time(choice)   = Σ nodes  times · time[candidate]  +  Σ edges  times · entry[candidate of from, candidate of to]
//   memory(choice) = Σ nodes  copies · memory[candidate]
//
// Times are picoseconds, memories bytes, none of them negative. `impossible_time` on a candidate or an entry forbids
// it; an edge taken 0 times forbids nothing. A tied node takes the candidate that its root takes. An edge may point
// either way, and to a node tied with its start: a layer repeated n times is one node with an edge to itself taken
// n - 1 times.
//
// Law: measure_choices(build) == the size of the graph that the same `build` fills.

#include <hyperparallel/support/array_bound.hpp>
#include <hyperparallel/taskflow/scratch.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr std::int64_t impossible_time = INT64_MAX;
inline constexpr std::int64_t no_memory_limit = INT64_MAX;

struct choice_candidate {
  std::int64_t time = 0, memory = 0;
  friend constexpr bool operator==(const choice_candidate&, const choice_candidate&) = default;
};

/// Its candidates are `candidate[first .. first + candidates)`; `root` is the node itself or the earlier one it is tied
/// to, which is its own root.
struct choice_node {
  int first = 0, candidates = 0, root = 0;
  std::int64_t times = 1, copies = 1;
};

/// Its times are `entry[first + a · candidates of to + b]`, a row for each candidate of `from`. Edges may share them.
struct choice_edge {
  int from = 0, to = 0, first = 0;
  std::int64_t times = 1;
};

struct choice_graph_size {
  int nodes = 0, candidates = 0, edges = 0, entries = 0;
  friend constexpr bool operator==(const choice_graph_size&, const choice_graph_size&) = default;
};

/// Inline storage. `Size` is usually the result of `measure_choices(build)`.
template <choice_graph_size Size>
struct fixed_choice_graph {
  static constexpr bool stores = true;
  choice_graph_size size{};
  choice_node node[array_bound(Size.nodes + 1)] = {};
  choice_candidate candidate[array_bound(Size.candidates + 1)] = {};
  choice_edge edge[array_bound(Size.edges + 1)] = {};
  std::int64_t entry[array_bound(Size.entries + 1)] = {};
};

/// Views of arrays that somebody else owns and sized.
struct dynamic_choice_graph {
  static constexpr bool stores = true;
  choice_graph_size size{};
  choice_node* node = nullptr;
  choice_candidate* candidate = nullptr;
  choice_edge* edge = nullptr;
  std::int64_t* entry = nullptr;
};

struct counting_choice_graph {
  static constexpr bool stores = false;
  choice_graph_size size{};
};

/// The filling pass for run time: `owned_choice_graph g(measure_choices(build)); build(g);`
struct owned_choice_graph : dynamic_choice_graph {
  explicit owned_choice_graph(const choice_graph_size& n) {
    node = arrays.take<choice_node>(n.nodes);
    candidate = arrays.take<choice_candidate>(n.candidates);
    edge = arrays.take<choice_edge>(n.edges);
    entry = arrays.take<std::int64_t>(n.entries);
  }
  scratch_memory arrays;
};

/// Adds a node, tied to the earlier node `root` where that is not -1; the add_candidate that follow belong to it, also
/// those of a tied node: as many as its root's, with costs of their own. Returns its number.
template <class Graph>
constexpr int add_choice_node(Graph& g, int root = -1, std::int64_t times = 1, std::int64_t copies = 1) {
  const int n = g.size.nodes++;
  if constexpr (Graph::stores) g.node[n] = {g.size.candidates, 0, root < 0 ? n : root, times, copies};
  return n;
}

template <class Graph>
constexpr void add_candidate(Graph& g, std::int64_t time, std::int64_t memory) {
  const int c = g.size.candidates++;
  if constexpr (Graph::stores) {
    g.candidate[c] = {time, memory};
    g.node[g.size.nodes - 1].candidates++;
  }
}

/// Adds an edge; the add_edge_time that follow are its entries, row by row. Returns its number.
template <class Graph>
constexpr int add_choice_edge(Graph& g, int from, int to, std::int64_t times = 1) {
  const int e = g.size.edges++;
  if constexpr (Graph::stores) g.edge[e] = {from, to, g.size.entries, times};
  return e;
}

template <class Graph>
constexpr void add_edge_time(Graph& g, std::int64_t time) {
  const int x = g.size.entries++;
  if constexpr (Graph::stores) g.entry[x] = time;
}

/// Adds an edge with the entries of `like`, an earlier edge between nodes with as many candidates.
template <class Graph>
constexpr int share_choice_edge(Graph& g, int like, int from, int to, std::int64_t times = 1) {
  const int e = g.size.edges++;
  if constexpr (Graph::stores) g.edge[e] = {from, to, g.edge[like].first, times};
  return e;
}

/// Nodes first to last and the edges between them stand for `times` equal copies in a row, in time and in memory. The
/// edge from each copy to the next is the caller's to add afterwards: from `last` to `first`, times - 1 times.
/// Domain: the products of the counts fit 64 bits.
template <class Graph>
constexpr void repeat_segment(Graph& g, int first, int last, std::int64_t times) {
  if constexpr (Graph::stores) {
    for (int n = first; n <= last; ++n) {
      g.node[n].times *= times;
      g.node[n].copies *= times;
    }
    for (int e = 0; e < g.size.edges; ++e) {
      choice_edge& x = g.edge[e];
      if (x.from >= first && x.from <= last && x.to >= first && x.to <= last) x.times *= times;
    }
  }
}

/// The sizing pass: runs `build` on a storage that only counts.
template <class Build>
constexpr choice_graph_size measure_choices(const Build& build) {
  counting_choice_graph g;
  build(g);
  return g.size;
}

/// The filling pass for constant evaluation; `Size` must be `measure_choices(build)`.
template <choice_graph_size Size, class Build>
constexpr fixed_choice_graph<Size> build_choices(const Build& build) {
  fixed_choice_graph<Size> g;
  build(g);
  return g;
}

}}  // namespace hyperparallel::v0_2
