// SPDX-License-Identifier: Apache-2.0
#pragma once
// One step of training of a model: forward, backward and AdamW, its layers computed again in backward where asked for;
// and the same for several sizes of a micro-batch.

#include <hyperparallel/program/training_step.hpp>

#include <vector>

namespace models {

/// Activations in bf16, parameters and states in f32.
template <class Model>
hyperparallel::graph training_graph(int micro_batches, bool recomputed) {
  hyperparallel::step_settings settings;
  settings.build = {.activation = hyperparallel::data_type::bf16};
  settings.micro_batches = micro_batches;
  if (recomputed) settings.recomputed.push("*layers.*");
  return hyperparallel::training_graph<Model>({}, settings);
}

/// How many sequences a micro-batch has, and its graph.
struct sized_graph {
  int batch;
  hyperparallel::graph (*build)(int micro_batches, bool recomputed);
};

template <template <hyperparallel::extent_t, hyperparallel::extent_t> class Model, int... Batches>
std::vector<sized_graph> training_graphs() {
  return {{Batches, training_graph<Model<Batches, 4096>>}...};
}

}  // namespace models
