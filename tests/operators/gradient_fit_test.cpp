// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/gradient_fit.hpp>

#include <gtest/gtest.h>

namespace {

namespace hp = hyperparallel;

constexpr hp::operator_value plain{};  // takes floats
namespace ops = hp::ops;

constexpr hp::factor_rule rule_of(const char* text, hp::operand_ranks ranks) {
  return hp::rule_from("rule", text, {}, ranks).rule;
}
constexpr hp::factor_rule matrix = rule_of("ab->ab", {1, {2}});
constexpr hp::factor_rule product = rule_of("rk,kc->rc", {2, {2, 2}});

template <hp::fixed_string Text>
struct backward {
  static constexpr const char *name = "backward", *text = Text.text;
};
template <hp::fixed_string Text>
constexpr bool writes(const hp::factor_rule& made) {
  return hp::detail::writes_rule(hp::operator_value_of<backward<Text>>, made);
}

TEST(GradientFit, RulesAreComparedByWhatTheySay) {
  static_assert(writes<"*->*">(matrix) && writes<"cd->cd">(matrix));
  static_assert(!writes<"aB->aB">(matrix), "a whole dim");
  static_assert(!writes<"ab->ba">(matrix) && !writes<"ab,ab->ab">(matrix) && !writes<"aa->aa">(matrix));
  static_assert(!writes<"ab->a">(matrix) && !writes<"not a rule">(matrix));
  static_assert(writes<"mk,kn->mn">(product) && !writes<"mk,nk->mn">(product));
}

TEST(GradientFit, OperatorsWithoutATextTakeTheRightNumberOfTensors) {
  constexpr const hp::operator_value &contract = hp::operator_value_of<ops::contract>,
                                     &reduce = hp::operator_value_of<ops::reduce>;
  static_assert(hp::detail::writes_rule(contract, product) && !hp::detail::writes_rule(contract, matrix));
  static_assert(hp::detail::writes_rule(reduce, matrix) && !hp::detail::writes_rule(reduce, product));
}

template <class Backward>
constexpr int unfit(const char* text, bool trusted = false) {
  hp::gradient_writer w(hp::builtin_list);
  w.backward<backward<"*->*">>("g0>0");
  w.backward<Backward>(text);
  return hp::detail::unfit_backward(plain, w, matrix, trusted);
}

TEST(GradientFit, TheFirstThatDoesNotFitIsNamed) {
  static_assert(unfit<backward<"*->*">>("g0>0") == -1);
  static_assert(unfit<backward<"*->*">>("x1>0") == 1 && unfit<backward<"*->*">>("") == 1, "it cannot be read");
  static_assert(unfit<backward<"aB->aB">>("g0>0") == 1 && unfit<backward<"aB->aB">>("g0>0", true) == -1);
  hp::gradient_writer many(hp::builtin_list);
  for (int i = 0; i <= hp::max_gradient_rules; ++i) many.backward<backward<"*->*">>("g0>0");
  EXPECT_EQ(hp::detail::unfit_backward(plain, many, matrix, false), hp::max_gradient_rules);
  hp::gradient_writer by_number(hp::builtin_list);
  by_number.backward(hp::id_of<ops::scale>, "g0>0");
  EXPECT_EQ(hp::detail::unfit_backward(plain, by_number, matrix, false), 0);
}

template <unsigned Operands, unsigned Indices = 0>
constexpr int passing(const char* text, hp::operand_ranks ranks) {
  hp::operator_value value{};
  value.passes_gradient = Operands;
  value.indices = Indices;
  hp::gradient_writer w(hp::builtin_list);
  w.backward<ops::reduce>("g0>1");
  return hp::detail::unfit_backward(value, w, rule_of(text, ranks), true);
}

TEST(GradientFit, TheGradientPassesToOperandsOfTheResultsDimsAlone) {
  static_assert(passing<0b01>("ab,b->ab", {2, {2, 1}}) == -1 && passing<0b11>("ab,ab->ab", {2, {2, 2}}) == -1);
  static_assert(passing<0b10>("ab,b->ab", {2, {2, 1}}) == 1, "a dim is missing");
  static_assert(passing<0b01>("ba,b->ab", {2, {2, 1}}) == 1, "its dims stand in another order");
  static_assert(passing<0b01>("ac,cb->ab", {2, {2, 2}}) == 1, "a dim that is summed over");
  static_assert(passing<0b01, 0b01>("ab,b->ab", {2, {2, 1}}) == 1, "numbers of rows have no gradient");
}

}  // namespace
