// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/gradient.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/sharding_plan.hpp>

#include <support/tries.hpp>

#include "models/graph_reference.hpp"
#include "models/language_model.hpp"
#include "models/random_graph.hpp"

namespace {

using namespace hyperparallel;

using test::graph_evaluator;
using test::random_model;

/// Every parameter that the loss depends on has one gradient; it is of its shape and type, and named after it.
void expect_structure(const graph& g) {
  ASSERT_EQ(g.status.code, graph_code::ok) << name_of(g.status.code);
  const graph_status s = check_graph(g);
  ASSERT_EQ(s.code, graph_code::ok) << name_of(s.code) << " " << (s.op >= 0 ? g.text_at(s.op) : "");
  std::map<std::string, int> names;
  for (int t = 0; t < g.tensor.size; ++t) {
    const graph_tensor& whole = g.tensor[t];
    ASSERT_GE(whole.name, 0);
    if (whole.kind != graph_tensor_kind::gradient) continue;
    EXPECT_EQ(++names[g.name_of_tensor(t)], 1) << g.name_of_tensor(t);
    EXPECT_TRUE(whole.shape == g.tensor[whole.source].shape);
    EXPECT_EQ(whole.type, g.tensor[whole.source].type);
    EXPECT_TRUE(hyperparallel::detail::name_matches("gradient(*)*", g.name_of_tensor(t)));
  }
  for (int t = 0; t < g.tensor.size; ++t) {
    const int d = gradient_of(g, t);
    EXPECT_TRUE(d < 0 || g.tensor[d].shape == g.tensor[t].shape) << g.name_of_tensor(t);
  }
}

/// The gradient of each parameter along a random direction against a central difference; -1 where it has none: the loss
/// must then not change.
void expect_gradients(const graph& g, unsigned seed) {
  std::mt19937 random(seed);
  graph_evaluator e(g);
  test::randomise(e, g, random);
  e.run(graph_phase::forward, graph_phase::backward);
  for (int p = 0; p < g.tensor.size; ++p) {
    if (g.tensor[p].kind != graph_tensor_kind::parameter) continue;
    const std::vector<double> at = e.of(p);
    std::vector<double> direction(at.size());
    double slope = 0.0, size = 1.0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      direction[i] = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
      if (gradient_of(g, p) < 0) continue;
      const double d = e.of(gradient_of(g, p))[i];
      slope += direction[i] * d;
      size = std::max(size, std::abs(d));
    }
    constexpr double step = 1e-4;
    double loss[4] = {};
    graph_evaluator moved = e;
    for (int side = 0; side < 4; ++side) {
      const double by = step * (side < 2 ? 1.0 : 2.0) * (side % 2 == 0 ? 1.0 : -1.0);
      for (std::size_t i = 0; i < at.size(); ++i) moved.of(p)[i] = at[i] + by * direction[i];
      moved.run(graph_phase::forward, graph_phase::forward);
      loss[side] = moved.loss();
    }
    const double difference = (8.0 * (loss[0] - loss[1]) - (loss[2] - loss[3])) / (12.0 * step);
    const double rounding = 1e-11 * std::abs(loss[0]);
    EXPECT_NEAR(slope, difference, 1e-7 * size + rounding) << g.name_of_tensor(p) << " seed " << seed;
  }
}

TEST(gradient, equals_finite_differences_on_random_graphs) {
  const unsigned seeds = static_cast<unsigned>(tested::tries(200, 4000));
  std::map<operator_id, int> met;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    random_model r(seed);
    graph g = r.build(1 + static_cast<int>(seed % 12));
    differentiate(g);
    expect_structure(g);
    expect_gradients(g, seed);
    for (const graph_operator& o : g.op)
      if (o.phase == graph_phase::backward) ++met[o.kind];
    if (HasFailure()) return;
  }
  for (const operator_id kind :
       {id_of<ops::contract>, id_of<ops::reduce>, id_of<ops::broadcast>, id_of<ops::sum>, id_of<ops::scale>,
        id_of<ops::multiply>, id_of<ops::silu_gradient>, id_of<ops::swiglu_gradient>, id_of<ops::rms_norm_gradient>,
        id_of<ops::softmax_gradient>, id_of<ops::sigmoid_gradient>})
    EXPECT_GT(met[kind], 10) << name_of(kind);
}

/// An operator that says that the gradient of its result is that of operand 1 as well, whose dims are others.
struct passes_too_much {
  static constexpr const char *name = "passes_too_much", *text = "*h,h->*h";
  static constexpr unsigned passes_gradient = 0b11;
};
TEST(gradient, passes_to_operands_of_the_results_dims_alone) {
  const auto loss_of = [](auto type, const operator_options& how) {
    model_builder m({.operators = operators<builtin, passes_too_much>::list});
    const int rows = m.dim("rows", 2), width = m.dim("width", 3);
    const int x = m.parameter("x", {rows, width}), bias = m.parameter("bias", {width});
    const int y = m.apply<typename decltype(type)::type>("y", {x, bias}, how);
    m.loss(m.apply<ops::reduce>("loss", {y}, {.text = "*->"}));
    differentiate(m.graph);
    return m.graph;
  };
  const graph biased = loss_of(std::type_identity<ops::add_bias>{}, {});
  EXPECT_EQ(biased.status.code, graph_code::ok);
  EXPECT_EQ(gradient_of(biased, find_tensor(biased, "x")), gradient_of(biased, find_tensor(biased, "y")));
  EXPECT_EQ(loss_of(std::type_identity<passes_too_much>{}, {}).status.code,
            graph_code::gradient_does_not_fit_its_operator);
  EXPECT_EQ(loss_of(std::type_identity<ops::sum>{}, {.text = "*h,h->*h"}).status.code,
            graph_code::gradient_does_not_fit_its_operator)
      << "sum is of tensors of one shape";
}

/// A table, a norm, and the cross entropy of a head; a label that is negative counts nothing.
graph small_language_model() {
  model_builder m({.activation = data_type::f64, .parameter = data_type::f64});
  programs::language_model(m, {2, 3, 5, 4}, swiglu_layer{.width = 3});
  return m.graph;
}

TEST(gradient, of_the_cross_entropy_goes_straight_to_the_logits) {
  graph g = small_language_model();
  differentiate(g);
  expect_structure(g);
  std::mt19937 random(1);
  graph_evaluator e(g);
  test::randomise(e, g, random);
  e.of(find_tensor(g, "tokens")) = {0, 3, 1, 4, 3, 3};
  e.of(find_tensor(g, "labels")) = {2, -1, 0, 4, 1, 1};
  e.run(graph_phase::forward, graph_phase::backward);
  for (const char* name : {"embedding.weight", "feed_forward.up.weight", "head.logits.weight", "head.norm.weight"}) {
    const int p = find_tensor(g, name);
    ASSERT_GE(p, 0);
    for (std::size_t i = 0; i < e.of(p).size(); ++i) {
      graph_evaluator moved = e;
      double loss[2] = {};
      for (int side = 0; side < 2; ++side) {
        moved.of(p)[i] = e.of(p)[i] + (side == 0 ? 1e-5 : -1e-5);
        moved.run(graph_phase::forward, graph_phase::forward);
        loss[side] = moved.loss();
      }
      EXPECT_NEAR(e.of(gradient_of(g, p))[i], (loss[0] - loss[1]) / 2e-5, 1e-7) << name << " " << i;
    }
  }
  const int logits = find_tensor(g, "head.logits");
  EXPECT_EQ(g.op[g.tensor[gradient_of(g, logits)].producer].kind, id_of<ops::cross_entropy_gradient>);
  for (const char* name : {"head.max", "head.exp_sum", "head.picked"})
    EXPECT_LT(gradient_of(g, find_tensor(g, name)), 0) << name;
}

struct decoder {
  static constexpr int layers(model_builder& m, int x) {
    const int y = m.repeat("layers", 5, x, [](model_builder& layer, int z) {
      return transformer_block<attention_layer, mixture_of_experts>{
          .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 8, .rope_base = 1e4, .query_key_norm = true},
          .feed_forward = {.experts = 4,
                           .top_k = 2,
                           .width = 16,
                           .shared_width = 16,
                           .scores = expert_scores::sigmoid,
                           .balance_scale = 0.1}}(layer, z);
    });
    return m.repeat("tail", 3, y, [](model_builder& layer, int z) {
      return transformer_block<latent_attention_layer, swiglu_layer>{
          .attention = {.heads = 2, .head_dim = 8, .rope_dim = 4, .value_dim = 8, .query_rank = 6, .key_value_rank = 6},
          .feed_forward = {.width = 16}}(layer, z);
    });
  }
  static constexpr void build(model_builder& m) { programs::language_model(m, {4, 8, 64, 32}, layers); }
};

/// How often each operator runs in each phase, and over how many points.
std::map<std::pair<int, int>, std::pair<extent_t, extent_t>> account(const graph& g) {
  std::map<std::pair<int, int>, std::pair<extent_t, extent_t>> r;
  for (const graph_operator& o : g.op) {
    extent_t points = 1;
    for (int l = 0; l < o.loop_count; ++l) points *= o.loop[l].extent;
    auto& entry = r[{static_cast<int>(o.phase), static_cast<int>(o.kind)}];
    entry.first += hyperparallel::detail::repeats_of(g, o.segment);
    entry.second += hyperparallel::detail::repeats_of(g, o.segment) * points;
  }
  return r;
}

TEST(gradient, of_a_folded_model_runs_the_operators_of_the_unrolled_one) {
  graph folded = build_model<decoder>(), unrolled = build_model<decoder>({.unrolled = true});
  differentiate(folded);
  differentiate(unrolled);
  expect_structure(folded);
  expect_structure(unrolled);
  EXPECT_EQ(account(folded), account(unrolled));
  EXPECT_EQ(folded.segment.size, 2);
  for (const graph_segment& s : folded.segment) {
    ASSERT_GE(s.gradient_in, 0);
    ASSERT_GE(s.gradient_out, 0);
    EXPECT_EQ(s.gradient_in, gradient_of(folded, s.carried_out));
    EXPECT_TRUE(folded.tensor[s.gradient_in].shape == folded.tensor[s.gradient_out].shape);
  }
  EXPECT_EQ(folded.segment[0].gradient_in, folded.segment[1].gradient_out);
  for (const graph& g : {folded, unrolled})
    for (int t = 0; t < g.tensor.size; ++t)
      if (g.tensor[t].kind == graph_tensor_kind::parameter) {
        ASSERT_GE(gradient_of(g, t), 0) << g.name_of_tensor(t);
        EXPECT_EQ(g.tensor[gradient_of(g, t)].source, t);
        EXPECT_EQ(g.tensor[gradient_of(g, t)].segment, g.tensor[t].segment);
      }
}

TEST(gradient, backward_operators_of_segments_stand_in_reverse) {
  graph g = build_model<decoder>();
  differentiate(g);
  std::vector<int> runs;
  for (const graph_operator& o : g.op)
    if (runs.empty() || runs.back() != o.segment) runs.push_back(o.segment);
  EXPECT_EQ(runs, (std::vector<int>{-1, 0, 1, -1, 1, 0, -1}));
}

TEST(gradient, is_summed_in_operators_of_at_most_eight) {
  model_builder m;
  const int h = m.dim("hidden", 3), w = m.parameter("w", {h});
  int total = -1;
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    const int t = m.apply<ops::silu>(("a" + n).c_str(), {w});
    const int one = m.apply<ops::reduce>(("b" + n).c_str(), {t}, {.text = "h->"});
    total = total < 0 ? one : m.sum(("c" + n).c_str(), total, one);
  }
  m.loss(total);
  differentiate(m.graph);
  expect_structure(m.graph);
  std::vector<int> operands;
  for (const graph_operator& o : m.graph.op)
    if (o.kind == id_of<ops::sum> && o.phase == graph_phase::backward) operands.push_back(o.operand_count);
  EXPECT_EQ(operands, (std::vector<int>{8, 8, 6}));
  EXPECT_STREQ(m.graph.name_of_tensor(gradient_of(m.graph, w)), "gradient(w)");
  EXPECT_EQ(m.graph.tensor[gradient_of(m.graph, w)].producer, m.graph.op.size - 1);
}

TEST(gradient, is_scaled_by_the_number_of_micro_batches) {
  graph g = small_language_model();
  g.micro_batches = 4;
  differentiate(g);
  EXPECT_EQ(g.op[g.tensor[gradient_of(g, g.loss)].producer].real[0], 0.25);
}

TEST(gradient, reaches_only_what_depends_on_parameters) {
  model_builder m;
  const int h = m.dim("hidden", 3), x = m.input("x", {h}), w = m.parameter("w", {h}), unused = m.parameter("u", {h});
  const int frozen = m.apply<ops::silu>("frozen", {x});
  const int y = m.apply<ops::multiply>("y", {frozen, w});
  m.apply<ops::silu>("leads_nowhere", {unused});
  m.loss(m.apply<ops::reduce>("loss", {y}, {.text = "h->"}));
  differentiate(m.graph);
  expect_structure(m.graph);
  EXPECT_GE(gradient_of(m.graph, w), 0);
  for (const int t : {x, frozen, unused}) EXPECT_LT(gradient_of(m.graph, t), 0);
  EXPECT_EQ(m.graph.op.size, 4 + 3);  // fill, broadcast, multiply
}

struct halves_gradient {
  static constexpr const char *name = "halves_gradient", *text = "*,*->*";
};
/// Two results; `Constant` is a mask of those that pass no gradient.
template <unsigned Constant>
struct halves {
  static constexpr const char *name = Constant == 0 ? "halves" : "half_constant", *text = "*->*,*";
  static constexpr unsigned constant = Constant;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<halves_gradient>("g0,g1>0");
  }
};

// A backward operator that reads several gradients is there as soon as one of them is.
TEST(gradient, of_a_result_that_nothing_reads_is_zeros_where_another_one_is_read) {
  using list = operators<builtin, halves<0>, halves<2>, halves_gradient>;
  for (int read = 0; read < 2; ++read) {
    model_builder m({.operators = list::list});
    const int h = m.dim("hidden", 3), w = m.parameter("w", {h}), first = m.apply<halves<0>>("halves", {w});
    m.loss(m.apply<ops::reduce>("loss", {first + read}, {.text = "h->"}));
    differentiate(m.graph);
    expect_structure(m.graph);
    ASSERT_GE(gradient_of(m.graph, w), 0);
    const int zeros = gradient_of(m.graph, first + 1 - read);
    ASSERT_GE(zeros, 0);
    const graph_operator& o = m.graph.op[m.graph.tensor[zeros].producer];
    EXPECT_EQ(o.kind, id_of<ops::fill>);
    EXPECT_EQ(o.real[0], 0.0);
    EXPECT_EQ(o.forward, m.graph.tensor[first].producer) << "it lies as the result does";
  }
  model_builder m({.operators = list::list});
  const int h = m.dim("hidden", 3), w = m.parameter("w", {h});
  m.loss(m.apply<ops::reduce>("loss", {m.apply<halves<2>>("halves", {w})}, {.text = "h->"}));
  differentiate(m.graph);
  EXPECT_EQ(m.graph.status.code, graph_code::gradient_does_not_fit_its_operator) << "a constant has no gradient";
}

TEST(gradient, refuses_operators_without_a_rule_by_name) {
  model_builder m;
  const int h = m.dim("hidden", 3), w = m.parameter("w", {h});
  m.loss(m.apply<ops::reduce>("largest", {w}, {.text = "h->", .reduction = reduce_op::max}));
  differentiate(m.graph);
  EXPECT_EQ(m.graph.status.code, graph_code::operator_has_no_gradient);
  EXPECT_STREQ(m.graph.text_at(m.graph.status.op), "largest");

  model_builder alone;  // a loop of one operand of a contraction alone
  const int a = alone.dim("a", 2), b = alone.dim("b", 3);
  const int p = alone.parameter("p", {a, b}), q = alone.parameter("q", {b});
  alone.loss(alone.contract("product", "ab,b->", p, q));
  differentiate(alone.graph);
  EXPECT_EQ(alone.graph.status.code, graph_code::operator_has_no_gradient);
  EXPECT_STREQ(alone.graph.text_at(alone.graph.status.op), "product");

  model_builder biased;  // what a sum passes on has the dims of the result, the bias has not
  const int row = biased.dim("row", 2), width = biased.dim("width", 3);
  const int wide = biased.parameter("wide", {row, width}), bias = biased.parameter("bias", {width});
  const int sum = biased.apply<ops::sum>("biased", {wide, bias}, {.text = "ab,b->ab"});
  biased.loss(biased.apply<ops::reduce>("loss", {sum}, {.text = "*->"}));
  differentiate(biased.graph);
  EXPECT_EQ(biased.graph.status.code, graph_code::gradient_does_not_fit_its_operator);
  EXPECT_STREQ(biased.graph.text_at(biased.graph.status.op), "biased");

  model_builder none;
  none.parameter("p", {none.dim("a", 2)});
  differentiate(none.graph);
  EXPECT_EQ(none.graph.status.code, graph_code::model_has_no_loss);
}

/// A square of rows that numbers name, by a gradient text of the caller.
template <fixed_string Text>
struct square_of_rows {
  static constexpr const char *name = "square_of_rows", *text = "a,a->a";
  static constexpr unsigned indices = 0b10;
  template <class Builder>
  static constexpr void gradient(Builder& b) {
    b.template backward<ops::multiply>(Text.text);
  }
};
template <fixed_string Text>
graph_code code_of_text() {
  model_builder m({.operators = operators<square_of_rows<Text>>::list});
  const int a = m.dim("a", 3), x = m.parameter("x", {a}), rows = m.index_input("rows", {a});
  m.loss(m.apply<ops::reduce>("loss", {m.template apply<square_of_rows<Text>>("square", {x, rows})}, {.text = "a->"}));
  differentiate(m.graph);
  return m.graph.status.code;
}

TEST(gradient, holds_numbers_of_rows_where_the_backward_operator_takes_them) {
  EXPECT_EQ(code_of_text<"g0,x0>0">(), graph_code::ok);
  EXPECT_EQ(code_of_text<"g0,x1>0">(), graph_code::gradient_does_not_fit_its_operator) << "numbers as factors";
  EXPECT_EQ(code_of_text<"g0,x0>00">(), graph_code::gradient_does_not_fit_its_operator) << "one gradient twice";
  EXPECT_EQ(code_of_text<"x0,x0>0">(), graph_code::gradient_does_not_fit_its_operator) << "of no gradient";
}

/// A weight of the outside that every repetition reads.
graph tied(bool unrolled) {
  model_builder m({.unrolled = unrolled});
  const int h = m.dim("hidden", 3), x = m.input("x", {h}), w = m.parameter("shared", {h});
  const int y = m.repeat("layers", 4, x,
                         [w](model_builder& layer, int t) { return layer.apply<ops::multiply>("product", {t, w}); });
  m.loss(m.apply<ops::reduce>("loss", {y}, {.text = "h->"}));
  differentiate(m.graph);
  return m.graph;
}

TEST(gradient, of_a_tensor_that_a_segment_captures_needs_unrolling) {
  const graph folded = tied(false), unrolled = tied(true);
  EXPECT_EQ(folded.status.code, graph_code::segment_captures_tensor);
  EXPECT_STREQ(folded.text_at(folded.status.tensor), "shared");
  EXPECT_STREQ(folded.text_at(folded.status.op), "layers.0-3.product");
  expect_structure(unrolled);
  EXPECT_GE(gradient_of(unrolled, find_tensor(unrolled, "shared")), 0);
}

/// A residual around the whole segment and an inner tensor that the outside reads.
TEST(gradient, of_what_a_segment_carries_is_read_outside_too) {
  model_builder m;
  const int h = m.dim("hidden", 3), w = m.parameter("w", {h});
  const int x = m.apply<ops::silu>("x", {w});
  int inner = -1;
  const int y = m.repeat("layers", 4, x, [&](model_builder& layer, int t) {
    const int v = layer.parameter("v", {h}), out = layer.apply<ops::multiply>("product", {t, v});
    inner = layer.apply<ops::reduce>("inner", {out}, {.text = "h->"});
    return out;
  });
  const int z = m.apply<ops::sum>("z", {x, y, x});
  m.loss(m.apply<ops::sum>("loss", {m.apply<ops::reduce>("outer", {z}, {.text = "h->"}), inner}));
  differentiate(m.graph);
  expect_structure(m.graph);
  const graph_segment& s = m.graph.segment[0];
  EXPECT_EQ(m.graph.tensor[s.gradient_out].segment, 0);
  EXPECT_EQ(m.graph.tensor[s.gradient_in].segment, -1);
  EXPECT_EQ(m.graph.tensor[gradient_of(m.graph, x)].segment, -1);
  EXPECT_NE(gradient_of(m.graph, x), s.gradient_out);
  EXPECT_EQ(m.graph.tensor[gradient_of(m.graph, y)].segment, 0);  // with the part that the inner tensor adds
}

constexpr int constant_operators = [] {
  graph g = build_model<decoder>();
  differentiate(g);
  return check_graph(g).code == graph_code::ok ? g.op.size : -1;
}();

TEST(gradient, is_the_same_in_a_constant_evaluation) {
  graph g = build_model<decoder>();
  differentiate(g);
  EXPECT_EQ(g.op.size, constant_operators);
}

}  // namespace
