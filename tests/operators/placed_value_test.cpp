// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/placed_value.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/operators/rule_text.hpp>

#include "numeric_world.hpp"

namespace {

namespace hp = hyperparallel;

struct sample {
  const char* text;
  hp::rule_traits traits;
  hp::shape a, b;
};
const hp::rule_traits sums{hp::reduce_op::none, hp::linear_together(0b11u), 1, true};
const sample pairs[] = {
    {"mk,kn->mn", hp::contraction, {4, 6}, {6, 8}},
    {"mk,kn->mn", hp::contraction, {4, 6}, {5, 8}},  // extents differ
    {"ab,ab->ab", sums, {4, 6}, {4, 6}},
    {"ab,ab->ba", {hp::reduce_op::none, hp::refuse_partials()}, {3, 6}, {3, 6}},
    {"aB,aB->aB", {hp::reduce_op::none, hp::refuse_partials()}, {4, 6}, {4, 6}},
    {"ab,bc->c", {hp::reduce_op::max, hp::refuse_partials()}, {4, 4}, {4, 4}},
    {"ab,.b->ab", sums, {4, 6}, {1, 6}},  // a dim of no factor
    {"a2,a2->a", {hp::reduce_op::none, hp::refuse_partials()}, {4, 2}, {4, 2}},
};

/// What the three functions say one after the other.
bool expected(const hp::factor_rule& rule, const hp::placed_value* const* operand, hp::placed_value& result) {
  const hp::layout_value* layouts[] = {&operand[0]->layout, &operand[1]->layout};
  const hp::shape shapes[] = {operand[0]->shape, operand[1]->shape};
  const hp::propagation_result p = hp::propagate(rule, layouts, 2);
  const hp::result_shape_result s = hp::result_shape(rule, shapes, 2);
  result = {p.layout, s.shape};
  return p.status.code == hp::propagation_code::ok && s.status.code == hp::extents_code::ok &&
         hp::check_shape(p.layout, s.shape).code == hp::layout_code::ok;
}

TEST(DeriveInto, IsPropagationShapeAndCheckTogether) {
  int accepted = 0, refused = 0;
  for (const hp::mesh_shape& m :
       {hp::mesh_shape{1, {2}}, hp::mesh_shape{2, {2, 2}}, hp::mesh_shape{2, {2, 3}}, hp::mesh_shape{3, {2, 2, 2}}})
    for (const sample& one : pairs) {
      const hp::factor_rule rule = hp::rule_from("sample", one.text, one.traits).rule;
      ASSERT_EQ(rule.operand_count, 2) << one.text;
      for (const hp::layout_value& a : numeric::all_layouts(m, one.a.rank))
        for (const hp::layout_value& b : numeric::all_layouts(m, one.b.rank)) {
          const hp::placed_value left{a, one.a}, right{b, one.b};
          if (hp::check_shape(a, one.a).code != hp::layout_code::ok ||
              hp::check_shape(b, one.b).code != hp::layout_code::ok)
            continue;
          const hp::placed_value* operand[] = {&left, &right};
          hp::placed_value result, general;
          hp::derivation_status status;
          const bool ok = hp::derive_into(rule, operand, 2, result, status);
          ASSERT_EQ(ok, expected(rule, operand, general)) << one.text;
          ++(ok ? accepted : refused);
          if (ok) {
            EXPECT_EQ(result, general) << one.text;
          } else {
            EXPECT_TRUE(status.propagation.code != hp::propagation_code::ok ||
                        status.extents.code != hp::extents_code::ok || status.layout.code != hp::layout_code::ok);
          }
        }
    }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 500);
}

constexpr bool at_compile_time() {
  const hp::factor_rule rule = hp::rule_from("matmul", "mk,kn->mn", hp::contraction).rule;
  const hp::mesh_shape m{2, {2, 4}};
  hp::placed_value a{hp::layout_value{m, 2}, {8, 16}}, b{hp::layout_value{m, 2}, {16, 32}}, result;
  a.layout.cut[a.layout.cut_count++] = {1, 1, 1, 4};
  b.layout.cut[b.layout.cut_count++] = {0, 1, 1, 4};
  const hp::placed_value* operand[] = {&a, &b};
  hp::derivation_status status;
  return hp::derive_into(rule, operand, 2, result, status) && result.layout.partial[1] == hp::reduce_op::sum &&
         result.shape == hp::shape{8, 32};
}
static_assert(at_compile_time());

}  // namespace
