// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/search/choice_labels.hpp>

#include "choice_graphs.hpp"

namespace hp = hyperparallel;

namespace {

std::vector<int> choice_of(const hp::owned_choice_graph& g, const hp::owned_choice_stages& s,
                           const hp::owned_choice_scratch& x, int end) {
  std::vector<int> choice(static_cast<std::size_t>(g.size.nodes));
  int candidate = x.made[x.order[end]].candidate, parent = x.made[x.order[end]].parent;
  for (int v = s.size.stages - 1; v >= 0; --v) {
    choice[static_cast<std::size_t>(s.stage[v].root)] = candidate;
    if (v == 0) break;
    candidate = x.trace[parent].candidate;
    parent = x.trace[parent].parent;
  }
  for (int n = 0; n < g.size.nodes; ++n)
    choice[static_cast<std::size_t>(n)] = choice[static_cast<std::size_t>(g.node[n].root)];
  return choice;
}

TEST(ChoiceLabels, EndWithTheFirstChoicesBelowTheCeilingWhateverThePrice) {
  std::mt19937 random(11);
  int ended = 0, cut = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const choice_graphs::random_graph build{seed, {6, 4, 20, 20}};
    hp::owned_choice_graph g(hp::measure_choices(build));
    build(g);
    const auto all = choice_graphs::all_choices(g);
    if (all.empty()) continue;
    hp::owned_choice_order order(g.size);
    const hp::choice_stage_measure m = hp::measure_stages(g, order);
    hp::owned_choice_stages s(m.size);
    hp::build_stages(g, m.size, order, s);
    hp::owned_choice_scratch x(m.size, {1 << 12, 1 << 12});
    hp::detail::fill_remaining(s, x.least_memory, [](std::int64_t, std::int64_t memory) { return memory; });
    const hp::memory_price price{static_cast<int>(random() % 2), 4, static_cast<std::int64_t>(random() % 100)};
    hp::detail::fill_remaining(s, x.least_price,
                               [&](std::int64_t time, std::int64_t memory) { return time + price(memory); });
    const std::int64_t budget = all[random() % all.size()].memory, ceiling = all[random() % all.size()].time;
    const int wanted = 1 + static_cast<int>(random() % 5);
    const hp::choice_labels found = hp::detail::set_labels(s, budget, true, price, ceiling, wanted, x);
    ASSERT_FALSE(found.full);
    std::vector<choice_graphs::counted_choice> expected;
    for (const auto& c : all)
      if (c.time <= ceiling && c.memory <= budget && static_cast<int>(expected.size()) < wanted) expected.push_back(c);
    ASSERT_GE(found.ends, static_cast<int>(expected.size())) << seed;
    if (static_cast<int>(expected.size()) < wanted) {
      ASSERT_EQ(found.ends, static_cast<int>(expected.size())) << seed;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const hp::choice_label& end = x.made[x.order[i]];
      ASSERT_EQ(end.time, expected[i].time) << seed;
      ASSERT_EQ(end.memory, expected[i].memory) << seed;
      ASSERT_EQ(choice_of(g, s, x, static_cast<int>(i)), expected[i].choice) << seed;
      ++ended;
    }
    if (found.kept < 2) continue;
    hp::owned_choice_scratch less(m.size, {static_cast<int>(found.kept) - found.ends - 1, 1 << 12});
    for (int i = 0; i < m.size.states; ++i) {
      less.least_memory[i] = x.least_memory[i];
      less.least_price[i] = x.least_price[i];
    }
    if (less.room.labels < 0) continue;
    ASSERT_TRUE(hp::detail::set_labels(s, budget, true, price, ceiling, wanted, less).full) << seed;
    ++cut;
  }
  EXPECT_GT(ended, 500);
  EXPECT_GT(cut, 100);
}

TEST(ChoiceLabels, SortByTimeThenMemoryThenNumber) {
  std::mt19937 random(5);
  hp::owned_choice_scratch x({1, 1, 1, 1, 1, 1}, {1, 300});
  for (int count = 0; count < 300; ++count) {
    std::vector<choice_graphs::counted_choice> sorted;
    for (int i = 0; i < count; ++i) {
      x.made[i] = {static_cast<std::int64_t>(random() % 9), static_cast<std::int64_t>(random() % 5), 0, 0, 0};
      x.order[i] = i;
      sorted.push_back({x.made[i].time, x.made[i].memory, {i}});
    }
    std::sort(sorted.begin(), sorted.end());
    hp::detail::sort_labels(x, 0, count);
    for (int i = 0; i < count; ++i) ASSERT_EQ(x.order[i], sorted[static_cast<std::size_t>(i)].choice[0]);
  }
}

}  // namespace
