// SPDX-License-Identifier: Apache-2.0
#pragma once
// The best choices of a choice graph within a memory budget, exactly: shortest paths through its stages (Viterbi, with
// the few branching variables enumerated), memory as a second coordinate of the labels (Pareto label setting).
//
//   search_choices   the best choices on stages, scratch and answer of any storage, or with storage of its own
//   best_choices     the same on fixed storage, for a constant expression
//
// Choices are ordered by time, then memory, then lexicographically (node 0 first).
//
// Laws: the answer's choices are the first of all choices within the budget in that order, each as check_choice counts
// it. Where labels outgrow their room the code says so, and the `count` first choices are right even then.
//
// Labels are set below a ceiling on time that starts a little above the bound of the relaxed problem and moves away
// from it twice as far each time, until as many choices as wanted lie below it or no choice can lie above. What lies
// below a ceiling does not depend on it, so nothing is approximate. Without a budget O(transitions · wanted · log) each
// time; with one the labels may grow exponentially in the worst case (the knapsack problem is one), which the ceiling
// keeps to those between the bound and the optimum.

#include <hyperparallel/search/choice_labels.hpp>
#include <hyperparallel/support/array_bound.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class choice_search_code : unsigned char {
  ok,
  bad_graph,    ///< check_choice_graph says which
  too_wide,     ///< at `node` there are too many states: more than most_choice_transitions
  impossible,   ///< no choice avoids what is forbidden; `node` is the first that no candidate of reaches
  over_budget,  ///< the least memory of any choice is `least_memory`
  labels_full,  ///< the room for labels does not do; `count` choices are proved
};

/// No choice within the budget takes less than `lower_bound`: the winner's time where there is one. `relaxed_bound` is
/// the bound with memory priced instead of limited. Labels are those of all ceilings together.
struct choice_certificate {
  std::int64_t lower_bound = 0, relaxed_bound = 0;
  std::int64_t labels_kept = 0, labels_made = 0;
  int ceilings = 0;
  friend constexpr bool operator==(const choice_certificate&, const choice_certificate&) = default;
};

/// The best `count` ≤ `room` choices; of choice b, node n takes candidate choice[b · nodes + n]. Fewer than `room` with
/// code ok: there are no more.
template <int Nodes, int Best>
struct basic_choice_answer {
  static_assert(Best == run_time_count || (Best > 0 && Best <= most_best_choices));
  int room = Best;
  choice_search_code code = choice_search_code::ok;
  choice_graph_status graph{};
  int node = -1, count = 0;
  std::int64_t least_memory = 0;
  choice_certificate certificate{};
  std::int64_t time[array_bound((Best < 0 ? most_best_choices : Best) + 1)] = {};
  std::int64_t memory[array_bound((Best < 0 ? most_best_choices : Best) + 1)] = {};
  scratch_array<int, (Nodes < 0 ? Nodes : Nodes * Best)> choice{};
};

template <int Nodes, int Best>
using fixed_choice_answer = basic_choice_answer<Nodes, Best>;
using dynamic_choice_answer = basic_choice_answer<run_time_count, run_time_count>;

/// For 1 to most_best_choices choices: `best` is brought into that range.
struct owned_choice_answer : dynamic_choice_answer {
  explicit owned_choice_answer(int nodes, int best = 4) {
    room = best < 1 ? 1 : best < most_best_choices ? best : most_best_choices;
    choice = arrays.take<int>(nodes * room);
  }
  scratch_memory arrays;
};

namespace detail {

/// The root of the first stage behind which no state is reached. Overwrites least_price. O(transitions).
template <class Stages, class Scratch>
constexpr int first_unreached(const Stages& s, Scratch& x) {
  for (int i = 0; i < s.size.states; ++i) x.least_price[i] = 0;
  x.least_price[0] = 1;
  for (int v = 0; v < s.size.stages; ++v) {
    const choice_stage now = s.stage[v];
    bool reached = false;
    for (int i = 0; i < now.states * now.candidates; ++i) {
      const int t = now.first_transition + i;
      if (x.least_price[now.first_state + i / now.candidates] == 0 || s.time[t] == impossible_time) continue;
      x.least_price[s.next[t]] = 1;
      reached = true;
    }
    if (!reached) return now.root;
  }
  return -1;
}

/// Reads choice b off its last label and the traces behind it.
template <class Graph, class Stages, class Scratch, class Answer>
constexpr void read_choice(const Graph& g, const Stages& s, const Scratch& x, int b, Answer& answer) {
  const choice_label& end = x.made[x.order[b]];
  const int first = b * g.size.nodes;
  answer.time[b] = end.time;
  answer.memory[b] = end.memory;
  for (int n = 0; n < g.size.nodes; ++n) answer.choice[first + n] = 0;
  int candidate = end.candidate;
  for (int v = s.size.stages - 1, parent = end.parent; v >= 0; --v) {
    answer.choice[first + s.stage[v].root] = candidate;
    if (v == 0) break;
    candidate = x.trace[parent].candidate;
    parent = x.trace[parent].parent;
  }
  for (int n = 0; n < g.size.nodes; ++n) answer.choice[first + n] = answer.choice[first + g.node[n].root];
}

}  // namespace detail

/// Fills `answer` with the best choices of `g` of at most `budget` memory. Domain: `s` are the stages of `g`.
template <class Graph, class Stages, class Scratch, class Answer>
constexpr void search_choices(const Graph& g, const Stages& s, std::int64_t budget, Scratch& x, Answer& answer) {
  answer.code = choice_search_code::ok;
  answer.node = -1;
  answer.count = 0;
  answer.certificate = {};
  detail::fill_remaining(s, x.least_memory, [](std::int64_t, std::int64_t memory) { return memory; });
  answer.least_memory = x.least_memory[0];
  if (x.least_memory[0] == impossible_time) {
    answer.code = choice_search_code::impossible;
    answer.node = detail::first_unreached(s, x);
    return;
  }
  if (x.least_memory[0] > budget) {
    answer.code = choice_search_code::over_budget;
    return;
  }
  const detail::choice_extent most = detail::extent_of(s);
  const bool limited = budget < most.memory;
  if (!limited) budget = most.memory;
  const relaxed_choice relaxed = detail::relax_memory(s, most, budget, x.least_price);
  answer.certificate.lower_bound = answer.certificate.relaxed_bound = relaxed.bound;
  for (std::int64_t above = (relaxed.bound >> 12) + 1;; above *= 2) {
    const bool all = relaxed.bound + above >= most.time;
    const std::int64_t ceiling = all ? most.time : relaxed.bound + above;
    const choice_labels found = detail::set_labels(s, budget, limited, relaxed.price, ceiling, answer.room, x);
    answer.certificate.labels_kept += found.kept;
    answer.certificate.labels_made += found.made;
    ++answer.certificate.ceilings;
    if (found.full) {
      answer.code = choice_search_code::labels_full;
      return;
    }
    answer.count = found.ends < answer.room ? found.ends : answer.room;
    for (int b = 0; b < answer.count; ++b) detail::read_choice(g, s, x, b, answer);
    answer.certificate.lower_bound = answer.count > 0 ? answer.time[0] : ceiling + 1;
    if (answer.count == answer.room || all) return;
  }
}

/// The best choices of `g` at run time. Labels have room for as many as asked for at most; memory is taken as needed.
template <class Graph>
void search_choices(const Graph& g, std::int64_t budget, owned_choice_answer& answer,
                    const choice_room& most = {1 << 24, 1 << 23}) {
  answer.count = 0;
  answer.certificate = {};
  answer.graph = check_choice_graph(g);
  answer.node = answer.graph.node;
  answer.code = choice_search_code::bad_graph;
  if (answer.graph.code != choice_graph_code::ok) return;
  owned_choice_order order(g.size);
  const choice_stage_measure m = measure_stages(g, order);
  answer.node = m.too_wide;
  answer.code = choice_search_code::too_wide;
  if (m.too_wide >= 0) return;
  owned_choice_stages s(m.size);
  build_stages(g, m.size, order, s);
  for (choice_room now{1 << 10, 1 << 10};; now = {now.labels * 4, now.made * 4}) {
    if (now.labels > most.labels) now.labels = most.labels;
    if (now.made > most.made) now.made = most.made;
    owned_choice_scratch x(m.size, now);
    search_choices(g, s, budget, x, answer);
    if (answer.code != choice_search_code::labels_full) return;
    if (now.labels == most.labels && now.made == most.made) return;
  }
}

/// The best `Best` choices in a constant expression. `Size` is measure_stages(g).size of the graph.
template <choice_stage_size Size, choice_room Room, int Best, choice_graph_size GraphSize>
constexpr fixed_choice_answer<GraphSize.nodes, Best> best_choices(const fixed_choice_graph<GraphSize>& g,
                                                                  std::int64_t budget = no_memory_limit) {
  fixed_choice_answer<GraphSize.nodes, Best> answer;
  answer.graph = check_choice_graph(g);
  answer.node = answer.graph.node;
  if (answer.graph.code != choice_graph_code::ok) {
    answer.code = choice_search_code::bad_graph;
    return answer;
  }
  fixed_choice_order<GraphSize> order;
  fixed_choice_stages<Size> s;
  fixed_choice_scratch<Size, Room> x;
  build_stages(g, Size, order, s);
  search_choices(g, s, budget, x, answer);
  return answer;
}

}}  // namespace hyperparallel::v0_2
