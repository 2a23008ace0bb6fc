// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/named_strategies.hpp>

#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/trained_models.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

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

TEST(named_strategies, degrees_are_taken_from_any_list) {
  const int array[] = {4, 2};
  const std::vector<int> vector{4, 2};
  const hp::strategy_value given = hp::strategy_called("dp-tp", 8, array, 2).strategy;
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, array).strategy, given);
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, vector).strategy, given);
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, std::span(vector)).strategy, given);
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, {4, 2}).strategy, given);
  const hp::strategy_value dealt = hp::strategy_called("dp-tp", 8).strategy;
  EXPECT_NE(dealt, given);
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, std::vector<int>{}).strategy, dealt);
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, {}).strategy, dealt);
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, {2, 2}).status.code, strategy_code::ranks_do_not_factor);
  EXPECT_EQ(hp::strategy_called("dp-tp", 8, {8}).status.code, strategy_code::ranks_do_not_factor);
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

// What `strategy_called` refuses is refused under every graph, for those who do not look at its status.
TEST(named_strategies, a_refused_strategy_runs_nothing) {
  const hp::graph g = programs::one_matrix();
  const int degrees[] = {3, 2};
  for (const hp::strategy_result& r :
       {hp::strategy_called("zero4", 8), hp::strategy_called("", 8), hp::strategy_called("DP", 8),
        hp::strategy_called("dp", 0), hp::strategy_called("dp", -8), hp::strategy_called("dp-tp", 8, degrees, 2),
        hp::strategy_called("dp-tp", 8, degrees, 1)}) {
    EXPECT_NE(r.status.code, strategy_code::ok);
    EXPECT_EQ(r.strategy.refused, r.status);
    EXPECT_EQ(hp::partition(g, r.strategy).status, r.status);
    EXPECT_EQ(hp::partition(g, r.strategy).step.size, 0);
  }
  EXPECT_STREQ(hp::strategy_called("zero4", 8).strategy.name.text, "zero4");
}

TEST(named_strategies, the_nearest_name_is_the_one_with_fewest_changes) {
  for (int i = 0; i < hp::named_strategy_count; ++i)
    EXPECT_STREQ(hp::nearest_strategy(hp::named_strategy_at(i).name), hp::named_strategy_at(i).name);
  EXPECT_STREQ(hp::nearest_strategy("zero4"), "zero1");  // the first of three
  EXPECT_STREQ(hp::nearest_strategy("zro3"), "zero3");
  EXPECT_STREQ(hp::nearest_strategy("dptp"), "dp-tp");
  EXPECT_STREQ(hp::nearest_strategy("ulyses"), "ulysses");
  EXPECT_STREQ(hp::nearest_strategy("pd"), "dp");  // neighbours swapped
  EXPECT_STRNE(hp::nearest_strategy(""), "");
  EXPECT_STRNE(hp::nearest_strategy("a name that is longer than any strategy may be called"), "");
}

// The distance against its definition, on all pairs of short words.
int distance(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return static_cast<int>(a.size() + b.size());
  const std::string u = a.substr(1), v = b.substr(1);
  const int least = std::min({distance(u, b) + 1, distance(a, v) + 1, distance(u, v) + (a[0] == b[0] ? 0 : 1)});
  const bool swapped = a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0];
  return swapped ? std::min(least, distance(a.substr(2), b.substr(2)) + 1) : least;
}
TEST(named_strategies, characters_that_differ_are_the_least_number_of_changes) {
  std::vector<std::string> words{""};
  for (std::size_t w = 0; w < words.size() && words[w].size() < 4; ++w)
    for (const char c : {'a', 'b'}) words.push_back(words[w] + c);
  for (const std::string& a : words)
    for (const std::string& b : words)
      EXPECT_EQ(hp::detail::characters_that_differ(a.c_str(), b.c_str()), distance(a, b)) << a << " " << b;
}

static_assert(hp::strategy_called("2.5d", 16).strategy.mesh.shape.axis_count == 3);
static_assert(hp::strategy_called("zero3-tp", 8, {2, 4}).strategy.mesh.shape.size[1] == 4);
static_assert(hp::strategy_called("zero3-tp", 8).strategy == hp::strategy_called("zero3-tp", 8).strategy);

}  // namespace
