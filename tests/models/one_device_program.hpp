// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plainest program of a graph: one device, each operator a compute step, each tensor one value.

#include <hyperparallel/strategy/sharded_program.hpp>

namespace programs {

namespace hp = hyperparallel;

/// A mesh of one device: no axis.
constexpr hp::sharded_program one_device_program(const hp::graph& g) {
  hp::sharded_program p;
  p.graph = g;
  p.home.resize(g.tensor.size, -1);
  for (int t = 0; t < g.tensor.size; ++t) {
    const int replaced = g.tensor[t].replaces;
    hp::layout_value l;
    l.rank = g.tensor[t].shape.rank;
    const bool home = g.tensor[t].producer < 0;
    int storage = replaced >= 0 ? p.value[replaced].storage : -1;
    if (storage < 0) storage = p.storage.push({t, home, hp::bytes_of(g.tensor[t])});
    const int v = p.value.push({t, l, {}, storage});
    if (home) p.home[t] = v;
  }
  for (int o = 0; o < g.op.size; ++o) {
    hp::program_compute c;
    c.op = o;
    for (int i = 0; i < g.op[o].operand_count; ++i) c.operand[i] = g.op[o].operand[i];
    for (int r = 0; r < g.op[o].result_count; ++r) c.result[r] = g.op[o].result[r];
    p.step.push({false, p.compute.push(c), g.op[o].phase, g.op[o].segment});
  }
  return p;
}

}  // namespace programs
