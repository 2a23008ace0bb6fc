// SPDX-License-Identifier: Apache-2.0
// A model of one MoE layer against the layer's formula in plain loops: its output, and its gradients as slopes of what the
// formula gives; on one device and many, with tiles and without.
#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers/mixture_of_experts.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

namespace hp = hyperparallel;
namespace ops = hp::ops;
using std::size_t;
using numbers = std::vector<double>;
using tensors = std::map<std::string, numbers>;

struct sizes {
  size_t batch, sequence, hidden, experts, top_k, width;
  size_t tokens() const { return batch * sequence; }
};

const char* const weights[] = {"moe.router.weight", "moe.experts.gate.weight", "moe.experts.up.weight",
                               "moe.experts.down.weight"};

/// ½ Σ (layer(x) − target)², where x is a parameter, so that it has a gradient.
hp::graph model_of(const sizes& s, hp::expert_slots slots, hp::expert_scores scores) {
  const auto extent = [](size_t n) { return static_cast<hp::extent_t>(n); };
  hp::model_builder m({.activation = hp::f64, .parameter = hp::f64});
  const int b = m.dim("batch", extent(s.batch)), q = m.dim("seq", extent(s.sequence)),
            h = m.dim("hidden", extent(s.hidden));
  const int x = m.parameter("x", {b, q, h}), target = m.input("target", {b, q, h});
  const hp::mixture_of_experts layer{
      .experts = extent(s.experts),
      .top_k = extent(s.top_k),
      .width = extent(s.width),
      .scores = scores,
      .balanced_by_bias = false,
      .slots = slots,
      .capacity_factor = static_cast<double>(s.experts)};  // of all tokens: none is dropped
  const int error = m.sum("error", layer(m, x), m.apply<ops::scale>("minus", {target}, {.real = {-1.0}}));
  m.loss(m.apply<ops::scale>("loss", {m.contract("squares", "xyz,xyz->", error, error)}, {.real = {0.5}}));
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {.kind = hp::optimizer_kind::sgd});
  return m.graph;
}

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

numbers scores_of(const sizes& s, const tensors& v, hp::expert_scores how) {
  const numbers &x = v.at("x"), &router = v.at(weights[0]);
  numbers score(s.tokens() * s.experts);
  for (size_t t = 0; t < s.tokens(); ++t) {
    double sum = 0;
    for (size_t e = 0; e < s.experts; ++e) {
      double logit = 0;
      for (size_t i = 0; i < s.hidden; ++i) logit += x[t * s.hidden + i] * router[i * s.experts + e];
      sum += score[t * s.experts + e] = how == hp::expert_scores::sigmoid ? sigmoid(logit) : std::exp(logit);
    }
    for (size_t e = 0; how == hp::expert_scores::softmax && e < s.experts; ++e) score[t * s.experts + e] /= sum;
  }
  return score;
}

/// Every token's experts, the best first.
std::vector<size_t> choice_of(const sizes& s, const numbers& score) {
  std::vector<size_t> choice, order(s.experts);
  for (size_t t = 0; t < s.tokens(); ++t) {
    for (size_t e = 0; e < s.experts; ++e) order[e] = e;
    const double* const own = score.data() + t * s.experts;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return own[a] > own[b]; });
    choice.insert(choice.end(), order.begin(), order.begin() + static_cast<std::ptrdiff_t>(s.top_k));
  }
  return choice;
}

/// y[t] = Σ over chosen experts of score / Σ scores of the choice · (silu(x · gate) · (x · up)) · down.
double loss_by_formula(const sizes& s, const tensors& v, const std::vector<size_t>& choice, hp::expert_scores how) {
  const numbers &x = v.at("x"), &gate = v.at(weights[1]), &up = v.at(weights[2]), &down = v.at(weights[3]);
  const numbers score = scores_of(s, v, how);
  double loss = 0;
  for (size_t t = 0; t < s.tokens(); ++t) {
    numbers error(s.hidden);
    for (size_t i = 0; i < s.hidden; ++i) error[i] = -v.at("target")[t * s.hidden + i];
    double sum = 0;
    for (size_t k = 0; k < s.top_k; ++k) sum += score[t * s.experts + choice[t * s.top_k + k]];
    for (size_t k = 0; k < s.top_k; ++k) {
      const size_t e = choice[t * s.top_k + k];
      for (size_t f = 0; f < s.width; ++f) {
        double g = 0, u = 0;
        for (size_t i = 0; i < s.hidden; ++i) {
          g += x[t * s.hidden + i] * gate[(e * s.hidden + i) * s.width + f];
          u += x[t * s.hidden + i] * up[(e * s.hidden + i) * s.width + f];
        }
        for (size_t i = 0; i < s.hidden; ++i)
          error[i] += score[t * s.experts + e] / sum * (g * sigmoid(g) * u) * down[(e * s.width + f) * s.hidden + i];
      }
    }
    for (const double one : error) loss += 0.5 * one * one;
  }
  return loss;
}

tensors random_values(const sizes& s, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto draw = [&](size_t n) {
    numbers v(n);
    for (double& one : v) one = uniform(random);
    return v;
  };
  const size_t rows = s.tokens() * s.hidden, matrix = s.hidden * s.width * s.experts;
  return {{"x", draw(rows)},          {"target", draw(rows)},     {weights[0], draw(s.hidden * s.experts)},
          {weights[1], draw(matrix)}, {weights[2], draw(matrix)}, {weights[3], draw(matrix)}};
}

/// Loss, what the layer makes less the target, and the gradients of what the model learns, by name.
tensors learnt(const hp::graph& g, const tensors& v, const char* strategy, int ranks, const char* tiles) {
  hp::model_run_options o;
  if (tiles != nullptr) o.program.tiles = {tiles};
  for (const auto& [name, values] : v)
    if (name != "target") o.program.keep.push_back("gradient(" + name + ")");
  o.program.keep.push_back("error");
  hp::model_run<double> run(g, hp::strategy_called(strategy, ranks).strategy, o);
  for (const auto& [name, values] : v) run.world().set(name, values);
  EXPECT_EQ(run.world().run_micro(), hp::run_result::complete);
  tensors all{{"loss", {run.world().get(g.name_of_tensor(g.loss))}}};
  for (const std::string& name : o.program.keep) all[name] = run.world().get(name);
  return all;
}

/// Of central differences with h = 1e-5 on losses of up to 100: truncation h² and rounding 1e-14 / h, both below 1e-8.
constexpr double step = 1e-5, tolerance = 1e-6;

void expect_formula(const sizes& s, const tensors& v, const tensors& got, hp::expert_scores how, unsigned seed) {
  const std::vector<size_t> choice = choice_of(s, scores_of(s, v, how));
  const double loss = loss_by_formula(s, v, choice, how);
  EXPECT_NEAR(got.at("loss")[0], loss, 1e-11 * loss);
  std::mt19937 random(seed);
  for (const auto& [name, values] : v) {
    if (name == "target") continue;
    const numbers& gradient = got.at("gradient(" + name + ")");
    ASSERT_EQ(gradient.size(), values.size()) << name;
    for (int k = 0; k < 24; ++k) {
      const size_t at = random() % values.size();
      tensors more = v, less = v;
      more[name][at] += step;
      less[name][at] -= step;
      const double slope = (loss_by_formula(s, more, choice, how) - loss_by_formula(s, less, choice, how)) / (2 * step);
      ASSERT_NEAR(gradient[at], slope, tolerance * (1 + std::abs(slope))) << name << ' ' << at;
    }
  }
}

// Slots of rows of the batch, of all tokens together, and one for each token; one expert a token, all of them, some.
TEST(MoeLayer, ComputesItsFormulaAndItsGradients) {
  const sizes all[] = {{8, 4, 6, 8, 3, 5}, {8, 2, 5, 8, 1, 3}, {8, 3, 4, 8, 8, 2}, {8, 5, 9, 16, 2, 4}};
  unsigned seed = 1;
  for (const sizes& s : all)
    for (const hp::expert_scores how : {hp::expert_scores::sigmoid, hp::expert_scores::softmax})
      for (const hp::expert_slots slots :
           {hp::expert_slots::per_group, hp::expert_slots::joint, hp::expert_slots::dropless}) {
        const hp::graph g = model_of(s, slots, how);
        const tensors v = random_values(s, seed);
        expect_formula(s, v, learnt(g, v, "single", 1, nullptr), how, seed);
        if (slots == hp::expert_slots::dropless)
          for (const int ranks : {2, 4, 8}) {
            SCOPED_TRACE(std::to_string(ranks) + " ranks");
            const tensors whole = learnt(g, v, "ep", ranks, nullptr), tiled = learnt(g, v, "ep", ranks, "*.experts.*");
            EXPECT_EQ(tiled, whole);
            expect_formula(s, v, tiled, how, seed);
          }
        ++seed;
        ASSERT_FALSE(HasFailure()) << s.hidden << " wide, seed " << seed;
      }
}

// Sums of a token run over its experts, in the order of its choices, wherever they are; those of a weight over tokens, of
// which each rank has some.
TEST(MoeLayer, TheNumberOfDevicesChangesOnlyTheOrderOfSumsOverTokens) {
  const sizes s{8, 4, 6, 8, 3, 5};
  const hp::graph g = model_of(s, hp::expert_slots::per_group, hp::expert_scores::sigmoid);
  const tensors v = random_values(s, 77), one = learnt(g, v, "single", 1, nullptr);
  for (const int ranks : {2, 4, 8}) {
    const tensors many = learnt(g, v, "ep", ranks, "*.experts.*");
    for (const char* const of_tokens : {"error", "gradient(x)"})
      EXPECT_EQ(many.at(of_tokens), one.at(of_tokens)) << ranks;
    for (const auto& [name, values] : one)
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(many.at(name)[i], values[i], 1e-13 * (1 + std::abs(values[i]))) << name << ", " << ranks;
  }
}

// Every token chooses expert 0, none an expert of the upper half.
TEST(MoeLayer, AHotExpertGetsAllTokensAndExpertsWithoutRowsHaveZeroGradients) {
  const sizes s{8, 4, 6, 8, 3, 5};
  tensors v = random_values(s, 78);
  for (size_t t = 0; t < s.tokens(); ++t) v["x"][t * s.hidden] = 1;
  v[weights[0]][0] = 9;
  for (size_t e = s.experts / 2; e < s.experts; ++e) v[weights[0]][e] = -9;
  const hp::graph g = model_of(s, hp::expert_slots::dropless, hp::expert_scores::sigmoid);
  const std::vector<size_t> choice = choice_of(s, scores_of(s, v, hp::expert_scores::sigmoid));
  EXPECT_EQ(static_cast<size_t>(std::count(choice.begin(), choice.end(), 0u)), s.tokens());
  const tensors got = learnt(g, v, "ep", 4, "*.experts.*");
  expect_formula(s, v, got, hp::expert_scores::sigmoid, 78);
  for (const char* const name : {weights[1], weights[2], weights[3]}) {
    const numbers& gradient = got.at(std::string("gradient(") + name + ")");
    for (size_t i = gradient.size() / 2; i < gradient.size(); ++i) ASSERT_EQ(gradient[i], 0) << name;
  }
}

}  // namespace
