// SPDX-License-Identifier: Apache-2.0
#pragma once
// One step of training of a model: forward, backward and AdamW, its layers computed again in backward where asked for.

#include <hyperparallel/model/gradient.hpp>
#include <hyperparallel/model/model_builder.hpp>
#include <hyperparallel/model/optimizer.hpp>
#include <hyperparallel/model/recomputation.hpp>

namespace models {

template <class Model>
hyperparallel::graph training_graph(int micro_batches, bool recomputed) {
  hyperparallel::model_builder m({hyperparallel::data_type::bf16});
  Model::build(m);
  m.graph.micro_batches = micro_batches;
  hyperparallel::differentiate(m.graph);
  if (recomputed) hyperparallel::recompute(m.graph, "*layers.*");
  hyperparallel::append_optimizer(m.graph, {});
  return static_cast<hyperparallel::graph&&>(m.graph);
}

}  // namespace models
