// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <hyperparallel/search/choice_stages.hpp>

#include "random_chains.hpp"

namespace hp = hyperparallel;

namespace {

TEST(ChoiceStages, PathsAreTheChoicesWithTheirCosts) {
  int forbidden = 0, allowed = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const random_chains::chain g = random_chains::random_chain(seed, {7, 3, 50, 50});
    const hp::detail::choice_stages s = g.stages();
    const hp::detail::choice_stage& end = s.stage[s.size()];
    ASSERT_EQ(s.size(), static_cast<int>(g.node.size()));
    ASSERT_EQ(end.states, 1);
    ASSERT_EQ(end.first_state, s.states - 1);
    ASSERT_EQ(end.first_transition, s.time.size);
    random_chains::for_each_choice(g, [&](const std::vector<int>& choice) {
      random_chains::counted_choice sum{0, 0, choice};
      int state = 0;
      bool possible = true;
      for (int v = 0; v < s.size() && possible; ++v) {
        const hp::detail::choice_stage now = s.stage[v];
        const int c = choice[static_cast<std::size_t>(v)];
        ASSERT_GE(state, now.first_state);
        ASSERT_LT(state, now.first_state + now.states);
        ASSERT_LE(now.states, s.widest);
        const int t = now.first_transition + (state - now.first_state) * now.candidates + c;
        possible = s.time[t] != hp::detail::impossible_time;
        sum.time += possible ? s.time[t] : 0;
        sum.memory += s.memory[now.first_memory + c];
        state = s.next[t];
      }
      const random_chains::counted_choice expected = random_chains::cost_of(g, choice);
      ASSERT_EQ(possible, expected.time != hp::detail::impossible_time) << seed;
      (possible ? allowed : forbidden)++;
      if (!possible) return;
      ASSERT_EQ(sum, expected) << seed;
      ASSERT_EQ(state, end.first_state);
    });
  }
  EXPECT_GT(forbidden, 1000);
  EXPECT_GT(allowed, 1000);
}

}  // namespace
