// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/model_builder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;
using hp::extent_t;
using hp::graph_code;

std::vector<std::string> tensor_names(const hp::graph& g) {
  std::vector<std::string> names;
  for (int t = 0; t < g.tensor.size; ++t) names.push_back(g.name_of_tensor(t));
  return names;
}

/// y = x + tanh-like(x · w), `count` times.
struct chain {
  hp::extent_t count = 3;
  constexpr int operator()(hp::model_builder& m, int x) const {
    return m.repeat("layers", count, x, [](hp::model_builder& b, int y) {
      const int hidden = b.graph.tensor[y].dim[1];
      const int w = b.scope("linear", [&] { return b.parameter("weight", {hidden, hidden}); });
      return b.sum("residual", y, b.contract("linear", "*k,kn->*n", y, w));
    });
  }
};

TEST(model_builder, a_dim_is_made_once_and_has_one_extent) {
  hp::model_builder m;
  const int a = m.dim("a", 4);
  EXPECT_EQ(m.dim("a", 4), a);
  EXPECT_NE(m.dim("b", 4), a);
  EXPECT_EQ(m.extent_of(a), 4);
  EXPECT_EQ(m.graph.status.code, graph_code::ok);
  EXPECT_EQ(m.dim("a", 5), a);
  EXPECT_EQ(m.graph.status, (hp::graph_status{graph_code::dim_has_two_extents, -1, m.graph.dim[a].name, 0, 0, 5, 4}));
}

TEST(model_builder, tensors_have_the_kind_type_and_dims_they_were_given) {
  hp::model_builder m({.activation = hp::data_type::bf16, .parameter = hp::data_type::f32});
  const int a = m.dim("a", 4), b = m.dim("b", 6);
  const int x = m.input("x", {a, b}), ids = m.index_input("ids", {a}), w = m.parameter("w", {b});
  const int s = m.state("s", hp::data_type::f64, {b}, w);
  const auto& t = m.graph.tensor;
  EXPECT_EQ(t[x].kind, hp::graph_tensor_kind::input);
  EXPECT_EQ(t[x].type, hp::data_type::bf16);
  EXPECT_TRUE(t[x].shape == (hp::shape{4, 6}));
  EXPECT_EQ(t[ids].type, hp::data_type::i32);
  EXPECT_EQ(t[w].kind, hp::graph_tensor_kind::parameter);
  EXPECT_EQ(t[w].type, hp::data_type::f32);
  EXPECT_EQ(t[w].dim[0], b);
  EXPECT_EQ(t[s].kind, hp::graph_tensor_kind::state);
  EXPECT_EQ(t[s].source, w);
  for (const int made : {x, ids, w, s}) EXPECT_EQ(t[made].producer, -1);
  m.parameter("w", {b});
  EXPECT_EQ(m.graph.status.code, graph_code::name_is_used_twice);
}

TEST(model_builder, results_follow_their_loops_and_know_their_producer) {
  hp::model_builder m({.activation = hp::data_type::bf16});
  const int b = m.dim("b", 2), s = m.dim("s", 3), h = m.dim("h", 4), n = m.dim("n", 5);
  const int x = m.input("x", {b, s, h}), w = m.parameter("w", {h, n});
  const int y = m.contract("product", "*k,kn->*n", x, w);
  EXPECT_TRUE(m.graph.tensor[y].shape == (hp::shape{2, 3, 5}));
  EXPECT_EQ(m.graph.tensor[y].dim[2], n);
  EXPECT_EQ(m.graph.op[m.graph.tensor[y].producer].result[0], y);
  EXPECT_EQ(m.graph.tensor[y].type, hp::data_type::bf16);
  const int total = m.apply<hp::ops::reduce>("total", {y}, {.text = "*->"});
  EXPECT_EQ(m.graph.tensor[total].type, hp::data_type::f32) << "sums keep 32 bits";
  const int p = m.input("p", {b, n});
  const int chosen = m.apply<hp::ops::top_k>("choice", {p}, {.created = {{'K', b}}, .created_count = 1});
  EXPECT_EQ(m.graph.tensor[chosen + 1].type, hp::data_type::i32) << "chosen experts are numbers";
  EXPECT_STREQ(m.graph.name_of_tensor(chosen + 1), "choice:1");
}

TEST(model_builder, a_mistake_names_the_operator_and_the_build_goes_on) {
  hp::model_builder m;
  const int a = m.dim("a", 4), b = m.dim("b", 6);
  const int x = m.input("x", {a, b}), w = m.parameter("w", {a, b});
  const int y = m.scope("part", [&] { return m.contract("product", "*k,kn->*n", x, w); });
  EXPECT_EQ(y, -1);
  EXPECT_EQ(m.graph.status.code, graph_code::dim_differs_between_operands);
  EXPECT_STREQ(m.graph.text_at(m.graph.status.op), "part.product");
  EXPECT_STREQ(m.graph.text_at(m.graph.status.tensor), "w");
  EXPECT_EQ(m.graph.status.extent, 4);
  EXPECT_EQ(m.graph.status.other, 6);
  EXPECT_EQ(m.sum("after", x, y), -1);
  EXPECT_EQ(m.graph.status.code, graph_code::dim_differs_between_operands) << "the first one stays";
  hp::model_builder other;
  other.sum("s", 3, 4);
  EXPECT_EQ(other.graph.status.code, graph_code::operand_does_not_exist);
}

TEST(model_builder, indices_and_floats_are_told_apart) {
  const auto code_of = [](bool indices, bool swapped) {
    hp::model_builder m;
    const int rows = m.dim("rows", 4), vocab = m.dim("vocab", 8);
    const int ids = indices ? m.index_input("ids", {rows}) : m.input("ids", {rows});
    const int table = m.parameter("table", {vocab, m.dim("hidden", 2)});
    const int first = swapped ? table : ids, second = swapped ? ids : table;
    const int made = m.apply<hp::ops::embed>("embed", {first, second});
    EXPECT_EQ(made >= 0, m.graph.status.code == graph_code::ok);
    return std::pair(m.graph.status.code, m.graph.status.extent);
  };
  EXPECT_EQ(code_of(true, false).first, graph_code::ok);
  EXPECT_EQ(code_of(false, false), std::pair(graph_code::operand_holds_no_indices, hp::extent_t{0}));
  EXPECT_EQ(code_of(true, true), std::pair(graph_code::operand_holds_no_indices, hp::extent_t{0}));
  hp::model_builder m;
  const int ids = m.index_input("ids", {m.dim("rows", 4)}), x = m.input("x", {m.dim("rows", 4)});
  EXPECT_EQ(m.sum("sum", x, ids), -1);
  EXPECT_EQ(m.graph.status.code, graph_code::operand_holds_indices);
  EXPECT_EQ(m.graph.status.extent, 1);
}

/// x + y, where a pending sum of y is said to become a maximum, of x a sum.
struct sum_and_largest {
  static constexpr const char *name = "sum_and_largest", *text = "*,*->*";
  static constexpr hp::partial_words partials = [] {
    hp::partial_words w = hp::linear_together(0b11u);
    say(w, 1, hp::reduce_op::sum, hp::partial_mode::together, hp::reduce_op::max);
    return w;
  }();
};

TEST(model_builder, operands_that_are_partial_together_say_one_reduction) {
  hp::model_builder m({.operators = hp::operators<sum_and_largest>::list});
  const int rows = m.dim("rows", 4), x = m.input("x", {rows}), y = m.input("y", {rows});
  EXPECT_EQ(m.apply<sum_and_largest>("both", {x, y}), -1);
  EXPECT_EQ(m.graph.status.code, graph_code::words_of_a_group_differ);
  EXPECT_STREQ(m.graph.text_at(m.graph.status.op), "both");
  EXPECT_STREQ(m.graph.text_at(m.graph.status.tensor), "y");
}

TEST(model_builder, folded_and_unrolled_repetitions_have_their_names) {
  for (const bool unrolled : {false, true}) {
    hp::model_builder m({.unrolled = unrolled});
    const int x = m.input("x", {m.dim("b", 2), m.dim("h", 4)});
    const int y = chain{}(m, x);
    EXPECT_EQ(m.graph.status.code, graph_code::ok);
    if (unrolled) {
      EXPECT_EQ(tensor_names(m.graph),
                (std::vector<std::string>{"x", "layers.0.linear.weight", "layers.0.linear", "layers.0.residual",
                                          "layers.1.linear.weight", "layers.1.linear", "layers.1.residual",
                                          "layers.2.linear.weight", "layers.2.linear", "layers.2.residual"}));
      EXPECT_EQ(m.graph.segment.size, 0);
      continue;
    }
    EXPECT_EQ(tensor_names(m.graph),
              (std::vector<std::string>{"x", "layers.0-2.linear.weight", "layers.0-2.linear", "layers.0-2.residual"}));
    ASSERT_EQ(m.graph.segment.size, 1);
    EXPECT_EQ(m.graph.segment[0].repeats, 3);
    EXPECT_EQ(m.graph.segment[0].carried_in, x);
    EXPECT_EQ(m.graph.segment[0].carried_out, y);
    for (const hp::graph_operator& o : m.graph.op) EXPECT_EQ(o.segment, 0);
  }
}

TEST(model_builder, few_repetitions_are_no_segment) {
  for (const hp::extent_t count : {0, 1}) {
    hp::model_builder m;
    const int x = m.input("x", {m.dim("b", 2), m.dim("h", 4)});
    const int y = chain{count}(m, x);
    EXPECT_EQ(m.graph.segment.size, 0);
    EXPECT_EQ(y == x, count == 0);
  }
}

TEST(model_builder, a_period_keeps_the_shape) {
  hp::model_builder m;
  const int b = m.dim("b", 2), h = m.dim("h", 4), n = m.dim("n", 8);
  const int x = m.input("x", {b, h});
  m.repeat("layers", 3, x, [&](hp::model_builder& inner, int y) {
    return inner.contract("wider", "*k,kn->*n", y, inner.parameter("weight", {h, n}));
  });
  EXPECT_EQ(m.graph.status.code, graph_code::carried_tensor_changes_shape);
}

TEST(model_builder, the_loss_is_one_number_and_all_auxiliary_ones) {
  for (const int auxiliary : {0, 1, 7, 8, 20}) {
    hp::model_builder m;
    const int x = m.input("x", {m.dim("b", 2)});
    const auto number = [&](const std::string& name) {
      return m.apply<hp::ops::reduce>(name.c_str(), {x}, {.text = "*->"});
    };
    for (int i = 0; i < auxiliary; ++i) m.auxiliary_loss(number("a" + std::to_string(i)));
    m.loss(number("main"));
    ASSERT_EQ(m.graph.status.code, graph_code::ok);
    // Every number is added exactly once: count what the loss reaches through sums.
    std::vector<int> open{m.graph.loss};
    int leaves = 0;
    while (!open.empty()) {
      const int t = open.back();
      open.pop_back();
      const hp::graph_operator& o = m.graph.op[m.graph.tensor[t].producer];
      if (o.kind != hp::id_of<hp::ops::sum>) ++leaves;
      if (o.kind == hp::id_of<hp::ops::sum>)
        for (int i = 0; i < o.operand_count; ++i) open.push_back(o.operand[i]);
    }
    EXPECT_EQ(leaves, auxiliary + 1);
  }
  hp::model_builder m;
  m.loss(m.input("x", {m.dim("b", 2)}));
  EXPECT_EQ(m.graph.status.code, graph_code::loss_is_not_one_number);
  EXPECT_EQ(m.graph.loss, -1);
}

TEST(model_builder, dims_have_at_least_one_element) {
  for (const hp::extent_t extent : {hp::extent_t{0}, hp::extent_t{-1}, hp::extent_t{-4294967296}}) {
    hp::model_builder m;
    const int wrong = m.dim("batch", extent);
    EXPECT_EQ(m.graph.status.code, graph_code::dim_is_not_positive);
    EXPECT_EQ(m.graph.status.extent, extent);
    EXPECT_STREQ(m.graph.text_at(m.graph.status.tensor), "batch");
    EXPECT_EQ(m.extent_of(wrong), 1) << "what follows can be built";
  }
}

struct small {
  static constexpr void build(hp::model_builder& m) { chain{5}(m, m.input("x", {m.dim("b", 2), m.dim("h", 4)})); }
};
static_assert(hp::parameter_count(hp::build_model<small>()) == 5 * 16);
static_assert(hp::parameter_count(hp::build_model<small>({.unrolled = true})) == 5 * 16);

/// The status of an operator on tensors of 2 rows, with the extents of its columns; "made and there" where they differ.
template <class Operator>
std::string fit_of(const char* text, std::initializer_list<extent_t> columns, extent_t made,
                   std::initializer_list<extent_t> place = {}) {
  hp::model_builder m;
  const int rows = m.dim("rows", 2);
  hp::number_list x;
  for (const extent_t c : columns) {
    const std::string name = "x" + std::to_string(x.count);
    x.item[x.count++] = m.input(name.c_str(), {rows, m.dim((name + "_columns").c_str(), c)});
  }
  hp::operator_options how{.text = text, .created = {{'C', m.dim("made", made)}}, .created_count = 1};
  std::copy(place.begin(), place.end(), how.integer);
  m.apply<Operator>("moved", x, how);
  const hp::graph_status& s = m.graph.status;
  if (s.code != graph_code::created_dim_does_not_fit) return name_of(s.code);
  return std::string(m.graph.text_at(s.op)) + " of " + m.graph.text_at(s.tensor) + ": " + std::to_string(s.extent) +
         " and " + std::to_string(s.other);
}

// Extents of created dims are held against those of the operands where the model is built, not where it runs.
TEST(model_builder, created_dims_fit_the_operands) {
  EXPECT_EQ(fit_of<hp::ops::concat>("bA,bB->bC", {3, 4}, 7), "ok");
  EXPECT_EQ(fit_of<hp::ops::concat>("bA,bB->bC", {3, 4}, 6), "moved of x0: 6 and 7");
  EXPECT_EQ(fit_of<hp::ops::concat>("bA,bB->Cb", {3, 4}, 7), "text_is_malformed");
  EXPECT_EQ(fit_of<hp::ops::slice>("bA->bC", {5}, 2, {3}), "ok");
  EXPECT_EQ(fit_of<hp::ops::slice>("bA->bC", {5}, 3, {3}), "moved of x0: 3 and 2");
  EXPECT_EQ(fit_of<hp::ops::slice>("bA->bC", {5}, 3, {0, 2}), "ok");
  EXPECT_EQ(fit_of<hp::ops::slice>("bA->bC", {5}, 3, {1, 2}), "moved of x0: 3 and 2");
  EXPECT_EQ(fit_of<hp::ops::slice>("bA->bC", {5}, 1, {-1}), "moved of x0: 1 and 0");
  EXPECT_EQ(fit_of<hp::ops::reshape>("BA->C", {5}, 10), "ok");
  EXPECT_EQ(fit_of<hp::ops::reshape>("BA->C", {5}, 12), "moved of x0: 12 and 10");
  EXPECT_EQ(fit_of<hp::ops::reshape>("bA->Cb", {5}, 5), "moved of x0: 5 and 1");
  EXPECT_EQ(fit_of<hp::ops::transpose>("bA->A", {5}, 5), "text_is_malformed");
  EXPECT_EQ(fit_of<hp::ops::top_k>("*A->*C,*C", {5}, 5), "ok");
  EXPECT_EQ(fit_of<hp::ops::top_k>("*A->*C,*C", {5}, 6), "moved of x0: 6 and 5");
  EXPECT_EQ(fit_of<hp::ops::convolution>("cA,cB->C", {9, 3}, 7, {1, 0}), "ok");
  EXPECT_EQ(fit_of<hp::ops::convolution>("cA,cB->C", {9, 3}, 8, {1, 0}), "moved of x0: 8 and 7");
  EXPECT_EQ(fit_of<hp::ops::convolution>("cA,cB->C", {9, 3}, 5, {2, 1}), "ok");
  EXPECT_EQ(fit_of<hp::ops::convolution>("cA,cB->C", {9, 3}, 7, {0, 0}), "moved of x0: 7 and 0");
}

// Rotary positions turn pairs, so they need an even last dim.
TEST(model_builder, rope_turns_pairs) {
  for (const extent_t width : {1, 2, 7, 8}) {
    hp::model_builder m;
    const int x = m.input("x", {m.dim("batch", 2), m.dim("seq", 3), m.dim("heads", 2), m.dim("head_dim", width)});
    m.apply<hp::ops::rope>("turned", {x}, {.integer = {1}, .real = {1e4}});
    const hp::graph_status& s = m.graph.status;
    EXPECT_EQ(s.code, width % 2 == 0 ? graph_code::ok : graph_code::last_dim_is_no_multiple) << width;
    if (width % 2 == 0) continue;
    EXPECT_STREQ(m.graph.text_at(s.op), "turned");
    EXPECT_STREQ(m.graph.text_at(s.tensor), "x");
    EXPECT_EQ(s.extent, width);
    EXPECT_EQ(s.other, 2);
  }
}

}  // namespace
