// SPDX-License-Identifier: Apache-2.0
#pragma once
// A choice graph with its variables eliminated in order: a layered graph whose paths are the choices.
//
// A variable is a root with all nodes tied to it. A stage takes one variable; a state of it is one combination of
// candidates of the open variables: those taken before that a later one still shares an edge with. A chain has as many
// states as its node has candidates; a skip or a tie keeps its start open and multiplies the states by its candidates.
// So states grow with the product of the candidates of the few that branch, not with the length.
//
// Law: the paths from the one state of the first stage to the one behind the last are the choices that nothing forbids,
// in lexicographic order, and the times and memories of a path's transitions add up to what check_choice says.
// Building takes O(transitions · (edges of the variable) + states · open variables).

#include <hyperparallel/search/choice_check.hpp>

namespace hyperparallel { inline namespace v0_2 {

struct choice_stage {
  int root = 0;        ///< the node whose candidate is taken
  int candidates = 0;  ///< of that node
  int states = 0, first_state = 0;
  int first_transition = 0;  ///< state s of the stage by candidate c: first_transition + s · candidates + c
  int first_memory = 0;      ///< candidate c: memory[first_memory + c]
};

/// Sums over the stages; `states` counts the one behind the last too. `widest` and `most_transitions` are those of one
/// stage.
struct choice_stage_size {
  int stages = 0, candidates = 0, states = 0, transitions = 0, widest = 0, most_transitions = 0;
  friend constexpr bool operator==(const choice_stage_size&, const choice_stage_size&) = default;
};

/// A transition leads from a state of its stage to `next`, a state of the following stage, numbered over all stages.
template <int Stages, int Candidates, int Transitions>
struct basic_choice_stages {
  choice_stage_size size{};
  scratch_array<choice_stage, Stages> stage{};  ///< and one behind the last
  scratch_array<std::int64_t, Candidates> memory{};
  scratch_array<std::int64_t, Transitions> time{};  ///< or impossible_time
  scratch_array<int, Transitions> next{};
};

template <choice_stage_size Size>
using fixed_choice_stages = basic_choice_stages<Size.stages, Size.candidates, Size.transitions>;
using dynamic_choice_stages = basic_choice_stages<run_time_count, run_time_count, run_time_count>;

struct owned_choice_stages : dynamic_choice_stages {
  explicit owned_choice_stages(const choice_stage_size& n) {
    stage = arrays.take<choice_stage>(n.stages);
    memory = arrays.take<std::int64_t>(n.candidates);
    time = arrays.take<std::int64_t>(n.transitions);
    next = arrays.take<int>(n.transitions);
  }
  scratch_memory arrays;
};

/// Scratch of measuring and building.
template <int Nodes, int Edges, int Candidates>
struct basic_choice_order {
  scratch_array<int, Nodes> variable{};   ///< node -> stage
  scratch_array<int, Nodes> last{};       ///< stage -> the last stage that shares an edge with it
  scratch_array<int, Nodes> root{};       ///< stage -> node
  scratch_array<int, Nodes> open{};       ///< the open stages, ascending
  scratch_array<int, Nodes> digit{};      ///< stage -> candidate taken in the present state
  scratch_array<int, Nodes> edge_head{};  ///< stage -> the first of the edges whose later end it is
  scratch_array<int, Edges> edge_next{};
  scratch_array<std::int64_t, Candidates> own_time{};  ///< of the present variable's candidates
};

template <choice_graph_size Size>
using fixed_choice_order = basic_choice_order<Size.nodes, Size.edges, Size.candidates>;
using dynamic_choice_order = basic_choice_order<run_time_count, run_time_count, run_time_count>;

struct owned_choice_order : dynamic_choice_order {
  explicit owned_choice_order(const choice_graph_size& n) {
    variable = arrays.take<int>(n.nodes);
    last = arrays.take<int>(n.nodes);
    root = arrays.take<int>(n.nodes);
    open = arrays.take<int>(n.nodes);
    digit = arrays.take<int>(n.nodes);
    edge_head = arrays.take<int>(n.nodes);
    edge_next = arrays.take<int>(n.edges);
    own_time = arrays.take<std::int64_t>(n.candidates);
  }
  scratch_memory arrays;
};

/// Where the stages up to that of node `too_wide` have more than most_choice_transitions, `transitions` of them, they
/// are not measured to the end.
struct choice_stage_measure {
  choice_stage_size size{};
  int too_wide = -1;
  std::int64_t transitions = 0;
};

inline constexpr std::int64_t most_choice_transitions = std::int64_t{1} << 30;

namespace detail {

/// Variables in the order of their roots, their last neighbours, their edges by the later end. Returns their number.
template <class Graph, class Order>
constexpr int order_choices(const Graph& g, Order& x) {
  int stages = 0;
  for (int n = 0; n < g.size.nodes; ++n) {
    if (g.node[n].root != n) {
      x.variable[n] = x.variable[g.node[n].root];
      continue;
    }
    x.root[stages] = n;
    x.last[stages] = stages;
    x.edge_head[stages] = -1;
    x.variable[n] = stages++;
  }
  for (int e = g.size.edges - 1; e >= 0; --e) {
    const choice_edge& edge = g.edge[e];
    if (edge.times == 0) continue;
    const int a = x.variable[edge.from], b = x.variable[edge.to];
    const int earlier = a < b ? a : b, later = a < b ? b : a;
    if (x.last[earlier] < later) x.last[earlier] = later;
    x.edge_next[e] = x.edge_head[later];
    x.edge_head[later] = e;
  }
  return stages;
}

/// Opens `stage` behind the `opened` first of x.open and closes those without a later neighbour; `states`, the product
/// of the candidates of the open ones, follows. Returns how many are open.
template <class Graph, class Order>
constexpr int advance_open(const Graph& g, Order& x, int stage, int opened, std::int64_t& states) {
  x.open[opened++] = stage;
  int kept = 0;
  states = 1;
  for (int i = 0; i < opened; ++i) {
    const int v = x.open[i];
    if (x.last[v] <= stage) continue;
    states *= g.node[x.root[v]].candidates;
    x.open[kept++] = v;
  }
  return kept;
}

/// The transitions out of every state of `stage`.
template <class Graph, class Order, class Stages>
constexpr void fill_choice_stage(const Graph& g, Order& x, int stage, int opened, Stages& s) {
  const choice_stage v = s.stage[stage];
  const int next_state = v.first_state + v.states;
  for (int state = 0, t = v.first_transition; state < v.states; ++state) {
    int target = 0, factor = 1, rest = state;
    for (int i = opened - 1; i >= 0; --i) {
      const int u = x.open[i], k = g.node[x.root[u]].candidates, digit = rest % k;
      rest /= k;
      x.digit[u] = digit;
      if (x.last[u] > stage) {
        target += digit * factor;
        factor *= k;
      }
    }
    const bool stays = x.last[stage] > stage;
    for (int c = 0; c < v.candidates; ++c, ++t) {
      x.digit[stage] = c;
      std::int64_t time = x.own_time[v.first_memory + c];
      for (int e = x.edge_head[stage]; e >= 0 && time != impossible_time; e = x.edge_next[e]) {
        const choice_edge& edge = g.edge[e];
        const int a = x.digit[x.variable[edge.from]], b = x.digit[x.variable[edge.to]];
        const std::int64_t entry = g.entry[edge.first + a * g.node[edge.to].candidates + b];
        time = entry == impossible_time ? impossible_time : time + edge.times * entry;
      }
      s.time[t] = time;
      s.next[t] = next_state + (stays ? target * v.candidates + c : target);
    }
  }
}

}  // namespace detail

/// How large the stages of `g` are. Domain: check_choice_graph(g) is ok. O(nodes · open variables + edges).
template <class Graph, class Order>
constexpr choice_stage_measure measure_stages(const Graph& g, Order& x) {
  choice_stage_measure m;
  m.size.stages = detail::order_choices(g, x);
  std::int64_t states = 1;
  for (int v = 0, opened = 0; v < m.size.stages; ++v) {
    const int candidates = g.node[x.root[v]].candidates;
    m.transitions += states * candidates;
    if (m.transitions > most_choice_transitions) {
      m.too_wide = x.root[v];
      return m;
    }
    const int now = static_cast<int>(states), out = now * candidates;
    m.size.candidates += candidates;
    m.size.states += now;
    if (m.size.widest < now) m.size.widest = now;
    if (m.size.most_transitions < out) m.size.most_transitions = out;
    opened = detail::advance_open(g, x, v, opened, states);
  }
  m.size.states += 1;
  m.size.transitions = static_cast<int>(m.transitions);
  return m;
}

/// The sizing pass in a constant expression, for a graph that check_choice_graph accepts.
template <choice_graph_size Size>
constexpr choice_stage_measure measure_stages(const fixed_choice_graph<Size>& g) {
  fixed_choice_order<Size> x;
  return measure_stages(g, x);
}

/// Fills stages with room for `size`, which must be that of measure_stages on the same graph.
template <class Graph, class Order, class Stages>
constexpr void build_stages(const Graph& g, const choice_stage_size& size, Order& x, Stages& s) {
  s.size = size;
  detail::order_choices(g, x);
  for (int v = 0, first = 0; v < size.stages; ++v) {
    s.stage[v].root = x.root[v];
    s.stage[v].candidates = g.node[x.root[v]].candidates;
    s.stage[v].first_memory = first;
    for (int c = 0; c < s.stage[v].candidates; ++c, ++first) x.own_time[first] = s.memory[first] = 0;
  }
  for (int n = 0; n < g.size.nodes; ++n) {
    const choice_node& node = g.node[n];
    const int first = s.stage[x.variable[n]].first_memory;
    for (int c = 0; c < node.candidates; ++c) {
      const choice_candidate& y = g.candidate[node.first + c];
      std::int64_t& time = x.own_time[first + c];
      s.memory[first + c] += node.copies * y.memory;
      time = y.time == impossible_time || time == impossible_time ? impossible_time : time + node.times * y.time;
    }
  }
  std::int64_t states = 1;
  int first_state = 0, first_transition = 0;
  for (int v = 0, opened = 0; v < size.stages; ++v) {
    s.stage[v].states = static_cast<int>(states);
    s.stage[v].first_state = first_state;
    s.stage[v].first_transition = first_transition;
    detail::fill_choice_stage(g, x, v, opened, s);
    first_state += s.stage[v].states;
    first_transition += s.stage[v].states * s.stage[v].candidates;
    opened = detail::advance_open(g, x, v, opened, states);
  }
  s.stage[size.stages] = {-1, 0, 1, first_state, first_transition, size.candidates};
}

}}  // namespace hyperparallel::v0_2
