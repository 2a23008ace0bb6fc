// SPDX-License-Identifier: Apache-2.0
#include "launch/torchtitan_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace hp = hyperparallel;
namespace launch = hp_tool::launch;

namespace {

using layers = std::vector<hp::extent_t>;

/// Stages have all layers; with what the ends count as they differ by one at most, the first ones have more.
TEST(torchtitan_split, stages_have_all_layers) {
  int can_be = 0;
  for (hp::extent_t n = 1; n <= 40; ++n)
    for (hp::extent_t stages = 1; stages <= 12; ++stages)
      for (const hp::extent_t first : {0, 1, 3})
        for (const hp::extent_t last : {0, 1, 2}) {
          const launch::torchtitan_split s{n, stages, first, last};
          if (!s.can_be()) continue;
          ++can_be;
          layers each = s.of_stages();
          ASSERT_EQ(std::accumulate(each.begin(), each.end(), hp::extent_t{0}), n);
          ASSERT_GE(*std::min_element(each.begin(), each.end()), 0);
          if (stages == 1) continue;
          each.front() += first;
          each.back() += last;
          ASSERT_TRUE(std::is_sorted(each.rbegin(), each.rend()));
          ASSERT_LE(each.front() - each.back(), 1);
        }
  EXPECT_GT(can_be, 1000);
}

TEST(torchtitan_split, as_published) {
  EXPECT_EQ((launch::torchtitan_split{32, 4}.of_stages()), (layers{8, 9, 8, 7}));
  EXPECT_EQ((launch::torchtitan_split{126, 8}.of_stages()), (layers{15, 16, 16, 16, 16, 16, 16, 15}));
  EXPECT_EQ(launch::split_of_plan(126, 8).of_stages(), (layers{15, 16, 16, 16, 16, 16, 16, 15}));
  EXPECT_EQ(launch::split_of_plan(32, 4).of_stages(), (layers{8, 8, 8, 8}));
  EXPECT_EQ(launch::split_of_plan(61, 8).of_stages(), (layers{8, 8, 8, 8, 8, 7, 7, 7}));
  EXPECT_FALSE((launch::torchtitan_split{4, 8}.can_be()));
  EXPECT_FALSE((launch::torchtitan_split{8, 4, 6, 0}.can_be()));
}

}  // namespace
