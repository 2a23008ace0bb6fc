// SPDX-License-Identifier: Apache-2.0
// docs/reference/plan-clock.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/hardware/gpu_presets.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/lowering/lowered_offload.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

namespace hp = hyperparallel;

struct tower {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 8), seq = m.dim("seq", 16);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 4, .key_heads = 4, .head_dim = 8}, .feed_forward = {.width = 64}};
    const int x = hp::token_embedding{.vocabulary = 64, .hidden = 32}(m, tokens);
    hp::language_head{.vocabulary = 64}(m, block(m, x), labels);
  }
};

void a_step(const hp::graph& graph, const hp::strategy_value& strategy, const hp::interconnect& links) {
  // docs/reference/plan-clock.md
  const hp::lowered_program l = hp::lower_training(hp::partition(graph, strategy), {.topology = links});
  const hp::run_times t = hp::simulate(l, hp::h100::device);
  assert(t.ok() && t.makespan >= t.bound.most());  // picoseconds; no order of these tasks is faster than the bound
}

void under_a_budget(const hp::sharded_program& p, const hp::interconnect& links) {
  const hp::extent_t whole = hp::plan_addresses(p).high_water[0];
  // docs/reference/plan-clock.md: a budget of memory
  const hp::row_prices price = hp::prices_of_steps(p, hp::kinds_of_moves(p, links), hp::h100::device);
  const hp::offloaded_program o =
      hp::offload(p, price.duration, hp::tiers_of(hp::h100::device, whole / 2), {.links = links});
  const hp::lowered_program l = hp::lower_training(o, {.topology = links});
  assert(hp::simulate(l, l.run[0], hp::h100::device).makespan <= o.period[0].time);
}

int main() {
  const hp::graph graph = hp::training_graph<tower>(hp::adamw::value);
  const hp::strategy_value strategy = hp::strategy_called("dp", 4).strategy;
  const hp::interconnect links = hp::interconnect_of(hp::h100::topology);
  a_step(graph, strategy, links);
  under_a_budget(hp::partition(graph, strategy), links);
}
