// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include <hyperparallel/search/choice_chain.hpp>

#include "random_chains.hpp"

namespace hp = hyperparallel;

namespace {

using enum hp::detail::choice_search_code;
using random_chains::counted_choice;
using choices = std::vector<counted_choice>;

constexpr std::int64_t tera = 1'000'000'000'000;

int times_exhaustive() { return std::getenv("HYPERPARALLEL_EXHAUSTIVE") != nullptr ? 20 : 1; }

choices found_in(const hp::detail::choice_answer& answer) {
  choices out;
  const int nodes = answer.choice.size / answer.room;
  for (int b = 0; b < answer.count; ++b) {
    const int* const first = answer.choice.item + b * nodes;
    out.push_back({answer.time[b], answer.memory[b], std::vector<int>(first, first + nodes)});
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

void expect_brute_force(unsigned seed, const random_chains::random_shape& most_of, brute_force_count& count) {
  const random_chains::chain g = random_chains::random_chain(seed, most_of);
  const hp::detail::choice_stages s = g.stages();
  const choices all = random_chains::all_choices(g);
  const int wanted = 1 + static_cast<int>(seed % 6);
  hp::detail::choice_answer answer(s.size(), wanted);
  if (all.empty()) {
    hp::detail::search_choices(s, INT64_MAX, answer);
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
    const std::int64_t budget = i < 6 ? least + i * step : INT64_MAX;
    hp::detail::search_choices(s, budget, answer);
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
    ASSERT_EQ(found_in(answer), expected) << "budget " << budget;
    ASSERT_LE(answer.relaxed_bound, expected[0].time);
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
    expect_brute_force(seed, {6, 4, most_time, most_memory}, count);
    if (HasFatalFailure()) return;
  }
  for (unsigned seed = 0; seed < seeds / 100; ++seed) {
    SCOPED_TRACE(seed);
    expect_brute_force(seed + 1'000'000, {9, 4, tera, tera}, count);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(count.cases, 10000);
  for (const int part : {count.impossible, count.over_budget, count.slack, count.held, count.fewer})
    EXPECT_GT(part, 100);
}

TEST(ChoiceChain, TheOrderOfCandidatesChangesNoCost) {
  std::mt19937 random(3);
  int compared = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const random_chains::chain g = random_chains::random_chain(seed, {8, 5, tera, tera});
    random_chains::chain h = g;
    std::vector<std::vector<std::size_t>> old(g.node.size());  // new candidate -> the old one
    for (std::size_t n = 0; n < g.node.size(); ++n) {
      old[n].resize(g.node[n].size());
      std::iota(old[n].begin(), old[n].end(), std::size_t{0});
      std::shuffle(old[n].begin(), old[n].end(), random);
      for (std::size_t c = 0; c < old[n].size(); ++c) h.node[n][c] = g.node[n][old[n][c]];
      for (std::size_t a = 0; a < h.between[n].size(); ++a)
        for (std::size_t c = 0; c < old[n].size(); ++c) h.between[n][a][c] = g.between[n][old[n - 1][a]][old[n][c]];
    }
    const hp::detail::choice_stages s = g.stages(), t = h.stages();
    hp::detail::choice_answer a(s.size(), 5), b(s.size(), 5);
    hp::detail::search_choices(s, INT64_MAX, a);
    if (a.code != ok) continue;
    const std::int64_t budget = (a.least_memory + a.memory[0]) / 2;
    hp::detail::search_choices(s, budget, a);
    hp::detail::search_choices(t, budget, b);
    const choices first = found_in(a), second = found_in(b);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      ASSERT_EQ(first[i].time, second[i].time) << seed;
      ASSERT_EQ(first[i].memory, second[i].memory) << seed;
      ASSERT_EQ(random_chains::cost_of(h, second[i].choice), second[i]);
    }
    // Numbers this large do not meet by chance: the winner is the same one, renamed.
    if (first.empty() || (first.size() > 1 && first[0].time == first[1].time)) continue;
    for (std::size_t n = 0; n < old.size(); ++n, ++compared)
      ASSERT_EQ(static_cast<int>(old[n][static_cast<std::size_t>(second[0].choice[n])]), first[0].choice[n]) << seed;
  }
  EXPECT_GT(compared, 300);
}

/// Six nodes of four candidates: more memory, less time.
constexpr hp::detail::choice_stages six_nodes() {
  hp::detail::choice_stages s;
  for (int n = 0; n < 6; ++n) {
    hp::growing_array<hp::detail::choice_candidate> candidate;
    for (int c = 0; c < 4; ++c) candidate.push({1000 - 150 * c + 37 * (n * c % 5), 10 + 30 * c + n});
    s.add(candidate, [n](int a, int b) -> std::int64_t {
      const int apart = a < b ? b - a : a - b;
      return apart == 3 ? hp::detail::impossible_time : 90 * apart + 11 * ((a + 2 * b + n) % 4);
    });
  }
  s.close();
  return s;
}

constexpr hp::detail::choice_search_code code_within(std::int64_t budget) {
  hp::detail::choice_answer answer(6, 4);
  hp::detail::search_choices(six_nodes(), budget, answer);
  return answer.code;
}
static_assert(code_within(74) == over_budget);
static_assert(code_within(75) == ok);

constexpr std::int64_t best_within(std::int64_t budget) {
  hp::detail::choice_answer answer(6, 4);
  hp::detail::search_choices(six_nodes(), budget, answer);
  return answer.time[3];
}
constexpr std::int64_t fourth = best_within(320);

TEST(ChoiceChain, AConstantExpressionEqualsRunTime) { EXPECT_EQ(fourth, best_within(320)); }

/// A chain with random costs: of times up to `most_time` and memories up to `most_memory`.
struct long_chain {
  int nodes = 0, candidates = 0;
  std::int64_t most_time = 0, most_memory = 0;
  bool trade = false;  ///< less time costs more memory
  unsigned seed = 1;

  random_chains::chain build() const {
    std::mt19937_64 random(seed);
    const auto draw = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned long>(n));
    };
    random_chains::chain g;
    for (int n = 0; n < nodes; ++n) {
      g.node.emplace_back();
      for (int c = 0; c < candidates; ++c) {
        const std::int64_t time = trade ? 4 * most_time / (c + 2) + draw(most_time / 100) : draw(most_time);
        const std::int64_t memory = trade ? most_memory / candidates * c + draw(most_memory / 100) : draw(most_memory);
        g.node.back().push_back({time, memory});
      }
    }
    for (int n = 0; n < nodes; ++n) {
      g.between.emplace_back(static_cast<std::size_t>(n == 0 ? 0 : candidates));
      for (std::size_t a = 0; a < g.between.back().size(); ++a)
        for (std::size_t b = 0; b < static_cast<std::size_t>(candidates); ++b)
          g.between.back()[a].push_back(a == b ? 0 : draw(most_time));
    }
    return g;
  }
};

void expect_ordered_and_counted(const random_chains::chain& g, const hp::detail::choice_answer& a,
                                std::int64_t budget) {
  ASSERT_EQ(a.code, ok);
  ASSERT_EQ(a.count, a.room);
  const choices found = found_in(a);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(random_chains::cost_of(g, found[i].choice), found[i]);
    ASSERT_LE(found[i].memory, budget);
    if (i > 0) {
      ASSERT_LT(found[i - 1], found[i]);
    }
  }
}

TEST(ChoiceChain, AThousandNodesWithoutABudget) {
  const random_chains::chain g = long_chain{1000, 32, tera / 1000, std::int64_t{1} << 30}.build();
  hp::detail::choice_answer answer(1000, 4);
  hp::detail::search_choices(g.stages(), INT64_MAX, answer);
  expect_ordered_and_counted(g, answer, INT64_MAX);
  EXPECT_EQ(answer.relaxed_bound, answer.time[0]);
}

TEST(ChoiceChain, SixtyNodesWithABudget) {
  for (const bool trade : {false, true}) {
    const random_chains::chain g = long_chain{60, 40, tera / 1000, std::int64_t{1} << 32, trade}.build();
    const hp::detail::choice_stages s = g.stages();
    hp::detail::choice_answer answer(60, 4);
    std::int64_t before = INT64_MAX;
    for (const int per_cent : {4, 10, 30, 60}) {
      const std::int64_t budget = 60 * (std::int64_t{1} << 32) / 100 * per_cent;
      hp::detail::search_choices(s, budget, answer);
      expect_ordered_and_counted(g, answer, budget);
      ASSERT_LE(answer.time[0], before);
      before = answer.time[0];
    }
  }
}

TEST(ChoiceChain, SaysWhenLabelsOutgrowTheirRoomAndWhatIsProvedStill) {
  int some = 0, none = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const random_chains::chain g = long_chain{12, 8, tera / 1000, std::int64_t{1} << 32, true, seed}.build();
    const hp::detail::choice_stages s = g.stages();
    const std::int64_t budget = 12 * (std::int64_t{1} << 32) / 4;
    hp::detail::choice_answer whole(12, 32), cut(12, 32);
    hp::detail::search_choices(s, budget, whole);
    expect_ordered_and_counted(g, whole, budget);
    const choices best = found_in(whole);
    for (int room = 8; room < 4000; room += room / 8) {
      hp::detail::search_choices(s, budget, cut, {room, room});
      const choices proved = found_in(cut);
      ASSERT_LE(proved.size(), best.size());
      ASSERT_TRUE(std::equal(proved.begin(), proved.end(), best.begin())) << room;
      ASSERT_EQ(cut.code, proved.size() == best.size() ? ok : labels_full);
      some += cut.code == labels_full && !proved.empty();
      none += cut.code == labels_full && proved.empty();
    }
  }
  EXPECT_GT(some, 20);
  EXPECT_GT(none, 20);
}

}  // namespace
