// SPDX-License-Identifier: Apache-2.0
#pragma once
// One step of training of a model: forward, backward and AdamW, its layers computed again in backward where asked for;
// and the same for several sizes of a micro-batch.

#include <hyperparallel/program/training_step.hpp>

#include <string>
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

/// How many micro-batches of a size make a step of so many sequences; 0: none that is planned for.
inline int micro_batches_of(int sequences, const sized_graph& size) {
  const int count = sequences / size.batch;
  return sequences % size.batch == 0 && (count == 1 || count == 4 || count == 16) ? count : 0;
}

/// Why a step of so many sequences has no graph.
inline std::string no_graph_text(int sequences, const std::vector<sized_graph>& sizes) {
  std::string known;
  for (const sized_graph& s : sizes) known += (known.empty() ? "" : ", ") + std::to_string(s.batch);
  return std::to_string(sequences) + " sequences a step are not 1, 4 or 16 micro-batches of " + known +
         " sequences: --sequences sets another number";
}

}  // namespace models
