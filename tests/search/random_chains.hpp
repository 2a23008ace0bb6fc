// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random chains of choices and the list of all their choices.

#include <algorithm>
#include <random>
#include <vector>

#include <hyperparallel/search/choice_stages.hpp>

namespace random_chains {

namespace hp = hyperparallel;

/// Nodes with their candidates, and the times between the candidates of neighbours: between[n][a][c] leads to node n.
struct chain {
  std::vector<std::vector<hp::detail::choice_candidate>> node;
  std::vector<std::vector<std::vector<std::int64_t>>> between;

  constexpr hp::detail::choice_stages stages() const {
    hp::detail::choice_stages s;
    for (std::size_t n = 0; n < node.size(); ++n) {
      hp::growing_array<hp::detail::choice_candidate> candidate;
      for (const hp::detail::choice_candidate& c : node[n]) candidate.push(c);
      s.add(candidate,
            [&](int a, int c) { return between[n][static_cast<std::size_t>(a)][static_cast<std::size_t>(c)]; });
    }
    s.close();
    return s;
  }
};

struct random_shape {
  int nodes = 6, candidates = 4;
  std::int64_t times = 20, memories = 20;  ///< drawn from 0 to these
};

/// With forbidden candidates and neighbours; also such that neighbours cost nothing.
inline chain random_chain(unsigned seed, const random_shape& most = {}) {
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  const auto up_to = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n)(random); };
  const std::int64_t nodes = 1 + below(most.nodes), holes = below(3) == 0 ? 4 : 40;
  const bool apart = below(8) > 0;
  chain g;
  for (std::int64_t n = 0; n < nodes; ++n) {
    g.node.emplace_back(static_cast<std::size_t>(1 + below(most.candidates)));
    for (hp::detail::choice_candidate& c : g.node.back())
      c = {below(holes) == 0 ? hp::detail::impossible_time : up_to(most.times), up_to(most.memories)};
    g.between.emplace_back(n == 0 ? 0 : g.node[static_cast<std::size_t>(n - 1)].size());
    for (auto& row : g.between.back())
      for (std::size_t c = 0; c < g.node.back().size(); ++c)
        row.push_back(!apart ? 0 : below(holes) == 0 ? hp::detail::impossible_time : up_to(most.times));
  }
  return g;
}

struct counted_choice {
  std::int64_t time = 0, memory = 0;
  std::vector<int> choice;
  friend bool operator==(const counted_choice&, const counted_choice&) = default;
  friend auto operator<=>(const counted_choice&, const counted_choice&) = default;
};

/// What a choice costs, straight from the definition; a time of impossible_time where something forbids it.
inline counted_choice cost_of(const chain& g, const std::vector<int>& choice) {
  counted_choice sum{0, 0, choice};
  for (std::size_t n = 0; n < g.node.size(); ++n) {
    const auto at = [&](std::size_t m) { return static_cast<std::size_t>(choice[m]); };
    const hp::detail::choice_candidate& c = g.node[n][at(n)];
    const std::int64_t apart = n == 0 ? 0 : g.between[n][at(n - 1)][at(n)];
    sum.memory += c.memory;
    if (c.time == hp::detail::impossible_time || apart == hp::detail::impossible_time ||
        sum.time == hp::detail::impossible_time)
      sum.time = hp::detail::impossible_time;
    else
      sum.time += c.time + apart;
  }
  return sum;
}

/// Calls visit(choice) for every choice, in lexicographic order.
template <class Visit>
void for_each_choice(const chain& g, const Visit& visit) {
  std::vector<int> choice(g.node.size(), 0);
  for (;;) {
    visit(choice);
    std::size_t n = g.node.size();
    while (n > 0 && ++choice[n - 1] == static_cast<int>(g.node[n - 1].size())) choice[--n] = 0;
    if (n == 0) return;
  }
}

/// Every choice that nothing forbids, best first.
inline std::vector<counted_choice> all_choices(const chain& g) {
  std::vector<counted_choice> all;
  for_each_choice(g, [&](const std::vector<int>& choice) {
    if (counted_choice c = cost_of(g, choice); c.time != hp::detail::impossible_time) all.push_back(std::move(c));
  });
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace random_chains
