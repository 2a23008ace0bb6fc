// SPDX-License-Identifier: Apache-2.0
// docs/reference/program.md
#undef NDEBUG
#include <cassert>

#include <hyperparallel/program.hpp>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/graph/optimizer.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>

namespace hp = hyperparallel;

hp::graph layer() {
  hp::model_builder m({.activation = hp::bf16, .parameter = hp::bf16, .unrolled = true});
  const int batch = m.dim("batch", 8), seq = m.dim("seq", 4096);
  const int tokens = m.index_input("tokens", {batch, seq}), labels = m.index_input("labels", {batch, seq});
  const int x = hp::token_embedding{.vocabulary = 256, .hidden = 7168}(m, tokens);
  const int y = hp::mixture_of_experts{.experts = 64, .top_k = 8, .width = 2048}(m, x);
  hp::language_head{.vocabulary = 256}(m, y, labels);
  hp::differentiate(m.graph);
  hp::append_optimizer(m.graph, {});
  return m.graph;
}

int main() {
  const hp::device_value& die = hp::matrix384::device;
  const hp::sharded_program program = hp::partition(layer(), hp::strategy_called("ep", 8).strategy);

  hp::lowering_options how{.topology = hp::interconnect_of(hp::matrix384::topology)};
  how.tiles.push("moe.experts.*");
  how.step_duration = hp::prices_of_steps(program, hp::kinds_of_moves(program, how.topology), die).duration;
  const hp::lowered_program l = hp::lower_training(program, how);
  assert(l.status.ok());  // lowered, and its runs are proved

  const hp::run_times t = hp::simulate(l, die);
  assert(t.makespan * 100 <= t.bound.most() * 102);  // at most 1.02 times what no order is faster than

  how.vector_queue = true;                    // vector operators beside products
  how.synchronisation = 2 * hp::microsecond;  // from a step's end to a wait of another queue
  const hp::tiles_chosen c = hp::lower_in_fastest_tiles(program, how, die, die.tier[0].bytes);
  assert(c.ok() && c.tiles >= 8 && c.lowered.times.makespan < t.makespan);
}
