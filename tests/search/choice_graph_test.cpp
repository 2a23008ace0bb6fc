// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/search/choice_graph.hpp>

#include "choice_graphs.hpp"

namespace hp = hyperparallel;

namespace {

constexpr auto two_nodes = [](auto& g) {
  hp::add_choice_node(g);
  hp::add_candidate(g, 3, 10);
  hp::add_candidate(g, 5, 1);
  hp::add_choice_node(g, -1, 2, 7);
  hp::add_candidate(g, 4, 6);
  const int e = hp::add_choice_edge(g, 0, 1);
  hp::add_edge_time(g, 8);
  hp::add_edge_time(g, hp::impossible_time);
  hp::share_choice_edge(g, e, 0, 1, 3);
};

constexpr hp::choice_graph_size two_nodes_size = hp::measure_choices(two_nodes);
constexpr hp::fixed_choice_graph<two_nodes_size> built = hp::build_choices<two_nodes_size>(two_nodes);
static_assert(two_nodes_size == hp::choice_graph_size{2, 3, 2, 2});
static_assert(built.size == two_nodes_size);
static_assert(built.node[1].first == 2 && built.node[1].candidates == 1 && built.node[1].copies == 7);
static_assert(built.edge[1].first == built.edge[0].first && built.edge[1].times == 3);

TEST(ChoiceGraph, FillsWhatItMeasures) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const choice_graphs::random_graph build{seed};
    const hp::choice_graph_size size = hp::measure_choices(build);
    hp::owned_choice_graph g(size);
    build(g);
    ASSERT_EQ(g.size, size) << seed;
    int candidates = 0;
    for (int n = 0; n < g.size.nodes; ++n) {
      ASSERT_EQ(g.node[n].first, candidates);
      candidates += g.node[n].candidates;
    }
    ASSERT_EQ(candidates, size.candidates);
  }
}

/// Two layers of three candidates each that repeat `times` times, and a head behind them.
struct repeated_layers {
  std::int64_t times = 1;
  bool unrolled = false;

  template <class Graph>
  void operator()(Graph& g) const {
    const int copies = unrolled ? static_cast<int>(times) : 1;
    int edge_inside = -1, edge_between = -1;
    for (int i = 0; i < copies; ++i) {
      for (int layer = 0; layer < 2; ++layer) {
        hp::add_choice_node(g, i == 0 ? -1 : layer);
        for (int c = 0; c < 3; ++c) hp::add_candidate(g, 10 + 7 * c * layer + c, 5 - c + layer);
      }
      if (i == 0) {
        edge_inside = hp::add_choice_edge(g, 0, 1);
        for (int e = 0; e < 9; ++e) hp::add_edge_time(g, (e * 5) % 7);
      } else {
        hp::share_choice_edge(g, edge_inside, 2 * i, 2 * i + 1);
        if (i == 1) {
          edge_between = hp::add_choice_edge(g, 1, 2);
          for (int e = 0; e < 9; ++e) hp::add_edge_time(g, (e * 4) % 11);
        } else {
          hp::share_choice_edge(g, edge_between, 2 * i - 1, 2 * i);
        }
      }
    }
    if (!unrolled) {
      hp::repeat_segment(g, 0, 1, times);
      hp::add_choice_edge(g, 1, 0, times - 1);
      for (int e = 0; e < 9; ++e) hp::add_edge_time(g, (e * 4) % 11);
    }
    const int head = hp::add_choice_node(g);
    for (int c = 0; c < 2; ++c) hp::add_candidate(g, c, 1 - c);
    hp::add_choice_edge(g, head - 1, head);
    for (int e = 0; e < 6; ++e) hp::add_edge_time(g, e);
  }
};

TEST(ChoiceGraph, ARepeatedSegmentCostsWhatItsTiedCopiesCost) {
  for (const std::int64_t times : {1, 2, 3, 6}) {
    const repeated_layers rolled{times, false}, unrolled{times, true};
    hp::owned_choice_graph a(hp::measure_choices(rolled)), b(hp::measure_choices(unrolled));
    rolled(a);
    unrolled(b);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int h = 0; h < 2; ++h) {
          const int once[] = {i, j, h};
          std::vector<int> copied;
          for (int t = 0; t < times; ++t) copied.insert(copied.end(), {i, j});
          copied.push_back(h);
          const hp::choice_check x = hp::check_choice(a, once), y = hp::check_choice(b, copied.data());
          ASSERT_EQ(x, y) << times << ": " << i << j << h;
          ASSERT_EQ(x.code, hp::choice_check_code::ok);
        }
  }
}

}  // namespace
