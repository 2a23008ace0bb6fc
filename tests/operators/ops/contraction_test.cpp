// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/ops/contraction.hpp>

#include <hyperparallel/operators/derive.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace hp = hyperparallel;
namespace ops = hp::ops;
using hp::shape;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"tp", 4}> {};
template <hp::map_entry... Entries>
using on = hp::layout<mesh, Entries...>;
constexpr auto none = hp::none;

using hp::result_layout;

template <class... Operators>
constexpr bool all_valid = ((hp::operator_type<Operators> && Operators::built.status.code == hp::rule_code::ok &&
                             hp::check_rule(Operators::rule).code == hp::rule_code::ok) &&
                            ...);

static_assert(
    all_valid<ops::batch_matmul<4, 3>, ops::batch_matmul<1, 1>,
              ops::broadcasting_matmul<shape{1, 2, 3}, shape{4, 3, 2}>, ops::bmm<true>, ops::linear<3, true>,
              ops::addmm, ops::outer, ops::dot, ops::ragged_matmul, ops::convolution<shape{2, 4, 8}, shape{6, 4, 3}>>);
static_assert(std::is_same_v<result_layout<ops::batch_matmul<3, 2>, on<"dp", none, "tp">, on<"tp", none>>,
                             on<"dp", none, none, hp::partial("tp")>>);
static_assert(
    std::is_same_v<result_layout<ops::bmm<>, on<"dp", none, none>, on<none, none, "tp">>, on<"dp", none, "tp">>);

// A bias beside a sharded contraction is added once.
static_assert(std::is_same_v<result_layout<ops::linear<2, true>, on<"dp", "tp">, on<none, "tp">, on<none>>,
                             on<"dp", none, hp::partial("tp")>>);
static_assert(
    std::is_same_v<result_layout<ops::linear<2, true>, on<"dp", none>, on<"tp", none>, on<"tp">>, on<"dp", "tp">>);
static_assert(!hp::accepts<ops::linear<2, true>, on<"dp", none>, on<"tp", none>, on<none>>);
static_assert(!hp::accepts<ops::linear<2>, on<"dp", none>, on<none, "tp">>);
static_assert(std::is_same_v<result_layout<ops::outer, on<"dp">, on<"tp">>, on<"dp", "tp">>);

TEST(Operators, ContractionRulesAreThoseOfTheFunctions) {
  EXPECT_EQ((ops::batch_matmul<4, 3>::rule), hp::rules::matmul(4, 3).rule);
  EXPECT_EQ((ops::linear<9>::built.status), (hp::rule_status{hp::rule_code::too_many_dims, 9}));
}

}  // namespace
