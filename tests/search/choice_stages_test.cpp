// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/search/choice_stages.hpp>

#include "choice_graphs.hpp"

namespace hp = hyperparallel;

namespace {

TEST(ChoiceStages, PathsAreTheChoicesWithTheirCosts) {
  int forbidden = 0, allowed = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const choice_graphs::random_graph build{seed, {7, 3, 50, 50}};
    hp::owned_choice_graph g(hp::measure_choices(build));
    build(g);
    ASSERT_EQ(hp::check_choice_graph(g).code, hp::choice_graph_code::ok) << seed;
    hp::owned_choice_order x(g.size);
    const hp::choice_stage_measure m = hp::measure_stages(g, x);
    ASSERT_EQ(m.too_wide, -1);
    ASSERT_EQ(m.transitions, m.size.transitions);
    hp::owned_choice_stages s(m.size);
    hp::build_stages(g, m.size, x, s);
    const hp::choice_stage& end = s.stage[m.size.stages];
    ASSERT_EQ(end.states, 1);
    ASSERT_EQ(end.first_state, m.size.states - 1);
    ASSERT_EQ(end.first_transition, m.size.transitions);
    choice_graphs::for_each_choice(g, [&](const std::vector<int>& choice) {
      hp::choice_check sum;
      int state = 0;
      bool possible = true;
      for (int v = 0; v < m.size.stages && possible; ++v) {
        const hp::choice_stage now = s.stage[v];
        const int c = choice[static_cast<std::size_t>(now.root)];
        ASSERT_GE(state, now.first_state);
        ASSERT_LT(state, now.first_state + now.states);
        const int t = now.first_transition + (state - now.first_state) * now.candidates + c;
        possible = s.time[t] != hp::impossible_time;
        sum.time += possible ? s.time[t] : 0;
        sum.memory += s.memory[now.first_memory + c];
        state = s.next[t];
      }
      const hp::choice_check expected = hp::check_choice(g, choice.data());
      ASSERT_EQ(possible, expected.code == hp::choice_check_code::ok) << seed;
      (possible ? allowed : forbidden)++;
      if (!possible) return;
      ASSERT_EQ(sum, expected) << seed;
      ASSERT_EQ(state, end.first_state);
    });
  }
  EXPECT_GT(forbidden, 1000);
  EXPECT_GT(allowed, 1000);
}

/// A chain of `Nodes` nodes with `Candidates` each, and an edge from the first to node `skip`.
template <int Nodes, int Candidates>
struct chain_with_skip {
  int skip = 0;
  template <class Graph>
  constexpr void operator()(Graph& g) const {
    for (int n = 0; n < Nodes; ++n) {
      hp::add_choice_node(g);
      for (int c = 0; c < Candidates; ++c) hp::add_candidate(g, c, c);
    }
    const int e = hp::add_choice_edge(g, 0, 1);
    for (int i = 0; i < Candidates * Candidates; ++i) hp::add_edge_time(g, i);
    for (int n = 1; n + 1 < Nodes; ++n) hp::share_choice_edge(g, e, n, n + 1);
    if (skip > 1) hp::share_choice_edge(g, e, 0, skip);
  }
};

template <int Skip>
constexpr hp::choice_stage_measure measured() {
  constexpr chain_with_skip<5, 3> build{Skip};
  constexpr hp::choice_graph_size size = hp::measure_choices(build);
  return hp::measure_stages(hp::build_choices<size>(build));
}

static_assert(measured<0>().size == hp::choice_stage_size{5, 15, 1 + 3 * 4 + 1, 3 + 9 * 4, 3, 9});
static_assert(measured<3>().size == hp::choice_stage_size{5, 15, 1 + 3 + 9 + 9 + 3 + 1, 3 + 9 + 27 + 27 + 9, 9, 27});

TEST(ChoiceStages, SaysWhereTheyAreTooWide) {
  // Every node shares an edge with the last: nine of 32 candidates are open before the tenth.
  const auto build = [](auto& g) {
    for (int n = 0; n < 12; ++n) {
      hp::add_choice_node(g);
      for (int c = 0; c < 32; ++c) hp::add_candidate(g, 0, 0);
    }
    for (int n = 0; n < 11; ++n) {
      if (n == 0) {
        hp::add_choice_edge(g, 0, 11);
        for (int i = 0; i < 32 * 32; ++i) hp::add_edge_time(g, 0);
      } else {
        hp::share_choice_edge(g, 0, n, 11);
      }
    }
  };
  hp::owned_choice_graph g(hp::measure_choices(build));
  build(g);
  hp::owned_choice_order x(g.size);
  const hp::choice_stage_measure m = hp::measure_stages(g, x);
  EXPECT_EQ(m.too_wide, 5);
  EXPECT_EQ(m.transitions, 32 + (1LL << 10) + (1LL << 15) + (1LL << 20) + (1LL << 25) + (1LL << 30));
}

}  // namespace
