// SPDX-License-Identifier: Apache-2.0
// docs/how-to/train-a-pipeline.md
#undef NDEBUG
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/report.hpp>
#include <hyperparallel/train_pipeline.hpp>

namespace hp = hyperparallel;

struct language_model {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", 8);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const hp::transformer_block<hp::attention_layer, hp::swiglu_layer> block{
        .attention = {.query_heads = 4, .key_heads = 2, .head_dim = 4}, .feed_forward = {.width = 32}};
    int x = hp::token_embedding{.vocabulary = 32, .hidden = 16}(m, tokens);
    x = m.repeat("layers", 2, x, block);
    hp::language_head{.vocabulary = 32}(m, x, labels);
  }
};
struct mesh : hp::device_matrix<hp::axis{"tp", 2}> {};  // of one stage
using strategy = hp::strategy<mesh, hp::tensor_parallel<"tp">>;
using step = hp::train_step<language_model, strategy, hp::adamw, hp::matrix384, hp::precision<hp::f32>,
                            hp::accumulating<4>, hp::pipelined<hp::one_forward_one_backward, 2>>;
static_assert(step::verified);  // four ranks: two stages of two
using tight =
    hp::train_step<language_model, strategy, hp::adamw, hp::matrix384, hp::precision<hp::f32>, hp::accumulating<4>,
                   hp::pipelined<hp::one_forward_one_backward, 2>, hp::offloaded_within<step::peak * 3 / 4>>;
static_assert(tight::peak <= step::peak * 3 / 4);

void train(std::span<const std::int32_t> tokens, std::span<const std::int32_t> labels) {
  hp::world<step> world;
  world.feed("tokens", tokens).feed("labels", labels);
  const std::vector<double> losses = world.train(3);
  assert(losses.back() < losses.front());
  hp::world<tight> less;
  less.feed("tokens", tokens).feed("labels", labels);
  assert(less.train(3) == losses);
}

void run_any() {
  hp::model_builder m({.unrolled = true});
  language_model::build(m);
  const hp::graph g = hp::training_graph(m.graph, hp::adamw::value, {.micro_batches = 4});
  const hp::pipeline_value pipeline{.schedule = hp::schedule_called("ZB-H1"), .ranks = 2};
  hp::model_run<float> run(g, hp::strategy_called("dp", 2).strategy, pipeline);
  run.train_step([&](int micro_batch) { run.set_random_inputs(static_cast<std::uint64_t>(micro_batch)); });

  const hp::sharded_program& p = run.world().program();
  for (int part = 0; part < hp::parts_of(p); ++part)
    std::printf("part %d: %lld bytes a rank\n", part,
                static_cast<long long>(run.world().high_water(hp::first_rank_of(p, part))));
  hp::model_run_options within;
  within.program.budget = {.bytes = run.world().planned_bytes() * 3 / 4,
                           .tiers = {{4 * hp::gigabyte, 10 * hp::microsecond}}};
  hp::model_run<float> less(g, hp::strategy_called("dp", 2).strategy, pipeline, within);
  assert(less.world().planned_bytes() <= within.program.budget.bytes);

  const hp::lowered_program l = hp::lower_training(p, {.topology = hp::on_topology(hp::matrix384::topology)});
  const hp::run_times clock = hp::simulate(l, hp::matrix384::device);
  assert(clock.ok() && clock.exposed < clock.makespan);

  hp::atomic_file file("pipeline.json");
  const bool priced = hp::report::write_parts_trace(file, l, hp::matrix384::device);
  file.commit();
  assert(priced);
  std::remove("pipeline.json");

  hp::pipeline_value balanced = pipeline;
  balanced.layers =
      hp::layers_by_time(g, hp::strategy_called("dp", 2).strategy, hp::matrix384::device, balanced.stages());
  assert(hp::partition(g, hp::strategy_called("dp", 2).strategy, balanced).ok());

  hp::pipeline_value unlike{.schedule = hp::schedule_called("1F1B"), .ranks = 2};
  for (const auto& [name, ranks] : {std::pair{"dp", 4}, std::pair{"tp", 2}})
    unlike.strategy.push(hp::strategy_called(name, ranks).strategy);
  hp::model_run<float> six_ranks(g, {}, unlike);
  assert(hp::ranks_of(six_ranks.world().program()) == 6);
}

int main() {
  std::vector<std::int32_t> tokens, labels;
  for (int i = 0; i < 4 * 32; ++i) {
    tokens.push_back(i % 32);
    labels.push_back(7 * i % 32);
  }
  train(tokens, labels);
  run_any();
}
