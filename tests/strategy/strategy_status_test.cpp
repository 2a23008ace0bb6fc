// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/strategy/strategy_status.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;

TEST(strategy_status, codes_have_names_of_their_own) {
  std::set<std::string> names;
  const int count = static_cast<int>(hp::strategy_code::too_many_rules) + 1;
  for (int c = 0; c < count; ++c) names.insert(hp::name_of(static_cast<hp::strategy_code>(c)));
  EXPECT_EQ(static_cast<int>(names.size()), count);
}

}  // namespace
