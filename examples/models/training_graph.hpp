// SPDX-License-Identifier: Apache-2.0
#pragma once
// One step of training of a model: forward, backward and AdamW, its layers computed again in backward where asked for;
// and how a step of any number of sequences is dealt to micro-batches.

#include <hyperparallel/step/training_step.hpp>

#include <utility>
#include <vector>

namespace models {

/// Activations in bf16, parameters and states in f32.
inline hyperparallel::step_settings training_settings(int micro_batches, bool recomputed) {
  hyperparallel::step_settings settings;
  settings.build = {.activation = hyperparallel::data_type::bf16, .parameter = hyperparallel::data_type::f32};
  settings.micro_batches = micro_batches;
  if (recomputed) settings.recomputed.push("*layers.*");
  return settings;
}

template <class Model>
hyperparallel::graph training_graph(int micro_batches, bool recomputed) {
  return hyperparallel::training_graph<Model>({}, training_settings(micro_batches, recomputed));
}

/// The graph of a model with `batch` sequences of 4096 tokens in a micro-batch.
using graph_builder = hyperparallel::graph (*)(hyperparallel::extent_t batch, int micro_batches, bool recomputed);

template <template <hyperparallel::extent_t, hyperparallel::extent_t> class Model>
hyperparallel::graph sized_training_graph(hyperparallel::extent_t batch, int micro_batches, bool recomputed) {
  const hyperparallel::step_settings settings = training_settings(micro_batches, recomputed);
  hyperparallel::model_builder m(settings.build);
  Model<1, 4096>::build(m, batch, 4096);
  return hyperparallel::training_graph(std::move(m.graph), {}, settings);
}

/// Into how many micro-batches a step is planned: each of 1, 4 and 16 that makes micro-batches of `least` to `most`
/// sequences; where none does, the most of them that divide the sequences. Law: never empty.
inline std::vector<int> micro_batches_of(int sequences, int least, int most) {
  std::vector<int> counts;
  int divides = 1;
  for (const int count : {1, 4, 16}) {
    if (sequences % count != 0 || sequences / count < (count == 1 ? 1 : least)) continue;
    divides = count;
    if (sequences / count <= most) counts.push_back(count);
  }
  return counts.empty() ? std::vector<int>{divides} : counts;
}

}  // namespace models
