// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/model/named_strategies.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;
using hp::strategy_code;

TEST(named_strategies, a_strategy_has_its_names_mesh_and_speaks_of_its_own_axes) {
  std::set<std::string> names;
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const hp::named_strategy& named = hp::named_strategy_at(i);
    EXPECT_TRUE(names.insert(named.name).second) << named.name;
    EXPECT_STRNE(named.about, "");
    for (int ranks = 1; ranks <= 64; ++ranks) {
      const hp::strategy_result r = hp::strategy_called(named.name, ranks);
      ASSERT_EQ(r.status, hp::strategy_status{}) << named.name;
      const hp::strategy_value& s = r.strategy;
      EXPECT_STREQ(s.name.text, named.name);
      EXPECT_EQ(s.mesh.shape.axis_count, named.axis_count);
      EXPECT_EQ(hp::position_count(s.mesh.shape), ranks);
      for (int a = 0; a < named.axis_count; ++a) EXPECT_STREQ(s.mesh.label[a].text, named.axis[a]);
      for (const hp::strategy_rule& rule : s.rule) EXPECT_GE(hp::axis_index(s.mesh, rule.axis.text), 0) << named.name;
      EXPECT_FALSE(s.rule.full());
    }
  }
  EXPECT_GE(hp::named_strategy_count, 14);
}

// Dealt degrees: of powers of two, axes differ by at most a factor of two, and the last has most.
TEST(named_strategies, ranks_are_dealt_evenly_the_last_axis_first) {
  for (int axes = 1; axes <= 4; ++axes)
    for (int ranks = 1; ranks <= 256; ranks *= 2) {
      int degree[4] = {1, 1, 1, 1};
      hp::detail::deal_ranks(ranks, axes, degree);
      EXPECT_TRUE(std::is_sorted(degree, degree + axes));
      EXPECT_LE(degree[axes - 1], 2 * degree[0]);
    }
  int degree[4] = {};
  hp::detail::deal_ranks(12, 2, degree);
  EXPECT_EQ(degree[0], 4);
  EXPECT_EQ(degree[1], 3);
}

TEST(named_strategies, given_degrees_are_taken_outer_first) {
  const int degrees[] = {4, 2};
  const hp::strategy_result r = hp::strategy_called("dp-tp", 8, degrees, 2);
  ASSERT_EQ(r.status, hp::strategy_status{});
  EXPECT_EQ(r.strategy.mesh.shape.size[hp::axis_index(r.strategy.mesh, "dp")], 4);
  EXPECT_EQ(r.strategy.mesh.shape.size[hp::axis_index(r.strategy.mesh, "tp")], 2);
}

TEST(named_strategies, refusals) {
  EXPECT_EQ(hp::strategy_called("nobody", 8).status, hp::strategy_status{strategy_code::name_is_unknown});
  const auto refused = [](int ranks, int product) {
    return hp::strategy_status{strategy_code::ranks_do_not_factor, -1, -1, -1, -1, -1, ranks, product};
  };
  const int degrees[] = {2, 2, 2};
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, degrees, 2).status, refused(8, 4));
  EXPECT_EQ(hp::strategy_called("dp-tp", 2, degrees, 1).status, refused(2, 2));
  EXPECT_EQ(hp::strategy_called("dp-tp", 4, degrees, 3).status, refused(4, 4));
  EXPECT_EQ(hp::strategy_called("dp", 0).status, refused(0, 1));
  EXPECT_EQ(hp::strategy_called("dp", -3).status, refused(-3, 1));
  const int negative[] = {-2, -2};
  EXPECT_EQ(hp::strategy_called("dp-tp", 4, negative, 2).status.code, strategy_code::ranks_do_not_factor);
}

static_assert(hp::strategy_called("2.5d", 16).strategy.mesh.shape.axis_count == 3);
static_assert(hp::strategy_called("zero3-tp", 8).strategy == hp::strategy_called("zero3-tp", 8).strategy);

}  // namespace
