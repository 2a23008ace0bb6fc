// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/search/choice_labels.hpp>

#include "random_chains.hpp"

namespace hp = hyperparallel;

namespace {

std::vector<int> choice_of(const hp::detail::choice_stages& s, const hp::detail::choice_scratch& x, int end) {
  std::vector<int> choice(static_cast<std::size_t>(s.size()));
  int candidate = x.made[x.order[end]].candidate, parent = x.made[x.order[end]].parent;
  for (int v = s.size() - 1; v >= 0; --v) {
    choice[static_cast<std::size_t>(v)] = candidate;
    if (v == 0) break;
    candidate = x.trace[parent].candidate;
    parent = x.trace[parent].parent;
  }
  return choice;
}

TEST(ChoiceLabels, EndWithTheFirstChoicesBelowTheCeilingWhateverThePrice) {
  std::mt19937 random(11);
  int ended = 0, cut = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const random_chains::chain g = random_chains::random_chain(seed, {6, 4, 20, 20});
    const auto all = random_chains::all_choices(g);
    if (all.empty()) continue;
    const hp::detail::choice_stages s = g.stages();
    hp::detail::choice_scratch x(s, {1 << 12, 1 << 12});
    hp::detail::fill_remaining(s, x.least_memory.item, [](std::int64_t, std::int64_t memory) { return memory; });
    const hp::detail::memory_price price{static_cast<int>(random() % 2), 4, static_cast<std::int64_t>(random() % 100)};
    hp::detail::fill_remaining(s, x.least_price.item,
                               [&](std::int64_t time, std::int64_t memory) { return time + price(memory); });
    const std::int64_t budget = all[random() % all.size()].memory, ceiling = all[random() % all.size()].time;
    const int wanted = 1 + static_cast<int>(random() % 5);
    const hp::detail::choice_labels found = hp::detail::set_labels(s, budget, true, price, ceiling, wanted, x);
    ASSERT_FALSE(found.full);
    std::vector<random_chains::counted_choice> expected;
    for (const auto& c : all)
      if (c.time <= ceiling && c.memory <= budget && static_cast<int>(expected.size()) < wanted) expected.push_back(c);
    ASSERT_GE(found.ends, static_cast<int>(expected.size())) << seed;
    if (static_cast<int>(expected.size()) < wanted) {
      ASSERT_EQ(found.ends, static_cast<int>(expected.size())) << seed;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const hp::detail::choice_label& end = x.made[x.order[static_cast<int>(i)]];
      ASSERT_EQ(end.time, expected[i].time) << seed;
      ASSERT_EQ(end.memory, expected[i].memory) << seed;
      ASSERT_EQ(choice_of(s, x, static_cast<int>(i)), expected[i].choice) << seed;
      ++ended;
    }
    const int labels = static_cast<int>(found.kept) - found.ends - 1;
    if (labels < 0) continue;
    hp::detail::choice_scratch less(s, {labels, 1 << 12});
    less.least_memory = x.least_memory;
    less.least_price = x.least_price;
    ASSERT_TRUE(hp::detail::set_labels(s, budget, true, price, ceiling, wanted, less).full) << seed;
    ++cut;
  }
  EXPECT_GT(ended, 500);
  EXPECT_GT(cut, 100);
}

TEST(ChoiceLabels, SortByTimeThenMemoryThenNumber) {
  std::mt19937 random(5);
  hp::detail::choice_scratch x({}, {1, 300});
  for (int count = 0; count < 300; ++count) {
    std::vector<random_chains::counted_choice> sorted;
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
