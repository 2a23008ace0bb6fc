// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/resolved.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <hyperparallel/dtensor/operations/contraction.hpp>
#include <hyperparallel/dtensor/operations/elementwise.hpp>

#include "dtensor/worlds.hpp"

namespace hp = hyperparallel;
using namespace worlds;

namespace {

using number = std::int64_t;
using values = std::vector<number>;

values product(const values& x, const values& y) {
  values z(16);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) z[4 * i + j] += x[4 * i + k] * y[4 * k + j];
  return z;
}

/// Every pair of layouts runs, with the right numbers; pairs that meet as they are move nothing.
TEST(apply_resolved, runs_on_operands_in_any_layouts) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  const hp::operations::matmul op{};
  int moved = 0, met = 0;
  for (const hp::layout_value& la : partial_layouts(m, 2, {hp::reduce_op::sum}))
    for (const hp::layout_value& lb : partial_layouts(m, 2, {hp::reduce_op::sum})) {
      const sample<number> x = sampled<number>(group, {4, 4}, la, 1), y = sampled<number>(group, {4, 4}, lb, 2);
      const hp::resolved_results r = hp::apply_resolved(op, x.tensor, y.tensor);
      EXPECT_TRUE(r.results[0].layout() == r.how.placed.result[0]);
      ASSERT_EQ(hp::full_tensor<number>(r.results[0]), product(x.value, y.value));
      const bool meets = r.how.strict.code == hp::propagation_code::ok;
      EXPECT_TRUE(!meets || r.how.price == 0);
      ++(meets ? met : moved);
    }
  EXPECT_GT(moved, 100);
  EXPECT_GT(met, 20);
}

/// Layouts of one dim cut by a part of an axis, or by two.
std::vector<hp::layout_value> cut_by_parts(const hp::mesh_shape& m) {
  std::vector<hp::layout_value> all{hp::replicated(m, 1)};
  const int n = m.size[0];
  for (int pre = 1; pre < n; ++pre)
    for (int size = 2; pre * size <= n; ++size) {
      if (n % (pre * size) != 0) continue;
      hp::layout_value one = hp::replicated(m, 1);
      hp::append_cut(one, {0, 0, pre, size});
      all.push_back(one);
      for (int next = 2; pre * size * next < n; ++next)
        for (int more = 2; pre * size * next * more <= n; ++more) {
          if (n % (pre * size * next * more) != 0) continue;
          hp::layout_value two = one;
          hp::append_cut(two, {0, 0, pre * size * next, more});
          all.push_back(two);
        }
    }
  return all;
}

/// Parts of one axis that do not nest, such as the outer two and the inner two of six: one operand moves to the other.
TEST(apply_resolved, runs_on_parts_of_an_axis_that_do_not_nest) {
  int apart = 0, nested = 0;
  for (const int n : {6, 12}) {
    const hp::mesh_shape m{1, {n}};
    const hp::rank_group group(n, {.threads = 2, .pin = false});
    const std::vector<hp::layout_value> layouts = cut_by_parts(m);
    for (const hp::layout_value& la : layouts)
      for (const hp::layout_value& lb : layouts) {
        const sample<number> x = sampled<number>(group, hp::shape(24), la, 1),
                             y = sampled<number>(group, hp::shape(24), lb, 2);
        const hp::resolved_results r = hp::apply_resolved(hp::elementwise<hp::ops::multiply>{}, x.tensor, y.tensor);
        values want = x.value;
        for (std::size_t i = 0; i < want.size(); ++i) want[i] *= y.value[i];
        ASSERT_EQ(hp::full_tensor<number>(r.results[0]), want);
        const hp::extent_t either = std::min(hp::price_of_move(la, lb, hp::shape(24)).received,
                                             hp::price_of_move(lb, la, hp::shape(24)).received);
        EXPECT_LE(r.how.price, either * 8) << "bytes of 64 bits";
        ++(hp::detail::parts_nest(la, lb) ? nested : apart);
      }
  }
  EXPECT_GT(apart, 20);
  EXPECT_GT(nested, 50);
}

TEST(apply_resolved, gives_the_result_in_the_layout_that_is_wanted) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::rank_group group(4, {.threads = 2, .pin = false});
  hp::layout_value rows = hp::replicated(m, 2), wanted = hp::replicated(m, 2);
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(rows, {1, 1, 1, 2});
  hp::append_cut(wanted, {0, 0, 1, 2});
  hp::append_cut(wanted, {1, 1, 1, 2});
  const sample<number> x = sampled<number>(group, {4, 4}, rows, 1), y = sampled<number>(group, {4, 4}, rows, 2);
  const hp::resolved_results r = hp::apply_resolved_for(wanted, hp::operations::matmul{}, x.tensor, y.tensor);
  EXPECT_TRUE(r.results[0].layout() == wanted);
  EXPECT_EQ(hp::full_tensor<number>(r.results[0]), product(x.value, y.value));
  EXPECT_GT(r.how.price, 0);
}

TEST(apply_resolved, refuses_what_no_move_cures) {
  const hp::mesh_shape m{1, {2}};
  const hp::rank_group group(2, {.threads = 1});
  const sample<number> x = sampled<number>(group, {4, 4}, hp::replicated(m, 2), 1);
  const sample<number> y = sampled<number>(group, {6, 4}, hp::replicated(m, 2), 2);
  EXPECT_THROW(hp::apply_resolved(hp::operations::matmul{}, x.tensor, y.tensor), hp::operator_error);
}

}  // namespace
