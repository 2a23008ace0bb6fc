// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/ops/normalization.hpp>

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

using hp::rules::attention_form;

static_assert(
    all_valid<ops::softmax<2>, ops::softmax<3, 0, 1>, ops::log_softmax<2>, ops::layer_norm<3, 2, 2>, ops::rms_norm<3>,
              ops::packed_swiglu<2>, ops::cross_entropy<2>,
              ops::attention<hp::rules::attention_options{attention_form::bsh, 8, 2}>, ops::dot_product_attention<8>,
              ops::rope<attention_form::bsnd, 8>, ops::paged_attention<8, 2>, ops::lightning_indexer<2048>>);
static_assert(
    std::is_same_v<result_layout<ops::softmax<2>, on<hp::axes("dp", "tp"), none>>, on<hp::axes("dp", "tp"), none>>);
static_assert(!hp::accepts<ops::softmax<2>, on<"dp", "tp">>);
static_assert(!hp::accepts<ops::softmax<2>, on<"dp", none, hp::partial("tp")>>);
static_assert(hp::accepts<ops::softmax<2, 0>, on<none, "tp">>);
static_assert(std::is_same_v<result_layout<ops::rms_norm<2>, on<"dp", none>, on<none>>, on<"dp", none>>);
static_assert(!hp::accepts<ops::rms_norm<2>, on<none, "tp">, on<"tp">>);

// Heads and batch are sharded together in q, k and v; keys and values are whole along their sequence.
using grouped = ops::attention<hp::rules::attention_options{attention_form::bsh, 8, 4}>;
using heads = on<"dp", none, "tp">;
static_assert(std::is_same_v<result_layout<grouped, heads, heads, heads>, heads>);
static_assert(!hp::accepts<grouped, on<none, "tp", none>, on<none, "tp", none>, on<none, "tp", none>>);
static_assert(std::is_same_v<result_layout<grouped, on<none, "tp", none>, on<none, none, none>, on<none, none, none>>,
                             on<none, "tp", none>>);

TEST(Operators, NormalizationRulesAreThoseOfTheFunctions) {
  EXPECT_EQ(ops::softmax<2>::rule, hp::rules::softmax(2, 1).rule);
  EXPECT_EQ((ops::layer_norm<2, 3>::built.status), (hp::rule_status{hp::rule_code::axes_differ_from_rank, 3}));
}

}  // namespace
