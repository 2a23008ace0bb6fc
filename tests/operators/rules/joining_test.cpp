// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/joining.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

const hp::mesh_shape square = numeric::mesh_of({2, 2});
constexpr shape two[] = {shape{4, 2}, shape{4, 6}};

bool concat(std::vector<tensor>& x, tensor& y) {
  const hp::extent_t n = x[0].shape.extent[1], rows = x[0].shape.extent[0];
  if (rows != x[1].shape.extent[0]) return false;
  y = laws::made(shape{rows, n + x[1].shape.extent[1]},
                 [&](const index& at) { return at[1] < n ? x[0].at(at[0], at[1]) : x[1].at(at[0], at[1] - n); });
  return true;
}

bool stack(std::vector<tensor>& x, tensor& y) {
  if (!(x[0].shape == x[1].shape)) return false;
  y = laws::made(shape{x[0].shape.extent[0], 2, x[0].shape.extent[1]},
                 [&](const index& at) { return x[static_cast<std::size_t>(at[1])].at(at[0], at[2]); });
  return true;
}

TEST(Joining, HoldsOnNumbers) {
  const auto make = [](bool truth) {
    return std::vector<tensor>{laws::values(two[0], truth), laws::values(two[1], truth, 2)};
  };
  EXPECT_GT(laws::hold_by_all(rules::concat(two, 2, 1).rule, concat, make, square).accepted, 7 * 4);
  const auto alike = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::values(shape{4, 4}, truth, 2)};
  };
  EXPECT_GT(laws::hold_by_all(rules::stack(2, 2, 1).rule, stack, alike, square).accepted, 7 * 10);
}

TEST(Joining, PartsHoldOnNumbers) {
  const shape s{4, 8};
  const hp::extent_t sizes[] = {1, 5, 2};
  for (int part = 0; part < 3; ++part) {
    const hp::extent_t begin = part == 0 ? 0 : part == 1 ? 1 : 6;
    const laws::compute run = [=](std::vector<tensor>& x, tensor& y) {
      if (x[0].shape.extent[1] != 8) return false;
      y = laws::made(shape{x[0].shape.extent[0], sizes[part]},
                     [&](const index& at) { return x[0].at(at[0], at[1] + begin); });
      return true;
    };
    const hp::rule_result r = rules::split_by_sizes(s, -1, sizes, 3, part);
    const laws::verdict v = laws::hold(r.rule, run, {laws::values(s)}, square);
    EXPECT_GT(v.accepted, 4);
    EXPECT_GT(v.refused, 4);
    EXPECT_EQ(hp::result_shape(r.rule, &s, 1).shape, (shape{4, sizes[part]}));
  }
}

TEST(Joining, PartsOfEqualSizeAndWhatIsLeft) {
  for (hp::extent_t n = 1; n <= 9; ++n)
    for (hp::extent_t size = 1; size <= 10; ++size) {
      const shape s{2, n};
      hp::extent_t total = 0;
      for (hp::extent_t part = 0; part < rules::part_count(n, size); ++part) {
        const hp::extent_t got = hp::result_shape(rules::split(s, 1, size, part).rule, &s, 1).shape.extent[1];
        EXPECT_TRUE(got <= size && got >= 1);
        total += got;
      }
      EXPECT_EQ(total, n);
      EXPECT_TRUE(laws::same(rules::split(s, 1, size, rules::part_count(n, size)), rule_code::attribute_is_invalid));
    }
}

TEST(Joining, APartThatIsAllOfItKeepsItsAxes) {
  EXPECT_EQ(rules::split(shape{4, 8}, 1, 8).rule.factor[1].kind, hp::factor_kind::pass_through);
  EXPECT_EQ(rules::split(shape{4, 8}, 1, 4).rule.factor[1].kind, hp::factor_kind::permutation);
}

TEST(Joining, ResultShapes) {
  EXPECT_EQ(hp::result_shape(rules::concat(two, 2, 1).rule, two, 2).shape, (shape{4, 8}));
  const shape s{4, 3};
  EXPECT_EQ(hp::result_shape(rules::unbind(2, 0).rule, &s, 1).shape, shape(3));
}

TEST(Joining, RefusesBadAttributes) {
  EXPECT_TRUE(laws::same(rules::concat(two, 2, 0), rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::concat(two, 2, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::concat(two, 0, 1), rule_code::too_many_operands));
  EXPECT_TRUE(laws::same(rules::stack(3, 2, 4), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::stack(8, 2, 0), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::stack(2, 9, 0), rule_code::too_many_operands));
  EXPECT_TRUE(laws::same(rules::unbind(2, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::split(shape{4}, 0, 0), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::split(shape{4}, 1, 2), rule_code::axis_is_out_of_range));
  const hp::extent_t sizes[] = {1, 2};
  EXPECT_TRUE(laws::same(rules::split_by_sizes(shape{4}, 0, sizes, 2), rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::split_by_sizes(shape{3}, 0, sizes, 2, 2), rule_code::attribute_is_invalid));
}

static_assert(rules::concat(two, 2, 1).rule.factor[1].kind == hp::factor_kind::permutation);

}  // namespace
