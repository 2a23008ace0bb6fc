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

TEST(Joining, ResultShapes) { EXPECT_EQ(hp::result_shape(rules::concat(two, 2, 1).rule, two, 2).shape, (shape{4, 8})); }

TEST(Joining, RefusesBadAttributes) {
  EXPECT_TRUE(laws::same(rules::concat(two, 2, 0), rule_code::sizes_do_not_fit));
  EXPECT_TRUE(laws::same(rules::concat(two, 2, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::concat(two, 0, 1), rule_code::too_many_operands));
  EXPECT_TRUE(laws::same(rules::stack(3, 2, 4), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::stack(8, 2, 0), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::stack(2, 9, 0), rule_code::too_many_operands));
}

static_assert(rules::concat(two, 2, 1).rule.factor[1].kind == hp::factor_kind::permutation);

}  // namespace
