// SPDX-License-Identifier: Apache-2.0
#pragma once
// When each storage of a program is alive: from the step that first writes it to the last step that uses it.
//
// Laws: homes are alive always, and so are values of monitors and of the loss, which are read after the last step;
// any other storage is dead before its first writer and after its last user, be that a compute step or a move; what is
// written and never read is alive in its writer's step. Steps forward to accumulate that run again for the next
// micro-batch write each value anew before they read it, so one pass over the steps tells all passes.
// Domain: a program whose segments do not repeat; memory_account.hpp knows of those that do. O(steps + values).

#include <hyperparallel/model/sharded_program.hpp>

namespace hyperparallel {

/// Places in `sharded_program::step`. A storage that no step uses has first > last.
struct storage_lifetime {
  int first = 0;
  int last = -1;
  bool always = false;
  friend constexpr bool operator==(const storage_lifetime&, const storage_lifetime&) = default;
};

/// Whether some step needs both.
constexpr bool alive_together(const storage_lifetime& a, const storage_lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

/// Whether the tensor is read by whoever runs the program, after its last step.
constexpr bool is_shown(const graph& g, int tensor) {
  if (tensor == g.loss) return true;
  for (int i = 0; i < g.monitor.size; ++i)
    if (g.monitor[i] == tensor) return true;
  return false;
}

namespace detail {

constexpr void note_use(storage_lifetime& l, int step) {
  if (l.first > l.last) l.first = step;
  l.last = step;
}

}  // namespace detail

/// Calls `visit(value, is_written)` for each value that a step reads, then for each that it writes.
template <class Visit>
constexpr void visit_values(const sharded_program& p, const program_step& s, const Visit& visit) {
  if (s.is_move) {
    visit(p.move[s.index].source, false);
    visit(p.move[s.index].target, true);
    return;
  }
  const program_compute& c = p.compute[s.index];
  const graph_operator& o = p.graph.op[c.op];
  for (int i = 0; i < o.operand_count; ++i) visit(c.operand[i], false);
  for (int r = 0; r < o.result_count; ++r) visit(c.result[r], true);
}

/// Of each storage.
constexpr growing_array<storage_lifetime> lifetimes_of(const sharded_program& p) {
  growing_array<storage_lifetime> lives;
  lives.resize(p.storage.size);
  const storage_lifetime whole{0, p.step.size - 1, true};
  for (int i = 0; i < p.step.size; ++i)
    visit_values(p, p.step[i], [&](int v, bool) { detail::note_use(lives[p.value[v].storage], i); });
  for (int s = 0; s < p.storage.size; ++s)
    if (p.storage[s].home) lives[s] = whole;
  for (int v = 0; v < p.value.size; ++v)
    if (p.value[v].storage >= 0 && is_shown(p.graph, p.value[v].tensor)) lives[p.value[v].storage] = whole;
  return lives;
}

}  // namespace hyperparallel
