// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/value_lists.hpp>

#include <models/random_program.hpp>

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace hp = hyperparallel;

namespace {

TEST(ValueLists, ListsWhatStepsReadThenWhatTheyWrite) {
  std::mt19937 random(5);
  int moves = 0, detaches = 0;
  for (int world = 0; world < 50; ++world) {
    hp::sharded_program p = programs::random_program(random);
    for (hp::program_move& m : p.move) m.detaches = random() % 4 == 0;
    const hp::value_lists all(p);
    ASSERT_EQ(all.begin.size, p.step.size + 1);
    EXPECT_EQ(all.begin.last(), all.value.size);
    for (int i = 0; i < p.step.size; ++i) {
      std::vector<std::pair<int, bool>> expected, listed;
      hp::detail::visit_values(p, p.step[i], [&](int v, bool written) { expected.emplace_back(v, written); });
      for (int k = all.begin[i]; k < all.begin[i + 1]; ++k) listed.emplace_back(all.value[k], k >= all.written[i]);
      EXPECT_EQ(listed, expected);
      moves += p.step[i].is_move;
      detaches += p.step[i].is_move && p.move[p.step[i].index].detaches;
    }
    for (int v = 0; v < p.value.size; ++v) {
      EXPECT_EQ(all.storage[v], p.value[v].storage);
      EXPECT_EQ(all.tensor[v], p.value[v].tensor);
    }
  }
  EXPECT_GT(detaches, 0);
  EXPECT_GT(moves, detaches);
}

}  // namespace
