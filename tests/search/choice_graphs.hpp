// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random choice graphs and the list of all their choices.

#include <algorithm>
#include <random>
#include <vector>

#include <hyperparallel/search/choice_check.hpp>

namespace choice_graphs {

namespace hp = hyperparallel;

struct random_shape {
  int nodes = 6, candidates = 4;
  std::int64_t times = 20, memories = 20;  ///< drawn from 0 to these
};

/// Chains with skips, diamonds, edges against the order, ties, repeated nodes and segments, forbidden candidates and
/// entries; also graphs without any edge. Works as a builder: two calls make the same graph.
struct random_graph {
  unsigned seed = 0;
  random_shape most{};

  template <class Graph>
  void operator()(Graph& g) const {
    std::mt19937 random(seed);
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    const auto up_to = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n)(random); };
    const int nodes = 1 + static_cast<int>(below(most.nodes));
    const bool ties = below(3) == 0;
    const std::int64_t holes = below(3) == 0 ? 4 : 40;
    std::vector<int> count, root;
    for (int n = 0; n < nodes; ++n) {
      const int to = ties && n > 0 && below(2) == 0 ? root[static_cast<std::size_t>(below(n))] : n;
      root.push_back(to);
      count.push_back(to == n ? 1 + static_cast<int>(below(most.candidates)) : count[static_cast<std::size_t>(to)]);
      const std::int64_t times = 1 + below(3), copies = below(3);
      hp::add_choice_node(g, to == n ? -1 : to, times, copies);
      for (int c = 0; c < count.back(); ++c) {
        const std::int64_t time = below(holes) == 0 ? hp::impossible_time : up_to(most.times);
        hp::add_candidate(g, time, up_to(most.memories));
      }
    }
    const auto edge = [&](int a, int b, std::int64_t times) {
      hp::add_choice_edge(g, a, b, times);
      const int entries = count[static_cast<std::size_t>(a)] * count[static_cast<std::size_t>(b)];
      for (int i = 0; i < entries; ++i)
        hp::add_edge_time(g, below(holes) == 0 ? hp::impossible_time : up_to(most.times));
    };
    const std::int64_t chained = below(8), skips = below(4);
    if (chained > 0)
      for (int n = 0; n + 1 < nodes; ++n) edge(n, n + 1, 1 + below(2));
    for (int i = 0; i < skips; ++i) {
      const int a = static_cast<int>(below(nodes)), b = static_cast<int>(below(nodes));
      edge(a, b, below(4));
    }
    const std::int64_t repeats = below(4);
    if (repeats > 1) {
      const int a = static_cast<int>(below(nodes)), b = a + static_cast<int>(below(nodes - a));
      hp::repeat_segment(g, a, b, repeats);
      edge(b, a, repeats - 1);
    }
  }
};

struct counted_choice {
  std::int64_t time = 0, memory = 0;
  std::vector<int> choice;
  friend bool operator==(const counted_choice&, const counted_choice&) = default;
  friend auto operator<=>(const counted_choice&, const counted_choice&) = default;
};

/// Calls visit(choice) for every choice that respects the ties, in lexicographic order.
template <class Graph, class Visit>
void for_each_choice(const Graph& g, const Visit& visit) {
  std::vector<int> choice(static_cast<std::size_t>(g.size.nodes), 0);
  for (;;) {
    for (int n = 0; n < g.size.nodes; ++n)
      choice[static_cast<std::size_t>(n)] = choice[static_cast<std::size_t>(g.node[n].root)];
    visit(choice);
    int n = g.size.nodes - 1;
    for (; n >= 0; --n) {
      int& c = choice[static_cast<std::size_t>(n)];
      if (g.node[n].root != n) continue;
      if (++c < g.node[n].candidates) break;
      c = 0;
    }
    if (n < 0) return;
  }
}

/// Every choice that nothing forbids, best first.
template <class Graph>
std::vector<counted_choice> all_choices(const Graph& g) {
  std::vector<counted_choice> all;
  for_each_choice(g, [&](const std::vector<int>& choice) {
    const hp::choice_check sum = hp::check_choice(g, choice.data());
    if (sum.code == hp::choice_check_code::ok) all.push_back({sum.time, sum.memory, choice});
  });
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace choice_graphs
