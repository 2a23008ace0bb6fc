// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operations/movement.hpp>

#include <gtest/gtest.h>

#include "properties/operator_cases.hpp"

namespace {

namespace hp = hyperparallel;
namespace op = hp::operations;
using namespace properties;
using worlds::numbers;

int below(int n) { return *rc::gen::inRange(0, n); }

template <class Description>
drawn<Description, 1> one(const Description& d, const hp::shape& s) {
  return {d, {s}, {hp::i64}};
}

TEST(dtensor_movement, dims_reordered_and_told_anew) {
  EXPECT_TRUE(holds("permute", [] {
    const hp::shape s = any_dims(1 + below(3));
    hp::rules::dim_list order = hp::rules::all_dims(s.rank);
    for (int d = s.rank - 1; d > 0; --d) std::swap(order.at[d], order.at[below(d + 1)]);
    return one(op::permute{order}, s);
  }));
  EXPECT_TRUE(holds("transpose", [] {
    const hp::shape s = any_dims(1 + below(3));
    return one(op::transpose{below(s.rank), below(s.rank) - s.rank}, s);
  }));
  EXPECT_TRUE(holds("reshape", [] {
    hp::shape s = any_dims(1 + below(3)), to;
    hp::extent_t left = hp::element_count(s).value;
    for (int d = below(3); d > 0; --d) {
      const hp::extent_t n = hp::greatest_common_divisor(left, any_extent());
      to.extent[to.rank++] = n;
      left /= n;
    }
    to.extent[to.rank++] = below(2) != 0 ? -1 : left;
    return one(op::reshape{to}, s);
  }));
  EXPECT_TRUE(holds("flatten", [] {
    const hp::shape s = any_dims(1 + below(3));
    const int first = below(s.rank);
    return one(op::flatten{first, first + below(s.rank - first)}, s);
  }));
  EXPECT_TRUE(holds("squeeze", [] {
    hp::shape s = any_dims(1 + below(3));
    s.extent[below(s.rank)] = 1;
    return one(op::squeeze{}, s);
  }));
  EXPECT_TRUE(holds("expand_dims", [] {
    const hp::shape s = any_dims(below(3));
    return one(op::expand_dims{below(s.rank + 1)}, s);
  }));
}

TEST(dtensor_movement, elements_repeated) {
  EXPECT_TRUE(holds("expand", [] {
    const hp::shape to = any_dims(1 + below(3));
    hp::shape from;
    for (int d = below(to.rank + 1); d < to.rank; ++d) from.extent[from.rank++] = below(2) != 0 ? to.extent[d] : 1;
    return one(op::expand{to}, from);
  }));
  EXPECT_TRUE(holds("repeat_interleave", [] {
    const hp::shape s = any_dims(1 + below(3));
    return one(op::repeat_interleave{below(s.rank), 1 + below(3)}, s);
  }));
}

TEST(dtensor_movement, parts_and_joins) {
  EXPECT_TRUE(holds("slice_dim", [] {
    const hp::shape s = any_dims(1 + below(3));
    const int dim = below(s.rank);
    const hp::extent_t begin = below(4);
    return one(op::slice_dim{dim, begin, below(3) == 0 ? hp::rules::to_the_end : begin + 1 + below(4), 1 + below(2)},
               s);
  }));
  EXPECT_TRUE(holds("pad", [] {
    const hp::shape s = any_dims(1 + below(3));
    hp::shape before = s, after = s;
    for (int d = 0; d < s.rank; ++d) {
      before.extent[d] = below(2) * below(4);
      after.extent[d] = below(2) * below(4);
    }
    return one(op::pad{before, after}, s);
  }));
  EXPECT_TRUE(holds("concat", [] {
    std::array<hp::shape, 3> s;
    s[0] = any_dims(1 + below(3));
    s[1] = s[2] = s[0];
    const int dim = below(s[0].rank);
    s[1].extent[dim] = any_extent();
    return drawn<op::concat, 3>{{dim}, s, {hp::i64, hp::i64, hp::i64}};
  }));
  EXPECT_TRUE(holds("stack", [] {
    const hp::shape s = any_dims(below(3));
    return drawn<op::stack, 2>{{below(s.rank + 1)}, {s, s}, {hp::i64, hp::i64}};
  }));
}

TEST(dtensor_movement, elements_moved_around) {
  EXPECT_TRUE(holds("flip", [] {
    const hp::shape s = any_dims(1 + below(3));
    return one(op::flip{below(s.rank)}, s);
  }));
  EXPECT_TRUE(holds("roll", [] {
    const hp::shape s = any_dims(1 + below(3));
    return one(op::roll{below(s.rank), below(20) - 10}, s);
  }));
  EXPECT_TRUE(holds("tril", [] { return one(op::tril{below(7) - 3}, any_dims(2 + below(2))); }));
}

}  // namespace
