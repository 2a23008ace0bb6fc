// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints of a training: its parameters, its optimizer's states and the steps done, whatever strategy it runs under.
//
//   hp::save_training("run.safetensors", world.run());     // of world<step>; a model_run is given itself
//   world.train(1000, {.after_step = [&](const hp::trained_step& s) { … return true; }});
//   hp::load_training("run.safetensors", world.run());
//
// Law: a training that goes on from a checkpoint has the bits of one that was not interrupted, under the same strategy.
// Elements are those in which the kernels compute. Needs nlohmann-json on the include path. Errors: io_error,
// checkpoint_error with every difference. O(bytes).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/io/checkpoint.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Parameters and states by their lasting names, but for states that a program keeps of a state: what the stages of a
/// pipeline accumulate begins at zero in each step, and another cut has others.
inline std::vector<int> tensors_of_training(const graph& g) {
  std::vector<int> all;
  const auto is_state = [&](int t) { return t >= 0 && g.tensor[t].kind == graph_tensor_kind::state; };
  for (int t = 0; t < g.tensor.size; ++t)
    if ((g.tensor[t].kind == graph_tensor_kind::parameter || (is_state(t) && !is_state(g.tensor[t].source))) &&
        g.tensor[t].replaces < 0)
      all.push_back(t);
  return all;
}
inline std::vector<std::int64_t> extents_of(const graph& g, int t) {
  const shape& s = g.tensor[t].shape;
  return {s.extent, s.extent + s.rank};
}

}  // namespace detail

/// Replaces the file at once or not at all. Collective where the run's processes are.
template <class Run>
void save_training(const std::string& path, Run& run) {
  using number = typename Run::number;
  const graph& g = run.model();
  const std::vector<int> all = detail::tensors_of_training(g);
  std::vector<std::vector<number>> values;
  std::vector<saved_tensor<number>> tensors;
  for (const int t : all) values.push_back(run.world().get(t));
  for (const int t : all) tensors.push_back({g.name_of_tensor(t), detail::extents_of(g, t), values[tensors.size()]});
  save_checkpoint<number>(path, tensors, {{"steps", std::to_string(run.steps())}});
}

/// The training is as before where it throws.
template <class Run>
void load_training(const std::string& path, Run& run) {
  using number = typename Run::number;
  const graph& g = run.model();
  std::vector<expected_tensor> expected;
  for (const int t : detail::tensors_of_training(g))
    expected.push_back({g.name_of_tensor(t), checkpoint_dtype<number>, detail::extents_of(g, t)});
  const checkpoint<number> file = load_checkpoint<number>(path, expected);
  const std::int64_t steps = file.template integer<std::int64_t>("steps");
  if (steps < 0) throw io_error("load", path, "the metadata \"steps\" are negative: " + std::to_string(steps));
  for (const auto& t : file.tensors) run.world().set(t.name, std::span<const number>(t.values));
  run.set_steps(steps);
}

}}  // namespace hyperparallel::v0_2
