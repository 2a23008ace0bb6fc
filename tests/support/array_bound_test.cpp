// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/array_bound.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace {

namespace hp = hyperparallel;

template <int Count>
struct with_sentinel {
  int item[hp::detail::array_bound(Count + 1)] = {};
};

TEST(ArrayBound, IsTheCount) {
  EXPECT_EQ(sizeof(with_sentinel<0>::item), sizeof(int));
  EXPECT_EQ(sizeof(with_sentinel<6>::item), 7 * sizeof(int));
}

// No array has so many elements, so a negative count does not compile.
TEST(ArrayBound, OfANegativeCountIsMoreThanAnyArrayHas) {
  const auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  for (std::int64_t count : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()})
    EXPECT_GT(hp::detail::array_bound(count), most) << count;
}

}  // namespace
