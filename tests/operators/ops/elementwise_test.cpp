// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/ops/elementwise.hpp>

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

static_assert(all_valid<ops::relu<0>, ops::relu<8>, ops::sub<3>, ops::where<2>, ops::logical_xor<1>,
                        ops::broadcasting<"mul", shape{8, 16}, shape{16}>>);
static_assert(std::is_same_v<result_layout<ops::relu<2>, on<"dp", "tp">>, on<"dp", "tp">>);
static_assert(
    std::is_same_v<result_layout<ops::sub<2>, on<"dp", none>, on<none, "tp">>, on<"dp", "tp">>);  // both are sliced
static_assert(
    std::is_same_v<result_layout<ops::broadcasting<"mul", shape{8, 16}, shape{1, 16}>, on<"dp", none>, on<none, "tp">>,
                   on<"dp", "tp">>);

// Partial states: kept, exchanged, refused; and never by both factors of a product.
using terms = on<none, none, hp::partial("tp")>;
using largest = on<none, none, hp::partial("tp", hp::reduce_op::max)>;
static_assert(std::is_same_v<result_layout<ops::neg<2>, terms>, terms>);
static_assert(
    std::is_same_v<result_layout<ops::neg<2>, largest>, on<none, none, hp::partial("tp", hp::reduce_op::min)>>);
static_assert(!hp::accepts<ops::relu<2>, terms>);
static_assert(std::is_same_v<result_layout<ops::mul<2>, terms, on<"dp", none>>, on<"dp", none, hp::partial("tp")>>);
static_assert(!hp::accepts<ops::mul<2>, terms, terms>);
static_assert(!hp::accepts<ops::broadcasting<"mul", shape{8, 16}, shape{1, 16}>, on<none, none>, terms>);
static_assert(
    std::is_same_v<result_layout<ops::broadcasting<"add", shape{8, 16}, shape{1, 16}>, terms, on<none, none>>, terms>);

// One axis has one role in the result; the order of two axes on one dim matters.
static_assert(!hp::accepts<ops::div<2>, on<"dp", none>, on<none, "dp">>);
static_assert(!hp::accepts<ops::div<1>, on<hp::axes("dp", "tp")>, on<hp::axes("tp", "dp")>>);
static_assert(!hp::accepts<ops::elementwise<"no such function", 1>, on<"dp">>);

TEST(Operators, ElementwiseRulesAreThoseOfTheFunctions) {
  EXPECT_EQ(ops::add<0>::rule, hp::rules::elementwise("add", 0).rule);
  EXPECT_EQ(ops::add<3>::rule, hp::rules::elementwise("add", 3).rule);
  EXPECT_EQ(ops::sub<3>::rule, hp::rules::elementwise("sub", 3).rule);
  EXPECT_EQ((ops::elementwise<"sub", 9>::built.status), (hp::rule_status{hp::rule_code::too_many_dims, 9}));
}

}  // namespace
