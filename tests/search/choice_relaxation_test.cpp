// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/search/choice_relaxation.hpp>

#include "random_chains.hpp"

namespace hp = hyperparallel;

namespace {

constexpr std::int64_t tera = 1'000'000'000'000;

TEST(ChoiceRelaxation, PricesOfPartsAddUpToAtMostThePriceOfTheSum) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const hp::detail::memory_price price{static_cast<int>(random() % 20), static_cast<int>(random() % 40),
                                         static_cast<std::int64_t>(random() % (1u << 30))};
    const auto a = static_cast<std::int64_t>(random() % (1u << 30)),
               b = static_cast<std::int64_t>(random() % (1u << 30));
    ASSERT_LE(price(a) + price(b), price(a + b));
  }
}

TEST(ChoiceRelaxation, BoundsEveryChoiceWithinTheBudget) {
  int tighter = 0, tight = 0, cases = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const std::int64_t most_time = seed % 3 == 0 ? 30 : seed % 3 == 1 ? tera : tera * 1000;
    const std::int64_t most_memory = seed % 2 == 0 ? 30 : 100 * tera;
    const random_chains::chain g = random_chains::random_chain(seed, {6, 4, most_time, most_memory});
    const hp::detail::choice_stages s = g.stages();
    const auto all = random_chains::all_choices(g);
    std::vector<std::int64_t> least(static_cast<std::size_t>(s.states));
    const auto memory_only = [](std::int64_t, std::int64_t memory) { return memory; };
    hp::detail::fill_remaining(s, least.data(), memory_only);
    if (all.empty()) {
      ASSERT_EQ(least[0], hp::detail::impossible_time) << seed;
      continue;
    }
    std::int64_t fewest = all[0].memory, most_held = 0;
    for (const auto& c : all) {
      fewest = std::min(fewest, c.memory);
      most_held = std::max(most_held, c.memory);
    }
    ASSERT_EQ(least[0], fewest) << seed;
    ASSERT_EQ(hp::detail::memory_of_least(s, least.data(), memory_only), fewest) << seed;
    const hp::detail::choice_extent most = hp::detail::extent_of(s);
    ASSERT_GE(most.memory, most_held);
    for (const auto& c : all) ASSERT_GE(most.time, c.time);
    for (int part = 0; part <= 4; ++part) {
      const std::int64_t budget = fewest + (most.memory - fewest) / 4 * part;
      const hp::detail::relaxed_choice relaxed = hp::detail::relax_memory(s, most, budget, least.data());
      const auto best = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.memory <= budget; });
      ASSERT_LE(relaxed.bound, best->time) << seed;
      ASSERT_GE(relaxed.bound, all[0].time) << seed;
      ASSERT_EQ(relaxed.bound, least[0] - relaxed.price(budget)) << seed;
      ++cases;
      tighter += relaxed.bound > all[0].time;
      tight += relaxed.bound == best->time;
    }
  }
  EXPECT_GT(tighter, cases / 10);
  EXPECT_GT(tight, cases / 3);
}

}  // namespace
