// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/backward.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/operators/move_price.hpp>
#include <hyperparallel/operators/rule_text.hpp>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;

const hp::mesh_shape meshes[] = {{1, {2}}, {2, {2, 2}}, {3, {2, 2, 2}}, {2, {2, 3}}};

struct sample {
  const char* text;
  hp::rule_traits traits;
};
const sample rules[] = {
    {"mk,kn->mn", hp::contraction},
    {"bmk,bkn->bmn", {hp::reduce_op::sum, hp::linear_in_each(0b11u), 2, true}},
    {"abc,abc->abc", {hp::reduce_op::none, hp::linear_together(0b11u), 1, true}},
    {"ab->ba", {hp::reduce_op::none, hp::moves_elements(1u), 0, false}},
    {"abc->b", {hp::reduce_op::max, hp::refuse_partials(), 1, false}},
    {"abC->abC", {hp::reduce_op::none, hp::refuse_partials(), 1, false}},
    {"a->ab", {hp::reduce_op::none, hp::moves_elements(1u), 0, false}},
};

/// Forward of backward is what was asked for; and what backward refuses has no communication-free operands at all.
TEST(PropagateBackward, GivesOperandsThatForwardTurnsIntoTheWantedResult) {
  int accepted = 0, refused = 0;
  for (const sample& one : rules) {
    const hp::factor_rule rule = hp::rule_from("sample", one.text, one.traits).rule;
    ASSERT_GT(rule.operand_count, 0) << one.text;
    for (const hp::mesh_shape& m : meshes)
      for (const hp::layout_value& wanted : numeric::all_layouts(m, rule.result[0].rank)) {
        const hp::full_propagation back = hp::propagate_backward(rule, wanted);
        if (back.status.code == hp::propagation_code::ok) {
          ++accepted;
          EXPECT_EQ(back.result[0], wanted) << one.text;
          EXPECT_EQ(back.notes.sliced | back.notes.filled, 0u);
          const hp::layout_value* operand[hp::max_operands] = {};
          for (int o = 0; o < rule.operand_count; ++o) operand[o] = &back.operand[o];
          // Equal, up to local slices along a factor that the operator creates.
          const hp::layout_value forward = hp::propagate(rule, operand, rule.operand_count).layout;
          hp::shape cube;
          for (cube.rank = 0; cube.rank < wanted.rank; ++cube.rank) cube.extent[cube.rank] = 24;
          const hp::move_price rest = hp::price_of_move(forward, wanted, cube);
          EXPECT_TRUE(rest.possible && rest.received == 0) << one.text;
          EXPECT_TRUE(forward == wanted || rule.operand[0].rank < rule.result[0].rank) << one.text;
        } else {
          ++refused;
          if (rule.operand_count > 1) continue;
          for (const hp::layout_value& l : numeric::all_layouts(m, rule.operand[0].rank)) {
            const hp::layout_value* operand[] = {&l};
            const hp::propagation_result r = hp::propagate(rule, operand, 1);
            EXPECT_FALSE(r.status.code == hp::propagation_code::ok && r.layout == wanted) << one.text;
          }
        }
      }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 20);
}

TEST(PropagateBackward, NamesTheResultAfterTheOperands) {
  const hp::factor_rule rule = hp::rule_from("softmax", "aB->aB", {hp::reduce_op::none, hp::refuse_partials()}).rule;
  hp::layout_value wanted = hp::replicated(meshes[1], 2);
  hp::append_cut(wanted, {1, 1, 1, 2});
  const hp::propagation_status expected{hp::propagation_code::dim_must_be_whole, 1, 1, 1};
  EXPECT_EQ(hp::propagate_backward(rule, wanted).status, expected);
  EXPECT_EQ(hp::propagate_backward(rule, hp::replicated(meshes[1], 3)).status.code,
            hp::propagation_code::operand_rank_differs_from_rule);
}

}  // namespace
