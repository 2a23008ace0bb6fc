// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/slicing.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include "laws.hpp"
#include "replay/reference_rules.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
namespace reference = replay::reference;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

const hp::mesh_shape square = numeric::mesh_of({2, 2});

// What a range takes, by listing it.
TEST(Slicing, ARangeTakesWhatListingItTakes) {
  for (hp::extent_t n = 0; n < 6; ++n)
    for (hp::extent_t begin = -7; begin < 8; ++begin)
      for (hp::extent_t end = -7; end < 8; ++end)
        for (hp::extent_t step = 1; step < 4; ++step) {
          const auto clamp = [n](hp::extent_t x) { return x < 0 ? (x + n < 0 ? 0 : x + n) : x > n ? n : x; };
          hp::extent_t count = 0;
          for (hp::extent_t i = clamp(begin); i < clamp(end); i += step) ++count;
          const rules::taken t = rules::take(n, begin, end, step);
          EXPECT_EQ(t.extent, count);
          EXPECT_EQ(t.begin, clamp(begin));
          EXPECT_EQ(t.whole, count == n && step == 1);
        }
}

TEST(Slicing, HoldsOnNumbers) {
  const shape s{4, 8};
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 8) return false;
    y = laws::made(shape{x[0].shape.extent[0], 3}, [&](const index& at) { return x[0].at(at[0], 1 + 2 * at[1]); });
    return true;
  };
  const hp::rule_result r = reference::slice(s, shape{0, 1}, shape{4, 6}, shape{1, 2});
  ASSERT_EQ(r.status.code, rule_code::ok);
  EXPECT_EQ(hp::result_shape(r.rule, &s, 1).shape, (shape{4, 3}));
  const laws::verdict v =
      laws::hold_by_all(r.rule, run, [&](bool truth) { return std::vector<tensor>{laws::values(s, truth)}; }, square);
  EXPECT_GT(v.accepted, 0);
  EXPECT_GT(v.refused, 0);
  EXPECT_EQ(rules::slice_dim(s, -1, 1, 6, 2).rule, r.rule);
}

TEST(Slicing, BracketsHoldOnNumbers) {
  const shape s{4, 3, 4};
  const reference::index_entry entries[] = {reference::range(), reference::one(-1), reference::fresh()};
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 3) return false;
    y = laws::made(shape{x[0].shape.extent[0], 1, x[0].shape.extent[2]},
                   [&](const index& at) { return x[0].at(at[0], 2, at[2]); });
    return true;
  };
  const hp::rule_result r = reference::index(s, entries, 3);
  ASSERT_EQ(r.status.code, rule_code::ok);
  EXPECT_EQ(hp::result_shape(r.rule, &s, 1).shape, (shape{4, 1, 4}));
  EXPECT_GT(laws::hold(r.rule, run, {laws::values(s)}, square).accepted, 10);
}

TEST(Slicing, AssignmentHoldsOnNumbers) {
  const reference::index_entry entries[] = {reference::range(), reference::range(1, 3)};
  const auto make = [](bool truth) {
    return std::vector<tensor>{laws::values(shape{4, 4}, truth), laws::values(shape{4, 2}, truth, 2)};
  };
  const laws::compute run = [](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 4 || x[1].shape.extent[1] != 2 || x[0].shape.extent[0] != x[1].shape.extent[0])
      return false;
    y = laws::made(x[0].shape, [&](const index& at) {
      return at[1] >= 1 && at[1] < 3 ? x[1].at(at[0], at[1] - 1) : x[0].at(at[0], at[1]);
    });
    return true;
  };
  EXPECT_GT(laws::hold_by_all(reference::assign(shape{4, 4}, entries, 2).rule, run, make, square).accepted, 7 * 4);
}

TEST(Slicing, MarginsHoldOnNumbers) {
  const shape s{4, 4};
  const auto make = [&](bool truth) { return std::vector<tensor>{laws::values(s, truth)}; };
  const laws::compute run = [=](std::vector<tensor>& x, tensor& y) {
    if (x[0].shape.extent[1] != 4) return false;
    y = laws::made(shape{x[0].shape.extent[0], 7},
                   [&](const index& at) { return at[1] < 1 || at[1] > 4 ? 0 : x[0].at(at[0], at[1] - 1); });
    return true;
  };
  const hp::rule_result r = rules::pad(s, shape{0, 1}, shape{0, 2});
  EXPECT_EQ(hp::result_shape(r.rule, &s, 1).shape, (shape{4, 7}));
  const laws::verdict v = laws::hold_by_all(r.rule, run, make, square);
  EXPECT_GT(v.accepted, 0);
  EXPECT_GT(v.refused, 0);
}

// place_slice puts back what slice_dim took: its rule moves elements and keeps the dims that are whole.
TEST(Slicing, PlacesASliceInZeros) {
  const shape s{4, 3};
  const hp::rule_result r = rules::place_slice(s, 1, 1, 2, 7);
  EXPECT_EQ(r.status.code, rule_code::ok);
  EXPECT_EQ(hp::result_shape(r.rule, &s, 1).shape, (shape{4, 7}));
  EXPECT_EQ(r.rule.factor[0].kind, hp::factor_kind::pass_through);
  EXPECT_EQ(r.rule.factor[1].kind, hp::factor_kind::permutation);
  EXPECT_EQ(rules::place_slice(s, -1, 0, 1, 3).rule.factor[1].kind, hp::factor_kind::pass_through);
  EXPECT_TRUE(laws::same(rules::place_slice(s, 2, 0, 1, 7), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::place_slice(s, 1, 3, 2, 7), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::place_slice(s, 1, -1, 1, 7), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::place_slice(s, 1, 0, 0, 7), rule_code::attribute_is_invalid));
}

TEST(Slicing, RefusesBadAttributes) {
  const shape s{4, 8};
  EXPECT_TRUE(laws::same(reference::slice(s, shape(0), shape(1), shape(1)), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(rules::slice_dim(s, 2, 0, 1), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::slice_dim(s, 0, 0, 1, 0), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::slice_dim(s, 0, 3, 3), rule_code::attribute_is_invalid));
  const reference::index_entry far[] = {reference::one(4)},
                               many[] = {reference::one(0), reference::one(0), reference::one(0)};
  EXPECT_TRUE(laws::same(reference::index(s, far, 1), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(reference::index(s, many, 3), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(reference::assign(s, far, 1), rule_code::axis_is_out_of_range));
  EXPECT_TRUE(laws::same(rules::pad(s, shape(1), shape(1)), rule_code::axes_differ_from_rank));
  EXPECT_TRUE(laws::same(rules::pad(s, shape{0, -1}, shape{0, 2}), rule_code::attribute_is_invalid));
}

static_assert(rules::slice_dim(shape{4}, 0, 0, 4).rule.factor[0].kind == hp::factor_kind::pass_through);

}  // namespace
