// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/pipeline/ready_ranks.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;

// Against a list of flags, at sizes around those at which a level is added.
TEST(ReadyRanks, AgreeWithAListOfFlags) {
  std::mt19937 random(8);
  for (const int ranks : {1, 2, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 5000, 262'145}) {
    hp::detail::ready_ranks set(ranks);
    std::vector<bool> in(static_cast<std::size_t>(ranks), true);
    for (int round = 0; round < 600; ++round) {
      // First most are taken out, then some come back.
      const int changes = ranks < 600 ? 1 : ranks / 100;
      for (int i = 0; i < changes; ++i) {
        const int rank = static_cast<int>(random() % static_cast<unsigned>(ranks));
        const bool comes = random() % (round < 300 ? 16 : 3) == 0;
        comes ? set.insert(rank) : set.erase(rank);
        in[static_cast<std::size_t>(rank)] = comes;
      }
      const int from = static_cast<int>(random() % static_cast<unsigned>(ranks));
      ASSERT_EQ(set.holds(from), in[static_cast<std::size_t>(from)]);
      int next = from, previous = from;
      while (next < ranks && !in[static_cast<std::size_t>(next)]) ++next;
      while (previous >= 0 && !in[static_cast<std::size_t>(previous)]) --previous;
      ASSERT_EQ(set.next(from), next < ranks ? next : -1) << ranks << " ranks from " << from;
      ASSERT_EQ(set.previous(from), previous) << ranks << " ranks from " << from;
    }
    for (int r = 0; r < ranks; ++r) set.erase(r);
    EXPECT_EQ(set.next(0), -1);
    EXPECT_EQ(set.previous(ranks - 1), -1);
    EXPECT_EQ(set.next(ranks), -1);
  }
}

constexpr int sum_of_every_third() {
  hp::detail::ready_ranks set(200);
  int sum = 0;
  for (int r = set.next(0); r >= 0; r = set.next(r + 1)) r % 3 == 0 ? void(sum += r) : set.erase(r);
  for (int r = set.previous(199); r >= 0; r = set.previous(r - 1)) sum -= r;
  return sum;
}
static_assert(sum_of_every_third() == 0);

}  // namespace
