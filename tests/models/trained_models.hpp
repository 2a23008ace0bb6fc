// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models of several shapes with gradient and optimizer, of sizes that most degrees divide: what programs are made of.

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/graph/recomputation.hpp>

#include "../../examples/models/captioner.hpp"
#include "../../examples/models/masked_diffusion.hpp"
#include "../../examples/models/small_moe.hpp"

namespace programs {

namespace hp = hyperparallel;

struct training {
  bool unrolled = false;
  int micro_batches = 1;
  const char* recomputed = nullptr;  ///< pattern
  hp::optimizer_kind optimizer = hp::optimizer_kind::adamw;
  hp::data_type type = hp::data_type::f32;
};

/// Differentiates what the builder has and appends the optimizer.
constexpr hp::graph trained(hp::model_builder& m, const training& how) {
  m.graph.micro_batches = how.micro_batches;
  hp::differentiate(m.graph);
  if (how.recomputed != nullptr) hp::recompute(m.graph, how.recomputed);
  hp::optimizer_value o;
  o.kind = how.optimizer;
  hp::append_optimizer(m.graph, o);
  return static_cast<hp::graph&&>(m.graph);
}

/// Every dim that a strategy speaks of divides by 2, 3, 4, 6 and 8, and by products of two of them up to 8.
inline constexpr models::small_moe_config divisible_moe{.batch = 24,
                                                        .sequence = 48,
                                                        .vocabulary = 96,
                                                        .layers = 2,
                                                        .hidden = 96,
                                                        .query_heads = 48,
                                                        .key_heads = 24,
                                                        .head_dim = 2,
                                                        .experts = 24,
                                                        .top_k = 2,
                                                        .expert_width = 48};

constexpr hp::graph moe_graph(const training& how, const models::small_moe_config& config = divisible_moe) {
  hp::model_builder m({.activation = how.type, .parameter = how.type, .unrolled = how.unrolled});
  models::build_small_moe(m, config);
  return trained(m, how);
}

template <class Model>
hp::graph graph_of(const training& how) {
  hp::model_builder m({.activation = how.type, .parameter = how.type, .unrolled = how.unrolled});
  Model::build(m);
  return trained(m, how);
}

/// A model of one matrix: one contraction, its gradient, no optimizer.
constexpr hp::graph one_matrix(hp::extent_t batch = 8, hp::extent_t hidden = 16, hp::extent_t ffn = 32) {
  hp::model_builder m;
  const int b = m.dim("batch", batch), h = m.dim("hidden", hidden), f = m.dim("ffn", ffn);
  const int x = m.input("x", {b, h}), w = m.parameter("weight", {h, f});
  const int y = m.contract("product", "*k,kn->*n", x, w);
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "*->"}));
  hp::differentiate(m.graph);
  return static_cast<hp::graph&&>(m.graph);
}

}  // namespace programs
