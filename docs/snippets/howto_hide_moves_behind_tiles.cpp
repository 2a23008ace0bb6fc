// SPDX-License-Identifier: Apache-2.0
// docs/how-to/hide-moves-behind-tiles.md
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <string>

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

/// Forward and backward of a layer of DeepSeek-V3's sizes with 64 experts over 8 dies of a matrix384, in at most so many
/// tiles: milliseconds on the clock, those in which nothing is computed, GiB of a rank by address.
std::string figures_with_tiles(int most) {
  hp::model_builder m({.activation = hp::data_type::bf16, .parameter = hp::data_type::bf16, .unrolled = true});
  models::build_small_moe(m, {.batch = 8,
                              .sequence = 4096,
                              .vocabulary = 8192,
                              .layers = 1,
                              .hidden = 7168,
                              .query_heads = 128,
                              .key_heads = 128,
                              .head_dim = 56,
                              .experts = 64,
                              .top_k = 8,
                              .expert_width = 2048});
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::lowering_options how{.topology = hp::interconnect_of(hp::matrix384::topology)};
  if (most > 1) how.tiles.push("*.experts.*");
  how.most_tiles = most;
  const hp::lowered_program l =
      hp::lower(hp::partition(m.graph, hp::strategy_called("ep", 8).strategy), how, hp::micro_phases);
  const hp::run_times t = hp::simulate(l, l.run[0], hp::matrix384::device);
  char text[64];
  std::snprintf(text, sizeof(text), "%.3f %.3f %.3f", 1e-9 * static_cast<double>(t.makespan),
                1e-9 * static_cast<double>(t.exposed), static_cast<double>(l.addresses.high_water[0]) / (1 << 30));
  return text;
}

int main() {
  assert(figures_with_tiles(1) == "132.660 18.769 14.345");
  assert(figures_with_tiles(2) == "128.696 14.804 16.163");
  assert(figures_with_tiles(4) == "123.329 9.434 18.814");
  assert(figures_with_tiles(8) == "121.536 7.637 18.814");
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, one_layer::config);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::model_run<float> without(m.graph, hp::strategy_called("ep", 4).strategy);
  assert(loss_of_a_step(m.graph) == without.train_step([&](int) { without.set_random_inputs(7); }));
}
