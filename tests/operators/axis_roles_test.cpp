// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/axis_roles.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/layout/tensor_map.hpp>
#include <hyperparallel/operators/rule_text.hpp>

namespace {

namespace hp = hyperparallel;

constexpr hp::factor_rule matmul = hp::rule_from("matmul", "mk,kn->mn", hp::contraction).rule;

hp::detail::role_table roles_of(const hp::layout_value& a, const hp::layout_value& b) {
  const hp::layout_value l[] = {a, b};
  const hp::tensor_factors* tensor[] = {&matmul.operand[0], &matmul.operand[1]};
  hp::detail::role_table t;
  hp::detail::collect_roles(matmul, l, tensor, 2, t);
  return t;
}

TEST(AxisRoles, PiecesMultiplyToTheirAxisWhateverTheTensorsCut) {
  const hp::mesh_shape m{2, {2, 12}};
  for (const int first : {1, 2, 3, 4, 6, 12})
    for (const int second : {1, 2, 4, 12}) {
      hp::layout_value a = hp::replicated(m, 2), b = hp::replicated(m, 2);
      hp::append_cut(a, {0, 1, 1, first});
      hp::append_cut(b, {1, 1, 1, second});
      const hp::detail::role_table t = roles_of(a, b);
      if (!t.fits) continue;
      int product[2] = {1, 1};
      for (int i = 0; i < t.count; ++i) {
        EXPECT_EQ(t.piece[i].pre, product[t.piece[i].axis]);
        product[t.piece[i].axis] *= t.piece[i].size;
      }
      EXPECT_EQ(product[0], 2);
      EXPECT_EQ(product[1], 12);
    }
  // Cut points 3 and 4 of one axis do not divide each other.
  hp::layout_value a = hp::replicated(m, 2), b = hp::replicated(m, 2);
  hp::append_cut(a, {0, 1, 1, 3});
  hp::append_cut(b, {1, 1, 1, 4});
  EXPECT_FALSE(roles_of(a, b).fits);
}

TEST(AxisRoles, AnAxisHasTheRolesThatTensorsGiveItAndNone) {
  const hp::mesh_shape m{2, {2, 4}};
  hp::layout_value a = hp::replicated(m, 2), b = hp::replicated(m, 2);
  hp::append_cut(a, {1, 0, 1, 2});  // k
  hp::append_cut(b, {1, 0, 1, 2});  // n
  b.partial[1] = hp::reduce_op::sum;
  const hp::detail::role_table t = roles_of(a, b);
  ASSERT_EQ(t.count, 2);
  EXPECT_EQ(t.piece[0].role_count, 3);
  EXPECT_EQ(t.piece[0].role[2], hp::detail::is_unused);
  EXPECT_EQ(t.piece[1].role_count, 3);
  EXPECT_EQ(t.piece[1].role[0], hp::detail::stays_partial);
  EXPECT_EQ(t.piece[1].role[1], hp::detail::stays_partial_in(1));
  hp::detail::role_table all = t;
  hp::detail::add_every_factor(matmul, all);
  EXPECT_EQ(all.piece[0].role_count, 4);  // m, k, n, none
  EXPECT_EQ(hp::detail::assignments_of(all), 4 * 6);
}

constexpr hp::layout_value cut_of(int size, int pre, int part) {
  hp::layout_value l = hp::replicated({1, {size}}, 1);
  hp::append_cut(l, {0, 0, pre, part});
  return l;
}
static_assert(hp::detail::parts_nest(cut_of(12, 1, 2), cut_of(12, 2, 6)));
static_assert(hp::detail::parts_nest(cut_of(12, 2, 2), cut_of(12, 1, 12)));
static_assert(!hp::detail::parts_nest(cut_of(6, 1, 2), cut_of(6, 3, 2)), "2 and 3 do not divide one another");
static_assert([] {
  hp::layout_value l[] = {cut_of(6, 1, 2), cut_of(6, 3, 2), cut_of(6, 2, 3)};
  const bool all = hp::detail::keep_nesting(l, 3, 1);
  return !all && l[1].cut_count == 1 && l[0].cut_count == 0 && l[2].cut_count == 0;
}());

}  // namespace
