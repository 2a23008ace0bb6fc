// SPDX-License-Identifier: Apache-2.0
#pragma once
// The model that every strategy trains alike: four layers, grouped queries, eight experts of which a token takes two.

#include <string>
#include <vector>

#include <hyperparallel/strategy/named_strategies.hpp>

#include "models/trained_models.hpp"

namespace training {

/// The graph of a training step; what runs is unrolled.
inline hyperparallel::graph small_step(int micro_batches = 1, hyperparallel::extent_t layers = 4,
                                       hyperparallel::data_type type = hyperparallel::data_type::f32) {
  return programs::moe_graph({.unrolled = true, .micro_batches = micro_batches, .type = type}, {.batch = 8,
                                                                                                .sequence = 16,
                                                                                                .layers = layers,
                                                                                                .hidden = 32,
                                                                                                .query_heads = 16,
                                                                                                .key_heads = 8,
                                                                                                .head_dim = 4,
                                                                                                .expert_width = 16});
}

/// The smallest step that all named strategies of eight ranks take: for what is run very often.
inline hyperparallel::graph tiny_step(hyperparallel::data_type type) {
  return programs::moe_graph({.unrolled = true, .type = type}, {.batch = 8,
                                                                .sequence = 8,
                                                                .vocabulary = 16,
                                                                .layers = 1,
                                                                .hidden = 16,
                                                                .query_heads = 16,
                                                                .key_heads = 8,
                                                                .head_dim = 2,
                                                                .expert_width = 8});
}

/// The parameters, by their first names.
inline std::vector<int> parameters_of(const hyperparallel::graph& g) {
  std::vector<int> all;
  for (int t = 0; t < g.tensor.size; ++t)
    if (g.tensor[t].kind == hyperparallel::graph_tensor_kind::parameter && g.tensor[t].replaces < 0) all.push_back(t);
  return all;
}

inline std::vector<std::string> gradient_names(const hyperparallel::graph& g) {
  std::vector<std::string> names;
  for (const int p : parameters_of(g)) names.emplace_back(g.name_of_tensor(g.tensor[p].gradient));
  return names;
}

}  // namespace training
