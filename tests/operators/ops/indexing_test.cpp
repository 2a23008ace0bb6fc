// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/ops/indexing.hpp>

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
    all_valid<ops::embedding<2>, ops::gather<3, -1>, ops::index_select<3, 1>, ops::gather_nd<3, 2, 2>,
              ops::one_hot<1, -1, 8>, ops::isin<2, 1>, ops::nonzero<2>, ops::masked_select<2>, ops::scatter<2, 0>,
              ops::scatter_add<2, 0>, ops::scatter_update<3, 2>, ops::masked_scatter<2, 2, 1>, ops::multinomial<2, 8>,
              ops::choose_experts<8>, ops::dispatch<8, 8, 64>, ops::combine<>>);

// A sharded vocabulary is a masked look-up; two axes on the tokens are no hindrance.
static_assert(std::is_same_v<result_layout<ops::embedding<2>, on<none, none>, on<"tp", "dp">>,
                             on<none, none, "dp", hp::partial("tp")>>);
static_assert(std::is_same_v<result_layout<ops::embedding<1>, on<hp::axes("dp", "tp")>, on<none, none>>,
                             on<hp::axes("dp", "tp"), none>>);
static_assert(std::is_same_v<result_layout<ops::index_select<2, -1>, on<"dp", none>, on<none>>, on<"dp", none>>);
static_assert(std::is_same_v<result_layout<ops::isin<2, 1>, on<"dp", none>, on<"tp">>,
                             on<"dp", none, hp::partial("tp", hp::reduce_op::any)>>);
static_assert(std::is_same_v<result_layout<ops::combine<>, on<none, "tp", none, none>, on<none, none>, on<none, none>>,
                             on<none, none, hp::partial("tp")>>);
static_assert(!hp::accepts<ops::scatter<2, 1>, on<"dp", none>, on<none, none>, on<"dp", none>>);
static_assert(!hp::accepts<ops::gather<2, 0>, on<"dp", none>, on<none, none>>);
static_assert(!hp::accepts<ops::gather<2, 2>, on<none, none>, on<none, none>>);

TEST(Operators, IndexingRulesAreThoseOfTheFunctions) {
  EXPECT_EQ((ops::gather<3, -1>::rule), hp::rules::gather(3, 2).rule);
  EXPECT_EQ((ops::one_hot<1, 0, -1>::built.status.code), hp::rule_code::attribute_is_invalid);
}

}  // namespace
