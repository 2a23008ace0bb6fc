// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/support/static_vector.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

constexpr hp::static_vector<int, 4> up_to(int n) {
  hp::static_vector<int, 4> v;
  for (int i = 0; i < n; ++i) v.push(i + 1);
  return v;
}

static_assert(up_to(3).size == 3 && up_to(3)[2] == 3 && up_to(9).full());

template <hp::static_vector<int, 4> V>
struct as_argument {
  static constexpr int size = V.size;
};
static_assert(as_argument<up_to(2)>::size == 2, "it is structural");

TEST(static_vector, push_fills_to_capacity_and_refuses_beyond) {
  hp::static_vector<int, 4> v;
  EXPECT_TRUE(v.empty());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(v.push(i));
  const hp::static_vector<int, 4> before = v;
  EXPECT_FALSE(v.push(9));
  EXPECT_TRUE(v == before && v.full());
}

TEST(static_vector, equality_looks_at_the_elements_in_use) {
  for (int a = 0; a <= 4; ++a)
    for (int b = 0; b <= 4; ++b) EXPECT_EQ(up_to(a) == up_to(b), a == b);
  hp::static_vector<int, 4> v = up_to(3);
  v.item[3] = 77;
  EXPECT_TRUE(v == up_to(3));
  v[1] = 0;
  EXPECT_FALSE(v == up_to(3));
}

TEST(static_vector, iterates_over_the_elements_in_use) {
  int sum = 0;
  for (const int x : up_to(3)) sum += x;
  EXPECT_EQ(sum, 6);
}

}  // namespace
