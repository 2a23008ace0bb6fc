// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/planner/neighbours.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "small_decoders.hpp"

namespace {

namespace hp = hyperparallel;

TEST(PlanNeighbours, DivisorsAreAllThatDivide) {
  for (hp::extent_t n = 1; n <= 100; ++n) {
    std::vector<hp::extent_t> expected;
    for (hp::extent_t k = 1; k <= n; ++k)
      if (n % k == 0) expected.push_back(k);
    const hp::growing_array<hp::extent_t> found = hp::divisors_of(n);
    EXPECT_EQ(std::vector<hp::extent_t>(found.begin(), found.end()), expected);
  }
}

// Brute force over all degrees: none that can be is nearer.
TEST(PlanNeighbours, NoneThatCanBeIsNearer) {
  for (const hp::decoder& d : small_decoders::all())
    for (const hp::decoder_plan& from : {hp::decoder_plan{.tp = 4, .dp = 3, .batch = 4, .sequence = 24},
                                         hp::decoder_plan{.tp = 3, .dp = 4, .batch = 4, .sequence = 8},
                                         hp::decoder_plan{.pp = 12, .batch = 6, .sequence = 24}}) {
      std::vector<double> distances;
      for (int tp = 1; tp <= 12; ++tp)
        for (int pp = 1; pp <= 12; ++pp)
          for (int dp = 1; dp <= 12; ++dp)
            for (int cp = 1; cp <= 12; ++cp)
              for (int ep = 1; ep <= 12; ++ep) {
                hp::decoder_plan p = from;
                p.tp = tp, p.pp = pp, p.dp = dp, p.cp = cp, p.ep = ep;
                if (tp * pp * dp * cp * ep == 12 && hp::check_plan(d, p, 12).ok())
                  distances.push_back(hp::distance_of(from, p));
              }
      std::sort(distances.begin(), distances.end());
      if (distances.size() > 3) distances.resize(3);
      if (distances.empty()) continue;
      const hp::growing_array<hp::decoder_plan> near = hp::nearest_plans(d, from, 12, 3);
      ASSERT_EQ(static_cast<std::size_t>(near.size), distances.size());
      for (int i = 0; i < near.size; ++i)
        EXPECT_EQ(hp::distance_of(from, near[i]), distances[static_cast<std::size_t>(i)]);
    }
}

TEST(PlanNeighbours, FewerDevicesWhereNoneCanBe) {
  const hp::decoder d = small_decoders::dense();
  const hp::growing_array<hp::decoder_plan> near = hp::nearest_plans(d, {.dp = 7, .batch = 4, .sequence = 8}, 7, 2);
  ASSERT_GT(near.size, 0);
  EXPECT_EQ(hp::device_count_of(near[0]), 4);
}

TEST(PlanNeighbours, MicroBatchesBecomeDivisorsOfTheBatch) {
  const hp::decoder d = small_decoders::dense();
  const hp::growing_array<hp::decoder_plan> near =
      hp::nearest_plans(d, {.micro_batches = 3, .batch = 8, .sequence = 8}, 1, 2);
  ASSERT_EQ(near.size, 2);
  EXPECT_EQ(near[0].micro_batches, 4);
  EXPECT_EQ(near[1].micro_batches, 2);
}

}  // namespace
