// SPDX-License-Identifier: Apache-2.0
// docs/tutorial/from-layout-to-running-layer.md, parts 6 to 8: a mixture-of-experts layer planned, run and traced.
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <vector>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/io/atomic_file.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/report/trace_steps.hpp>
#include <hyperparallel/step/training_step.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace hp = hyperparallel;

struct sizes {
  int sequence, hidden, experts, top_k, width;
};

// Tokens through the layer to the token that follows; a rank has one sequence.
template <sizes S>
struct one_layer {
  static constexpr void build(hp::model_builder& m) {
    const int batch = m.dim("batch", 4), seq = m.dim("seq", S.sequence);
    const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
    const int x = hp::token_embedding{.vocabulary = 32, .hidden = S.hidden}(m, tokens);
    const int y = hp::mixture_of_experts{.experts = S.experts, .top_k = S.top_k, .width = S.width}(m, x);
    hp::language_head{.vocabulary = 32}(m, m.sum("residual", x, y), labels);
  }
};

struct mesh : hp::device_matrix<hp::axis{"ep", 4}> {};
using strategy = hp::strategy<mesh, hp::expert_parallel<"ep">, hp::data_parallel<"ep">>;
using full = one_layer<sizes{4096, 7168, 32, 8, 2048}>;  // of DeepSeek-V3's widths, eight experts on each of four dies

using planned = hp::train_step<full, strategy, hp::adamw, hp::matrix384, hp::tiled<"moe.experts.*">>;
static_assert(planned::verified);  // every interleaving of its tasks is safe

constexpr hp::run_times timed = planned::clock;                   // each task in its queue, behind what it waits for
static_assert(timed.makespan * 100 <= timed.bound.most() * 101);  // no order of these tasks is 1 % faster
static_assert(timed.exposed * 10 <= timed.busy[static_cast<int>(hp::resource::link)]);  // moves hide behind products

using small = one_layer<sizes{32, 64, 8, 2, 32}>;

hp::graph graph_of_small() {
  hp::model_builder m({.unrolled = true});
  small::build(m);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

std::vector<float> losses_of(hp::model_run<float>& run) {
  std::vector<float> losses;
  for (int step = 0; step < 5; ++step)
    losses.push_back(run.train_step([&](int) { run.set_random_inputs(/*batch=*/7); }));
  return losses;
}

int main() {
  const hp::graph layer = graph_of_small();
  const hp::strategy_value expert_parallel = hp::strategy_called("ep", 4).strategy;
  hp::model_run_options in_tiles;
  in_tiles.program.tiles = {"moe.experts.*"};  // names of operators; the moves beside them follow
  in_tiles.program.measured = true;            // notes when each task ran

  hp::model_run<float> whole(layer, expert_parallel), tiled(layer, expert_parallel, in_tiles);
  const std::vector<float> losses = losses_of(tiled);
  assert(losses == losses_of(whole) && losses.back() < losses.front());  // bit for bit
  assert(tiled.world().get("moe.router.weight") == whole.world().get("moe.router.weight"));

  hp::atomic_file file("trace.json");  // throws where it cannot be written
  hp::report::write_trace(file, tiled.world().program(), tiled.world().last_run());
  file.commit();
  std::printf("%d tasks on 4 ranks in tiles, the bits of %d without; at full size bound %.2f ms, planned %.2f ms\n",
              tiled.world().tasks(), whole.world().tasks(), static_cast<double>(planned::clock.bound.most()) * 1e-9,
              static_cast<double>(planned::clock.makespan) * 1e-9);
}
