// SPDX-License-Identifier: Apache-2.0
// Gradients of operators that have one together against central finite differences: graph, gradient rules and kernels.
// check_operator_test holds every operator that has one by itself.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/model_builder.hpp>
#include <hyperparallel/world/single_device.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::id_of;
namespace ops = hp::ops;

constexpr double bound = 1e-7, distance = 1e-4;

/// Fourth-order central difference of loss() at x.
template <class Loss>
double slope(double& x, const Loss& loss) {
  const double at_x = x;
  const auto value = [&](double by) {
    x = at_x + by * distance;
    return loss();
  };
  const double near = value(1) - value(-1), far = value(2) - value(-2);
  x = at_x;
  return (8 * near - far) / (12 * distance);
}

/// Worst |gradient − slope| of a tensor over its largest gradient.
template <class Loss>
double worst_error(const std::vector<double>& gradient, std::vector<double>& x, const Loss& loss) {
  double worst = 0, largest = 1e-3;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::fabs(slope(x[i], loss) - gradient[i]);
    if (!(d <= worst)) worst = d;
    largest = std::max(largest, std::fabs(gradient[i]));
  }
  return worst / largest;
}

/// Differentiates `g`, whose inputs and parameters `set` fills, and returns the worst error of all parameters.
template <class Set>
double check_graph(hp::graph& g, const Set& set) {
  hp::differentiate(g);
  if (g.status.code != hp::graph_code::ok) {
    ADD_FAILURE() << name_of(g.status.code);
    return 1;
  }
  hp::single_device<double> device(g);
  set(device);
  device.run(hp::graph_phase::forward, hp::graph_phase::backward);
  double worst = 0;
  int parameters = 0;
  for (int t = 0; t < g.tensor.size; ++t) {
    if (g.tensor[t].kind != hp::graph_tensor_kind::parameter) continue;
    ++parameters;
    if (hp::gradient_of(g, t) < 0) {
      ADD_FAILURE() << g.name_of_tensor(t) << " has no gradient";
      continue;
    }
    const std::vector<double> gradient = device.values(hp::gradient_of(g, t));
    worst = std::max(worst, worst_error(gradient, device.values(t), [&] {
                       device.run(hp::graph_phase::forward, hp::graph_phase::forward);
                       return device.values(g.loss)[0];
                     }));
  }
  EXPECT_GT(parameters, 0);
  return worst;
}

// max, exp_sum, pick, token_loss and cross_entropy_gradient together; one label is negative.
TEST(GradientCheck, CrossEntropyAgreesWithFiniteDifferences) {
  hp::model_builder m;
  const int tokens = m.dim("tokens", 6), vocabulary = m.dim("vocabulary", 9);
  const int logits = m.parameter("logits", {tokens, vocabulary}), labels = m.index_input("labels", {tokens});
  const int most = m.apply<ops::reduce>("max", {logits}, {.text = "*v->*", .reduction = hp::reduce_op::max});
  const int total = m.apply<ops::exp_sum>("total", {logits, most});
  const int picked = m.apply<ops::pick>("picked", {logits, labels});
  const int each = m.apply<ops::token_loss>("each", {most, total, picked, labels});
  const int weight = m.input("weight", {tokens});
  m.loss(m.contract("loss", "x,x->", each, weight));
  std::mt19937 random(12);
  const double error = check_graph(m.graph, [&](hp::single_device<double>& device) {
    std::normal_distribution<double> normal;
    for (double& x : device.values(logits)) x = normal(random);
    for (double& x : device.values(weight)) x = normal(random);
    device.indices(labels) = {0, 8, 3, -1, 3, 5};
  });
  EXPECT_LE(error, bound);
  std::cout << "worst relative error of the cross entropy: " << error << "\n";
}

// Two blocks of keys joined: the gradient of either block is taken with the joined result and its statistic.
TEST(GradientCheck, BlocksOfARingAgreeWithFiniteDifferences) {
  std::mt19937 random(13);
  for (const extent_t causal : {0, 1}) {
    letter_extents extents("bsmgDTE", random, 3);
    extents.of[static_cast<int>('T')] = extents.of[static_cast<int>('s')] = 6;
    const case_options options{{causal}, {0.5}};
    run_case<double> block(id_of<ops::attention_block>, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", options, extents, random);
    run_case<double> join(id_of<ops::attention_merge>, "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg", "nnnn", {}, extents,
                          random);
    run_case<double> gradient(id_of<ops::attention_block_gradient>, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE",
                              "nnnnnn", options, extents, random);
    const extent_t keys = 6, half = 3;
    // Keys first in memory only within a batch element: the blocks are boxes that run_box cuts.
    const auto box = [&](const run_case<double>& c, extent_t begin) {
      hp::operator_call call = c.whole();
      for (int l = 0; l < c.op.loop_count; ++l)
        if (c.letter_of(l) == 'T') call.loop[l] = {begin, half, keys};
      return call;
    };
    const auto forward = [&] {
      const auto first = block.run_box(box(block, 0)), second = block.run_box(box(block, half));
      join.operand = {first[0], first[1], second[0], second[1]};
      join.run_whole();
    };
    const auto loss = [&] {
      forward();
      double total = 0;
      for (std::size_t i = 0; i < join.result[0].values.size(); ++i)
        total += join.result[0].values[i] * gradient.operand[0].values[i];
      return total;
    };
    forward();
    gradient.operand = {gradient.operand[0], block.operand[0], block.operand[1],
                        block.operand[2],    join.result[0],   join.result[1]};
    const auto first = gradient.run_box(box(gradient, 0)), second = gradient.run_box(box(gradient, half));
    std::vector<double> dq = first[0].values;
    for (std::size_t i = 0; i < dq.size(); ++i) dq[i] += second[0].values[i];
    EXPECT_LE(worst_error(dq, block.operand[0].values, loss), bound);
    std::vector<std::vector<extent_t>> cuts(at(gradient.op.loop_count));
    for (int l = 0; l < gradient.op.loop_count; ++l) {
      cuts[at(l)] = {gradient.op.loop[l].extent};
      if (gradient.letter_of(l) == 'T') cuts[at(l)] = {half, keys};
    }
    const auto joined = gradient.run_cut(cuts);
    EXPECT_LE(largest_difference(joined[0].values, dq), 1e-12);
    EXPECT_LE(worst_error(joined[1].values, block.operand[1].values, loss), bound);
    EXPECT_LE(worst_error(joined[2].values, block.operand[2].values, loss), bound);
  }
}

}  // namespace
