// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs that are kept and loaded: their strategies, some steps of training, and what they then know.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <hyperparallel/checkpoint/run_checkpoints.hpp>
#include <hyperparallel/checkpoint/run_slices.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace checkpoint_test {

namespace hp = hyperparallel;

template <class T>
using run_of = hp::model_run<T>;

inline hp::strategy_value called(const char* name, int ranks) { return hp::strategy_called(name, ranks).strategy; }

template <class T>
std::vector<T> train(run_of<T>& run, int steps) {
  std::vector<T> losses;
  for (int i = 0; i < steps; ++i) {
    const auto first = 8 * static_cast<std::uint64_t>(run.steps());
    losses.push_back(
        run.train_step([&](int micro) { run.set_random_inputs(first + static_cast<std::uint64_t>(micro)); }));
  }
  return losses;
}

/// Every parameter and state, whole, by its name.
template <class T>
std::map<std::string, std::vector<T>> values_of(const run_of<T>& run) {
  std::map<std::string, std::vector<T>> all;
  for (const int t : hp::reshard::detail::kept_tensors(run.world().program()))
    all[run.model().name_of_tensor(t)] = run.world().get(t);
  return all;
}

}  // namespace checkpoint_test
