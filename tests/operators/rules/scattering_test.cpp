// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/scattering.hpp>

#include "laws.hpp"
#include "replay/reference_rules.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
namespace reference = replay::reference;
using hp::rule_code;
using hp::shape;
using laws::tensor;

const hp::mesh_shape square = numeric::mesh_of({2, 2});

/// Along dim 1 of two; `add` adds instead of writing, `number` writes 1 for want of a source.
laws::compute scatter(bool add, bool number) {
  return [=](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 4 || x[0].shape.extent[0] != x[1].shape.extent[0]) return false;
    if (!number && !(x[2].shape == x[1].shape)) return false;
    y = x[0];
    for (hp::extent_t i = 0; i < x[1].shape.extent[0]; ++i)
      for (hp::extent_t j = 0; j < x[1].shape.extent[1]; ++j) {
        std::int64_t& to = y.at(i, x[1].at(i, j));
        to = number ? 1 : add ? to + x[2].at(i, j) : x[2].at(i, j);
      }
    return true;
  };
}

TEST(Scattering, HoldsOnNumbers) {
  const auto three = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::indices(shape{4, 2}, 4),
                               laws::values(shape{4, 2}, truth, 2)};
  };
  const auto two = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::indices(shape{4, 2}, 4)};
  };
  EXPECT_GT(laws::hold_by_all(rules::scatter(2, 1).rule, scatter(false, false), three, square, 0b101u).accepted, 7 * 4);
  EXPECT_GT(laws::hold_by_all(reference::scatter_number(2, 1).rule, scatter(false, true), two, square, 0b01u).accepted,
            7 * 3);
  EXPECT_GT(laws::hold_by_all(rules::scatter_add(2, 1).rule, scatter(true, false), three, square, 0b101u).accepted,
            7 * 4);
}

TEST(Scattering, UpdatesHoldOnNumbers) {
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[0] != 4 || x[1].shape.extent[0] != 2 || x[2].shape.extent[0] != 2 ||
        x[0].shape.extent[1] != x[2].shape.extent[1])
      return false;
    y = x[0];
    for (hp::extent_t i = 0; i < 2; ++i)
      for (hp::extent_t k = 0; k < y.shape.extent[1]; ++k) y.at(x[1].at(i), k) = x[2].at(i, k);
    return true;
  };
  const auto make = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::indices(shape(2), 4),
                               laws::values(shape{2, 4}, truth, 2)};
  };
  EXPECT_GT(laws::hold_by_all(rules::scatter_update(2, 1).rule, run, make, square, 0b101u).accepted, 7 * 3);
}

TEST(Scattering, MaskedScatterIsWholeEverywhere) {
  const hp::factor_rule r = rules::masked_scatter(2, 1, 1).rule;
  for (int f = 0; f < r.factor_count; ++f) EXPECT_EQ(r.factor[f].kind, hp::factor_kind::need_replication);
  EXPECT_TRUE(laws::same(rules::masked_scatter(0, 0, 0), rule_code::ok));
  EXPECT_TRUE(laws::same(rules::masked_scatter(1, 2, 1), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(rules::masked_scatter(1, 1, 9), rule_code::too_many_dims));
}

TEST(Scattering, ValidForAllRanksThatFit) {
  for (int rank = 1; rank <= hp::max_dims; ++rank)
    for (int d = -rank; d < rank; ++d)
      for (const hp::rule_result& r :
           {rules::scatter(rank, d), reference::scatter_number(rank, d), rules::scatter_add(rank, d)})
        EXPECT_TRUE(laws::same(r, rule_code::ok));
  EXPECT_TRUE(laws::same(rules::scatter(2, 2), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::scatter_add(2, -3), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(reference::scatter_number(9, 0), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::scatter_update(4, 3), rule_code::ok));
  EXPECT_TRUE(laws::same(rules::scatter_update(0, 1), rule_code::too_many_dims));
  EXPECT_TRUE(laws::same(rules::scatter_update(8, 2), rule_code::too_many_dims));
}

static_assert(rules::scatter_add(2, 0).rule.outside == 0b001u);

}  // namespace
