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

#include "../../examples/models/deepseek_v3.hpp"
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

/// Forward and backward in at most so many tiles on dies of a matrix384: milliseconds on the clock, those in which nothing is
/// computed, GiB of a rank by address.
std::string figures_with_tiles(hp::graph& g, int dies, int most) {
  const hp::device_value device = hp::matrix384::device;
  const hp::sharded_program p = hp::partition(g, hp::strategy_called("ep", dies).strategy);
  hp::lowering_options how{.topology = hp::interconnect_of(hp::matrix384::topology), .lookahead = 1};
  if (most > 1) how.tiles.push("*.experts.*");
  how.most_tiles = most;
  how.step_duration = hp::prices_of_steps(p, hp::kinds_of_moves(p, how.topology), device).duration;
  const hp::lowered_program l = hp::lower(p, how, hp::micro_phases);
  const hp::run_times t = hp::simulate(l, l.run[0], device);
  char text[64];
  std::snprintf(text, sizeof(text), "%.3f %.3f %.3f", 1e-9 * static_cast<double>(t.makespan),
                1e-9 * static_cast<double>(t.exposed), static_cast<double>(l.addresses.high_water[0]) / (1 << 30));
  return text;
}

constexpr hp::build_options wide{.activation = hp::data_type::bf16, .parameter = hp::data_type::bf16, .unrolled = true};

/// A layer of DeepSeek-V3's sizes with 64 experts.
hp::graph layer() {
  hp::model_builder m(wide);
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
  return static_cast<hp::graph&&>(m.graph);
}

/// DeepSeek-V3: 61 layers, 256 experts and a shared one.
hp::graph deepseek_v3() {
  hp::model_builder m(wide);
  models::deepseek_v3<64, 4096>::build(m);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return static_cast<hp::graph&&>(m.graph);
}

int main() {
  hp::graph one = layer(), all = deepseek_v3();
  assert(figures_with_tiles(one, 8, 1) == "131.472 17.581 15.001");
  assert(figures_with_tiles(one, 8, 2) == "119.096 5.204 17.369");
  assert(figures_with_tiles(one, 8, 4) == "117.162 3.268 17.369");
  assert(figures_with_tiles(one, 8, 8) == "116.269 2.369 17.369");
  assert(figures_with_tiles(all, 64, 1).starts_with("5321.471 562.031"));
  assert(figures_with_tiles(all, 64, 2).starts_with("4851.607 92.097"));
  assert(figures_with_tiles(all, 64, 4).starts_with("4820.949 61.301"));
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, one_layer::config);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::model_run<float> without(m.graph, hp::strategy_called("ep", 4).strategy);
  assert(loss_of_a_step(m.graph) == without.train_step([&](int) { without.set_random_inputs(7); }));
}
