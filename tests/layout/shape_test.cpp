// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/layout/shape.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace {

namespace hp = hyperparallel;

static_assert(hp::element_count(hp::shape{}).value == 1 && hp::element_count(hp::shape{2, 3, 4}).value == 24);
static_assert(hp::volume(hp::box{}) == 1 && hp::volume(hp::box{{0, 2}, {1, 4}}) == 6);
static_assert(hp::shape{4}.rank == 1 && hp::box{{3, 3}}.rank == 1 && hp::volume(hp::box{{3, 3}}) == 0);

TEST(shape, element_count_says_where_it_leaves_64_bits) {
  const hp::extent_t big = hp::extent_t{1} << 31;
  EXPECT_FALSE(hp::element_count(hp::shape{big, big}).overflow);
  EXPECT_TRUE(hp::element_count(hp::shape{big, big, 2}).overflow);
}

std::vector<hp::interval> all_intervals() {
  std::vector<hp::interval> found;
  for (hp::extent_t b = 0; b < 5; ++b)
    for (hp::extent_t e = b; e < 5; ++e) found.push_back({b, e});
  return found;
}

TEST(box, intersection_holds_exactly_the_elements_in_both) {
  for (const hp::interval a0 : all_intervals())
    for (const hp::interval a1 : all_intervals())
      for (const hp::interval b0 : all_intervals())
        for (const hp::interval b1 : all_intervals()) {
          const hp::box a{a0, a1}, b{b0, b1}, both = hp::intersection(a, b);
          hp::extent_t counted = 0;
          for (hp::extent_t i = 0; i < 5; ++i)
            for (hp::extent_t j = 0; j < 5; ++j)
              counted += i >= a0.begin && i < a0.end && j >= a1.begin && j < a1.end && i >= b0.begin && i < b0.end &&
                         j >= b1.begin && j < b1.end;
          ASSERT_EQ(hp::volume(both), counted);
          ASSERT_LE(hp::volume(both), hp::volume(a));
        }
}

TEST(box, equality_is_rank_and_intervals) {
  EXPECT_TRUE((hp::box{{0, 2}} == hp::box{{0, 2}}));
  EXPECT_FALSE((hp::box{{0, 2}} == hp::box{{0, 2}, {0, 1}}));
  EXPECT_FALSE((hp::box{{0, 2}} == hp::box{{0, 3}}));
}

}  // namespace
