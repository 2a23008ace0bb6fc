// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/operators/operator_list.hpp>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>

#include <gtest/gtest.h>

#include <set>
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
  static constexpr unsigned indices = 0b10, gathered = 0b1, statistics = 0b1;
  static constexpr char index_below = 'k';
  static constexpr bool index_or_negative = true;
  static constexpr hp::extent_t flops(const hp::local_work& w) { return 3 * w.points; }
};
/// An operator whose gradient says `Backward` with the text.
template <class Backward, hp::fixed_string Text>
struct with_gradient {
  static constexpr const char *name = "with_gradient", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<Backward>(Text.text);
  }
};
struct short_of_one {  // a built-in backward operator that takes two operands
  static constexpr const char *name = "short_of_one", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<hp::ops::multiply>("g0>0");
  }
};
struct too_many {
  static constexpr const char *name = "too_many", *text = "*->*";
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    for (int i = 0; i <= hp::max_gradient_rules; ++i) b.template backward<hp::ops::scale>("g0>0");
  }
};

TEST(OperatorList, ValuesAreWhatTheTypesSay) {
  using list = hp::operators<hp::builtin, plain, rich>;
  static_assert(list::list.count == hp::builtin_operator_count + 2);
  static_assert(hp::operators<>::list.count == hp::builtin_operator_count);
  const hp::operator_value& first = list::list[list::list.id_of(hp::operator_value_of<plain>)];
  EXPECT_STREQ(first.name, "plain");
  EXPECT_STREQ(first.text, "*->*");
  EXPECT_EQ(first.flops_per_point, 1);
  EXPECT_EQ(first.constant, 0u);
  EXPECT_FALSE(first.has_flops);
  hp::gradient_writer none(list::list);
  first.gradient(none);
  EXPECT_EQ(none.count, 0);
  EXPECT_TRUE(first.has_gradient_for(hp::factor_rule{}));
  const hp::operator_value& second = list::list[list::list.id_of(hp::operator_value_of<rich>)];
  EXPECT_EQ(second.unit, hp::compute_unit::matrix);
  EXPECT_EQ(second.flops_per_point, 7);
  EXPECT_EQ(second.partials, hp::linear_in_each(0b11u));
  EXPECT_EQ(second.constant, ~0u);
  EXPECT_EQ(second.indices, 0b10u);
  EXPECT_EQ(second.index_below, 'k');
  EXPECT_TRUE(second.index_or_negative);
  EXPECT_EQ(second.gathered, 1u);
  EXPECT_EQ(second.statistics, 1u);
  ASSERT_TRUE(second.has_flops);
  EXPECT_EQ(second.flops(hp::local_work{.points = 5}), 15);
  EXPECT_FALSE(list::list.has(list::list.id_of(hp::operator_value_of<back>)));
}

namespace elsewhere {
struct plain {
  static constexpr const char *name = "plain", *text = "*->*";
};
}  // namespace elsewhere

// Types of one name in two namespaces are two operators.
TEST(OperatorList, KeysAreOfTypes) {
  std::set<std::uint64_t> keys{hp::operator_value_of<plain>.key, hp::operator_value_of<elsewhere::plain>.key};
  EXPECT_EQ(keys.size(), 2u);
  for (int i = 0; i < hp::builtin_operator_count; ++i)
    keys.insert(hp::builtin_list[static_cast<hp::operator_id>(i)].key);
  EXPECT_EQ(static_cast<int>(keys.size()), hp::builtin_operator_count + 2);
}

// Every list begins with the built-in operators, each under its own number.
TEST(OperatorList, BuiltInOperatorsComeFirst) {
  using list = hp::operators<hp::builtin, plain>;
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const hp::operator_id op = static_cast<hp::operator_id>(i);
    EXPECT_TRUE(hp::detail::is_builtin(op));
    EXPECT_EQ(&list::list[op], &hp::builtin_list[op]);
  }
  EXPECT_STREQ(hp::builtin_list[hp::id_of<hp::ops::contract>].name, "contract");
  EXPECT_STREQ(hp::builtin_list[hp::id_of<hp::ops::update_bias>].name, "update_bias");
  EXPECT_FALSE(hp::detail::is_builtin(list::list.id_of(hp::operator_value_of<plain>)));
}

struct text_counts {
  int operands = 0, results = 0;
  bool letters_only = true, has_arrow = false;
};

text_counts count(const std::string& text) {
  text_counts c;
  const std::size_t arrow = text.find("->");
  c.has_arrow = arrow != std::string::npos;
  if (!c.has_arrow) return c;
  const auto parts = [](const std::string& side) {
    int n = 1;
    for (const char x : side) n += x == ',';
    return n;
  };
  c.operands = parts(text.substr(0, arrow));
  c.results = parts(text.substr(arrow + 2));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char x = text[i];
    const bool letter = (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z');
    const bool of_arrow = i == arrow || i == arrow + 1;
    c.letters_only = c.letters_only && (letter || x == '*' || x == ',' || of_arrow);
  }
  return c;
}

TEST(OperatorList, BuiltInOperatorsHaveNamesOfTheirOwnAndWellFormedTexts) {
  std::set<std::string> names;
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const hp::operator_value& row = hp::builtin_list[static_cast<hp::operator_id>(i)];
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_GE(row.flops_per_point, 0);
    const std::string text = row.text;
    if (text.empty()) continue;
    const text_counts c = count(text);
    EXPECT_TRUE(c.has_arrow && c.letters_only) << row.name;
    EXPECT_LE(c.operands, hp::max_operands) << row.name;
    EXPECT_LE(c.results, hp::max_results) << row.name;
    std::set<char> letters;
    for (const char x : text)
      if (x >= 'A' && x <= 'z') letters.insert(x);
    EXPECT_LE(static_cast<int>(letters.size()), hp::max_factors) << row.name;
  }
}

/// Of these words those of sums and averages.
hp::partial_words of_sums(const hp::partial_words& w) {
  hp::partial_words sums = hp::refuse_partials();
  for (int o = 0; o < hp::max_operands; ++o)
    for (const hp::reduce_op op : {hp::reduce_op::sum, hp::reduce_op::avg})
      if (const hp::detail::partial_word word = hp::detail::word_of(w, o, op); word != hp::detail::partial_word{})
        hp::say(sums, o, op, word.mode, word.out);
  return sums;
}

// What takes terms is linear in them: sums, factors, accumulators in all operands alike, routing in its rows alone.
TEST(OperatorList, OnlyLinearBuiltInOperatorsTakeTerms) {
  std::set<std::string> pass, linear;
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const hp::operator_value& row = hp::builtin_list[static_cast<hp::operator_id>(i)];
    unsigned alone = 0;
    for (int o = 0; o < hp::max_operands; ++o)
      if (hp::detail::word_of(row.partials, o, hp::reduce_op::sum).mode == hp::partial_mode::each) alone |= 1u << o;
    if (of_sums(row.partials) == hp::linear_together(~0u)) pass.insert(row.name);
    if (alone == 0) continue;
    linear.insert(row.name);
    EXPECT_EQ(of_sums(row.partials), hp::linear_in_each(alone)) << row.name;
    EXPECT_EQ(alone & (alone - 1), 0u) << row.name << ": of several terms at once none is linear";
    EXPECT_LT(alone, 1u << (row.text[0] == '\0' ? 1 : count(row.text).operands)) << row.name;
  }
  EXPECT_EQ(pass, (std::set<std::string>{"sum", "scale", "accumulate", "add_bias", "negate", "subtract", "concat"}));
  EXPECT_EQ(linear,
            (std::set<std::string>{"dispatch", "undispatch", "combine", "dispatch_weighted", "combine_weight_gradient",
                                   "dropout", "divide", "divide_gradient", "mean", "mean_gradient", "transpose",
                                   "reshape", "split", "slice", "slice_gradient"}));
}

template <class Trait>
std::set<std::string> names_with(const Trait& has) {
  std::set<std::string> names;
  for (int i = 0; i < hp::builtin_operator_count; ++i)
    if (const hp::operator_value& o = hp::builtin_list[static_cast<hp::operator_id>(i)]; has(o)) names.insert(o.name);
  return names;
}

// What passes ask of an operator, they ask by its traits: these built-in operators have them.
TEST(OperatorList, BuiltInOperatorsHaveTheTraitsThatPassesRead) {
  using value = hp::operator_value;
  using set = std::set<std::string>;
  EXPECT_EQ(names_with([](const value& o) { return o.adds; }), set{"sum"});
  EXPECT_EQ(names_with([](const value& o) { return o.adds_bias; }), set{"add_bias"});
  EXPECT_EQ(names_with([](const value& o) { return o.accumulates; }), set{"accumulate"});
  EXPECT_EQ(names_with([](const value& o) { return o.gathered != 0; }), set{"embed"});
  EXPECT_EQ(names_with([](const value& o) { return o.is_norm_term; }), set{"sum_of_squares"});
  EXPECT_EQ(names_with([](const value& o) { return o.balanced_by == 1; }), set{"biased_top_k"});
  EXPECT_EQ(names_with([](const value& o) { return o.counts_choices; }), set{"count_experts"});
  EXPECT_EQ(names_with([](const value& o) { return o.states.moments == 1; }),
            (set{"sgd", "sgd_master", "muon", "muon_master"}));
  EXPECT_EQ(names_with([](const value& o) { return o.states.moments == 2; }), (set{"adamw", "adamw_master"}));
  EXPECT_EQ(names_with([](const value& o) { return o.states.has_master(); }),
            (set{"sgd_master", "adamw_master", "muon_master"}));
  EXPECT_EQ(names_with([](const value& o) { return o.ring.exist(); }), (set{"attention", "attention_gradient"}));
  EXPECT_EQ(names_with([](const value& o) { return o.logits.exist(); }), set{"token_loss"});
}

// Updates have a result for the parameter and one for each state, behind operands parameter and gradient and before the
// clip factor; a master stands before the moments.
TEST(OperatorList, UpdatesHaveTheStatesThatTheySay) {
  for (int i = 0; i < hp::builtin_operator_count; ++i) {
    const hp::operator_value& o = hp::builtin_list[static_cast<hp::operator_id>(i)];
    if (!o.states.exist()) continue;
    const int states = o.states.moments + (o.states.has_master() ? 1 : 0);
    EXPECT_TRUE(!o.states.has_master() || o.states.master == 2) << o.name;
    if (o.text[0] == '\0') continue;  // its instances say it
    EXPECT_EQ(count(o.text).operands, states + 3) << o.name;
    EXPECT_EQ(count(o.text).results, states + 1) << o.name;
  }
}

// What an operator names is found in every list that has it, by the key of its type.
TEST(OperatorList, OperatorsNameTheirCounterparts) {
  const auto named = [](std::uint64_t key) { return hp::builtin_list[hp::builtin_list.id_of_key(key)].name; };
  const hp::ring_operators forward = hp::operator_value_of<hp::ops::attention>.ring,
                           backward = hp::operator_value_of<hp::ops::attention_gradient>.ring;
  EXPECT_STREQ(named(forward.block), "attention_block");
  EXPECT_STREQ(named(forward.merge), "attention_merge");
  EXPECT_STREQ(named(backward.block), "attention_block_gradient");
  EXPECT_EQ(backward.merge, 0u) << "gradients are added";
  const hp::logits_operators loss = hp::operator_value_of<hp::ops::token_loss>.logits;
  EXPECT_STREQ(named(loss.largest), "reduce");
  EXPECT_STREQ(named(loss.exponentials), "exp_sum");
  EXPECT_STREQ(named(loss.picked), "pick");
  EXPECT_STREQ(named(loss.gradient), "cross_entropy_gradient");
  EXPECT_FALSE(hp::builtin_list.has(hp::builtin_list.id_of_key(0)));
}

struct own_loss_gradient {
  static constexpr const char *name = "own_loss_gradient", *text = "*,*v,*,*,*->*v";
  static constexpr unsigned indices = 0b10000;
  static constexpr char index_below = 'v';
};
struct own_loss {
  static constexpr const char *name = "own_loss", *text = "*,*,*,*->*";
  static constexpr unsigned indices = 0b1000;
  using largest = hp::ops::reduce;
  using exponentials = hp::ops::exp_sum;
  using picked = hp::ops::pick;
  using logits_gradient = own_loss_gradient;
};

/// A graph whose loss is an own one of logits in parts.
template <class... Listed>
hp::graph with_own_loss() {
  hp::model_builder m({.operators = hp::operators<hp::builtin, own_loss, Listed...>::list});
  const int rows = m.dim("batch", 2), x = m.parameter("x", {rows, m.dim("vocab", 3)});
  const int label = m.index_input("label", {rows});
  const int most = m.apply<hp::ops::reduce>("max", {x}, {.text = "*v->*", .reduction = hp::reduce_op::max});
  const int total = m.apply<hp::ops::exp_sum>("exp_sum", {x, most}),
            picked = m.apply<hp::ops::pick>("picked", {x, label});
  m.loss(
      m.apply<hp::ops::reduce>("loss", {m.apply<own_loss>("losses", {most, total, picked, label})}, {.text = "*->"}));
  hp::differentiate(m.graph);
  return m.graph;
}

TEST(OperatorList, AnOwnLossOfLogitsNamesItsGradient) {
  const hp::graph g = with_own_loss<own_loss_gradient>();
  ASSERT_EQ(g.status.code, graph_code::ok);
  EXPECT_EQ(hp::check_graph(g), hp::graph_status{});
  EXPECT_STREQ(g.value_of(g.op[g.op.size - 1]).name, "own_loss_gradient");
  EXPECT_EQ(with_own_loss<>().status.code, graph_code::operator_has_no_gradient) << "its gradient is not listed";
}

/// The status of a graph whose loss is the sum of `Operator` on a parameter.
template <class Operator, class... Listed>
hp::graph differentiated() {
  hp::model_builder m({.operators = hp::operators<hp::builtin, Listed...>::list});
  const int x = m.parameter("x", {m.dim("batch", 2), m.dim("hidden", 3)});
  m.loss(m.apply<hp::ops::reduce>("loss", {m.apply<Operator>("act", {x})}, {.text = "*->"}));
  if (m.graph.status.code == graph_code::ok) hp::differentiate(m.graph);
  return m.graph;
}
template <hp::fixed_string Text>
graph_code code_with() {
  using op = with_gradient<back, Text>;
  return differentiated<op, op, back>().status.code;
}

TEST(OperatorList, AGradientIsMadeOfTheBackwardOperatorsThatItNames) {
  using op = with_gradient<back, "g0,x0>0">;
  const hp::graph g = differentiated<op, op, back>();
  ASSERT_EQ(g.status.code, graph_code::ok);
  EXPECT_EQ(hp::check_graph(g), hp::graph_status{});
  const hp::graph_operator& last = g.op[g.op.size - 1];
  EXPECT_STREQ(g.value_of(last).name, "back");
  EXPECT_STREQ(g.rule_of(last).name.text, "back");
  EXPECT_EQ(last.operand_count, 2);
  EXPECT_EQ(last.operand[1], hp::find_tensor(g, "x"));
  EXPECT_EQ(last.result[0], hp::gradient_of(g, hp::find_tensor(g, "x")));
}

TEST(OperatorList, GradientsThatDoNotFitAreRefused) {
  EXPECT_EQ(code_with<"g0,x0>0">(), graph_code::ok);
  EXPECT_EQ(code_with<"g1,x0>0">(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<"g0,x1>0">(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<"g0,z0>0">(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<"g0,x0>">(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<"g0,x0">(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<"g0,x0>1">(), graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(code_with<"g0>0">(), graph_code::gradient_does_not_fit_its_operator) << "`back` has two operands";
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
  using op = with_gradient<back, "g0,x0>0">;  // its backward operator is not listed
  EXPECT_EQ((differentiated<op, op>().status.code), graph_code::operator_is_not_in_the_list);
}

constexpr graph_code in_the_compiler() {
  using op = with_gradient<back, "g0,x0>0">;
  hp::model_builder m({.operators = hp::operators<hp::builtin, op, back>::list});
  const int x = m.parameter("x", {m.dim("batch", 2), m.dim("hidden", 3)});
  m.loss(m.apply<hp::ops::reduce>("loss", {m.apply<op>("act", {x})}, {.text = "*->"}));
  hp::differentiate(m.graph);
  return hp::check_graph(m.graph).code;
}
static_assert(in_the_compiler() == graph_code::ok);

}  // namespace
