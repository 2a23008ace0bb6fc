// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/gradient_statement.hpp>

#include <gtest/gtest.h>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>

#include <set>
#include <string>

namespace {

namespace hp = hyperparallel;
namespace ops = hp::ops;
using hp::gradient_statement;
using hp::operator_id;

const hp::operator_value& value(int i) { return hp::builtin_list[static_cast<operator_id>(i)]; }

// A model can differentiate a built-in operator, or the operator says that it cannot.
/// Whether the gradient of some operator of the list names `op` as a backward operator. O(operators).
constexpr bool is_backward_operator(const hp::operator_list& operators, hp::operator_id op) {
  for (int i = 0; i < operators.count; ++i) {
    hp::gradient_writer w(operators, hp::max_operands);
    operators[static_cast<hp::operator_id>(i)].gradient(w);
    for (int n = 0; n < w.count && n < hp::max_gradient_rules; ++n)
      if (w.rule[n].backward == op) return true;
  }
  return false;
}

TEST(GradientStatement, EveryForwardOperatorSaysOne) {
  std::set<std::string> refused, constant, other;
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const gradient_statement s = hp::gradient_statement_of(value(i));
    const bool backward = is_backward_operator(hp::builtin_list, static_cast<operator_id>(i));
    EXPECT_TRUE(s != gradient_statement::nothing || backward) << value(i).name;
    if (s == gradient_statement::refused) refused.insert(value(i).name);
    if (s == gradient_statement::constant) constant.insert(value(i).name);
    if (s == gradient_statement::passes_on || s == gradient_statement::of_the_loss) other.insert(value(i).name);
    EXPECT_EQ(hp::is_differentiable(value(i)),
              s == gradient_statement::backward_operators || other.count(value(i).name) == 1);
  }
  EXPECT_EQ(refused, (std::set<std::string>{"exp_sum", "pick", "cross_entropy_gradient", "attention_block",
                                            "attention_merge", "attention_block_gradient", "accumulate", "clip_factor",
                                            "sgd", "sgd_master", "adamw", "adamw_master", "muon", "muon_master"}));
  EXPECT_EQ(constant, (std::set<std::string>{"count_experts", "update_bias", "fill"}));
  EXPECT_EQ(other, (std::set<std::string>{"sum", "shift", "token_loss"}));
}

struct silent {
  static constexpr const char *name = "silent", *text = "*->*";
};
TEST(GradientStatement, OfAUsersOperator) {
  EXPECT_EQ(hp::gradient_statement_of(hp::operator_value_of<silent>), gradient_statement::nothing);
  EXPECT_FALSE(hp::is_differentiable(hp::operator_value_of<silent>));
  EXPECT_STREQ(name_of(gradient_statement::of_the_loss), "of_the_loss");
  EXPECT_TRUE(is_backward_operator(hp::builtin_list, hp::id_of<ops::split>));
  EXPECT_FALSE(is_backward_operator(hp::builtin_list, hp::id_of<ops::concat>));
}

/// The code of a graph whose loss is a clip factor of a parameter's sum of squares, or that sum itself.
hp::graph_code code_of(bool clipped) {
  hp::model_builder m;
  int loss = m.apply<ops::sum_of_squares>("norm", {m.parameter("p", {m.dim("width", 3)})});
  if (clipped) loss = m.apply<ops::clip_factor>("clip", {loss}, {.real = {1.0}});
  m.loss(loss);
  hp::differentiate(m.graph);
  return m.graph.status.code;
}

// What says that it is refused is refused; a sum of squares may be a penalty of a loss.
TEST(GradientStatement, IsWhatDifferentiationDoes) {
  EXPECT_EQ(code_of(true), hp::graph_code::operator_has_no_gradient);
  EXPECT_EQ(code_of(false), hp::graph_code::ok);
}

}  // namespace
