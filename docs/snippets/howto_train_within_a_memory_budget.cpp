// SPDX-License-Identifier: Apache-2.0
// docs/how-to/train-within-a-memory-budget.md
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <cstdio>

#include <hyperparallel/train.hpp>

#include "../../examples/models/llama3_8b.hpp"

namespace hp = hyperparallel;

hp::graph training_graph() {
  hp::model_builder m({.unrolled = true});
  const int batch = m.dim("batch", 8), seq = m.dim("seq", 16);
  const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
  const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
      .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 8, .rope_base = 10000.0},
      .feed_forward = {.width = 64}};
  int x = hp::token_embedding{.vocabulary = 64, .hidden = 32}(m, tokens);
  x = m.repeat("layers", 4, x, block);
  hp::language_head{.vocabulary = 64}(m, x, labels);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {.kind = hp::optimizer_kind::adamw});
  return m.graph;
}

// A die's share of the DRAM bandwidth while all dies of its host copy.
struct crowded : hp::matrix384 {
  static constexpr hp::device_value device =
      hp::with_bandwidth(hp::matrix384::device, hp::dram, contended_dram_highest);
};
struct mesh : hp::device_matrix<hp::axis{"dp", 8}> {};
using llama = models::llama3_8b</*batch=*/16, /*sequence=*/8192>;
using strategy = hp::strategy<mesh, hp::fully_sharded<"dp", 3>>;

using unlimited = hp::train_step<llama, strategy, hp::adamw, crowded>;
using step = hp::train_step<llama, strategy, hp::adamw, crowded, hp::offloaded_within<56 * hp::GiB>>;
static_assert(!hp::fits_alive<unlimited>() && hp::fits_alive<step>());
static_assert(step::offload.exposed * 20 <= step::offload.step_time);  // waiting for copies

int main() {
  const hp::graph g = training_graph();
  const hp::strategy_value s = hp::strategy_called("zero3", 4).strategy;

  hp::model_run_options options;
  options.program.measured = true;
  hp::model_run<float> whole(g, s, options);
  const float loss = whole.train_step([&](int) { whole.set_random_inputs(7); });
  const std::int64_t peak = whole.world().planned_bytes();  // of each rank

  options.program.measured = false;
  hp::memory_budget& budget = options.program.budget;
  budget.bytes = peak / 2;
  budget.tiers = {{4 * hp::gigabyte, 10 * hp::microsecond}};  // to and from tier 1: bandwidth, latency
  budget.step_duration = whole.world().step_durations();      // measured, in picoseconds
  budget.planning.effort = 1'000'000;
  hp::model_run<float> half(g, s, options);
  assert(half.train_step([&](int) { half.set_random_inputs(7); }) == loss);  // bit for bit
  assert(half.world().planned_bytes() <= peak / 2);
  assert(half.world().high_water(0) == half.world().planned_bytes());

  const hp::offload_certificate& c = half.world().offloading();
  assert(c.bytes_in >= c.bytes_in_bound && c.time >= c.time_bound);
  std::printf("%.1f %% of a step is exposed copying\n",
              100.0 * static_cast<double>(c.exposed) / static_cast<double>(c.time));
}
