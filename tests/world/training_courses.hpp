// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a run learns in some steps, and what one device learns in them.

#include <cmath>
#include <vector>

#include <hyperparallel/world/model_run.hpp>
#include <hyperparallel/world/single_device.hpp>

#include "training_models.hpp"

namespace training {

struct course {
  std::vector<double> loss;
  std::vector<std::vector<double>> parameters;  ///< after the last step
  friend bool operator==(const course&, const course&) = default;
};

template <class Run>
course train(Run& run, const hyperparallel::graph& g, int steps) {
  course c;
  for (int s = 0; s < steps; ++s)
    c.loss.push_back(static_cast<double>(
        run.train_step([&](int micro) { run.set_random_inputs(static_cast<std::uint64_t>(16 * s + micro)); })));
  for (const int p : parameters_of(g)) {
    const auto values = run.world().get(p);
    c.parameters.emplace_back(values.begin(), values.end());
  }
  return c;
}

/// The plain loop over operators.
inline course train_on_one_device(const hyperparallel::graph& g, int steps) {
  hyperparallel::model_run<double> source(g, hyperparallel::strategy_called("single", 1).strategy);
  hyperparallel::single_device<double> device(g);
  for (const int p : parameters_of(g)) device.values(p) = source.world().get(p);
  course c;
  for (int s = 0; s < steps; ++s) {
    double loss = 0;
    device.train_step([&](hyperparallel::single_device<double>& d, int micro) {
      if (micro > 0) loss += d.values(g.loss)[0];
      source.set_random_inputs(static_cast<std::uint64_t>(16 * s + micro));
      for (int t = 0; t < g.tensor.size; ++t) {
        if (g.tensor[t].kind != hyperparallel::graph_tensor_kind::input) continue;
        if (g.tensor[t].type == hyperparallel::i32)
          d.indices(t) = source.world().get_index(t);
        else
          d.values(t) = source.world().get(t);
      }
    });
    c.loss.push_back((loss + device.values(g.loss)[0]) / g.micro_batches);
  }
  for (const int p : parameters_of(g)) c.parameters.push_back(device.values(p));
  return c;
}

inline double difference(const course& a, const course& b) {
  double most = 0;
  for (std::size_t s = 0; s < a.loss.size(); ++s)
    most = std::max(most, std::abs(a.loss[s] - b.loss[s]) / std::abs(a.loss[s]));
  for (std::size_t p = 0; p < a.parameters.size(); ++p)
    for (std::size_t i = 0; i < a.parameters[p].size(); ++i)
      most = std::max(most, std::abs(a.parameters[p][i] - b.parameters[p][i]));
  return most;
}

}  // namespace training
