// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/named_set.hpp>

#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>

#include <hyperparallel/dtensor/creation.hpp>

namespace hp = hyperparallel;

namespace {

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 2}> {};
using rows = hp::layout<mesh, "dp", hp::none>;
using columns = hp::layout<mesh, hp::none, "tp">;
template <class Layout>
using matrix = hp::dtensor<int, hp::extents<4, 4>, Layout>;

TEST(named_set, finds_by_name_and_calls_with_itself) {
  const hp::rank_group ranks(4, {.threads = 1});
  const auto w = hp::arange<matrix<rows>>(ranks);
  const auto set = hp::named_set(hp::parameter<"w">(w), hp::function<"w">([](const auto& s, int n) {
                                   return std::make_tuple(s.template get<"w">(), n + 1);
                                 }));
  EXPECT_EQ(set.get<"w">().to_local(0).data(), w.to_local(0).data());
  const auto [same, next] = set.call<"w">(6);  // parameters and functions have names of their own
  EXPECT_EQ(same.full_tensor(), w.full_tensor());
  EXPECT_EQ(next, 7);
}

TEST(named_set, slots_of_a_plan_move_arguments_and_results) {
  const hp::rank_group ranks(4, {.threads = 1});
  using plan = hp::sharding_plan<hp::plan_activations<"pair.input", columns, hp::as_it_is>,
                                 hp::plan_activations<"pair.output", hp::as_it_is, rows>>;
  constexpr auto pair = [](const auto&, const auto& a, const auto& b) { return std::make_tuple(a, b); };
  const hp::basic_named_set<plan, hp::named_function<"pair", decltype(pair)>> set({pair});
  const auto x = hp::arange<matrix<rows>>(ranks);
  const auto y = x.redistribute<columns>();
  const auto [a, b] = set.call<"pair">(x, y);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(a)>, matrix<columns>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(b)>, matrix<rows>>);
  EXPECT_EQ(a.full_tensor(), b.full_tensor());
}

}  // namespace
