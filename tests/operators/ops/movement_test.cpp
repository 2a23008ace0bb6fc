// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/ops/movement.hpp>

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

static_assert(all_valid<ops::permute<2, 0, 1>, ops::transpose<3, 0, -1>, ops::expand_dims<2, 0>,
                        ops::squeeze<shape{4, 1}>, ops::expand<shape{4, 1}, shape{4, 8}>,
                        ops::reshape<shape{8, 4}, shape{2, 16}>, ops::flatten<shape{2, 3, 4}, 1>,
                        ops::repeat<1, shape{2, 3}>, ops::repeat_interleave<2, 0, 3>, ops::roll<2>, ops::flip<2, 1>,
                        ops::tril<2>, ops::stack<2, 3, 0>, ops::concat<1, shape{4, 2}, shape{4, 6}>, ops::unbind<3, 1>,
                        ops::split<shape{4, 6}, 1, 2>, ops::slice<shape{8}, shape{0}, shape{4}, shape{1}>,
                        ops::pad<shape{8}, shape{1}, shape{1}>, ops::new_tensor<shape{4, 4}>>);
static_assert(std::is_same_v<result_layout<ops::permute<2, 0, 1>, on<"dp", none, "tp">>, on<"tp", "dp", none>>);
static_assert(std::is_same_v<result_layout<ops::transpose<2, 0, 1>, on<"dp", none, hp::partial("tp")>>,
                             on<none, "dp", hp::partial("tp")>>);
static_assert(
    std::is_same_v<result_layout<ops::reshape<shape{32, 64}, shape{32, 16, 4}>, on<"dp", "tp">>, on<"dp", "tp", none>>);
static_assert(!hp::accepts<ops::reshape<shape{4, 12}, shape{12, 4}>, on<none, "tp">>);

// Parts of a sharded dim are on other devices, and so are the neighbours of its ends.
using pair = ops::concat<1, shape{4, 8}, shape{4, 8}>;
static_assert(!hp::accepts<pair, on<"dp", "tp">, on<"dp", "tp">>);
static_assert(std::is_same_v<result_layout<pair, on<"dp", none>, on<"dp", none>>, on<"dp", none>>);
static_assert(!hp::accepts<pair, on<"dp", none>, on<none, none>>);
static_assert(!hp::accepts<ops::pad<shape{8}, shape{1}, shape{1}>, on<"tp">>);
static_assert(!hp::accepts<ops::permute<0, 0>, on<"dp", "tp">>);

TEST(Operators, MovementRulesAreThoseOfTheFunctions) {
  EXPECT_EQ((ops::permute<2, 0, 1>::rule), hp::rules::permute(3, {2, 0, 1}).rule);
  EXPECT_EQ((ops::permute<0, 0>::built.status), (hp::rule_status{hp::rule_code::axes_repeat, 0}));
}

}  // namespace
