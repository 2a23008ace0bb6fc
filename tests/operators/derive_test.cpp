// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/derive.hpp>
#include <hyperparallel/operators/operator_list.hpp>
#include <hyperparallel/operators/shape_factors.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"ep", 4}, hp::axis{"tp", 2}, hp::axis{"one", 1}> {};
struct twin : hp::device_matrix<hp::axis{"dp", 2}, hp::axis{"ep", 4}, hp::axis{"tp", 2}, hp::axis{"one", 1}> {};

template <hp::map_entry... Entries>
using on = hp::layout<mesh, Entries...>;
constexpr auto none = hp::none;

// A Megatron pair: columns, then rows, then a partial sum that a further product keeps.
using x = on<"dp", none>;
using h = hp::result_layout<hp::ops::matmul, x, on<none, "tp">>;
using y = hp::result_layout<hp::ops::matmul, h, on<"tp", none>>;
static_assert(std::is_same_v<h, on<"dp", "tp">>);
static_assert(std::is_same_v<y, on<"dp", none, hp::partial("tp")>>);
static_assert(std::is_same_v<hp::result_layout<hp::ops::matmul, y, on<none, "ep">>, on<"dp", "ep", hp::partial("tp")>>);
static_assert(std::is_same_v<hp::result_layout<hp::ops::sum, y, y>, y>);
static_assert(std::is_same_v<hp::result_layout<hp::ops::sum, x, y>, y>);               // x is filled
static_assert(std::is_same_v<hp::result_layout<hp::ops::sum, on<none, "tp">, h>, h>);  // and sliced
static_assert(std::is_same_v<hp::result_layout<hp::ops::matmul, on<hp::axes("dp", "ep"), none>, on<none, "tp">>,
                             on<hp::axes("dp", "ep"), "tp">>);

// A size-1 axis is no sharding, so it disagrees with nothing.
static_assert(std::is_same_v<hp::result_layout<hp::ops::matmul, on<"dp", "one">, on<none, "one">>, on<"dp", none>>);

// The experts of a layer: ranks on ep, rows whole, intermediate on tp; packed gate|up stays packed.
using rows = on<none, "ep", none, none>;
using packed = hp::result_layout<hp::ops::grouped_matmul_gate_up, rows, on<none, "ep", none, none, "tp">>;
using hidden = hp::result_layout<hp::ops::grouped_swiglu, packed>;
using expert_sum = hp::result_layout<hp::ops::grouped_matmul, hidden, on<none, "ep", "tp", none>>;
static_assert(std::is_same_v<packed, on<none, "ep", none, none, "tp">>);
static_assert(std::is_same_v<hidden, on<none, "ep", none, "tp">>);
static_assert(std::is_same_v<expert_sum, on<none, "ep", none, none, hp::partial("tp")>>);

// Silent when false, for each reason.
static_assert(hp::accepts<hp::ops::matmul, x, on<none, "tp">>);
static_assert(!hp::accepts<hp::ops::matmul, on<"dp", "tp">, on<none, none>>);
static_assert(!hp::accepts<hp::ops::matmul, on<"dp", none>, on<none, "dp">>);
static_assert(!hp::accepts<hp::ops::matmul, y, y>);
static_assert(!hp::accepts<hp::ops::matmul, x>);
static_assert(!hp::accepts<hp::ops::matmul, x, on<none, none, none>>);
static_assert(!hp::accepts<hp::ops::matmul, x, hp::layout<twin, none, "tp">>);
static_assert(!hp::accepts<hp::ops::grouped_swiglu, on<none, "ep", none, "tp", none>>);
static_assert(!hp::accepts<hp::ops::grouped_swiglu, on<none, "ep", none, none, none, hp::partial("tp")>>);
static_assert(!hp::accepts<hp::ops::sum, on<"tp", none>, y>);
static_assert(!hp::accepts<int, x, y>);
static_assert(!hp::accepts<hp::ops::matmul, int, x>);

// A listed operator, and a user's by its text alone, at the ranks of the layouts.
static_assert(std::is_same_v<hp::result_layout<hp::ops::softmax, on<"dp", "ep", none>>, on<"dp", "ep", none>>);
static_assert(!hp::accepts<hp::ops::softmax, on<none, "tp">> && !hp::accepts<hp::ops::softmax, y>);
static_assert(
    std::is_same_v<hp::result_layout<hp::ops::embed, on<"dp">, on<"tp", none>>, on<"dp", none, hp::partial("tp")>>);
static_assert(!hp::accepts<hp::ops::contract, x, x>);  // each instance has its own text
struct row_mean {
  static constexpr const char *name = "row_mean", *text = "*k->*";
  static constexpr hp::reduce_op reduction = hp::reduce_op::avg;
};
static_assert(std::is_same_v<hp::result_layout<row_mean, on<"dp", none, "tp">>,
                             on<"dp", none, hp::partial("tp", hp::reduce_op::avg)>>);
static_assert(!hp::accepts<row_mean, y> && !hp::accepts<row_mean, hp::layout<mesh>>);

// A user's operator, and one whose text is no rule.
struct row_maximum {
  static constexpr hp::factor_rule rule =
      hp::rule_from("row_maximum", "tk->t", {hp::reduce_op::max, hp::refuse_partials(), 1}).rule;
};
struct diagonal {
  static constexpr hp::factor_rule rule = hp::rule_from("diagonal", "ii->i", {}).rule;
};
static_assert(
    std::is_same_v<hp::result_layout<row_maximum, on<"dp", "tp">>, on<"dp", hp::partial("tp", hp::reduce_op::max)>>);
static_assert(!hp::accepts<row_maximum, y>);
static_assert(!hp::accepts<diagonal, x>);

// A rule without a word on partial operands is not one that refuses them, and not one that lets them pass.
struct without_a_word {
  static constexpr hp::factor_rule rule = hp::rule_from("without_a_word", "ab->ab", {hp::reduce_op::none}).rule;
};
static_assert(hp::accepts<without_a_word, x> && !hp::accepts<without_a_word, y>);

// A halo, a dim of two factors, two reductions that do not commute: refused in silence, accepted beside them.
constexpr hp::factor_rule rolled() {
  hp::factor_rule r = hp::rule_from("roll", "ab->ab", {hp::reduce_op::none, hp::moves_elements(1u)}).rule;
  r.factor[1].kind = hp::factor_kind::permutation;
  return r;
}
struct roll {
  static constexpr hp::factor_rule rule = hp::checked_rule(rolled()).rule;
};
static_assert(hp::accepts<roll, on<"tp", none>> && !hp::accepts<roll, on<none, "tp">>);
struct merge {
  static constexpr hp::factor_rule rule = hp::rules::reshape(hp::shape(4, 8), hp::shape(32)).rule;
};
static_assert(std::is_same_v<hp::result_layout<merge, on<"ep", "tp">>, on<hp::axes("ep", "tp")>>);
static_assert(!hp::accepts<merge, on<"tp", "dp">> && !hp::accepts<merge, on<none, "tp">>);
struct maximum_of_sums {
  static constexpr hp::factor_rule rule =
      hp::rule_from("maximum_of_sums", "tk->t", {hp::reduce_op::max, hp::linear_in_each(1u), 1}).rule;
};
static_assert(hp::accepts<maximum_of_sums, on<none, none, hp::partial("dp")>> &&
              !hp::accepts<maximum_of_sums, on<none, "tp", hp::partial("dp")>>);

TEST(Derive, TheTypeIsTheValueThatPropagationGives) {
  const hp::layout_value a = hidden::value, b = on<none, "ep", "tp", none>::value;
  const hp::layout_value* const operands[] = {&a, &b};
  const hp::propagation_result r = hp::propagate(hp::ops::grouped_matmul::rule, operands, 2);
  EXPECT_EQ(r.status.code, hp::propagation_code::ok);
  EXPECT_EQ(r.layout, expert_sum::value);
}

}  // namespace
