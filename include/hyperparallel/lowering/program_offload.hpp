// SPDX-License-Identifier: Apache-2.0
#pragma once
// A sharded program as the planner of memory tiers sees it: steps are operators, storages of one device have their
// accesses, homes carry values from one period to the next.
//
// Compute steps compute, moves hold the network, a link of its own behind the given ones. What a move stages between
// its steps is a storage that only the move's step uses. A home holds its value before the first step and after the
// last one; so do inputs and shown results, which stay in tier 0. Each part of a program has devices, and so memory, of
// its own, and is a period of its own. Its steps are those that it works on, and the hand-overs of what it has to
// other parts, which take it no time. Sizes are rounded up to what addresses are
// aligned to. Where `recomputation` is allowed, what a single compute step makes once can be made again from the
// storages that the step reads, as long as these hold what they held. O(steps · operands + storages).

#include <hyperparallel/lowering/tier_hardware.hpp>
#include <hyperparallel/strategy/address_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Some phases of a program as a period of their own. Storage s of the program is storage s of `problem`, and staged
/// blocks of move m have number storages + m, as places have.
struct offload_period {
  offload_program problem;
  growing_array<int> step;   ///< of each operator
  extent_t kept_unused = 0;  ///< bytes of storages that the period does not touch, and that stay
};

struct offload_view_options {
  unsigned phases = micro_phases | update_phases;
  bool recomputation = false;
  int part = 0;  ///< whose memory it is
  /// Where it has elements: of each storage, whether a home lies in tier 0 or may not; the planner decides for the
  /// rest.
  growing_array<offload_control> homes{};
};

namespace detail {

/// Calls `visit(storage, is_written)` for what a step uses of a part.
template <class Visit>
constexpr void visit_storages_of(const sharded_program& p, const program_step& s, int part, const Visit& visit) {
  visit_values(p, s, [&](int v, bool written) {
    if (p.storage[p.value[v].storage].part == part) visit(p.value[v].storage, written);
  });
}

/// Accesses of a period whose operators are these steps, by storage.
constexpr void write_accesses(const sharded_program& p, const program_moves& moves, const growing_array<int>& step,
                              int part, offload_program& o) {
  const auto visit = [&](const auto& visit_one) {
    for (int q = 0; q < step.size; ++q) {
      const program_step& one = p.step[step[q]];
      visit_storages_of(p, one, part, [&](int s, bool written) { visit_one(q, s, written); });
      const bool stages = one.is_move && part_of_step(p, one) == part && kind_of(moves, one.index).staged_bytes > 0;
      if (stages) visit_one(q, p.storage.size + one.index, true);
    }
  };
  growing_array<int> last(p.storage.size, -1), count(p.storage.size + p.move.size, 0);
  visit([&](int q, int s, bool) {
    count[s] += s < p.storage.size && last[s] == q ? 0 : 1;
    if (s < p.storage.size) last[s] = q;
  });
  int first = 0;
  for (int s = 0; s < count.size; ++s) {
    o.storage[s].first_access = first;
    first += count[s];
  }
  o.access.resize(first);
  visit([&](int q, int s, bool written) {
    offload_storage& one = o.storage[s];
    const bool known = one.access_count > 0 && o.access[one.first_access + one.access_count - 1].op == q;
    storage_access& a = o.access[one.first_access + one.access_count - (known ? 1 : 0)];
    if (!known) ++one.access_count;
    a.op = q;
    (written ? a.writes : a.reads) = true;
  });
}

/// Storages that a single compute step of the period makes, once.
constexpr void allow_recomputation(const sharded_program& p, int part, offload_period& r) {
  growing_array<int> writer(p.storage.size, -1), writes(p.storage.size, 0);
  for (int q = 0; q < r.step.size; ++q)
    visit_storages_of(p, p.step[r.step[q]], part, [&](int s, bool written) {
      if (!written) return;
      writer[s] = q;
      ++writes[s];
    });
  for (int s = 0; s < p.storage.size; ++s) {
    offload_storage& one = r.problem.storage[s];
    if (one.persistent || writes[s] != 1 || p.step[r.step[writer[s]]].is_move) continue;
    const program_compute& c = p.compute[p.step[r.step[writer[s]]].index];
    one.first_operand = r.problem.operand.size;
    one.operand_count = p.graph.op[c.op].operand_count;
    for (int k = 0; k < one.operand_count; ++k) r.problem.operand.push(p.value[c.operand[k]].storage);
    one.recompute = r.problem.op[writer[s]].duration;
  }
}

}  // namespace detail

/// How long each step waits for another part, picoseconds: a hand-over for what it takes, any other step not at all. Each
/// part does its steps in order, computing beside its moves; copies between tiers are left out.
/// O(steps · operands).
constexpr growing_array<extent_t> waits_for_others(const sharded_program& p, const growing_array<extent_t>& duration) {
  struct part_clock {
    extent_t issued = 0, free[2] = {};  // of its last step; of what computes and what moves
  };
  growing_array<part_clock> clock;
  growing_array<extent_t> written, wait;  // of each storage; of each step
  clock.resize(parts_of(p));
  written.resize(p.storage.size, 0);
  wait.resize(p.step.size, 0);
  for (int i = 0; i < p.step.size; ++i) {
    const program_step& s = p.step[i];
    const int part = detail::part_of_step(p, s);
    part_clock& own = clock[part];
    extent_t begin = larger(own.issued, own.free[s.is_move ? 1 : 0]), others = 0;
    detail::visit_values(p, s, [&](int v, bool is_written) {
      if (is_written) return;
      extent_t& from = detail::part_of_value(p, v) == part ? begin : others;
      from = larger(from, written[p.value[v].storage]);
    });
    own.issued = begin;
    if (others > begin) wait[i] = others - begin;
    own.free[s.is_move ? 1 : 0] = begin + wait[i] + duration[i];
    detail::visit_values(p, s, [&](int v, bool is_written) {
      if (is_written) written[p.value[v].storage] = begin + wait[i] + duration[i];
    });
  }
  return wait;
}

/// `duration` is of each step of the program, picoseconds.
constexpr offload_period offload_period_of(const sharded_program& p, const program_moves& moves,
                                           const growing_array<extent_t>& duration, const tier_hardware& hardware,
                                           const offload_view_options& how = {}) {
  offload_period r;
  offload_program& o = r.problem;
  o.tier = hardware.tier;
  o.link = hardware.link;
  const int network = o.link.push({1'000'000'000, 0});
  growing_array<bool> inside(p.storage.size, false),
      outside(p.storage.size, false);  // of each storage: whether steps of the period, or others, use it
  for (int i = 0; i < p.step.size; ++i) {
    const bool works = detail::part_of_step(p, p.step[i]) == how.part;
    if (!works && !p.step[i].is_move) continue;  // computes on what its own part has
    const bool own = is_in(p.step[i].phase, how.phases);
    bool uses = false;
    detail::visit_storages_of(p, p.step[i], how.part, [&](int s, bool) { uses = (own ? inside : outside)[s] = true; });
    if (!own || !uses) continue;
    r.step.push(i);
    o.op.push({works ? duration[i] : 0, p.step[i].is_move ? network : -1, false});
  }
  for (int s = 0; s < p.storage.size; ++s) {
    offload_storage one;
    one.label = s;
    if (p.storage[s].part != how.part) {
      o.storage.push(one);
      continue;
    }
    one.bytes = detail::aligned(p.storage[s].bytes);
    const bool crosses = inside[s] && outside[s] && !p.storage[s].home;
    one.persistent = p.storage[s].home || crosses;
    if (crosses) one.control = offload_control::keep;
    if (p.storage[s].home && how.homes.size > 0) one.control = how.homes[s];
    o.storage.push(one);
  }
  for (int m = 0; m < p.move.size; ++m) {
    offload_storage one;
    one.label = p.storage.size + m;
    if (detail::part_of_value(p, p.move[m].target) == how.part)
      one.bytes = detail::aligned(kind_of(moves, m).staged_bytes);
    o.storage.push(one);
  }
  // Whoever runs the program writes an input anew each time: what is left of it elsewhere is no copy.
  for (int t = 0; t < p.home.size; ++t)
    if (p.graph.tensor[t].kind == graph_tensor_kind::input)
      detail::visit_homes(p, t, [&](int v) {
        if (detail::part_of_value(p, v) == how.part) o.storage[p.value[v].storage].control = offload_control::keep;
      });
  for (int v = 0; v < p.value.size; ++v) {
    if (!detail::is_shown(p.graph, p.value[v].tensor) || detail::part_of_value(p, v) != how.part) continue;
    o.storage[p.value[v].storage].persistent = true;
    o.storage[p.value[v].storage].control = offload_control::keep;
  }
  detail::write_accesses(p, moves, r.step, how.part, o);
  for (int s = 0; s < p.storage.size; ++s)
    if (o.storage[s].persistent && o.storage[s].access_count == 0 && o.storage[s].control != offload_control::offload)
      r.kept_unused += o.storage[s].bytes;
  o.tier[0].capacity -= r.kept_unused;
  if (how.recomputation) detail::allow_recomputation(p, how.part, r);
  return r;
}

}}  // namespace hyperparallel::v0_2
