// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/program/search_result.hpp>

#include <gtest/gtest.h>

#include <algorithm>
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
      const bool enters = times.size() < hp::most_found_plans || p.evaluation.time < times[hp::most_found_plans - 1];
      EXPECT_EQ(hp::enter_plan(list, p), enters);
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

}  // namespace
