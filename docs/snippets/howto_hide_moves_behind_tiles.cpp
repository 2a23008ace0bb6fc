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

/// Forward and backward in at most so many tiles: milliseconds on the clock, those in which nothing is computed, GiB of a rank
/// by address.
template <class Hardware>
std::string figures_with_tiles(const hp::graph& g, const char* named, int ranks, const char* pattern, int most) {
  const hp::device_value device = Hardware::device;
  const hp::sharded_program p = hp::partition(g, hp::strategy_called(named, ranks).strategy);
  hp::lowering_options how{.topology = hp::interconnect_of(Hardware::topology), .lookahead = 1};
  if (most > 1) how.tiles.push(pattern);
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

/// Four layers of Llama 3 70B's sizes.
hp::graph dense() {
  hp::model_builder m(wide);
  const int batch = m.dim("batch", 4), sequence = m.dim("seq", 4096);
  const int tokens = m.index_input("tokens", {batch, sequence}), labels = m.index_input("labels", {batch, sequence});
  int x = hp::token_embedding{.vocabulary = 32000, .hidden = 8192}(m, tokens);
  x = m.repeat(
      "layers", 4, x,
      hp::transformer_block<hp::attention_layer, hp::swiglu_layer>{
          .attention = {.query_heads = 64, .key_heads = 8, .head_dim = 128}, .feed_forward = {.width = 28672}});
  hp::language_head{.vocabulary = 32000}(m, x, labels);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return static_cast<hp::graph&&>(m.graph);
}

std::string with_experts(const hp::graph& g, int dies, int most) {
  return figures_with_tiles<hp::matrix384>(g, "ep", dies, "*.experts.*", most);
}
std::string with_sequence_parallelism(const hp::graph& g, int most) {
  return figures_with_tiles<hp::h100>(g, "tp-sp", 8, "*", most);
}

int main() {
  const hp::graph one = layer(), all = deepseek_v3(), rows = dense();
  assert(with_experts(one, 8, 1) == "131.472 17.581 15.001");
  assert(with_experts(one, 8, 2) == "119.096 5.204 17.369");
  assert(with_experts(one, 8, 4) == "117.162 3.268 17.369");
  assert(with_experts(one, 8, 8) == "116.269 2.369 17.369");
  assert(with_experts(one, 8, 64) == "114.988 1.038 19.001");
  assert(with_sequence_parallelism(rows, 1) == "103.752 23.339 9.604");
  assert(with_sequence_parallelism(rows, 2) == "93.099 11.355 10.900");
  assert(with_sequence_parallelism(rows, 4) == "90.330 6.096 12.729");
  assert(with_experts(all, 64, 1).starts_with("5321.471 562.031"));
  assert(with_experts(all, 64, 2).starts_with("4851.607 92.097"));
  assert(with_experts(all, 64, 4).starts_with("4820.949 61.301"));
  assert(with_experts(all, 64, 8).starts_with("4800.295 40.437"));
  hp::model_builder m({.unrolled = true});
  models::build_small_moe(m, one_layer::config);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  hp::model_run<float> without(m.graph, hp::strategy_called("ep", 4).strategy);
  assert(loss_of_a_step(m.graph) == without.train_step([&](int) { without.set_random_inputs(7); }));
}
