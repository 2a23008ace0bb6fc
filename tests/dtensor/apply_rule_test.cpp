// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/apply_rule.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include <hyperparallel/kernels/contraction.hpp>
#include <hyperparallel/kernels/elementwise.hpp>
#include <hyperparallel/kernels/elementwise_functions.hpp>
#include <hyperparallel/operators/operator_rule.hpp>
#include <hyperparallel/operators/rule_text.hpp>

#include "dtensor/worlds.hpp"

namespace hp = hyperparallel;
using namespace worlds;

namespace {

using number = std::int64_t;
using values = std::vector<number>;
constexpr hp::data_type types[] = {hp::i64, hp::i64};

void multiply(const hp::local_operation& at) {
  hp::kernels::matmul(at.operand[0].view<number>(), at.operand[1].view<number>(), at.result[0].view<number>());
}

void add(const hp::local_operation& at) {
  hp::kernels::detail::binary<hp::kernels::functions::add>(at.operand[0].view<number>(), at.operand[1].view<number>(),
                                                           at.result[0].view<number>());
}

/// Runs the rule on every pair of layouts; where it is accepted the result is the expected one, where it is refused the
/// status is that of the value form.
template <class Kernel>
int expect_all(const hp::mesh_shape& m, const hp::factor_rule& rule, const hp::shape& a, const hp::shape& b,
               const Kernel& work, const auto& expected) {
  const hp::rank_group group(hp::position_count(m), {.threads = 2, .pin = false});
  int accepted = 0;
  for (const hp::layout_value& la : partial_layouts(m, a.rank, {hp::reduce_op::sum}))
    for (const hp::layout_value& lb : partial_layouts(m, b.rank, {hp::reduce_op::sum})) {
      const hp::layout_value* const list[] = {&la, &lb};
      const hp::full_propagation placed = hp::propagate_fully(rule, list, 2);
      const sample<number> x = sampled<number>(group, a, la, 1), y = sampled<number>(group, b, lb, 2);
      const hp::dynamic_dtensor operands[] = {x.tensor, y.tensor};
      if (placed.status.code != hp::propagation_code::ok) {
        try {
          hp::detail::apply_rule(rule, operands, types, work);
          ADD_FAILURE() << "not refused";
        } catch (const hp::operator_error& e) {
          EXPECT_EQ(e.layouts, placed.status);
        }
        continue;
      }
      const hp::dynamic_dtensor z = hp::detail::apply_rule(rule, operands, types, work)[0];
      EXPECT_TRUE(z.layout() == placed.result[0]);
      EXPECT_TRUE(hp::replicas_agree(z));
      EXPECT_EQ(hp::full_tensor<number>(z), expected(x.value, y.value));
      ++accepted;
    }
  return accepted;
}

TEST(apply_rule, products_of_every_pair_of_layouts) {
  const auto expected = [](const values& x, const values& y) {
    values z(16);
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t k = 0; k < 4; ++k) z[4 * i + j] += x[4 * i + k] * y[4 * k + j];
    return z;
  };
  EXPECT_GT(expect_all({2, {2, 2}}, hp::ops::matmul::rule, {4, 4}, {4, 4}, multiply, expected), 20);
}

// Sums slice whole operands and fill them to meet partial ones.
TEST(apply_rule, sums_of_every_pair_of_layouts) {
  const auto expected = [](const values& x, const values& y) {
    values z(x.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = x[i] + y[i];
    return z;
  };
  const hp::factor_rule rule =
      hp::rule_from("add", "ab,ab->ab", {hp::reduce_op::none, hp::linear_together(0b11u), 1, true}).rule;
  EXPECT_EQ(expect_all({2, {2, 2}}, rule, {4, 4}, {4, 4}, add, expected), 94);
  EXPECT_EQ(expect_all({2, {2, 3}}, rule, {6, 6}, {6, 6}, add, expected), 94);
}

TEST(apply_rule, several_results) {
  const hp::mesh_shape m{1, {2}};
  const hp::rank_group group(2, {.threads = 1});
  hp::layout_value rows = hp::replicated(m, 2);
  hp::append_cut(rows, {0, 0, 1, 2});
  const sample<number> x = sampled<number>(group, {4, 3}, rows, 3);
  const hp::factor_rule rule = hp::rule_from("row_sum_and_first", "tE->t,t", {}).rule;
  const auto results = hp::detail::apply_rule(rule, {&x.tensor, 1}, types, [](const hp::local_operation& at) {
    const auto in = at.operand[0].view<number>();
    for (hp::extent_t r = 0; r < in.extents.extent[0]; ++r) {
      for (hp::extent_t c = 0; c < 3; ++c) at.result[0].view<number>().data[r] += in.data[3 * r + c];
      at.result[1].view<number>().data[r] = in.data[3 * r];
    }
  });
  ASSERT_EQ(results.size(), 2U);
  const values sums = hp::full_tensor<number>(results[0]), firsts = hp::full_tensor<number>(results[1]);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(sums[r], x.value[3 * r] + x.value[3 * r + 1] + x.value[3 * r + 2]);
    EXPECT_EQ(firsts[r], x.value[3 * r]);
  }
}

TEST(apply_rule, views_share_blocks) {
  const hp::mesh_shape m{1, {2}};
  hp::layout_value rows = hp::replicated(m, 2);
  hp::append_cut(rows, {0, 0, 1, 2});
  const hp::rank_group group(2, {.threads = 1});
  const sample<number> x = sampled<number>(group, {4, 3}, rows, 3);
  const hp::dynamic_dtensor flat = hp::detail::apply_view(hp::rule_from("flatten", "a3->(a3)", {}).rule, x.tensor);
  EXPECT_EQ(flat.shape(), hp::shape{12});
  EXPECT_EQ(hp::full_tensor<number>(flat), x.value);
  for (int p = 0; p < 2; ++p) EXPECT_EQ(flat.data(p), x.tensor.data(p));
}

TEST(apply_rule, refuses_shapes_groups_and_results_that_do_not_divide) {
  const hp::mesh_shape m{1, {4}};
  const hp::rank_group group(4, {.threads = 1}), other(4, {.threads = 1});
  const hp::layout_value whole = hp::replicated(m, 2);
  const auto text = [&](const hp::dynamic_dtensor& a, const hp::dynamic_dtensor& b) -> std::string {
    const hp::dynamic_dtensor operands[] = {a, b};
    try {
      hp::detail::apply_rule(hp::ops::matmul::rule, operands, types, multiply);
    } catch (const hp::dtensor_error& e) {
      return e.what();
    }
    return "accepted";
  };
  const auto tensor = [&](const hp::rank_group& g, const hp::shape& s) {
    return sampled<number>(g, s, whole, 1).tensor;
  };
  EXPECT_EQ(text(tensor(group, {2, 3}), tensor(group, {3, 2})), "accepted");
  EXPECT_EQ(text(tensor(group, {2, 3}), tensor(group, {4, 2})),
            "matmul: factor_extents_differ: operand 1, dim 0, extent 4, expected 3");
  EXPECT_EQ(text(tensor(group, {2, 3}), tensor(other, {3, 2})),
            "matmul: operands_are_in_different_rank_groups: operand 1 is not in the group of the first");
}

TEST(apply_rule, an_average_over_pieces_of_different_sizes_is_refused) {
  hp::layout_value l = hp::replicated({1, {4}}, 1);
  hp::append_cut(l, {0, 0, 1, 4});
  l.padded = 1;
  const hp::rank_group group(4, {.threads = 1});
  const hp::factor_rule mean = hp::rule_from("mean", "a->", {hp::reduce_op::avg, hp::refuse_partials(), 1, false}).rule;
  const auto first = [](const hp::local_operation&) {};
  const sample<number> x = sampled<number>(group, hp::shape{5}, l, 1);
  EXPECT_THROW(hp::detail::apply_rule(mean, {&x.tensor, 1}, types, first), hp::operator_error);
}

TEST(apply_rule, a_kernel_that_throws_is_named_with_its_position) {
  const hp::rank_group group(2, {.threads = 2, .pin = false});
  const sample<number> x = sampled<number>(group, {4, 4}, hp::replicated({1, {2}}, 2), 1);
  const hp::dynamic_dtensor operands[] = {x.tensor, x.tensor};
  try {
    hp::detail::apply_rule(hp::ops::matmul::rule, operands, types, [](const hp::local_operation& at) {
      if (at.position == 1) throw std::runtime_error("singular");
    });
    FAIL() << "nothing thrown";
  } catch (const hp::rank_error& e) {
    EXPECT_STREQ(e.what(), "matmul failed at position 1: singular");
  }
}

}  // namespace
