// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/model/operator_list.hpp>

#include <hyperparallel/model/check_graph.hpp>
#include <hyperparallel/model/gradient.hpp>
#include <hyperparallel/model/model_builder.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

namespace hp = hyperparallel;
using hp::graph_code;

struct plain {  // all that an operator has to have
  static constexpr const char *name = "plain", *text = "*->*";
};
struct back {
  static constexpr const char *name = "back", *text = "*,*->*";
};
struct rich {
  static constexpr const char *name = "rich", *text = "*k,kn->*n";
  static constexpr hp::compute_unit unit = hp::compute_unit::matrix;
  static constexpr int flops_per_point = 7;
  static constexpr hp::partial_words partials = hp::linear_in_each(0b11u);
  static constexpr bool not_differentiable = true;
};
/// An operator whose gradient says `Backward` with the text of `Text`.
template <class Backward, class Text>
struct with_gradient {
  static constexpr const char *name = "with_gradient", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>(Text::text);
  }
};
struct fits {
  static constexpr const char* text = "g0,x0>0";
};
struct second_result {
  static constexpr const char* text = "g1,x0>0";
};
struct second_operand {
  static constexpr const char* text = "g0,x1>0";
};
struct unknown_letter {
  static constexpr const char* text = "g0,z0>0";
};
struct no_gradient {
  static constexpr const char* text = "g0,x0>";
};
struct no_arrow {
  static constexpr const char* text = "g0,x0";
};
struct other_gradient {
  static constexpr const char* text = "g0,x0>1";
};
struct one_operand {
  static constexpr const char* text = "g0>0";
};
struct short_of_one {  // a built-in backward operator that takes two operands
  static constexpr const char *name = "short_of_one", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.backward(hp::model_op::multiply, "g0>0");
  }
};
struct too_many {
  static constexpr const char *name = "too_many", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    for (int i = 0; i <= hp::max_gradient_rules; ++i) b.backward(hp::model_op::scale, "g0>0");
  }
};

TEST(OperatorList, RowsAreWhatTheTypesSay) {
  using list = hp::operators<hp::builtin, plain, rich>;
  static_assert(list::list.count == 2 && hp::operators<>::list.count == 0);
  const hp::operator_row& first = list::list.item[0]->row;
  EXPECT_STREQ(first.name, "plain");
  EXPECT_STREQ(first.text, "*->*");
  EXPECT_EQ(first.flops_per_point, 1);
  EXPECT_TRUE(list::list.item[0]->differentiable);
  EXPECT_EQ(list::list.item[0]->gradient, nullptr);
  const hp::operator_row& second = list::list.item[1]->row;
  EXPECT_EQ(second.unit, hp::compute_unit::matrix);
  EXPECT_EQ(second.flops_per_point, 7);
  EXPECT_EQ(second.partials, hp::linear_in_each(0b11u));
  EXPECT_FALSE(list::list.item[1]->differentiable);
  EXPECT_EQ(list::list.item[0], &hp::own_operator_of<plain>) << "with or without `builtin`, one value an operator";
}

/// The status of a graph whose loss is the sum of `Operator` on a parameter.
template <class Operator, class... Listed>
hp::graph differentiated() {
  hp::model_builder m({.operators = hp::operators<hp::builtin, Listed...>::list});
  const int x = m.parameter("x", {m.dim("batch", 2), m.dim("hidden", 3)});
  m.loss(m.apply(hp::model_op::reduce, "loss", {m.apply<Operator>("act", {x})}, {.text = "*->"}));
  if (m.graph.status.code == graph_code::ok) hp::differentiate(m.graph);
  return m.graph;
}
template <class Text>
graph_code code_with() {
  using op = with_gradient<back, Text>;
  return differentiated<op, op, back>().status.code;
}

TEST(OperatorList, AGradientIsMadeOfTheBackwardOperatorsThatItNames) {
  using op = with_gradient<back, fits>;
  const hp::graph g = differentiated<op, op, back>();
  ASSERT_EQ(g.status.code, graph_code::ok);
  EXPECT_EQ(hp::check_graph(g), hp::graph_status{});
  const hp::graph_operator& last = g.op[g.op.size - 1];
  EXPECT_STREQ(g.row_of(last).name, "back");
  EXPECT_STREQ(g.rule_of(last).name.text, "back");
  EXPECT_EQ(last.operand_count, 2);
  EXPECT_EQ(last.operand[1], hp::find_tensor(g, "x"));
  EXPECT_EQ(last.result[0], hp::gradient_of(g, hp::find_tensor(g, "x")));
}

TEST(OperatorList, GradientsThatDoNotFitAreRefused) {
  EXPECT_EQ(code_with<fits>(), graph_code::ok);
  EXPECT_EQ(code_with<second_result>(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<second_operand>(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<unknown_letter>(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<no_gradient>(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<no_arrow>(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<other_gradient>(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<one_operand>(), graph_code::gradient_does_not_fit_its_operator) << "`back` has two operands";
  EXPECT_EQ((differentiated<short_of_one, short_of_one>().status.code), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ((differentiated<too_many, too_many>().status.code), graph_code::gradient_does_not_fit_its_operator);
}

TEST(OperatorList, WhatHasNoGradientIsRefusedWhereOneReachesIt) {
  const hp::graph g = differentiated<plain, plain>();
  EXPECT_EQ(g.status.code, graph_code::operator_has_no_gradient);
  EXPECT_STREQ(g.text_at(g.status.op), "act");
}

TEST(OperatorList, WhatIsNotInTheListIsRefused) {
  const hp::graph g = differentiated<plain, back>();
  EXPECT_EQ(g.status.code, graph_code::operator_is_not_in_the_list);
  EXPECT_STREQ(g.text_at(g.status.op), "act");
  using op = with_gradient<back, fits>;  // its backward operator is not listed
  EXPECT_EQ((differentiated<op, op>().status.code), graph_code::operator_is_not_in_the_list);
}

constexpr graph_code in_the_compiler() {
  using op = with_gradient<back, fits>;
  hp::model_builder m({.operators = hp::operators<hp::builtin, op, back>::list});
  const int x = m.parameter("x", {m.dim("batch", 2), m.dim("hidden", 3)});
  m.loss(m.apply(hp::model_op::reduce, "loss", {m.apply<op>("act", {x})}, {.text = "*->"}));
  hp::differentiate(m.graph);
  return hp::check_graph(m.graph).code;
}
static_assert(in_the_compiler() == graph_code::ok);

}  // namespace
