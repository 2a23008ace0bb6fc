// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/axis_part.hpp>

#include "../support/sub_axis_layouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hp = hyperparallel;

namespace {

/// Every part of an axis of `n`.
std::vector<hp::cut> parts_of(int n) {
  std::vector<hp::cut> all;
  for (int pre = 1; pre <= n; ++pre)
    for (int size = 2; pre * size <= n; ++size)
      if (n % (pre * size) == 0) all.push_back({0, 0, pre, size});
  return all;
}

TEST(AxisPart, IndependentPartsAreThoseThatCanBeSetAlone) {
  int independent = 0, apart_only = 0;
  for (int n = 2; n <= 36; ++n) {
    const hp::mesh_shape m{1, {n}};
    for (const hp::cut& a : parts_of(n))
      for (const hp::cut& b : parts_of(n)) {
        const hp::axis_part x = hp::detail::axis_part_of(m, a), y = hp::detail::axis_part_of(m, b);
        ASSERT_EQ(hp::are_independent(x, y), worlds::detail::can_be_set_apart(m, a, b))
            << n << ": " << x.stride << " " << x.size << ", " << y.stride << " " << y.size;
        if (hp::are_independent(x, y)) {
          ++independent;
          ASSERT_TRUE(hp::nest(x, y));
          ASSERT_FALSE(hp::overlap(x, y));
        } else if (!hp::overlap(x, y)) {
          ++apart_only;
          ASSERT_FALSE(hp::nest(x, y));
        }
      }
  }
  EXPECT_GT(independent, 100);
  EXPECT_GT(apart_only, 10) << "parts that lie apart and are not digits of one number";
}

TEST(AxisPart, PartsNestIffTheAxisHasDigitsOfWhichBothAreMade) {
  for (int n = 2; n <= 36; ++n) {
    const hp::mesh_shape m{1, {n}};
    for (const hp::cut& a : parts_of(n))
      for (const hp::cut& b : parts_of(n)) {
        const hp::axis_part x = hp::detail::axis_part_of(m, a), y = hp::detail::axis_part_of(m, b);
        std::vector<int> ends{x.stride, hp::detail::end_of(x), y.stride, hp::detail::end_of(y)};
        std::sort(ends.begin(), ends.end());
        bool chain = true;
        for (std::size_t i = 1; i < ends.size(); ++i) chain = chain && ends[i] % ends[i - 1] == 0;
        ASSERT_EQ(hp::nest(x, y), chain);
        ASSERT_EQ(hp::nest(x, y), hp::nest(y, x));
      }
  }
}

TEST(AxisPart, PartsOfDifferentAxesAndOfOnePlaceAreIndependent) {
  EXPECT_TRUE(hp::are_independent({0, 1, 4}, {1, 1, 4}));
  EXPECT_TRUE(hp::nest({0, 1, 3}, {1, 2, 5}));
  EXPECT_TRUE(hp::are_independent({0, 3, 1}, {0, 2, 4}));
  EXPECT_FALSE(hp::are_independent({0, 1, 3}, {0, 4, 3}));
  EXPECT_TRUE(hp::are_independent({0, 1, 4}, {0, 4, 3}));
}

}  // namespace
