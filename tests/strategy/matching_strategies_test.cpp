// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/matching_strategies.hpp>

#include <hyperparallel/strategy/partition.hpp>

#include <gtest/gtest.h>
#include <models/stacked_model.hpp>
#include <models/trained_models.hpp>

#include <set>
#include <string>
#include <vector>

namespace hp = hyperparallel;

namespace {

std::vector<std::string> matching(const hp::graph& g, const char* name) {
  std::vector<std::string> names;
  hp::detail::visit_matching_strategies(g, name, [&](const char* one) { names.emplace_back(one); });
  return names;
}

/// By partitioning over axes of two devices each.
std::set<std::string> partitioned(const hp::graph& g) {
  std::set<std::string> names;
  for (int i = 1; i < hp::named_strategy_count; ++i) {  // the first shards nothing
    const hp::named_strategy& one = hp::named_strategy_at(i);
    const std::vector<int> twos(static_cast<std::size_t>(one.axis_count), 2);
    const hp::strategy_value s = hp::strategy_called(one.name, 1 << one.axis_count, twos).strategy;
    if (hp::partition(g, s).status.code != hp::strategy_code::rule_matches_nothing) names.insert(one.name);
  }
  return names;
}

hp::graph stacked(int dense, int experts) {
  programs::stacked_model model;
  model.dense_layers = dense;
  model.expert_layers = experts;
  return model.build();
}

TEST(matching_strategies, are_those_that_partitioning_does_not_refuse_for_a_rule) {
  const hp::graph models[] = {programs::one_matrix(), stacked(2, 0), stacked(0, 2), stacked(1, 1),
                              programs::moe_graph({.unrolled = true})};
  std::set<std::size_t> counts;
  for (const hp::graph& g : models) {
    const std::vector<std::string> names = matching(g, "dp");
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), partitioned(g));
    counts.insert(names.size());
  }
  EXPECT_GE(counts.size(), 3U);
}

TEST(matching_strategies, come_with_the_nearest_name_first) {
  const hp::graph g = stacked(2, 0);
  for (int i = 0; i < hp::named_strategy_count; ++i) {
    const char* const name = hp::named_strategy_at(i).name;
    int before = 0;
    for (const std::string& one : matching(g, name)) {
      const int edits = hp::detail::characters_that_differ(one.c_str(), name);
      EXPECT_GE(edits, before);
      before = edits;
    }
  }
  EXPECT_EQ(matching(g, "dp-ep").front(), "dp-tp");
}

}  // namespace
