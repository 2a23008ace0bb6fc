// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/lowering/named_plans.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;

// Ordered factorizations of n into k factors.
int factorizations(int n, int k) {
  if (k == 1) return 1;
  int count = 0;
  for (int d = 1; d <= n; ++d)
    if (n % d == 0) count += factorizations(n / d, k - 1);
  return count;
}

TEST(NamedPlans, EveryNameUnderEveryFactorizationOnce) {
  for (const int ranks : {1, 6, 8, 12}) {
    std::map<std::string, std::set<std::vector<int>>> seen;
    int visits = 0, expected = 0;
    hp::visit_named_strategies(ranks, [&](const hp::strategy_value& s) {
      ++visits;
      EXPECT_EQ(hp::position_count(s.mesh.shape), ranks);
      seen[s.name.text].insert({s.mesh.shape.size, s.mesh.shape.size + s.mesh.shape.axis_count});
    });
    int distinct = 0;
    for (const auto& one : seen) distinct += static_cast<int>(one.second.size());
    for (int i = 0; i < hp::named_strategy_count; ++i)
      expected += factorizations(ranks, hp::named_strategy_at(i).axis_count);
    EXPECT_EQ(visits, expected);
    EXPECT_EQ(distinct, expected);
  }
}

}  // namespace
