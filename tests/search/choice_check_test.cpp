// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/search/choice_check.hpp>

namespace hp = hyperparallel;

namespace {

using enum hp::choice_graph_code;
using check = hp::choice_check_code;

/// Three nodes, the third tied to the first; edges 0 -> 1 and 2 -> 1, the second taken twice.
constexpr auto build = [](auto& g) {
  hp::add_choice_node(g, -1, 1, 1);
  hp::add_candidate(g, 3, 10);
  hp::add_candidate(g, 5, 1);
  hp::add_choice_node(g, -1, 2, 3);
  hp::add_candidate(g, 4, 6);
  hp::add_candidate(g, hp::impossible_time, 0);
  hp::add_candidate(g, 1, 2);
  hp::add_choice_node(g, 0, 10, 100);
  hp::add_candidate(g, 1, 1);
  hp::add_candidate(g, 2, 2);
  hp::add_choice_edge(g, 0, 1);
  for (const std::int64_t t : {7, 0, 9, 11, 0, 13}) hp::add_edge_time(g, t);
  hp::add_choice_edge(g, 2, 1, 2);
  for (const std::int64_t t : {1, 0, 2, 3}) hp::add_edge_time(g, t);
  hp::add_edge_time(g, 0);
  hp::add_edge_time(g, hp::impossible_time);
};
constexpr hp::choice_graph_size size = hp::measure_choices(build);
using graph = hp::fixed_choice_graph<size>;
constexpr graph good = hp::build_choices<size>(build);

constexpr hp::choice_check checked(const graph& g, int a, int b, int c) {
  const int choice[] = {a, b, c};
  return hp::check_choice(g, choice);
}

static_assert(hp::check_choice_graph(good).code == ok);
static_assert(checked(good, 0, 0, 0) == hp::choice_check{check::ok, -1, -1, 3 + 8 + 10 + 7 + 2, 10 + 18 + 100});
static_assert(checked(good, 1, 0, 1) == hp::choice_check{check::ok, -1, -1, 5 + 8 + 20 + 11 + 6, 1 + 18 + 200});
static_assert(checked(good, 0, 2, 0) == hp::choice_check{check::ok, -1, -1, 3 + 2 + 10 + 9 + 4, 10 + 6 + 100});

TEST(ChoiceCheck, NamesWhatForbidsAChoice) {
  EXPECT_EQ(checked(good, 2, 0, 2), (hp::choice_check{check::out_of_range, 0}));
  EXPECT_EQ(checked(good, 0, -1, 0), (hp::choice_check{check::out_of_range, 1}));
  EXPECT_EQ(checked(good, 0, 0, 1), (hp::choice_check{check::tie_broken, 2}));
  EXPECT_EQ(checked(good, 0, 1, 0), (hp::choice_check{check::impossible_candidate, 1}));
  EXPECT_EQ(checked(good, 1, 2, 1), (hp::choice_check{check::impossible_edge, -1, 1}));
}

TEST(ChoiceCheck, AnEdgeTakenZeroTimesForbidsNothing) {
  graph g = good;
  g.edge[1].times = 0;
  EXPECT_EQ(checked(g, 1, 2, 1), (hp::choice_check{check::ok, -1, -1, 5 + 2 + 20 + 13, 1 + 6 + 200}));
}

template <class Change>
hp::choice_graph_status after(const Change& change) {
  graph g = good;
  change(g);
  return hp::check_choice_graph(g);
}

TEST(ChoiceCheck, NamesWhatIsWrongWithAGraph) {
  const auto node = [](hp::choice_graph_code code, int n) { return hp::choice_graph_status{code, n, -1}; };
  const auto edge = [](hp::choice_graph_code code, int e) { return hp::choice_graph_status{code, -1, e}; };
  EXPECT_EQ(after([](graph& g) { g.size.nodes = 0; }), node(no_nodes, -1));
  EXPECT_EQ(after([](graph& g) { g.node[1].candidates = 0; }), node(no_candidates, 1));
  EXPECT_EQ(after([](graph& g) { g.size.candidates = 6; }), node(no_candidates, 2));
  EXPECT_EQ(after([](graph& g) { g.node[1].root = 2; }), node(bad_tie, 1));
  EXPECT_EQ(after([](graph& g) { g.node[2].root = -1; }), node(bad_tie, 2));
  EXPECT_EQ(after([](graph& g) { g.node[2].root = 1; }), node(bad_tie, 2)) << "2 candidates tied to 3";
  EXPECT_EQ(after([](graph& g) { g.edge[0].to = 3; }), edge(bad_edge, 0));
  EXPECT_EQ(after([](graph& g) { g.edge[1].from = -1; }), edge(bad_edge, 1));
  EXPECT_EQ(after([](graph& g) { g.edge[1].first = 7; }), edge(bad_edge, 1));
  EXPECT_EQ(after([](graph& g) { g.candidate[4].memory = -1; }), node(negative_number, 1));
  EXPECT_EQ(after([](graph& g) { g.candidate[0].time = -1; }), node(negative_number, 0));
  EXPECT_EQ(after([](graph& g) { g.node[2].copies = -1; }), node(negative_number, 2));
  EXPECT_EQ(after([](graph& g) { g.entry[5] = -2; }), edge(negative_number, 0));
  EXPECT_EQ(after([](graph& g) { g.edge[1].times = -1; }), edge(negative_number, 1));
}

TEST(ChoiceCheck, RefusesSumsThatAreTooLarge) {
  const std::int64_t most = hp::most_choice_total;
  const auto node = [](int n) { return hp::choice_graph_status{too_large, n, -1}; };
  EXPECT_EQ(after([&](graph& g) { g.candidate[0].memory = most; }), node(1));
  EXPECT_EQ(after([&](graph& g) { g.candidate[0].time = most + 1; }), node(0));
  EXPECT_EQ(after([&](graph& g) { g.node[2].copies = INT64_MAX; }), node(2));
  EXPECT_EQ(after([&](graph& g) { g.edge[1].times = most / 3; }), (hp::choice_graph_status{too_large, -1, 1}));
  // The greatest times: 5 + 2 · 4 + 10 · 2 + 13, and three for each time that the last edge is taken.
  const std::int64_t left = (most - 5 - 8 - 20 - 13) / 3;
  EXPECT_EQ(after([&](graph& g) { g.edge[1].times = left; }).code, ok);
  EXPECT_EQ(after([&](graph& g) { g.edge[1].times = left + 1; }).code, too_large);
}

}  // namespace
