// SPDX-License-Identifier: Apache-2.0
#pragma once
// When each storage of a program is alive: from the step that first writes it to the last step that uses it.
//
// Laws: homes are alive always, but for the longest stretch from a detach to the step that brings them back; so are
// values of monitors and of the loss, which are read after the last step; any other storage is dead before its first
// writer and after its last user, be that a compute step or a move, or after the step up to which it is held; what is
// written and never read is alive in its writer's step. Steps forward to accumulate that run again for the next
// micro-batch write each value anew before they read it, so one pass over the steps tells all passes. Domain: a program
// whose segments do not repeat; memory_account.hpp knows of those that do. O(steps + values).

#include <hyperparallel/strategy/sharded_program.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Steps away from memory, within a life; none where first > last.
struct life_gap {
  int first = 0;
  int last = -1;
  constexpr bool covers(int from, int to) const { return first <= from && to <= last; }
  friend constexpr bool operator==(const life_gap&, const life_gap&) = default;
};

/// Places in `sharded_program::step`. A storage that no step uses has first > last.
struct storage_lifetime {
  int first = 0;
  int last = -1;
  bool always = false;
  life_gap away{};
  friend constexpr bool operator==(const storage_lifetime&, const storage_lifetime&) = default;
};

namespace detail {

/// Whether some step needs both; two that leave and come back do not take turns.
constexpr bool alive_together(int first, int last, const life_gap& away, int other_first, int other_last,
                              const life_gap& other_away) {
  return first <= other_last && other_first <= last && !away.covers(other_first, other_last) &&
         !other_away.covers(first, last);
}
constexpr bool alive_together(const storage_lifetime& a, const storage_lifetime& b) {
  return alive_together(a.first, a.last, a.away, b.first, b.last, b.away);
}

/// Whether the tensor is read by whoever runs the program, after its last step.
constexpr bool is_shown(const graph& g, int tensor) {
  if (tensor == g.loss) return true;
  for (int i = 0; i < g.monitor.size; ++i)
    if (g.monitor.item[i] == tensor) return true;
  return false;
}

constexpr void note_use(storage_lifetime& l, int step) {
  if (l.first > l.last) l.first = step;
  l.last = step;
}

/// Calls `visit(value, is_written)` for each value that a step reads, then for each that it writes. A detach needs its
/// target, and spoils its source as a write would.
template <class Visit>
constexpr void visit_values(const sharded_program& p, const program_step& s, const Visit& visit) {
  if (s.is_move) {
    const program_move& m = p.move.item[s.index];
    visit(m.detaches ? m.target : m.source, false);
    visit(m.detaches ? m.source : m.target, true);
    return;
  }
  const program_compute& c = p.compute.item[s.index];
  const graph_operator& o = p.graph.op.item[c.op];
  for (int i = 0; i < o.operand_count; ++i) visit(c.operand[i], false);
  for (int r = 0; r < o.result_count; ++r) visit(c.result[r], true);
}

/// Homes that are detached, and come back to where they were.
constexpr void find_homes_away(const sharded_program& p, growing_array<storage_lifetime>& lives) {
  growing_array<int> left(p.storage.size, -1);  // of each storage: the step that detached it
  for (int i = 0; i < p.step.size; ++i)
    visit_values(p, p.step.item[i], [&](int v, bool written) {
      const int s = p.value.item[v].storage;
      if (!p.storage.item[s].home || !written) return;
      storage_lifetime& l = lives.item[s];
      if (left.item[s] >= 0 && i - 1 - left.item[s] > l.away.last - l.away.first + 1) {
        l.away = {left[s] + 1, i - 1};
        l.always = false;
      }
      left.item[s] = p.step.item[i].is_move && p.move.item[p.step.item[i].index].detaches ? i : -1;
    });
}

}  // namespace detail

/// Of each storage.
constexpr growing_array<storage_lifetime> lifetimes_of(const sharded_program& p) {
  growing_array<storage_lifetime> lives(p.storage.size);
  const storage_lifetime whole{0, p.step.size - 1, true};
  for (int i = 0; i < p.step.size; ++i)
    detail::visit_values(p, p.step.item[i],
                         [&](int v, bool) { detail::note_use(lives.item[p.value.item[v].storage], i); });
  for (int s = 0; s < p.storage.size; ++s) {
    if (lives.item[s].first <= lives.item[s].last && p.storage.item[s].held > lives.item[s].last)
      lives[s].last = p.storage.item[s].held;
    if (p.storage.item[s].home) lives.item[s] = whole;
  }
  detail::find_homes_away(p, lives);
  for (int v = 0; v < p.value.size; ++v)
    if (p.value.item[v].storage >= 0 && detail::is_shown(p.graph, p.value.item[v].tensor))
      lives[p.value.item[v].storage] = whole;
  return lives;
}

}}  // namespace hyperparallel::v0_2
