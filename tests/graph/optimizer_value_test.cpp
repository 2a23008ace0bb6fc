// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/optimizer_value.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/layers.hpp>

namespace {

using namespace hyperparallel;

TEST(optimizer_value, finds_the_sides_of_matrices) {
  model_builder m;
  const int b = m.dim("batch", 2), s = m.dim("seq", 4);
  const int ids = m.index_input("ids", {b, s});
  int x = token_embedding{.vocabulary = 8, .hidden = 6}(m, ids);
  x = transformer_block<attention_layer, mixture_of_experts>{
      .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 8},
      .feed_forward = {.experts = 4, .top_k = 2, .width = 5}}(m, x);
  const auto sides = [&](const char* name) {
    return hyperparallel::detail::sides_of(m.graph, find_tensor(m.graph, name));
  };
  EXPECT_EQ(sides("attention.query.weight"),
            (hyperparallel::detail::matrix_sides{true, 0, 1}));  // hidden; key heads, group, width
  EXPECT_EQ(sides("attention.output.weight"),
            (hyperparallel::detail::matrix_sides{true, 0, 3}));  // key heads, group, width; hidden
  EXPECT_EQ(sides("moe.experts.up.weight"),
            (hyperparallel::detail::matrix_sides{true, 1, 2}));  // experts; hidden; width
  EXPECT_EQ(sides("moe.router.weight"), (hyperparallel::detail::matrix_sides{true, 0, 1}));
  EXPECT_EQ(sides("attention_norm.weight"), hyperparallel::detail::matrix_sides{});
  EXPECT_EQ(sides("embedding.weight"), hyperparallel::detail::matrix_sides{});
}

TEST(optimizer_value, takes_only_dims_in_the_order_of_sides) {
  model_builder m;
  const int a = m.dim("a", 2), b = m.dim("b", 3), c = m.dim("c", 4);
  const int x = m.input("x", {a, b});
  const auto sides = [&](const char* name, const char* text, const number_list& dims) {
    const int w = m.parameter(name, dims);
    m.contract((std::string(name) + ".product").c_str(), text, x, w);
    return hyperparallel::detail::sides_of(m.graph, w);
  };
  EXPECT_EQ(sides("plain", "ab,bc->ac", {b, c}), (hyperparallel::detail::matrix_sides{true, 0, 1}));
  EXPECT_EQ(sides("transposed", "ab,cb->ac", {c, b}), (hyperparallel::detail::matrix_sides{true, 0, 1}));
  EXPECT_EQ(sides("batched", "ab,abc->ac", {a, b, c}), (hyperparallel::detail::matrix_sides{true, 1, 2}));
  EXPECT_FALSE(sides("batch_inside", "ab,bac->ac", {b, a, c}).is_matrix);
  EXPECT_FALSE(sides("torn", "ab,bca->c", {b, c, a}).is_matrix);
  EXPECT_FALSE(sides("vector", "ab,b->a", {b}).is_matrix);
  EXPECT_FALSE(hyperparallel::detail::sides_of(m.graph, x).is_matrix && m.graph.tensor[x].shape.rank < 2);
}

TEST(optimizer_value, is_a_plain_value) {
  constexpr optimizer_value muon{.kind = optimizer_kind::muon, .without_muon = "head.*"};
  static_assert(muon != optimizer_value{});
  EXPECT_STREQ(name_of(muon.kind), "muon");
}

}  // namespace
