// SPDX-License-Identifier: Apache-2.0
#include <hyperparallel/graph/optimizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include <hyperparallel/graph/check_graph.hpp>
#include <hyperparallel/graph/gradient.hpp>

#include "models/graph_reference.hpp"
#include "models/language_model.hpp"
#include "models/random_graph.hpp"

namespace {

using namespace hyperparallel;

using test::graph_evaluator;

struct decoder {
  static constexpr void build(model_builder& m) {
    programs::language_model(
        m, {4, 8, 64, 32}, "layers", 5,
        transformer_block<attention_layer, mixture_of_experts>{
            .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 8},
            .feed_forward = {.experts = 4, .top_k = 2, .width = 16, .scores = expert_scores::sigmoid}});
  }
};

graph trained(const optimizer_value& value, const build_options& options = {}, int micro_batches = 1) {
  graph g = build_model<decoder>(options);
  g.micro_batches = micro_batches;
  differentiate(g);
  append_optimizer(g, value);
  EXPECT_EQ(check_graph(g), graph_status{});
  return g;
}

std::map<operator_id, extent_t> count(const graph& g) {
  std::map<operator_id, extent_t> r;
  for (const graph_operator& o : g.op) r[o.kind] += hyperparallel::detail::repeats_of(g, o.segment);
  return r;
}
extent_t parameters_of(const graph& g) {
  extent_t n = 0;
  for (const graph_tensor& t : g.tensor)
    if (t.kind == graph_tensor_kind::parameter && t.replaces < 0) n += hyperparallel::detail::repeats_of(g, t.segment);
  return n;
}

/// Every parameter is replaced once, every state that an update reads too; both keep their names.
TEST(optimizer, gives_each_parameter_and_state_its_next_value) {
  for (const optimizer_kind kind : {optimizer_kind::sgd, optimizer_kind::adamw, optimizer_kind::muon})
    for (const data_type type : {data_type::bf16, data_type::f32})
      for (const int micro_batches : {1, 4}) {
        const graph g = trained({.kind = kind}, {.activation = type, .parameter = type}, micro_batches);
        std::vector<int> replaced(static_cast<std::size_t>(g.tensor.size));
        for (const graph_tensor& t : g.tensor) {
          if (t.replaces < 0) continue;
          ++replaced[static_cast<std::size_t>(t.replaces)];
          EXPECT_STREQ(g.text_at(t.name), g.name_of_tensor(t.replaces));
          EXPECT_EQ(t.segment, g.tensor[t.replaces].segment);
        }
        for (int t = 0; t < g.tensor.size; ++t) {
          const graph_tensor& whole = g.tensor[t];
          const bool lives_on = whole.kind == graph_tensor_kind::parameter || whole.kind == graph_tensor_kind::state;
          EXPECT_EQ(replaced[static_cast<std::size_t>(t)], lives_on && whole.replaces < 0 ? 1 : 0)
              << g.name_of_tensor(t);
          if (whole.kind == graph_tensor_kind::state && whole.source >= 0) {
            EXPECT_TRUE(whole.shape == g.tensor[whole.source].shape);
            EXPECT_GE(bytes_of(whole.type), 4);
          }
        }
      }
}

TEST(optimizer, counts_operators_of_folded_models_as_of_unrolled_ones) {
  for (const optimizer_kind kind : {optimizer_kind::sgd, optimizer_kind::adamw, optimizer_kind::muon})
    for (const int micro_batches : {1, 4}) {
      const graph folded = trained({.kind = kind}, {}, micro_batches);
      const graph unrolled = trained({.kind = kind}, {.unrolled = true}, micro_batches);
      auto a = count(folded), b = count(unrolled);
      a.erase(id_of<ops::sum>);  // of the squared norms: a segment's are summed by its repetition
      b.erase(id_of<ops::sum>);
      EXPECT_EQ(a, b);
      EXPECT_EQ(a[id_of<ops::sum_of_squares>], parameters_of(folded));
      EXPECT_EQ(a[id_of<ops::accumulate>], micro_batches > 1 ? parameters_of(folded) + 5 : 0);
      EXPECT_EQ(a[id_of<ops::update_bias>], 5);
    }
}

/// Of parameters, their gradients and their states.
extent_t trained_bytes(const graph& g) {
  extent_t bytes = 0;
  for (int t = 0; t < g.tensor.size; ++t) {
    const graph_tensor& whole = g.tensor[t];
    const bool of_parameter = whole.source >= 0 && g.tensor[whole.source].kind == graph_tensor_kind::parameter;
    if (whole.replaces < 0 && (whole.kind == graph_tensor_kind::parameter || of_parameter))
      bytes += bytes_of(whole) * hyperparallel::detail::repeats_of(g, whole.segment);
  }
  return bytes;
}

// 2 bytes of a parameter, 2 of its gradient, 4 of its master and of each moment, of which sgd and muon have one.
TEST(optimizer, keeps_a_master_of_narrow_parameters) {
  const build_options narrow_types{.activation = data_type::bf16, .parameter = data_type::bf16};
  const graph narrow = trained({}, narrow_types);
  auto counts = count(narrow);
  EXPECT_EQ(counts[id_of<ops::adamw>], 0);
  EXPECT_EQ(counts[id_of<ops::adamw_master>], parameters_of(narrow));
  EXPECT_EQ(trained_bytes(narrow), 16 * parameter_count(narrow));

  const graph sgd = trained({.kind = optimizer_kind::sgd}, narrow_types);
  counts = count(sgd);
  EXPECT_EQ(counts[id_of<ops::sgd>], 0);
  EXPECT_EQ(counts[id_of<ops::sgd_master>], parameters_of(sgd));
  EXPECT_EQ(trained_bytes(sgd), 12 * parameter_count(sgd));

  const graph muon = trained({.kind = optimizer_kind::muon, .without_muon = "head.*"}, narrow_types);
  counts = count(muon);
  EXPECT_EQ(counts[id_of<ops::muon>], 0);
  EXPECT_EQ(counts[id_of<ops::muon_master>], 5 * 8);
  EXPECT_EQ(counts[id_of<ops::adamw_master>], 5 * 2 + 3);
  extent_t matrices = 0;
  for (const graph_operator& o : muon.op)
    if (o.kind == id_of<ops::muon_master>)
      matrices += elements_of(muon.tensor[o.operand[0]]) * hyperparallel::detail::repeats_of(muon, o.segment);
  EXPECT_EQ(trained_bytes(muon), 16 * parameter_count(muon) - 4 * matrices);
}

TEST(optimizer, gives_matrices_to_muon_and_the_rest_to_adamw) {
  const graph g = trained({.kind = optimizer_kind::muon, .without_muon = "head.*"});
  for (const graph_operator& o : g.op) {
    if (o.kind != id_of<ops::muon>) continue;
    const hyperparallel::detail::matrix_sides sides = hyperparallel::detail::sides_of(g, o.operand[0]);
    EXPECT_TRUE(sides.is_matrix);
    EXPECT_EQ(o.integer[0], sides.rows);
    EXPECT_EQ(o.integer[1], sides.columns);
    const factor_rule& rule = g.rule_of(o);
    for (int d = 0; d < rule.operand[0].rank; ++d)
      EXPECT_EQ(hyperparallel::detail::is_whole(rule, rule.operand[0].term[d]), d >= sides.rows);
  }
  auto counts = count(g);
  // Query, key, value, output, router, gate, up, down.
  EXPECT_EQ(counts[id_of<ops::muon>], 5 * 8);
  EXPECT_EQ(counts[id_of<ops::adamw>], 5 * 2 + 3);
}

TEST(optimizer, accumulates_a_gradient_right_after_it_is_complete) {
  const graph g = trained({}, {}, 4);
  for (int o = 0; o < g.op.size; ++o) {
    if (g.op[o].kind != id_of<ops::accumulate> || g.op[o].phase != graph_phase::backward) continue;
    int made = g.tensor[g.op[o].operand[1]].producer;
    while (++made < o) EXPECT_EQ(g.op[made].kind, id_of<ops::accumulate>);
    EXPECT_EQ(g.op[o].segment, g.tensor[g.op[o].operand[0]].segment);
  }
}

/// Two micro-batches, then a step of sgd, against the sum of their gradients, halved, clipped by hand.
TEST(optimizer, steps_by_the_mean_gradient_of_its_micro_batches) {
  int clipped = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    test::random_model r(seed);
    const graph model = r.build(6);
    graph single = model, step = model;
    differentiate(single);
    step.micro_batches = 2;
    differentiate(step);
    const optimizer_value value{
        .kind = optimizer_kind::sgd, .rate = 0.1, .weight_decay = 0.01, .momentum = 0.9, .clip = 0.5};
    append_optimizer(step, value);
    ASSERT_EQ(check_graph(step), graph_status{});
    graph_evaluator run(step), one(single);
    std::mt19937 random(seed), again(seed);
    test::randomise(run, step, random);
    test::randomise(one, single, again);
    std::map<int, std::vector<double>> mean, start;
    for (int batch = 0; batch < 2; ++batch) {
      for (int t = 0; t < model.tensor.size; ++t) {
        if (model.tensor[t].kind != graph_tensor_kind::input) continue;
        for (double& v : one.of(t)) v = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
        run.of(t) = one.of(t);
      }
      run.run(graph_phase::forward, graph_phase::accumulate);
      one.run(graph_phase::forward, graph_phase::backward);
      for (int p = 0; p < model.tensor.size; ++p) {
        if (model.tensor[p].kind != graph_tensor_kind::parameter || gradient_of(single, p) < 0) continue;
        start[p] = one.of(p);
        mean[p].resize(start[p].size());
        for (std::size_t i = 0; i < mean[p].size(); ++i) mean[p][i] += 0.5 * one.of(gradient_of(single, p))[i];
      }
    }
    if (mean.empty()) continue;
    run.run(graph_phase::norm, graph_phase::update);
    double squares = 0.0;
    for (const auto& [p, gradient] : mean)
      for (const double d : gradient) squares += d * d;
    const double factor = std::min(1.0, 0.5 / std::sqrt(squares));
    clipped += factor < 1.0 ? 1 : 0;
    EXPECT_NEAR(run.of(step.monitor.last())[0], squares, 1e-12 * squares);
    for (const auto& [p, gradient] : mean)
      for (std::size_t i = 0; i < gradient.size(); ++i)
        EXPECT_NEAR(run.of(p)[i], start[p][i] - 0.1 * (factor * gradient[i] + 0.01 * start[p][i]), 1e-12) << seed;
  }
  EXPECT_GT(clipped, 5);
  EXPECT_LT(clipped, 40);
}

TEST(optimizer, monitors_the_loss_and_the_norms) {
  const auto names = [](const graph& g) {
    std::vector<std::string> r;
    for (const int t : g.monitor) r.push_back(g.name_of_tensor(t));
    return r;
  };
  EXPECT_EQ(names(trained({})), (std::vector<std::string>{"head.cross_entropy", "squared_norm"}));
  const graph local = trained({.local_norms = true});
  const auto all = names(local);
  extent_t parameters = 0;
  for (const graph_tensor& t : local.tensor)
    parameters += t.kind == graph_tensor_kind::parameter && t.replaces < 0 ? 1 : 0;
  EXPECT_EQ(static_cast<extent_t>(all.size()), parameters + 2);
  EXPECT_EQ(all[1], "squared_norm(embedding.weight)");
}

TEST(optimizer, without_clipping_has_the_factor_one) {
  const graph g = trained({.clip = 0.0});
  auto counts = count(g);
  EXPECT_EQ(counts[id_of<ops::clip_factor>], 0);
  const int clip = find_tensor(g, "clip");
  ASSERT_GE(clip, 0);
  EXPECT_EQ(g.op[g.tensor[clip].producer].kind, id_of<ops::fill>);
  EXPECT_EQ(g.op[g.tensor[clip].producer].real[0], 1.0);
}

/// Every number by itself, at its ends and beyond.
TEST(optimizer, refuses_numbers_that_cannot_be) {
  const graph forward = [] {
    graph g = build_model<decoder>();
    differentiate(g);
    return g;
  }();
  struct {
    const char* name;
    double optimizer_value::* number;
    bool below_one;
  } const numbers[] = {
      {"rate", &optimizer_value::rate, false},          {"beta1", &optimizer_value::beta1, true},
      {"beta2", &optimizer_value::beta2, true},         {"epsilon", &optimizer_value::epsilon, false},
      {"momentum", &optimizer_value::momentum, true},   {"weight_decay", &optimizer_value::weight_decay, false},
      {"clip", &optimizer_value::clip, false},          {"muon_rate", &optimizer_value::muon_rate, false},
      {"bias_rate", &optimizer_value::bias_rate, false}};
  const double infinite = std::numeric_limits<double>::infinity();
  for (const auto& n : numbers) {
    const auto status_of = [&](double value) {
      graph g = forward;
      optimizer_value v;
      v.*n.number = value;
      append_optimizer(g, v);
      if (g.status.code != graph_code::ok) {
        EXPECT_STREQ(g.text_at(g.status.op), n.name);
        EXPECT_EQ(g.op.size, forward.op.size) << "stays as it was";
      }
      return g.status.code;
    };
    EXPECT_EQ(status_of(0), graph_code::ok) << n.name;
    EXPECT_EQ(status_of(0.5), graph_code::ok) << n.name;
    EXPECT_EQ(status_of(1), n.below_one ? graph_code::optimizer_number_is_out_of_range : graph_code::ok) << n.name;
    for (const double wrong : {std::nan(""), infinite, -infinite, -1e-300})
      EXPECT_EQ(status_of(wrong), graph_code::optimizer_number_is_out_of_range) << n.name << " " << wrong;
  }
  graph g = forward;
  append_optimizer(g, {.kind = optimizer_kind::muon, .without_muon = "hed.*"});
  EXPECT_EQ(g.status.code, graph_code::pattern_matches_nothing);
  EXPECT_STREQ(g.text_at(g.status.op), "hed.*");
}

struct two_layers {
  static constexpr void build(model_builder& m) {
    const int b = m.dim("batch", 8), h = m.dim("hidden", 16), f = m.dim("ffn", 32);
    const int x = m.input("x", {b, h});
    const int up = m.contract("up", "*k,kn->*n", x, m.parameter("up.weight", {h, f}));
    const int y = m.contract("down", "*k,kn->*n", m.apply<ops::silu>("act", {up}), m.parameter("down.weight", {f, h}));
    m.loss(m.apply<ops::reduce>("loss", {y}, {.text = "*->"}));
  }
};
static_assert([] {
  graph g = build_model<two_layers>();
  differentiate(g);
  append_optimizer(g, {});
  // 4 forward; seed, broadcast, 2 + 1 + 1 backward; 2 squares, sum, clip; 2 updates.
  return check_graph(g).code == graph_code::ok && g.op.size == 4 + 6 + 4 + 2 && g.monitor.size == 2;
}());

}  // namespace
