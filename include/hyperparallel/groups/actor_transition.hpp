// SPDX-License-Identifier: Apache-2.0
#pragma once
// A colocated actor between training and generation: the two layouts of its weights on the same ranks.
//
//   constexpr hp::actor_transition c = hp::transition_of({4, 8, 2}, 1, 4);   pipeline 4, tensor 8, data 2 -> 1 and 4
//   hp::plan_relocation(c.training_side(shape), c.generation_side(shape))    each rank receives what it lacks
//
// Weights are (layers, features); training cuts layers by `pipeline` and features by `tensor`, generation into fewer
// parts, each of the training parts of pipeline ÷ pipeline_g neighbouring stages and tensor ÷ tensor_g neighbouring
// ranks: the interleaved groups of HybridFlow's 3D-HybridEngine, whose ranks gather within them. Law: each rank then
// receives tensor · pipeline − tensor_g · pipeline_g of tensor · pipeline · tensor_g · pipeline_g parts of the weights, the
// least of any program, and keeps what it had in place. That needs each generation part to be made of whole training parts
// of its own ranks: where a size of generation does not divide that of training, the status is `grouping_is_impossible`. O(1).

#include <hyperparallel/redistribution/relocation.hpp>
#include <hyperparallel/support/enum_text.hpp>

namespace hyperparallel { inline namespace v0_2 {

enum class transition_code : unsigned char {
  ok,
  sizes_are_not_positive,
  ranks_are_too_many,      ///< more than 2^30
  grouping_is_impossible,  ///< `generation` parts along an axis of `training` parts
};

constexpr const char* name_of(transition_code c) {
  return detail::enum_name("ok\0sizes_are_not_positive\0ranks_are_too_many\0grouping_is_impossible", c);
}

struct training_sizes {
  int pipeline = 1, tensor = 1, data = 1;
};

struct actor_transition {
  transition_code code = transition_code::ok;
  int training_parts = 1, generation_parts = 1;  ///< of the axis to blame, else of all
  layout_value training{}, generation{};         ///< on the mesh (pipeline, data, tensor)

  constexpr bool ok() const { return code == transition_code::ok; }
  constexpr tensor_side training_side(const shape& s) const { return {training, s, {ranks(), 0}}; }
  constexpr tensor_side generation_side(const shape& s) const { return {generation, s, {ranks(), 0}}; }
  constexpr int ranks() const { return static_cast<int>(position_count(training.mesh)); }
  /// Elements that each rank receives of weights of so many. Domain: they divide by the training parts.
  constexpr extent_t received(extent_t elements) const {
    return elements / generation_parts - elements / training_parts;
  }
};

constexpr actor_transition transition_of(const training_sizes& t, int pipeline_g, int tensor_g) {
  actor_transition c;
  const int sizes[] = {t.pipeline, t.tensor, t.data, pipeline_g, tensor_g};
  for (const int size : sizes)
    if (size < 1) c.code = transition_code::sizes_are_not_positive;
  if (!c.ok()) return c;
  const checked_extent parts = checked_multiply(t.pipeline, t.tensor);
  if (parts.value > detail::max_devices || parts.value * t.data > detail::max_devices) {
    c.code = transition_code::ranks_are_too_many;
    return c;
  }
  const int training[] = {t.pipeline, t.tensor}, generation[] = {pipeline_g, tensor_g}, axis[] = {0, 2};
  for (int i = 0; i < 2; ++i)
    if (training[i] % generation[i] != 0) {
      c = {transition_code::grouping_is_impossible, training[i], generation[i]};
      return c;
    }
  c.training_parts = static_cast<int>(parts.value);
  c.generation_parts = pipeline_g * tensor_g;
  c.training = c.generation = replicated(mesh_shape{3, {t.pipeline, t.data, t.tensor}}, 2);
  for (int i = 0; i < 2; ++i) {
    if (training[i] > 1) append_cut(c.training, {i, axis[i], 1, training[i]});
    if (generation[i] > 1) append_cut(c.generation, {i, axis[i], 1, generation[i]});
  }
  return c;
}

}}  // namespace hyperparallel::v0_2
