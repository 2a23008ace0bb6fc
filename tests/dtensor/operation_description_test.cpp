// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/dtensor/operation_description.hpp>

#include <hyperparallel/operators/rules/elementwise.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <type_traits>

namespace {

namespace hp = hyperparallel;
namespace detail = hp::detail;

/// x where the mask says so, at the places of an index: what a description may say beside its rule.
struct picked {
  static constexpr unsigned indices = 0b010, truths = 0b100;
  static constexpr bool whole_extents = true;
  template <class X, class...>
  using results = std::tuple<X, std::int64_t>;
  constexpr hp::rule_result rule(const hp::shape* x, int) const {
    return hp::rules::same_shape("picked", x[0].rank, 1, hp::refuse_partials(), 1);
  }
  template <class X>
    requires std::is_floating_point_v<X>
  void run(const hp::local_operation&, hp::const_view<X>, hp::const_view<std::int64_t>, hp::const_view<bool>,
           hp::tensor_view<X>, hp::tensor_view<std::int64_t>) const {}
};
struct plain {
  constexpr hp::rule_result rule(const hp::shape* x, int) const {
    return hp::rules::same_shape("plain", x[0].rank, 1, hp::refuse_partials(), 1);
  }
};
struct nothing {};

static_assert(hp::operation_description<picked> && hp::operation_description<plain>);
static_assert(!hp::operation_description<nothing>);
static_assert(detail::index_mask<picked>() == 0b010 && detail::truth_mask<picked>() == 0b100);
static_assert(detail::index_mask<plain>() == 0 && !detail::needs_every_extent<plain>() && !detail::is_view<plain>());
static_assert(detail::needs_every_extent<picked>());
using operands = std::tuple<float, std::int64_t, bool>;
using made = typename detail::result_elements<picked, float, std::int64_t, bool>::type;
static_assert(std::is_same_v<made, std::tuple<float, std::int64_t>>);
static_assert(std::is_same_v<typename detail::result_elements<plain, double>::type, std::tuple<double>>);
static_assert(detail::computes<picked, operands, made>);
static_assert(!detail::computes<picked, std::tuple<int, std::int64_t, bool>, std::tuple<int, std::int64_t>>);
static_assert(detail::computes_with<picked, float>(std::make_index_sequence<3>{}));

TEST(OperationDescription, HasItsRuleOnDeclaredExtents) {
  using applied = hp::operation<plain{}, hp::extents<4, 8>>;
  EXPECT_EQ(applied::status.code, hp::rule_code::ok);
  EXPECT_EQ(applied::rule.operand[0].rank, 2);
}

}  // namespace
