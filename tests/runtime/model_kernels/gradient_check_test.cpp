// SPDX-License-Identifier: Apache-2.0
// The gradient of every operator against central finite differences: graph, gradient rules and kernels together.

#include <hyperparallel/model/gradient.hpp>
#include <hyperparallel/model/model_builder.hpp>
#include <hyperparallel/runtime/model_kernels/single_device.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "operator_cases.hpp"

namespace {

using namespace kernel_test;
using hp::model_op;

/// The first result of each, weighted at random, is the loss. Operands of domain n and p are parameters unless their
/// letter in `domains` is upper case.
const operator_case cases[] = {
    {model_op::contract, "bxk,bkn->nbx", "nn"},
    {model_op::contract, "xk,kn->xn", "nn"},
    {model_op::contract, "xyk,kx->y", "nn"},
    {model_op::reduce, "xyz->zx", "n"},
    {model_op::broadcast, "zx->xyz", "n"},
    {model_op::sum, "xy,xy,xy->xy", "nnn"},
    {model_op::scale, "xy->xy", "n", {{}, {-1.5}}},
    {model_op::multiply, "xy,xy->xy", "nn"},
    {model_op::multiply, "xyz,xz->xyz", "nn"},
    {model_op::embed, "xy,vh->xyh", "in"},
    {model_op::rms_norm, "xyH,H->xyH", "nn", {{}, {1e-5}}},
    {model_op::rope, "bsxD->bsxD", "n", {{1}, {100}}},
    {model_op::rope, "bsD->bsD", "n", {{-1}, {100}}},
    {model_op::attention, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{0}, {0.5}}},
    {model_op::attention, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", {{1}, {0.5}}},
    {model_op::latent_attention, "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn", "nnnnn", {{0}, {0.5}}},
    {model_op::latent_attention, "bsnD,bsnR,bTnD,bTR,bTnE->bsnE,bsn", "nnnnn", {{1}, {0.5}}},
    {model_op::swiglu, "xy,xy->xy", "nn"},
    {model_op::silu, "xy->xy", "n"},
    {model_op::sigmoid, "xy->xy", "n"},
    {model_op::softmax, "xyE->xyE", "n"},
    {model_op::top_k, "xyE->xyK,xyK", "p", {{0, 0}, {2.5}}},
    {model_op::top_k, "xyE->xyK,xyK", "p", {{0, 1}, {2.5}}},
    {model_op::biased_top_k, "xyE,E->xyK,xyK", "pN", {{0, 1}, {2.5}}},
    {model_op::dispatch, "bSh,bSK->beCh", "ne"},
    {model_op::dispatch, "BSh,BSK->eCh", "ne"},
    {model_op::combine, "beCh,bSK,bSK->bSh", "nen"},
    {model_op::combine, "eCh,BSK,BSK->BSh", "nen"},
};

/// Operators that a loss does not reach, and the gradients themselves; the two lists hold every operator.
const model_op without_case[] = {
    model_op::embed_gradient,
    model_op::rms_norm_gradient,
    model_op::attention_gradient,
    model_op::swiglu_gradient,
    model_op::latent_attention_gradient,
    model_op::attention_block_gradient,
    model_op::silu_gradient,
    model_op::sigmoid_gradient,
    model_op::softmax_gradient,
    model_op::top_k_gradient,
    model_op::count_experts,
    model_op::undispatch,
    model_op::fill,
    model_op::dispatch_weighted,
    model_op::combine_weight_gradient,
    model_op::sum_of_squares,
    model_op::cross_entropy_gradient,
    model_op::clip_factor,
    model_op::accumulate,
    model_op::sgd,
    model_op::adamw,
    model_op::adamw_master,
    model_op::muon,
    model_op::update_bias,
};
/// Checked by tests of their own below: parts of the loss of tokens, and the ring.
const model_op with_own_test[] = {model_op::exp_sum, model_op::pick, model_op::token_loss, model_op::attention_block,
                                  model_op::attention_merge};

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

double check_case(const operator_case& row, std::mt19937& random) {
  std::string domains = row.domains;
  for (char& d : domains) d = static_cast<char>(std::tolower(d));
  const run_case<double> data(row.op, row.text, domains, row.options, letter_extents(row.text, random, 4), random);
  hp::model_builder m;
  hp::operator_options how{.text = row.text};
  for (int i = 0; i < 2; ++i) how.integer[i] = row.options.integer[i];
  for (int i = 0; i < 5; ++i) how.real[i] = row.options.real[i];
  hp::number_list operands;
  const auto dims_of = [&](const hp::tensor_factors& t) {
    hp::number_list dims;
    for (int d = 0; d < t.rank; ++d) {
      const char name[2] = {data.letter_of(t.term[d]), '\0'};
      dims.item[dims.count++] = m.dim(name, data.op.loop[t.term[d]].extent);
    }
    return dims;
  };
  for (int i = 0; i < data.op.operand_count; ++i) {
    const std::string name = "x" + std::to_string(i);
    const hp::number_list dims = dims_of(data.rule().operand[i]);
    const char domain = row.domains[i];
    operands.item[operands.count++] = domain == 'n' || domain == 'p' ? m.parameter(name.c_str(), dims)
                                      : domain == 'N'                ? m.input(name.c_str(), dims)
                                                                     : m.index_input(name.c_str(), dims);
  }
  const hp::number_list result_dims = dims_of(data.rule().result[0]);
  for (int d = 0; d < data.rule().result[0].rank; ++d) {
    bool known = false;
    for (int i = 0; i < data.op.operand_count; ++i)
      known = known || hp::has_factor(data.rule().operand[i], data.rule().result[0].term[d]);
    if (!known) how.created[how.created_count++] = {data.letter_of(data.rule().result[0].term[d]), result_dims.item[d]};
  }
  const int y = m.apply(row.op, "y", operands, how);
  std::string letters;
  for (int d = 0; d < result_dims.count; ++d) letters += static_cast<char>('a' + d);
  const int weight = m.input("weight", result_dims);
  m.loss(m.contract("loss", (letters + "," + letters + "->").c_str(), y, weight));
  return check_graph(m.graph, [&](hp::single_device<double>& device) {
    for (int i = 0; i < operands.count; ++i) {
      const case_block<double>& block = data.operand[at(i)];
      if (block.indices.empty())
        device.values(operands.item[i]) = block.values;
      else
        device.indices(operands.item[i]) = block.indices;
    }
    std::normal_distribution<double> normal;
    for (double& w : device.values(weight)) w = normal(random);
  });
}

TEST(GradientCheck, EveryOperatorAgreesWithFiniteDifferences) {
  std::mt19937 random(11);
  double worst = 0;
  const char* of = "";
  for (const operator_case& row : cases)
    for (int round = 0; round < 4; ++round) {
      const double error = check_case(row, random);
      EXPECT_LE(error, bound) << name_of(row.op) << " " << row.text;
      if (error > worst) of = name_of(row.op);
      worst = std::max(worst, error);
    }
  std::cout << "worst relative error of a gradient: " << worst << " (" << of << ")\n";
}

TEST(GradientCheck, EveryOperatorHasACaseOrNoGradient) {
  for (int i = 0; i < hp::model_op_count; ++i) {
    const model_op op = static_cast<model_op>(i);
    int found = 0;
    bool differentiable = false;
    for (const operator_case& row : cases)
      if (row.op == op) found = 1;
    for (const model_op other : without_case) found += other == op ? 1 : 0;
    for (const model_op other : with_own_test) found += other == op ? 1 : 0;
    EXPECT_EQ(found, 1) << name_of(op);
    for (const hp::gradient_rule& rule : hp::gradient_rules) differentiable = differentiable || rule.forward == op;
    for (const model_op other : without_case) EXPECT_FALSE(differentiable && other == op) << name_of(op);
  }
}

// max, exp_sum, pick, token_loss and cross_entropy_gradient together; one label is negative.
TEST(GradientCheck, CrossEntropyAgreesWithFiniteDifferences) {
  hp::model_builder m;
  const int tokens = m.dim("tokens", 6), vocabulary = m.dim("vocabulary", 9);
  const int logits = m.parameter("logits", {tokens, vocabulary}), labels = m.index_input("labels", {tokens});
  const int most = m.apply(model_op::reduce, "max", {logits}, {.text = "*v->*", .reduction = hp::reduce_op::max});
  const int total = m.apply(model_op::exp_sum, "total", {logits, most});
  const int picked = m.apply(model_op::pick, "picked", {logits, labels});
  const int each = m.apply(model_op::token_loss, "each", {most, total, picked, labels});
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
    run_case<double> block(model_op::attention_block, "bsmgD,bTmD,bTmE->bsmgE,bsmg", "nnn", options, extents, random);
    run_case<double> join(model_op::attention_merge, "bsmgE,bsmg,bsmgE,bsmg->bsmgE,bsmg", "nnnn", {}, extents, random);
    run_case<double> gradient(model_op::attention_block_gradient, "bsmgE,bsmgD,bTmD,bTmE,bsmgE,bsmg->bsmgD,bTmD,bTmE",
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
