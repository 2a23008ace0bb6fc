// SPDX-License-Identifier: Apache-2.0
// docs/explanation/moe-taskflow.md, decisions.md and docs/how-to/hide-moves-behind-tiles.md: a full-size layer by the clock,
// in other numbers of tiles, with other queues and hops. Each figure that the pages state between "figures" marks stands
// here and is held; tools/check_snippets.py compares.
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <cstring>

#include <hyperparallel/graph/gradient.hpp>
#include <hyperparallel/hardware/presets.hpp>
#include <hyperparallel/layers.hpp>
#include <hyperparallel/price/clock.hpp>
#include <hyperparallel/strategy/named_strategies.hpp>
#include <hyperparallel/strategy/partition.hpp>

namespace hp = hyperparallel;

/// 4096 tokens a die through 64 experts on eight dies, forward and backward.
hp::sharded_program layer() {
  hp::model_builder m({.activation = hp::bf16, .parameter = hp::bf16, .unrolled = true});
  const int batch = m.dim("batch", 8), seq = m.dim("seq", 4096), hidden = m.dim("hidden", 7168);
  const int x = m.apply<hp::ops::scale>("input", {m.parameter("x", {batch, seq, hidden})}, {.real = {1.0}});
  const int y = hp::mixture_of_experts{.experts = 64, .top_k = 8, .width = 2048}(m, x);
  m.loss(m.apply<hp::ops::reduce>("loss", {y}, {.text = "bsh->"}));
  hp::differentiate(m.graph);
  return hp::partition(m.graph, hp::strategy_called("ep", 8).strategy);
}

struct choice {
  int tiles = 1;
  bool vector_queue = true;
  int hop = 2;  ///< microseconds from a step's end to a wait of another queue
  bool order_knows_it = true;
};

hp::run_times times_of(const hp::sharded_program& p, const choice& c) {
  const hp::device_value& die = hp::matrix384::device;
  hp::lowering_options how{.topology = hp::interconnect_of(hp::matrix384::topology), .lookahead = 64};
  how.step_duration = hp::prices_of_steps(p, hp::kinds_of_moves(p, how.topology), die).duration;
  if (c.tiles > 1) how.tiles.push("*.experts.*");
  how.most_tiles = c.tiles;
  how.vector_queue = c.vector_queue;
  how.synchronisation = c.order_knows_it ? c.hop * hp::microsecond : 0;
  const hp::lowered_program l = hp::lower(p, how, hp::micro_phases);
  assert(l.status.ok());  // proved
  return hp::simulate(l, l.run[0], die, c.hop * hp::microsecond);
}

/// Prints the makespan and the time in which nothing is computed, in milliseconds, and holds them to what is stated.
void hold(const char* stated, const hp::sharded_program& p, const choice& c) {
  const hp::run_times t = times_of(p, c);
  char now[64];
  std::snprintf(now, sizeof(now), "%.3f %.3f", 1e-9 * static_cast<double>(t.makespan),
                1e-9 * static_cast<double>(t.exposed));
  std::printf("%d tiles, vector queue %d, %d us, known %d: %s\n", c.tiles, c.vector_queue, c.hop, c.order_knows_it,
              now);
  assert(std::strcmp(stated, now) == 0);
}

int main() {
  const hp::sharded_program p = layer();
  hold("45.235 5.463", p, {1});
  hold("40.494 2.735", p, {2});
  hold("39.043 1.387", p, {4});
  hold("38.257 0.711", p, {8});
  hold("37.899 0.374", p, {16});
  hold("37.727 0.205", p, {32});
  hold("37.655 0.121", p, {64});

  hold("48.492 7.253", p, {1, false});
  hold("41.951 0.703", p, {8, false});
  hold("41.411 0.113", p, {64, false});

  constexpr int hops[] = {0, 2, 10, 50, 150};
  const char* const of_operators[] = {"45.209 5.437", "45.235 5.463", "45.339 5.567", "45.859 6.087", "47.317 7.545"};
  const char* const in_8[] = {"38.235 0.691", "38.257 0.711", "38.345 0.791", "38.785 1.191", "40.105 2.498"};
  const char* const in_64[] = {"37.633 0.101", "37.655 0.121", "37.743 0.201", "38.122 0.547", "39.381 1.793"};
  const char* const unknown[] = {"37.633 0.101", "37.655 0.121", "37.743 0.201", "42.647 5.066", "62.968 23.534"};
  for (int i = 0; i < 5; ++i) {
    hold(of_operators[i], p, {.hop = hops[i]});
    hold(in_8[i], p, {.tiles = 8, .hop = hops[i]});
    hold(in_64[i], p, {.tiles = 64, .hop = hops[i]});
    hold(unknown[i], p, {.tiles = 64, .hop = hops[i], .order_knows_it = false});
  }
}
