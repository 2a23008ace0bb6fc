// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/sharded_set.hpp>

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>
#include <hyperparallel/dtensor/operations/contraction.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using whole = hp::layout<mesh, hp::none, hp::none>;
using by_row = hp::layout<mesh, "tp", hp::none>;
using by_column = hp::layout<mesh, hp::none, "tp">;
using batch = hp::layout<mesh, "dp", hp::none>;
template <int Rows, int Columns, class Layout = whole>
using matrix = hp::dtensor<float, hp::extents<Rows, Columns>, Layout>;

auto mlp(const hp::rank_group& ranks) {
  return hp::named_set(hp::parameter<"up.weight">(hp::arange<matrix<4, 8>>(ranks)),
                       hp::parameter<"down.weight">(hp::arange<matrix<8, 4>>(ranks)),
                       hp::parameter<"down.scale">(hp::ones<matrix<1, 4>>(ranks)),
                       hp::function<"ffn">([](const auto& set, const auto& x) {
                         return matmul(matmul(x, set.template get<"up.weight">()), set.template get<"down.weight">());
                       }),
                       hp::function<"both">([](const auto&, const auto& x, int n) { return std::make_tuple(x, n); }));
}

using plan = hp::sharding_plan<hp::plan_parameter<"*.weight", by_column>, hp::plan_parameter<"down.w*", by_row>,
                               hp::plan_activations<"ffn.input", batch>, hp::plan_activations<"ffn.output", batch>,
                               hp::plan_activations<"both.input", batch, hp::as_it_is>, hp::plan_local_results<"both">>;

TEST(sharded_set, parameters_and_activations_follow_the_plan) {
  const hp::rank_group ranks(4, {.threads = 2, .pin = false});
  const auto set = mlp(ranks);
  const auto sharded = hp::shard<plan>(set);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(sharded.get<"up.weight">())>, matrix<4, 8, by_column>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(sharded.get<"down.weight">())>, matrix<8, 4, by_row>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(sharded.get<"down.scale">())>, matrix<1, 4>>);
  const auto x = hp::arange<matrix<2, 4>>(ranks);
  const auto y = sharded.call<"ffn">(x);
  static_assert(std::is_same_v<decltype(y), const matrix<2, 4, batch>>);  // the partial sum was reduced
  EXPECT_EQ(y.full_tensor(), set.call<"ffn">(x).full_tensor());
}

TEST(sharded_set, results_as_local_data) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto sharded = hp::shard<plan>(mlp(ranks));
  const auto [blocks, n] = sharded.call<"both">(hp::arange<matrix<2, 4>>(ranks), 7);
  EXPECT_EQ(n, 7);
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[0], (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(blocks[3], (std::vector<float>{4, 5, 6, 7}));
}

using weight = hp::named_parameter<"up.weight", matrix<4, 8>>;
static_assert(hp::plans<hp::sharding_plan<hp::plan_parameter<"up.*", by_row>>, weight>);
static_assert(!hp::plans<hp::sharding_plan<hp::plan_parameter<"up.bias", by_row>>, weight>);
static_assert(!hp::plans<hp::sharding_plan<hp::plan_activations<"ffn.input", by_row>>, weight>);

TEST(sharded_set, the_twin_takes_names_at_run_time) {
  const hp::rank_group ranks(4, {.threads = 1});
  const std::map<std::string, hp::dynamic_dtensor> tensors{{"a.weight", hp::arange<matrix<4, 8>>(ranks).dynamic()},
                                                           {"b.weight", hp::arange<matrix<8, 4>>(ranks).dynamic()},
                                                           {"b.bias", hp::arange<matrix<1, 4>>(ranks).dynamic()}};
  const auto placed = hp::shard(tensors, {{"*.weight", by_row::value}, {"b.*t", by_column::value}});
  EXPECT_TRUE(placed.at("a.weight").layout() == by_row::value);
  EXPECT_TRUE(placed.at("b.weight").layout() == by_column::value);
  EXPECT_TRUE(placed.at("b.bias").layout() == whole::value);
  EXPECT_EQ(hp::full_tensor<float>(placed.at("a.weight")), hp::full_tensor<float>(tensors.at("a.weight")));
  const auto text = [&](const hp::dynamic_sharding_plan& p) -> std::string {
    try {
      hp::shard(tensors, p);
    } catch (const hp::dtensor_error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(text({{"*.gamma", by_row::value}}), "pattern_matches_nothing: *.gamma");
  EXPECT_EQ(text({{"a.*", by_row::value}, {"*", whole::value}}), "pattern_is_overridden: a.*");
  EXPECT_EQ(text({{"*.bias", by_row::value}}), "extent_is_not_divisible_by_its_shards: dim 0, extent 1, shards 2");
}

}  // namespace
