// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/legal_plans.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

// Each plan has its number, plans that are not legal have none, and the bounds come in order whatever was priced in between.
TEST(LegalPlans, AreNumberedAndComeByTheirBound) {
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::extent_t devices : {1, 4, 6}) {
      const hp::plan_question q{.devices = devices, .batch = 12, .sequence = 48};
      hp::detail::bounded_plans plans;
      std::vector<hp::decoder_plan> all;
      hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) {
        ASSERT_TRUE(hp::check_plan(d, p, devices).ok());
        plans.push({p, static_cast<hp::extent_t>(all.size() * 7919 % 101)});
        all.push_back(p);
      });
      ASSERT_GT(all.size(), 5u);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(plans.number_of(all[i]), static_cast<int>(i));
        hp::decoder_plan other = all[i];
        other.micro_batches = 5;
        EXPECT_EQ(plans.number_of(other), -1);
        other = all[i];
        other.dp *= 2;
        EXPECT_EQ(plans.number_of(other), -1);
      }
      hp::extent_t reached = 0, priced = 0;
      for (int next = plans.first(); next >= 0; next = plans.first()) {
        EXPECT_GE(plans[next].time, reached);
        reached = plans[next].time;
        plans.note_priced(next);
        const int between = static_cast<int>(priced * 31 % static_cast<hp::extent_t>(all.size()));
        if (!plans[between].priced) {
          plans.note_priced(between);
          ++priced;
        }
        EXPECT_EQ(plans.left(), static_cast<hp::extent_t>(all.size()) - ++priced);
      }
      EXPECT_EQ(priced, static_cast<hp::extent_t>(all.size()));
    }
}

// Ended after any number of plans, those before are the same and no other is visited.
TEST(LegalPlans, VisitsEndWhereOneSaysSo) {
  for (const hp::decoder& d : small_decoders::all()) {
    const hp::plan_question q{.devices = 4, .batch = 12, .sequence = 48};
    std::vector<hp::decoder_plan> all;
    EXPECT_TRUE(hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) { all.push_back(p); }));
    for (std::size_t most = 1; most <= all.size() + 1; most += 1 + most / 7) {
      std::vector<hp::decoder_plan> some;
      const bool ended = hp::visit_legal_plans(d, q, [&](const hp::decoder_plan& p) {
        some.push_back(p);
        return some.size() < most;
      });
      EXPECT_EQ(ended, most > all.size());
      ASSERT_EQ(some.size(), std::min(most, all.size()));
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
    }
  }
}

}  // namespace
