// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include <hyperparallel/search/choice_chain.hpp>

#include "choice_graphs.hpp"

namespace hp = hyperparallel;

namespace {

using enum hp::choice_search_code;
using choice_graphs::counted_choice;
using choices = std::vector<counted_choice>;

constexpr std::int64_t tera = 1'000'000'000'000;

int times_exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 20 : 1; }

template <class Graph, class Answer>
choices found_in(const Graph& g, const Answer& answer) {
  choices out;
  for (int b = 0; b < answer.count; ++b) {
    const int* const first = answer.choice + b * g.size.nodes;
    out.push_back({answer.time[b], answer.memory[b], std::vector<int>(first, first + g.size.nodes)});
  }
  return out;
}

choices within(const choices& all, std::int64_t budget, int wanted) {
  choices out;
  for (const counted_choice& c : all)
    if (c.memory <= budget && static_cast<int>(out.size()) < wanted) out.push_back(c);
  return out;
}

struct brute_force_count {
  int cases = 0, impossible = 0, over_budget = 0, slack = 0, held = 0, fewer = 0;
};

void expect_brute_force(const choice_graphs::random_graph& build, brute_force_count& count) {
  hp::owned_choice_graph g(hp::measure_choices(build));
  build(g);
  const choices all = choice_graphs::all_choices(g);
  const int wanted = 1 + static_cast<int>(build.seed % 6);
  hp::owned_choice_answer answer(g.size.nodes, wanted);
  if (all.empty()) {
    hp::search_choices(g, hp::no_memory_limit, answer);
    ASSERT_EQ(answer.code, impossible);
    ASSERT_EQ(answer.count, 0);
    ++count.impossible;
    return;
  }
  std::int64_t least = all[0].memory, most = all[0].memory;
  for (const counted_choice& c : all) {
    least = std::min(least, c.memory);
    most = std::max(most, c.memory);
  }
  const std::int64_t step = (most - least) / 5 + 1;
  std::int64_t before = INT64_MAX;
  for (int i = -1; i <= 6; ++i) {
    const std::int64_t budget = i < 6 ? least + i * step : hp::no_memory_limit;
    hp::search_choices(g, budget, answer);
    ASSERT_EQ(answer.least_memory, least);
    const choices expected = within(all, budget, wanted);
    ++count.cases;
    if (expected.empty()) {
      ASSERT_EQ(answer.code, over_budget);
      ASSERT_EQ(answer.count, 0);
      ++count.over_budget;
      continue;
    }
    ASSERT_EQ(answer.code, ok);
    ASSERT_EQ(found_in(g, answer), expected) << "budget " << budget;
    ASSERT_EQ(answer.certificate.lower_bound, expected[0].time);
    ASSERT_LE(answer.certificate.relaxed_bound, expected[0].time);
    ASSERT_LE(answer.time[0], before) << "more memory, more time";
    before = answer.time[0];
    count.slack += expected[0] == all[0];
    count.held += expected[0] != all[0];
    count.fewer += static_cast<int>(expected.size()) < wanted;
  }
}

TEST(ChoiceChain, EqualsBruteForceOnRandomGraphs) {
  brute_force_count count;
  const auto seeds = static_cast<unsigned>(2400 * times_exhaustive());
  for (unsigned seed = 0; seed < seeds; ++seed) {
    // Few distinct numbers make ties; times and memories of real size make the price of memory work.
    const std::int64_t most_time = seed % 4 == 0 ? 3 : seed % 4 == 1 ? 100 : seed % 4 == 2 ? tera : tera * 1000;
    const std::int64_t most_memory = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 1000 : 100 * tera;
    SCOPED_TRACE(seed);
    expect_brute_force({seed, {6, 4, most_time, most_memory}}, count);
    if (HasFatalFailure()) return;
  }
  for (unsigned seed = 0; seed < seeds / 100; ++seed) {
    SCOPED_TRACE(seed);
    expect_brute_force({seed + 1'000'000, {9, 4, tera, tera}}, count);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(count.cases, 10000);
  for (const int part : {count.impossible, count.over_budget, count.slack, count.held, count.fewer})
    EXPECT_GT(part, 100);
}

/// The graph with the candidates of each variable in another order; where[root][new candidate] is the old one.
struct permuted_graph {
  const hp::owned_choice_graph& of;
  const std::vector<std::vector<int>>& where;

  template <class Graph>
  void operator()(Graph& g) const {
    const auto old = [&](int node, int c) {
      return where[static_cast<std::size_t>(of.node[node].root)][static_cast<std::size_t>(c)];
    };
    for (int n = 0; n < of.size.nodes; ++n) {
      const hp::choice_node& v = of.node[n];
      hp::add_choice_node(g, v.root == n ? -1 : v.root, v.times, v.copies);
      for (int c = 0; c < v.candidates; ++c) {
        const hp::choice_candidate& x = of.candidate[v.first + old(n, c)];
        hp::add_candidate(g, x.time, x.memory);
      }
    }
    for (int e = 0; e < of.size.edges; ++e) {
      const hp::choice_edge& x = of.edge[e];
      hp::add_choice_edge(g, x.from, x.to, x.times);
      const int columns = of.node[x.to].candidates;
      for (int a = 0; a < of.node[x.from].candidates; ++a)
        for (int b = 0; b < columns; ++b)
          hp::add_edge_time(g, of.entry[x.first + old(x.from, a) * columns + old(x.to, b)]);
    }
  }
};

TEST(ChoiceChain, TheOrderOfCandidatesChangesNoCost) {
  std::mt19937 random(3);
  int compared = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const choice_graphs::random_graph build{seed, {8, 5, tera, tera}};
    hp::owned_choice_graph g(hp::measure_choices(build));
    build(g);
    std::vector<std::vector<int>> where;
    for (int n = 0; n < g.size.nodes; ++n) {
      where.emplace_back(static_cast<std::size_t>(g.node[n].candidates));
      std::iota(where.back().begin(), where.back().end(), 0);
      std::shuffle(where.back().begin(), where.back().end(), random);
    }
    const permuted_graph permuted{g, where};
    hp::owned_choice_graph h(hp::measure_choices(permuted));
    permuted(h);
    hp::owned_choice_answer a(g.size.nodes, 5), b(g.size.nodes, 5);
    hp::search_choices(g, hp::no_memory_limit, a);
    if (a.code != ok) continue;
    const std::int64_t budget = (a.least_memory + a.memory[0]) / 2;
    hp::search_choices(g, budget, a);
    hp::search_choices(h, budget, b);
    ASSERT_EQ(a.count, b.count);
    for (int i = 0; i < a.count; ++i) {
      ASSERT_EQ(a.time[i], b.time[i]) << seed;
      ASSERT_EQ(a.memory[i], b.memory[i]) << seed;
      ASSERT_EQ(hp::check_choice(h, b.choice + i * g.size.nodes).time, a.time[i]);
    }
    // Numbers this large do not meet by chance: the winner is the same one, renamed.
    for (int n = 0; n < g.size.nodes; ++n) {
      const std::vector<int>& from = where[static_cast<std::size_t>(g.node[n].root)];
      if (a.count > 1 && a.time[0] == a.time[1]) break;
      ASSERT_EQ(from[static_cast<std::size_t>(b.choice[n])], a.choice[n]) << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

/// Six nodes of four candidates: more memory, less time; a diamond 0 -> {1, 2} -> 3 and a chain behind it.
constexpr auto six_nodes = [](auto& g) {
  for (int n = 0; n < 6; ++n) {
    hp::add_choice_node(g, n == 5 ? 4 : -1, 1 + n % 2);
    for (int c = 0; c < 4; ++c) hp::add_candidate(g, 1000 - 150 * c + 37 * (n * c % 5), 10 + 30 * c + n);
  }
  constexpr int edges[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}};
  for (const auto& e : edges) {
    hp::add_choice_edge(g, e[0], e[1]);
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        const int apart = a < b ? b - a : a - b;
        hp::add_edge_time(g, apart == 3 ? hp::impossible_time : 90 * apart + 11 * ((a + 2 * b + e[1]) % 4));
      }
  }
};

constexpr hp::choice_graph_size six_size = hp::measure_choices(six_nodes);
constexpr hp::fixed_choice_graph<six_size> six = hp::build_choices<six_size>(six_nodes);
constexpr hp::choice_stage_size six_stages = hp::measure_stages(six).size;
constexpr std::int64_t six_budget = 320;
constexpr auto at_compile_time = hp::best_choices<six_stages, hp::choice_room{512, 512}, 4>(six, six_budget);
static_assert(at_compile_time.code == ok && at_compile_time.count == 4);
static_assert(hp::check_choice(six, at_compile_time.choice).code == hp::choice_check_code::ok);
static_assert(hp::check_choice(six, at_compile_time.choice).time == at_compile_time.time[0]);
static_assert(hp::check_choice(six, at_compile_time.choice).memory <= six_budget);
static_assert(at_compile_time.certificate.lower_bound == at_compile_time.time[0]);
static_assert(hp::best_choices<six_stages, hp::choice_room{512, 512}, 1>(six, 74).code == over_budget);
static_assert(hp::best_choices<six_stages, hp::choice_room{512, 512}, 1>(six, 75).code == ok);

TEST(ChoiceChain, AConstantExpressionEqualsRunTime) {
  hp::owned_choice_answer answer(six.size.nodes, 4);
  hp::search_choices(six, six_budget, answer);
  EXPECT_EQ(answer.code, ok);
  EXPECT_EQ(answer.certificate, at_compile_time.certificate);
  EXPECT_EQ(found_in(six, answer), found_in(six, at_compile_time));
  EXPECT_EQ(found_in(six, answer), within(choice_graphs::all_choices(six), six_budget, 4));
}

TEST(ChoiceChain, NamesTheNodeThatNothingReaches) {
  const auto build = [](auto& g) {
    for (int n = 0; n < 5; ++n) {
      hp::add_choice_node(g);
      for (int c = 0; c < 2; ++c) hp::add_candidate(g, 1, 1);
    }
    for (int n = 0; n < 4; ++n) {
      hp::add_choice_edge(g, n, n + 1);
      for (int i = 0; i < 4; ++i) hp::add_edge_time(g, n == 2 || i == n ? hp::impossible_time : 0);
    }
  };
  hp::owned_choice_graph g(hp::measure_choices(build));
  build(g);
  hp::owned_choice_answer answer(5);
  hp::search_choices(g, hp::no_memory_limit, answer);
  EXPECT_EQ(answer.code, impossible);
  EXPECT_EQ(answer.node, 3);
}

TEST(ChoiceChain, RefusesGraphsThatAreWrongOrTooWide) {
  hp::owned_choice_answer answer(12);
  auto wrong = six;
  wrong.edge[4].to = 6;
  hp::search_choices(wrong, six_budget, answer);
  EXPECT_EQ(answer.code, bad_graph);
  EXPECT_EQ(answer.graph, (hp::choice_graph_status{hp::choice_graph_code::bad_edge, -1, 4}));
  EXPECT_EQ((hp::best_choices<six_stages, hp::choice_room{512, 512}, 4>(wrong).code), bad_graph);

  const auto star = [](auto& g) {
    for (int n = 0; n < 12; ++n) {
      hp::add_choice_node(g);
      for (int c = 0; c < 32; ++c) hp::add_candidate(g, 0, 0);
    }
    hp::add_choice_edge(g, 0, 11);
    for (int i = 0; i < 32 * 32; ++i) hp::add_edge_time(g, 0);
    for (int n = 1; n < 11; ++n) hp::share_choice_edge(g, 0, n, 11);
  };
  hp::owned_choice_graph g(hp::measure_choices(star));
  star(g);
  hp::search_choices(g, hp::no_memory_limit, answer);
  EXPECT_EQ(answer.code, too_wide);
  EXPECT_EQ(answer.node, 5);
}

/// A chain with random costs: of times up to `most_time` and memories up to `most_memory`.
struct long_chain {
  int nodes = 0, candidates = 0;
  std::int64_t most_time = 0, most_memory = 0;
  bool trade = false;  ///< less time costs more memory
  unsigned seed = 1;

  template <class Graph>
  void operator()(Graph& g) const {
    std::mt19937_64 random(seed);
    const auto draw = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned long>(n));
    };
    for (int n = 0; n < nodes; ++n) {
      hp::add_choice_node(g);
      for (int c = 0; c < candidates; ++c) {
        const std::int64_t time = trade ? 4 * most_time / (c + 2) + draw(most_time / 100) : draw(most_time);
        const std::int64_t memory = trade ? most_memory / candidates * c + draw(most_memory / 100) : draw(most_memory);
        hp::add_candidate(g, time, memory);
      }
    }
    for (int n = 0; n + 1 < nodes; ++n) {
      hp::add_choice_edge(g, n, n + 1);
      for (int a = 0; a < candidates; ++a)
        for (int b = 0; b < candidates; ++b) hp::add_edge_time(g, a == b ? 0 : draw(most_time));
    }
  }
};

void expect_ordered_and_counted(const hp::owned_choice_graph& g, const hp::owned_choice_answer& a,
                                std::int64_t budget) {
  ASSERT_EQ(a.code, ok);
  ASSERT_EQ(a.count, a.room);
  const choices found = found_in(g, a);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const hp::choice_check sum = hp::check_choice(g, found[i].choice.data());
    ASSERT_EQ(sum.code, hp::choice_check_code::ok);
    ASSERT_EQ(sum.time, found[i].time);
    ASSERT_EQ(sum.memory, found[i].memory);
    ASSERT_LE(sum.memory, budget);
    if (i > 0) {
      ASSERT_LT(found[i - 1], found[i]);
    }
  }
}

TEST(ChoiceChain, AThousandNodesWithoutABudget) {
  const long_chain build{1000, 32, tera / 1000, std::int64_t{1} << 30};
  hp::owned_choice_graph g(hp::measure_choices(build));
  build(g);
  hp::owned_choice_answer answer(g.size.nodes);
  hp::search_choices(g, hp::no_memory_limit, answer);
  expect_ordered_and_counted(g, answer, hp::no_memory_limit);
  EXPECT_EQ(answer.certificate.relaxed_bound, answer.time[0]);
}

TEST(ChoiceChain, SixtyNodesWithABudget) {
  for (const bool trade : {false, true}) {
    const long_chain build{60, 40, tera / 1000, std::int64_t{1} << 32, trade};
    hp::owned_choice_graph g(hp::measure_choices(build));
    build(g);
    hp::owned_choice_answer answer(g.size.nodes);
    std::int64_t before = INT64_MAX;
    for (const int per_cent : {4, 10, 30, 60}) {
      const std::int64_t budget = 60 * (std::int64_t{1} << 32) / 100 * per_cent;
      hp::search_choices(g, budget, answer);
      expect_ordered_and_counted(g, answer, budget);
      ASSERT_LE(answer.time[0], before);
      before = answer.time[0];
    }
  }
}

TEST(ChoiceChain, SaysWhenLabelsOutgrowTheirRoomAndWhatIsProvedStill) {
  int some = 0, none = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const long_chain build{12, 8, tera / 1000, std::int64_t{1} << 32, true, seed};
    hp::owned_choice_graph g(hp::measure_choices(build));
    build(g);
    const std::int64_t budget = 12 * (std::int64_t{1} << 32) / 4;
    hp::owned_choice_answer whole(g.size.nodes, 32), cut(g.size.nodes, 32);
    hp::search_choices(g, budget, whole);
    expect_ordered_and_counted(g, whole, budget);
    const choices best = found_in(g, whole);
    for (int room = 8; room < 4000; room += room / 8) {
      hp::search_choices(g, budget, cut, {room, room});
      const choices proved = found_in(g, cut);
      ASSERT_LE(proved.size(), best.size());
      ASSERT_TRUE(std::equal(proved.begin(), proved.end(), best.begin())) << room;
      ASSERT_LE(cut.certificate.lower_bound, whole.time[0]);
      ASSERT_EQ(cut.code, proved.size() == best.size() ? ok : labels_full);
      some += cut.code == labels_full && !proved.empty();
      none += cut.code == labels_full && proved.empty();
    }
  }
  EXPECT_GT(some, 20);
  EXPECT_GT(none, 20);
}

}  // namespace
