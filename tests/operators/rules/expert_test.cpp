// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/rules/expert.hpp>

#include <hyperparallel/operators/factor_extents.hpp>

#include "laws.hpp"

namespace {

namespace hp = hyperparallel;
namespace rules = hp::rules;
using hp::rule_code;
using hp::shape;
using laws::tensor;
using index = std::vector<std::int64_t>;

constexpr hp::extent_t experts = 2, groups = 2, slots = 3, width = 4, tokens = 4, choices = 2;
constexpr hp::extent_t places = experts * groups * slots;

/// The slots of one device, of which each choice is a number; those of others are marked.
bool combine(std::vector<tensor>& x, tensor& y) {
  const shape rows = x[0].shape;
  if (rows.extent[2] != slots || !(x[1].shape == x[2].shape) || x[1].shape.extent[1] != choices) return false;
  y = laws::made(shape{x[1].shape.extent[0], rows.extent[3]}, [&](const index& at) {
    std::int64_t sum = 0;
    for (hp::extent_t k = 0; k < choices; ++k) {
      const std::int64_t slot = x[2].at(at[0], k);
      if (slot < 0) continue;
      sum += x[1].at(at[0], k) * x[0].element[static_cast<std::size_t>(slot * rows.extent[3] + at[1])];
    }
    return sum;
  });
  return true;
}

void from_own_slots(std::size_t o, tensor& mine, const std::vector<hp::layout_value>& layout, const hp::coordinate& c) {
  if (o != 2) return;
  const hp::box b = hp::slice_at(layout[0], shape{experts, groups, slots, width}, c);
  for (std::int64_t& slot : mine.element) {
    const index at = laws::index_at(shape{experts, groups, slots}, static_cast<std::size_t>(slot));
    const bool own = at[0] >= b.dim[0].begin && at[0] < b.dim[0].end && at[1] >= b.dim[1].begin && at[1] < b.dim[1].end;
    const std::int64_t e = at[0] - b.dim[0].begin, g = at[1] - b.dim[1].begin;
    slot = own ? (e * (b.dim[1].end - b.dim[1].begin) + g) * slots + at[2] : -1;
  }
}

TEST(Expert, ShardedExpertsLeaveASum) {
  const std::vector<tensor> whole{laws::values(shape{experts, groups, slots, width}),
                                  laws::values(shape{tokens, choices}, false, 2),
                                  laws::indices(shape{tokens, choices}, places)};
  for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::avg}) {
    const laws::verdict v =
        laws::hold(rules::combine().rule, combine, whole, numeric::mesh_of({2, 2}), op, ~0u, 0, from_own_slots);
    EXPECT_GT(v.accepted, 30);
  }
}

TEST(Expert, ResultShapes) {
  const shape sent[] = {shape{tokens, width}, shape{tokens, choices}};
  EXPECT_EQ(hp::result_shape(rules::dispatch(experts, groups, slots).rule, sent, 2).shape,
            (shape{experts, groups, slots, width}));
  const shape back[] = {shape{experts, groups, slots, width}, sent[1], sent[1]};
  EXPECT_EQ(hp::result_shape(rules::combine().rule, back, 3).shape, sent[0]);
  const shape scores{tokens, experts * groups};
  for (const int result : {0, 1})
    EXPECT_EQ(hp::result_shape(rules::choose_experts(choices).rule, &scores, 1, result).shape, sent[1]);
}

TEST(Expert, DispatchNeedsAllTokensAndChoiceAllExperts) {
  const hp::mesh_shape m = numeric::mesh_of({2});
  hp::layout_value x = hp::replicated(m, 2), places_of = x;
  hp::append_cut(x, {0, 0, 1, 2});
  const hp::layout_value* const operands[] = {&x, &places_of};
  EXPECT_EQ(hp::propagate(rules::dispatch(2, 2, 3).rule, operands, 2).status,
            (hp::propagation_status{hp::propagation_code::dim_must_be_whole, 0, 0, 0}));
  EXPECT_EQ(hp::propagate(rules::choose_experts(2).rule, operands, 1).layout, x);
  hp::layout_value scores = hp::replicated(m, 2);
  hp::append_cut(scores, {1, 0, 1, 2});
  const hp::layout_value* const operand = &scores;
  EXPECT_EQ(hp::propagate(rules::choose_experts(2).rule, &operand, 1).status,
            (hp::propagation_status{hp::propagation_code::dim_must_be_whole, 0, 1, 0}));
}

TEST(Expert, RefusesBadAttributes) {
  EXPECT_TRUE(laws::same(rules::choose_experts(0), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::dispatch(2, 0, 3), rule_code::attribute_is_invalid));
  EXPECT_TRUE(laws::same(rules::dispatch(2, 2, 3), rule_code::ok));
}

static_assert(rules::combine().rule.factor[0].kind == hp::factor_kind::reduction);

}  // namespace
