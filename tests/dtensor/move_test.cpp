// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/move.hpp>

#include <gtest/gtest.h>

#include "dtensor/worlds.hpp"

namespace hp = hyperparallel;
using namespace worlds;

namespace {

using values = std::vector<std::int64_t>;

/// Every position holds its slice of the value, or terms that make it up; replicas are equal.
void expect_value(const hp::dynamic_dtensor& x, const hp::layout_value& layout, const values& value) {
  ASSERT_TRUE(x.layout() == layout);
  ASSERT_EQ(hp::full_tensor<std::int64_t>(x), value);
  ASSERT_TRUE(hp::replicas_agree(x));
  if (hp::is_partial(layout)) return;
  for (int p = 0; p < x.ranks(); ++p) {
    const std::span<const std::int64_t> held = x.to_local<std::int64_t>(p);
    const std::vector<hp::extent_t> numbers = numbers_of(x.local_box(p), x.shape());
    ASSERT_EQ(held.size(), numbers.size());
    for (std::size_t i = 0; i < held.size(); ++i) ASSERT_EQ(held[i], value[static_cast<std::size_t>(numbers[i])]);
  }
}

void expect_all_moves(const hp::mesh_shape& m, int rank, const hp::shape& s, const std::vector<hp::reduce_op>& ops,
                      std::size_t layouts) {
  const hp::rank_group group(hp::position_count(m), {.threads = 2, .pin = false});
  const std::vector<hp::layout_value> all = partial_layouts(m, rank, ops);
  ASSERT_EQ(all.size(), layouts);
  const bool truths = ops[0] == hp::reduce_op::all || ops[0] == hp::reduce_op::any;
  for (const hp::layout_value& from : all) {
    const sample<std::int64_t> x = sampled<std::int64_t>(group, s, from, 3, {.truths = truths});
    for (const hp::layout_value& to : all) {
      const hp::move_plan p = hp::plan_move(from, to, s);
      ASSERT_EQ(p.code, hp::move_code::ok);
      expect_value(hp::redistribute(x.tensor, to, p), to, x.value);
    }
  }
}

TEST(move, every_pair_of_a_2x2_mesh_with_sums) { expect_all_moves({2, {2, 2}}, 2, {4, 8}, {hp::reduce_op::sum}, 18); }
TEST(move, every_pair_of_a_2x3_mesh_with_sums) {
  expect_all_moves({2, {2, 3}}, 1, hp::shape{12}, {hp::reduce_op::sum}, 10);
}
TEST(move, every_pair_of_a_2x2x2_mesh_with_maxima) {
  expect_all_moves({3, {2, 2, 2}}, 1, hp::shape{16}, {hp::reduce_op::max}, 38);
}

TEST(move, every_operation_alone) {
  for (int op = 1; op < hp::reduce_op_count; ++op)
    expect_all_moves({2, {2, 3}}, 1, hp::shape{6}, {static_cast<hp::reduce_op>(op)}, 10);
}

TEST(move, sums_beside_averages) {
  const hp::mesh_shape m{2, {2, 3}};
  const hp::rank_group group(6, {.threads = 2, .pin = false});
  for (const hp::layout_value& from : partial_layouts(m, 1, {hp::reduce_op::sum, hp::reduce_op::avg})) {
    const sample<std::int64_t> x = sampled<std::int64_t>(group, hp::shape{6}, from, 7);
    expect_value(hp::reduce_partial(x.tensor), hp::detail::reduced_layout(from), x.value);
  }
}

TEST(move, refuses_with_the_words_of_the_error_line) {
  const hp::mesh_shape m{2, {2, 3}};
  const hp::rank_group group(6, {.threads = 1});
  const hp::layout_value whole = hp::replicated(m, 1);
  hp::layout_value cut = whole, other = hp::replicated({2, {3, 2}}, 1), mixed_terms = whole;
  hp::append_cut(cut, {0, 1, 1, 3});
  mixed_terms.partial[0] = hp::reduce_op::sum;
  mixed_terms.partial[1] = hp::reduce_op::max;
  const hp::dynamic_dtensor x = sampled<std::int64_t>(group, hp::shape{4}, whole, 1).tensor;
  const auto text = [&](const hp::dynamic_dtensor& from, const hp::layout_value& to) -> std::string {
    try {
      hp::redistribute(from, to);
    } catch (const hp::move_error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(text(x, cut), "extent_is_not_divisible_by_its_shards: dim 0, extent 4, shards 3");
  EXPECT_EQ(text(x, other), "layouts_are_on_different_meshes");
  EXPECT_EQ(text(sampled<std::int64_t>(group, hp::shape{4}, mixed_terms, 1).tensor, whole),
            "reductions_do_not_commute: axis 1");
}

TEST(move, shares_blocks_where_a_rank_keeps_a_run_of_its_own) {
  const hp::mesh_shape m{2, {2, 2}};
  const hp::rank_group group(4, {.threads = 1});
  const hp::layout_value whole = hp::replicated(m, 2);
  hp::layout_value rows = whole, columns = whole;
  hp::append_cut(rows, {0, 0, 1, 2});
  hp::append_cut(columns, {1, 0, 1, 2});
  const hp::dynamic_dtensor x = sampled<std::int64_t>(group, {4, 4}, whole, 5).tensor;
  const hp::dynamic_dtensor same = hp::redistribute(x, whole), sliced = hp::redistribute(x, rows),
                            cut = hp::redistribute(x, columns);
  for (int p = 0; p < 4; ++p) {
    EXPECT_EQ(same.data(p), x.data(p));
    EXPECT_EQ(sliced.data(p), x.data(p) + (p / 2) * 8 * 8);
    EXPECT_NE(cut.data(p), x.data(p));
  }
}

TEST(move, reduces_16_bit_floats_in_binary32_and_rounds_once) {
  const hp::rank_group group(4, {.threads = 1});
  hp::layout_value terms = hp::replicated({1, {4}}, 1);
  terms.partial[0] = hp::reduce_op::sum;
  const hp::bf16_bits block[4][1] = {{hp::detail::to_bf16(256.0F)},
                                     {hp::detail::to_bf16(1.0F)},
                                     {hp::detail::to_bf16(1.0F)},
                                     {hp::detail::to_bf16(0.0F)}};
  const std::span<const hp::bf16_bits> spans[] = {block[0], block[1], block[2], block[3]};
  const hp::dynamic_dtensor x = hp::from_local<hp::bf16_bits>(group, hp::shape{1}, terms, spans);
  EXPECT_EQ(hp::detail::to_float(hp::full_tensor<hp::bf16_bits>(x)[0]),
            258.0F);  // rounded after each sum it would be 256
}

}  // namespace
