// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choice graph of one plan space: a node a block, a candidate a variant, edges that let only variants follow each
// other that fit together; and its best choices, in a constant evaluation as at run time.
//
// A candidate's time in it is that of both queues one after the other: how long the plan takes where nothing overlaps.
// Law: the choices that nothing forbids are the choices of candidates of the space, one each, with the times and
// memories of segment_costs.hpp.

#include <hyperparallel/search/choice_chain.hpp>
#include <hyperparallel/search/segment_costs.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// The storages of a choice search in arrays that grow.
struct growing_choice_graph : dynamic_choice_graph {
  growing_array<choice_node> nodes;
  growing_array<choice_candidate> candidates;
  growing_array<choice_edge> edges;
  growing_array<std::int64_t> entries;

  constexpr explicit growing_choice_graph(const choice_graph_size& n) {
    nodes.resize(n.nodes + 1);
    candidates.resize(n.candidates + 1);
    edges.resize(n.edges + 1);
    entries.resize(n.entries + 1);
    node = nodes.item;
    candidate = candidates.item;
    edge = edges.item;
    entry = entries.item;
  }
};

struct growing_choice_order : dynamic_choice_order {
  growing_array<int> ints;
  growing_array<std::int64_t> times;

  constexpr explicit growing_choice_order(const choice_graph_size& n) {
    const int nodes = n.nodes + 1;
    ints.resize(6 * nodes + n.edges + 1, 0);
    times.resize(n.candidates + 1, 0);
    variable = ints.item;
    last = variable + nodes;
    root = last + nodes;
    open = root + nodes;
    digit = open + nodes;
    edge_head = digit + nodes;
    edge_next = edge_head + nodes;
    own_time = times.item;
  }
};

struct growing_choice_stages : dynamic_choice_stages {
  growing_array<choice_stage> stage_list;
  growing_array<std::int64_t> numbers;
  growing_array<int> targets;

  constexpr explicit growing_choice_stages(const choice_stage_size& n) {
    stage_list.resize(n.stages + 1);
    numbers.resize(n.candidates + n.transitions + 2, 0);
    targets.resize(n.transitions + 1, 0);
    stage = stage_list.item;
    memory = numbers.item;
    time = memory + n.candidates + 1;
    next = targets.item;
  }
};

struct growing_choice_scratch : dynamic_choice_scratch {
  growing_array<std::int64_t> least;
  growing_array<choice_trace> traces;
  growing_array<choice_label> labels;
  growing_array<int> ints;

  constexpr growing_choice_scratch(const choice_stage_size& n, const choice_room& most) {
    room = most;
    least.resize(2 * (n.states + 1), 0);
    traces.resize(room.labels + 1);
    labels.resize(2 * (room.made + 1));
    ints.resize(2 * (room.made + 1) + n.widest + 1, 0);
    least_memory = least.item;
    least_price = least.item + n.states + 1;
    trace = traces.item;
    front = labels.item;
    made = labels.item + room.made + 1;
    order = ints.item;
    merged = order + room.made + 1;
    bucket = merged + room.made + 1;
  }
};

}  // namespace detail

/// The best choices of variants, first node first. It stays where it was made.
struct growing_choice_answer : dynamic_choice_answer {
  growing_array<int> chosen;

  constexpr growing_choice_answer(int nodes, int best) {
    room = best;
    chosen.resize(nodes * best + 1, 0);
    choice = chosen.item;
  }
  growing_choice_answer(const growing_choice_answer&) = delete;
  growing_choice_answer& operator=(const growing_choice_answer&) = delete;
};

/// Fills a choice graph with the variants of `c`. O(Σ products of neighbours' variants).
template <class Graph>
constexpr void add_variants(Graph& g, const segment_costs& c) {
  for (int b = 0; b < c.size(); ++b) {
    add_choice_node(g);
    for (const block_variant& v : c.variant[b])
      add_candidate(g, c.is_alive(b, v.candidate) ? v.busy.compute + v.busy.carried : impossible_time, v.memory);
  }
  for (int b = 0; b + 1 < c.size(); ++b) {
    add_choice_edge(g, b, b + 1);
    for (const block_variant& left : c.variant[b])
      for (const block_variant& right : c.variant[b + 1])
        add_edge_time(g, follows_on(left, right) ? 0 : impossible_time);
  }
}

/// The best choices of variants of at most `budget` memory. Labels are given room as they need it, to a limit.
constexpr void find_best_variants(const segment_costs& c, extent_t budget, growing_choice_answer& answer) {
  const choice_graph_size size = measure_choices([&](auto& g) { add_variants(g, c); });
  detail::growing_choice_graph g(size);
  add_variants(g, c);
  answer.graph = check_choice_graph(g);
  answer.code = choice_search_code::bad_graph;
  if (answer.graph.code != choice_graph_code::ok) return;
  detail::growing_choice_order order(size);
  const choice_stage_measure m = measure_stages(g, order);
  answer.code = choice_search_code::too_wide;
  if (m.too_wide >= 0) return;
  detail::growing_choice_stages stages(m.size);
  build_stages(g, m.size, order, stages);
  constexpr choice_room most{1 << 22, 1 << 21};
  for (choice_room now{1 << 6, 1 << 6};; now = {now.labels * 4, now.made * 4}) {
    if (now.labels > most.labels) now.labels = most.labels;
    if (now.made > most.made) now.made = most.made;
    detail::growing_choice_scratch scratch(m.size, now);
    search_choices(g, stages, budget, scratch, answer);
    if (answer.code != choice_search_code::labels_full) return;
    if (now.labels == most.labels && now.made == most.made) return;
  }
}

/// Calls `visit(chosen, limit)` for each row of variants that fit, are busy for less than `limit` in either queue
/// and certainly hold at most `budget`, until it says false; it may lower the limit. Exponential in the worst case.
template <class Visit>
constexpr void visit_rows(const segment_costs& c, extent_t budget, extent_t limit, const Visit& visit) {
  const int n = c.size();
  growing_array<busy_times> rest;       // least of block b and those behind it, each queue by itself
  growing_array<extent_t> rest_memory;  // likewise
  rest.resize(n + 1);
  rest_memory.resize(n + 1, 0);
  for (int b = n - 1; b >= 0; --b) {
    busy_times least{longest_time, longest_time};
    extent_t least_memory = longest_time;
    for (const block_variant& v : c.variant[b]) {
      if (!c.is_alive(b, v.candidate)) continue;
      least.compute = smaller(least.compute, v.busy.compute);
      least.carried = smaller(least.carried, v.busy.carried);
      least_memory = smaller(least_memory, v.memory);
    }
    rest[b] = rest[b + 1];
    rest[b] += least;
    rest_memory[b] = rest_memory[b + 1] + least_memory;
  }
  int chosen[max_model_parts] = {-1}, b = 0;
  busy_times busy[max_model_parts + 1] = {};
  extent_t memory[max_model_parts + 1] = {};
  while (b >= 0) {
    if (++chosen[b] == c.variant[b].size) {
      --b;
      continue;
    }
    const block_variant& v = c.variant[b][chosen[b]];
    if (!c.is_alive(b, v.candidate) || (b > 0 && !follows_on(c.variant[b - 1][chosen[b - 1]], v))) continue;
    busy[b + 1] = busy[b];
    busy[b + 1] += v.busy;
    memory[b + 1] = memory[b] + v.memory;
    busy_times least = busy[b + 1];
    least += rest[b + 1];
    if (least.bound() >= limit || memory[b + 1] + rest_memory[b + 1] > budget) continue;
    if (b + 1 < n)
      chosen[++b] = -1;
    else if (!visit(chosen, limit))
      return;
  }
}

}}  // namespace hyperparallel::v0_2
