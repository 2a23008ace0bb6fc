// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/ops/reduction.hpp>

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

static_assert(all_valid<ops::reduce_sum<3, false, -1>, ops::reduce_max<2, true>, ops::reduce_var<2, false, 0>,
                        ops::max_with_index<2, 0>, ops::min_with_index<2, 1, true>, ops::argmax<2, false>,
                        ops::argmin<2, true, 1>, ops::cumsum<2, 0>, ops::cumprod<2, 0>, ops::sort<2>, ops::argsort<2>,
                        ops::topk<2, -1, 8>>);
static_assert(std::is_same_v<result_layout<ops::reduce_mean<2, false, 1>, on<"dp", "tp">>,
                             on<"dp", hp::partial("tp", hp::reduce_op::avg)>>);
static_assert(std::is_same_v<result_layout<ops::reduce_sum<2, true>, on<"dp", "tp">>,
                             on<none, none, hp::partial("dp"), hp::partial("tp")>>);
static_assert(std::is_same_v<result_layout<ops::cumsum<2, 1>, on<"dp", none, hp::partial("tp")>>,
                             on<"dp", none, hp::partial("tp")>>);

// The place of a maximum is not the maximum of the places.
static_assert(!hp::accepts<ops::argmax<2, false, 1>, on<"dp", "tp">>);
static_assert(std::is_same_v<result_layout<ops::argmax<2, false, 1>, on<"dp", none>>, on<"dp">>);
static_assert(!hp::accepts<ops::topk<2, -1, 8>, on<"dp", "tp">>);
static_assert(!hp::accepts<ops::reduce_sum<2, false, 2>, on<"dp", "tp">>);

TEST(Operators, ReductionRulesAreThoseOfTheFunctions) {
  EXPECT_EQ((ops::reduce_sum<3, false, 0, 2>::rule), hp::rules::reduce("sum", 3, {0, 2}).rule);
  EXPECT_EQ((ops::reduce_sum<3, false, 0, 0>::built.status), (hp::rule_status{hp::rule_code::axes_repeat, 0}));
}

}  // namespace
