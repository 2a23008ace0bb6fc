// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random programs that keep the laws of sharded_program.hpp: steps read what earlier ones wrote, or homes.

#include <hyperparallel/strategy/sharded_program.hpp>

#include <random>

namespace programs {

namespace hp = hyperparallel;

struct random_program_sizes {
  int homes = 5;
  int steps = 60;
  int most_elements = 4000;
  double share_of_moves = 0.25;
};

/// Vectors on a mesh of four devices. Moves go from cut to whole and back, and from waiting terms to whole.
inline hp::sharded_program random_program(std::mt19937& random, const random_program_sizes& sizes = {}) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  hp::sharded_program p;
  p.mesh.shape = {1, {4}};
  p.mesh.label[0] = "x";
  const int name = hp::add_text(p.graph, "t");
  const auto layout_of_form = [&](int form) {
    hp::layout_value l;
    l.mesh = p.mesh.shape;
    l.rank = 1;
    if (form == 1) hp::append_cut(l, {0, 0, 1, 4});
    if (form == 2) l.partial[0] = hp::reduce_op::sum;
    return l;
  };
  const auto add_value = [&](int tensor, int form, bool home, int storage = -1) {
    const int v = p.value.push({tensor, layout_of_form(form), {}, storage});
    if (storage < 0) p.value[v].storage = p.storage.push({tensor, home, hp::local_bytes(p, v)});
    return v;
  };
  const auto add_tensor = [&](hp::graph_tensor_kind kind) {
    hp::graph_tensor t;
    t.name = name;
    t.kind = kind;
    t.type = below(3) == 0 ? hp::data_type::bf16 : hp::data_type::f32;
    t.shape = hp::shape{4 * (1 + below(sizes.most_elements / 4))};
    return p.graph.tensor.push(t);
  };
  for (int h = 0; h < sizes.homes; ++h) add_value(add_tensor(hp::graph_tensor_kind::parameter), below(2), true);
  for (int s = 0; s < sizes.steps; ++s) {
    // Recent values are read more often, as in a model.
    const int reach = below(4) == 0 ? p.value.size : (p.value.size < 8 ? p.value.size : 8);
    const int read = p.value.size - 1 - below(reach);
    if (static_cast<double>(random() % 1000) < 1000 * sizes.share_of_moves) {
      const hp::layout_value& at = p.value[read].layout;
      const int form = hp::is_partial(at) ? below(2) : at.cut_count > 0 ? 0 : 1;
      const int target = add_value(p.value[read].tensor, form, false);
      p.step.push({true, p.move.push({read, target, -1}), hp::graph_phase::forward, -1});
      continue;
    }
    hp::graph_operator o;
    o.kind = hp::id_of<hp::ops::sum>;
    hp::program_compute c;
    o.operand_count = 1 + below(3);
    for (int i = 0; i < o.operand_count; ++i) c.operand[i] = i == 0 ? read : below(p.value.size);
    o.result_count = 1 + below(2);
    for (int r = 0; r < o.result_count; ++r) {
      const bool next = below(8) == 0;
      const int home = below(sizes.homes);
      const int tensor = next ? p.value[home].tensor : add_tensor(hp::graph_tensor_kind::activation);
      c.result[r] = add_value(tensor, below(3), false, next ? p.value[home].storage : -1);
      if (next) p.value[c.result[r]].layout = p.value[home].layout;
    }
    for (int i = 0; i < o.operand_count; ++i) o.operand[i] = p.value[c.operand[i]].tensor;
    for (int r = 0; r < o.result_count; ++r) o.result[r] = p.value[c.result[r]].tensor;
    c.op = p.graph.op.push(o);
    p.step.push({false, p.compute.push(c), hp::graph_phase::forward, -1});
  }
  if (below(2) == 0) p.graph.monitor.push(p.value[p.value.size - 1].tensor);
  return p;
}

}  // namespace programs
