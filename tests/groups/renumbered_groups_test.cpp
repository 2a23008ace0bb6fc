// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/groups/renumbered_groups.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/tries.hpp"

namespace {

namespace hp = hyperparallel;
using code = hp::submodel_code;

hp::group_table table_of(int world, const std::vector<std::vector<int>>& groups) {
  hp::group_table t;
  t.world = world;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string name = "g" + std::to_string(g);
    const int at = hp::add_group(t, name.c_str());
    for (const int r : groups[g]) t.group[at].ranks.push(r);
    hp::add_module(t, ("m" + std::to_string(g)).c_str(), name.c_str());
  }
  return t;
}

TEST(renumbered_groups, every_other_rank) {
  const hp::renumbered_groups n = hp::renumber(table_of(7, {{0, 2, 4}, {5, 1, 3}, {0, 2, 4}}));
  ASSERT_TRUE(n.status.ok());
  EXPECT_EQ(n.table.group[0].ranks[0], (hp::rank_range{0, 2}));
  EXPECT_EQ(n.table.group[1].ranks[0], (hp::rank_range{3, 5}));
  EXPECT_EQ(n.table.group[2].ranks[0], (hp::rank_range{0, 2}));
  const int old[] = {0, 2, 4, 5, 1, 3, 6};
  for (int r = 0; r < 7; ++r) EXPECT_EQ(n.old_rank[r], old[r]);
}

TEST(renumbered_groups, groups_that_share_some_ranks_are_refused) {
  const auto why = [](const std::vector<std::vector<int>>& groups) { return hp::renumber(table_of(6, groups)).status; };
  EXPECT_EQ(why({{0, 1}, {1, 2}}),
            (hp::submodel_status{.code = code::groups_overlap, .group = 1, .other = 0, .rank = 1}));
  EXPECT_EQ(why({{0, 1}, {2, 1}}),
            (hp::submodel_status{.code = code::groups_overlap, .group = 1, .other = 0, .rank = 1}));
  EXPECT_EQ(why({{0, 1, 2}, {0, 1}}),
            (hp::submodel_status{.code = code::groups_overlap, .group = 1, .other = 0, .rank = 0}));
  EXPECT_EQ(why({{0, 1}, {0, 1, 2}}),
            (hp::submodel_status{.code = code::groups_overlap, .group = 1, .other = 0, .rank = 0}));
  EXPECT_EQ(why({{0, 1}, {1, 0}}),
            (hp::submodel_status{.code = code::groups_overlap, .group = 1, .other = 0, .rank = 0}));
  EXPECT_EQ(why({{0, 1}, {2, 3}, {1, 2}}),
            (hp::submodel_status{.code = code::groups_overlap, .group = 2, .other = 1, .rank = 2}));
  EXPECT_EQ(why({{0, 0}}).groups.code, hp::group_code::rank_stands_twice);
}

/// Accepted are exactly tables of groups of which every two are disjoint or the same list.
TEST(renumbered_groups, every_table_of_three_groups_of_four_ranks) {
  std::vector<std::vector<int>> lists;
  for (int a = 0; a < 4; ++a) {
    lists.push_back({a});
    for (int b = 0; b < 4; ++b) {
      if (b != a) lists.push_back({a, b});
      for (int c = 0; c < 4; ++c)
        if (a != b && b != c && a != c) lists.push_back({a, b, c});
    }
  }
  int accepted = 0;
  const auto apart = [](const std::vector<int>& a, const std::vector<int>& b) {
    return a == b || std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) == a.end();
  };
  for (const auto& a : lists)
    for (const auto& b : lists)
      for (const auto& c : lists) {
        const bool expected = apart(a, b) && apart(b, c) && apart(a, c);
        ASSERT_EQ(hp::renumber(table_of(4, {a, b, c})).status.ok(), expected);
        accepted += expected;
      }
  EXPECT_GT(accepted, 500);
}

/// Disjoint groups of shuffled ranks, some listed twice under another name.
TEST(renumbered_groups, positions_stay_and_ranks_are_a_permutation) {
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int t = 0; t < tested::tries(500, 20'000); ++t) {
    const int world = 1 + static_cast<int>(below(12));
    std::vector<int> ranks;
    for (int r = 0; r < world; ++r) ranks.push_back(r);
    std::shuffle(ranks.begin(), ranks.end(), random);
    std::vector<std::vector<int>> groups;
    for (std::size_t at = 0; at < ranks.size() && groups.size() < 4;) {
      const std::size_t n = 1 + below(ranks.size() - at);
      groups.emplace_back(ranks.begin() + static_cast<std::ptrdiff_t>(at),
                          ranks.begin() + static_cast<std::ptrdiff_t>(at + n));
      at += n + below(2);
    }
    if (below(3) == 0) groups.push_back(groups[below(groups.size())]);
    const hp::group_table before = table_of(world, groups);
    const hp::renumbered_groups n = hp::renumber(before);
    ASSERT_TRUE(n.status.ok());
    std::vector<int> old(n.old_rank.begin(), n.old_rank.end());
    for (int g = 0; g < before.group.size; ++g) {
      ASSERT_EQ(n.table.group[g].ranks.size, 1);
      ASSERT_EQ(hp::rank_count(n.table.group[g]), hp::rank_count(before.group[g]));
      for (int p = 0; p < hp::rank_count(before.group[g]); ++p)
        EXPECT_EQ(n.old_rank[hp::rank_at(n.table.group[g], p)], hp::rank_at(before.group[g], p));
    }
    std::sort(old.begin(), old.end());
    std::sort(ranks.begin(), ranks.end());
    EXPECT_EQ(old, ranks);
    hp::submodel_cut parts;
    EXPECT_TRUE(hp::detail::find_parts_of_groups(n.table, parts).ok()) << "what a cut takes";
  }
}

}  // namespace
