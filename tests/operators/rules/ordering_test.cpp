// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/ordering.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include <algorithm>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::rule_code;
using hp::shape;
using laws::tensor;

const hp::mesh_shape square = numeric::mesh_of({2, 2});

/// Runs over dim 1 of two.
laws::compute running(hp::reduce_op op) {
  return [op](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 4) return false;
    y = x[0];
    for (hp::extent_t i = 0; i < y.shape.extent[0]; ++i)
      for (hp::extent_t j = 1; j < 4; ++j) y.at(i, j) = numeric::reduced(op, y.at(i, j - 1), y.at(i, j));
    return true;
  };
}

TEST(Ordering, RunningReductionsHoldOnNumbers) {
  const auto make = [](bool truth) { return std::vector<tensor>{laws::values(shape{4, 4}, truth)}; };
  EXPECT_GT(laws::hold_by_all(rules::cumsum(2, -1).rule, running(hp::reduce_op::sum), make, square).accepted, 7 * 5);
  EXPECT_GT(laws::hold_by_all(rules::cumprod(2, 1).rule, running(hp::reduce_op::prod), make, square).accepted, 7 * 5);
}

TEST(Ordering, SortsHoldOnNumbers) {
  for (const hp::extent_t count : {hp::extent_t{4}, hp::extent_t{2}}) {
    const laws::compute run = [=](std::vector<tensor>& x, tensor& y) {
      if (x[0].shape.extent[1] != 4) return false;
      y = tensor(shape{x[0].shape.extent[0], count});
      for (hp::extent_t i = 0; i < y.shape.extent[0]; ++i) {
        std::vector<std::int64_t> row;
        for (hp::extent_t j = 0; j < 4; ++j) row.push_back(-x[0].at(i, j));
        std::sort(row.begin(), row.end());
        for (hp::extent_t j = 0; j < count; ++j) y.at(i, j) = -row[static_cast<std::size_t>(j)];
      }
      return true;
    };
    const hp::rule_result r = count == 4 ? rules::sort(2) : rules::topk(2, 1, count);
    EXPECT_EQ(laws::hold(r.rule, run, {laws::values(shape{4, 4})}, square).accepted, 5);
    const shape s{8, 4};
    EXPECT_EQ(hp::result_shape(r.rule, &s, 1, 1).shape, (shape{8, count}));
  }
}

TEST(Ordering, ValidForAllDims) {
  for (int rank = 0; rank <= hp::max_dims; ++rank)
    for (int d = -rank - 1; d <= rank; ++d) {
      const rule_code code = d >= -rank && d < rank ? rule_code::ok : rule_code::axis_is_out_of_range;
      for (const hp::rule_result& r : {rules::cumsum(rank, d), rules::cumprod(rank, d), rules::sort(rank, d),
                                       rules::argsort(rank, d), rules::topk(rank, d, 2)})
        EXPECT_TRUE(laws::same(r, code));
    }
  EXPECT_TRUE(laws::same(rules::topk(2, 0, 0), rule_code::attribute_is_invalid));
}

static_assert(rules::sort(2).rule.result_count == 2);

}  // namespace
