// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/search/result.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <vector>

namespace {

namespace hp = hyperparallel;

TEST(SearchResult, KeepsTheBestInOrder) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    hp::static_vector<hp::found_plan, hp::most_found_plans> list;
    std::vector<hp::extent_t> times;
    for (int k = 0; k < 12; ++k) {
      hp::found_plan p;
      p.evaluation.time = static_cast<hp::extent_t>(random() % 20);
      p.graph = k;
      p.evaluation.memory = 1 + k;
      const bool enters = times.size() < hp::most_found_plans || p.evaluation.time < times[hp::most_found_plans - 1];
      EXPECT_EQ(hp::detail::enter_plan(list, p), enters);
      times.push_back(p.evaluation.time);
      std::sort(times.begin(), times.end());
    }
    ASSERT_EQ(list.size, hp::most_found_plans);
    for (int k = 0; k < list.size; ++k) {
      EXPECT_EQ(list.item[k].evaluation.time, times[static_cast<std::size_t>(k)]);
      if (k > 0 && list.item[k].evaluation.time == list.item[k - 1].evaluation.time) {
        EXPECT_GT(list.item[k].graph, list.item[k - 1].graph);  // the earlier one first
      }
    }
  }
}

hp::found_plan plan_on(std::initializer_list<int> sizes, hp::extent_t time, hp::extent_t memory, int pipeline = 1) {
  const char* const names[] = {"a", "b", "c"};
  hp::found_plan p;
  const int count = static_cast<int>(sizes.size());
  p.strategy.mesh = hp::make_mesh(names, count, sizes.begin(), count).mesh;
  p.frame.pipeline = pipeline;
  p.evaluation.time = time;
  p.evaluation.memory = memory;
  return p;
}

TEST(SearchResult, DegreesWithoutNamesAndAxesOfOneDevice) {
  const auto same = [](std::initializer_list<int> a, std::initializer_list<int> b) {
    return hp::detail::same_degrees(plan_on(a, 1, 1).strategy.mesh.shape, plan_on(b, 1, 1).strategy.mesh.shape);
  };
  EXPECT_TRUE(same({8}, {1, 8}));
  EXPECT_TRUE(same({2, 1, 4}, {2, 4}));
  EXPECT_TRUE(same({1, 1}, {1}));
  EXPECT_FALSE(same({2, 4}, {4, 2}));
  EXPECT_FALSE(same({2, 4}, {8}));
  EXPECT_FALSE(same({8}, {8, 2}));
}

TEST(SearchResult, OnePlanInOtherWordsIsOneRow) {
  hp::static_vector<hp::found_plan, hp::most_found_plans> list;
  EXPECT_TRUE(hp::detail::enter_plan(list, plan_on({2, 4}, 10, 100)));
  EXPECT_FALSE(hp::detail::enter_plan(list, plan_on({2, 1, 4}, 11, 100))) << "an axis of one device";
  EXPECT_FALSE(hp::detail::enter_plan(list, plan_on({2, 2, 2}, 10, 100))) << "as large and as fast";
  EXPECT_TRUE(hp::detail::enter_plan(list, plan_on({4, 2}, 11, 100))) << "another mesh";
  EXPECT_TRUE(hp::detail::enter_plan(list, plan_on({2, 4}, 12, 101))) << "another memory";
  EXPECT_TRUE(hp::detail::enter_plan(list, plan_on({2, 4}, 10, 100, 2))) << "stages";
  ASSERT_EQ(list.size, 4);
  EXPECT_TRUE(hp::detail::enter_plan(list, plan_on({1, 2, 4}, 9, 101))) << "a faster one takes the place of the slower";
  ASSERT_EQ(list.size, 4);
  EXPECT_EQ(list[0].evaluation.time, 9);
  EXPECT_EQ(list[3].evaluation.time, 11);
}

}  // namespace
