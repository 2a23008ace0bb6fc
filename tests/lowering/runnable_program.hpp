// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs that can be ordered and run: random ones, and vectors on four devices written by hand.

#include <hyperparallel/lowering/program_slots.hpp>

#include <models/random_program.hpp>

#include <random>

namespace programs {

namespace hp = hyperparallel;

/// The planned addresses with three storages somewhere else.
inline hp::program_addresses careless_addresses(std::mt19937& random, const hp::sharded_program& p) {
  hp::program_addresses a = hp::plan_addresses(p);
  for (int k = 0; k < 3; ++k)
    a.storage[static_cast<int>(random() % static_cast<unsigned>(p.storage.size))] =
        hp::detail::storage_alignment * static_cast<hp::extent_t>(random() % 300);
  return a;
}

/// A program of vectors of 1024 elements on four devices; each value has a storage of 4096 bytes of its own.
struct vector_program {
  enum class lies : unsigned char { whole, cut, waits };

  hp::sharded_program p;

  constexpr explicit vector_program(int tensors) {
    p.mesh.shape = {1, {4}};
    hp::graph_tensor one;
    one.name = hp::add_text(p.graph, "t");
    one.shape = hp::shape{1024};
    for (int t = 0; t < tensors; ++t) p.graph.tensor.push(one);
  }
  constexpr int value(int tensor, lies how, bool home = false) {
    hp::layout_value l;
    l.mesh = p.mesh.shape;
    l.rank = 1;
    if (how == lies::cut) hp::append_cut(l, {0, 0, 1, 4});
    if (how == lies::waits) l.partial[0] = hp::reduce_op::sum;
    return p.value.push({tensor, l, {}, p.storage.push({tensor, home, 4096})});
  }
  /// `result` is computed from one value, or from two.
  constexpr void compute(int first, int second, int result) {
    hp::graph_operator o;
    o.kind = hp::id_of<hp::ops::sum>;
    o.operand_count = second < 0 ? 1 : 2;
    o.result_count = 1;
    hp::program_compute step;
    step.op = p.graph.op.push(o);
    step.operand[0] = first;
    step.operand[1] = second;
    step.result[0] = result;
    p.step.push({false, p.compute.push(step), hp::graph_phase::forward, -1});
  }
  constexpr void move(int source, int target) {
    p.step.push({true, p.move.push({source, target, -1}), hp::graph_phase::forward, -1});
  }
};

/// Every storage after the one before; what moves stage after them.
constexpr hp::program_addresses addresses_in_a_row(const hp::sharded_program& p, bool staged) {
  hp::program_addresses a;
  for (int s = 0; s < p.storage.size; ++s) a.storage.push(4096 * s);
  a.staged.push(staged ? 4096 * p.storage.size : -1);
  return a;
}

}  // namespace programs
