// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/custom_shard.hpp>

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>

#include "support/error_of.hpp"

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using tiles = hp::layout<mesh, "dp", "tp">;
using matrix = hp::dtensor<float, hp::extents<4, 6>, rows>;

/// Every element times a factor.
constexpr auto scaled = [](hp::const_view<float> x, float factor) {
  hp::local_tensor<float> y(x.extents);
  for (hp::extent_t i = 0; i < hp::volume(x); ++i) y.data()[i] = factor * x.data[i];
  return y;
};

TEST(custom_shard, runs_on_local_data_in_the_declared_layout) {
  const hp::rank_group ranks(4, {.threads = 2, .pin = false});
  const auto x = hp::arange<matrix>(ranks);
  const auto f = hp::custom_shard<hp::inputs<tiles, hp::unplaced>, hp::outputs<tiles>>(scaled);
  const auto y = f(x, 2.0F);
  static_assert(std::is_same_v<decltype(y)::layout, tiles>);
  static_assert(std::is_same_v<decltype(y)::extents, hp::extents<hp::dyn, hp::dyn>>);
  EXPECT_EQ(y.shape(), hp::shape(4, 6));
  const auto v = y.full_tensor();
  for (std::size_t i = 0; i < v.size(); ++i) EXPECT_EQ(v[i], 2.0F * static_cast<float>(i));
}

TEST(custom_shard, declared_extents_of_results_are_in_their_type_and_checked) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<matrix>(ranks);
  using in = hp::inputs<rows, hp::unplaced>;
  const auto y = hp::custom_shard<in, hp::outputs<hp::placed<hp::extents<4, 6>, rows>>>(scaled)(x, 1.0F);
  static_assert(std::is_same_v<decltype(y), const matrix>);
  const auto wrong = hp::custom_shard<in, hp::outputs<hp::placed<hp::extents<8, 6>, rows>>>(scaled);
  EXPECT_THROW(wrong(x, 1.0F), hp::dtensor_error);
}

TEST(custom_shard, pieces_of_a_padded_dim_make_the_declared_whole) {
  const hp::rank_group ranks(4, {.threads = 1});
  using ragged = hp::layout<mesh, hp::padded("tp"), hp::none>;
  using tensor = hp::dtensor<float, hp::extents<5, 2>, ragged>;
  const auto x = hp::arange<tensor>(ranks);
  using in = hp::inputs<ragged, hp::unplaced>;
  const auto y = hp::custom_shard<in, hp::outputs<hp::placed<hp::extents<5, 2>, ragged>>>(scaled)(x, 3.0F);
  static_assert(std::is_same_v<decltype(y), const tensor>);
  EXPECT_EQ(y.full_tensor()[9], 27.0F);
  EXPECT_THROW((hp::custom_shard<in, hp::outputs<ragged>>(scaled)(x, 3.0F)), hp::custom_shard_error);
}

TEST(custom_shard, partial_results_ranks_and_values_of_each_rank) {
  const hp::rank_group ranks(4, {.threads = 2, .pin = false});
  const auto x = hp::arange<matrix>(ranks);
  using total = hp::layout<mesh, hp::partial("dp"), hp::partial("tp")>;
  const auto f = hp::custom_shard<hp::inputs<tiles>, hp::outputs<total, hp::unplaced>>(
      [](const hp::local_rank& at, hp::const_view<float> mine) {
        hp::local_tensor<float> sum(hp::shape{});
        for (hp::extent_t i = 0; i < hp::volume(mine); ++i) sum.data()[0] += mine.data[i];
        return std::make_tuple(sum, at.rank * 10 + at.position);
      });
  const auto [sum, numbers] = f(x);
  EXPECT_EQ(sum.full_tensor()[0], 24.0F * 23.0F / 2.0F);
  EXPECT_EQ(numbers, (std::vector<int>{0, 11, 22, 33}));
}

TEST(custom_shard, functions_without_results) {
  const hp::rank_group ranks(4, {.threads = 1});
  int calls = 0;
  hp::custom_shard<hp::inputs<rows>, hp::outputs<>>([&calls](hp::const_view<float>) { ++calls; })(
      hp::arange<matrix>(ranks));
  EXPECT_EQ(calls, 4);
}

TEST(custom_shard, an_argument_of_another_rank_group_is_named) {
  const hp::rank_group ranks(4, {.threads = 1}), others(4, {.threads = 1});
  const auto both = hp::custom_shard<hp::inputs<hp::unplaced, rows, rows>, hp::outputs<>>(
      [](int, hp::const_view<float>, hp::const_view<float>) {});
  both(1, hp::arange<matrix>(ranks), hp::arange<matrix>(ranks));
  EXPECT_EQ(
      tested::error_of<hp::dtensor_error>([&] { both(1, hp::arange<matrix>(ranks), hp::arange<matrix>(others)); }),
      "custom_shard: operands_are_in_different_rank_groups: argument 2 is not in the group of the first");
}

TEST(custom_shard, local_results_that_make_no_tensor_are_named) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto x = hp::arange<matrix>(ranks);
  const auto text = [&](const auto& f) -> std::string {
    try {
      f(x);
    } catch (const hp::custom_shard_error& e) {
      return e.what();
    } catch (const hp::rank_error& e) {
      return e.what();
    }
    return "accepted";
  };
  using in = hp::inputs<rows>;
  EXPECT_EQ(text(hp::custom_shard<in, hp::outputs<rows>>(
                [](hp::const_view<float>) { return hp::local_tensor<float>(hp::shape{4}); })),
            "custom_shard: map_length_differs_from_tensor_rank: result 0, position 0");
  EXPECT_EQ(text(hp::custom_shard<in, hp::outputs<rows>>([](const hp::local_rank& at, hp::const_view<float>) {
              return hp::local_tensor<float>(hp::shape(at.position == 2 ? 3 : 2, 6));
            })),
            "custom_shard: local_shapes_make_no_whole: result 0, position 2");
  EXPECT_EQ(text(hp::custom_shard<in, hp::outputs<rows>>(
                [](hp::const_view<float>) -> hp::local_tensor<float> { throw std::runtime_error("out of range"); })),
            "custom_shard failed at position 0: out of range");
}

}  // namespace
