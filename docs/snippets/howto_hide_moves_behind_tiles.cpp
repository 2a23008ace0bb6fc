// SPDX-License-Identifier: Apache-2.0
// docs/how-to/hide-moves-behind-tiles.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

#include <hyperparallel/step/training_step.hpp>

#include "../../examples/models/small_moe.hpp"

namespace hp = hyperparallel;

struct one_layer {
  static constexpr models::small_moe_config config{.batch = 4, .layers = 1};
};
using model = models::small_moe<one_layer>;
struct mesh : hp::device_matrix<hp::axis{"ep", 4}> {};
using strategy = hp::strategy<mesh, hp::expert_parallel<"ep">, hp::data_parallel<"ep">>;

using whole = hp::train_step<model, strategy, hp::adamw, hp::h100>;
using step = hp::train_step<model, strategy, hp::adamw, hp::h100, hp::tiled<"*.experts.*">>;
static_assert(step::verified && whole::verified);

float loss_of_a_step(const hp::graph& graph) {
  hp::model_run_options options;
  options.program.tiles = {"*.experts.*"};  // patterns of names, `*` any characters, `?` one
  hp::model_run<float> run(graph, hp::strategy_called("ep", 4).strategy, options);
  return run.train_step([&](int) { run.set_random_inputs(7); });
}

int main() {
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, one_layer::config);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::model_run<float> without(m.graph, hp::strategy_called("ep", 4).strategy);
  assert(loss_of_a_step(m.graph) == without.train_step([&](int) { without.set_random_inputs(7); }));
}
