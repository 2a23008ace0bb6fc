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
#include <hyperparallel/lowering/moe_program.hpp>
#include <hyperparallel/report/trace_steps.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/world/model_run.hpp>

namespace hp = hyperparallel;

struct mesh : hp::device_matrix<hp::axis{"ep", 4}> {};

constexpr hp::moe_layer small{.hidden = 64, .intermediate = 32, .experts = 8, .top_k = 2, .tokens = 4 * 32};
constexpr hp::moe_options choices{.tiling = {.row_block = 8,
                                             .gate_up_columns = 32,
                                             .down_columns = 32,
                                             .vector_rows = 8,
                                             .copy_rows = 8,
                                             .route_rows = 16,
                                             .merge_pieces = 2,
                                             .lag = 4},
                                  .matrix_queues = 2,
                                  .vector_queues = 2,
                                  .weight_buffers = 2};

using planned = hp::moe_program<small, mesh, hp::matrix384, choices>;
static_assert(planned::verified);  // every interleaving of its tasks is safe
static_assert(hp::local_shape_of<planned::by_expert, planned::gate_up_weight> == hp::shape{2, 1, 64, 64});
static_assert(planned::dispatch::kind == hp::plan_kind::all_to_all);
static_assert(planned::dispatch::bytes_received == planned::dispatch::lower_bound);
static_assert(planned::makespan >= planned::certificate.bound);

// Tokens through the layer to the token that follows; a rank has one sequence.
hp::graph one_layer() {
  hp::model_builder m({.unrolled = true});
  const int batch = m.dim("batch", 4), seq = m.dim("seq", 32);
  const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
  const int x = hp::token_embedding{.vocabulary = 32, .hidden = small.hidden}(m, tokens);
  const hp::mixture_of_experts moe{.experts = small.experts, .top_k = small.top_k, .width = small.intermediate};
  hp::language_head{.vocabulary = 32}(m, m.sum("residual", x, moe(m, x)), labels);
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
  const hp::graph layer = one_layer();
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
  std::printf(
      "%d tasks on 4 ranks in tiles, the bits of %d without; bound %.1f us, planned %.1f us; the trace is in "
      "trace.json\n",
      tiled.world().tasks(), whole.world().tasks(), static_cast<double>(planned::certificate.bound) * 1e-6,
      static_cast<double>(planned::makespan) * 1e-6);
}
