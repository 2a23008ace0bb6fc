// SPDX-License-Identifier: Apache-2.0
#pragma once
// What makes a flow with macro tasks safe beside `verify` of the outer flow: that chains keep their contracts, and that
// instances stand as contracts ask. Each broken condition is one code, with the queue, task, event or slot that breaks
// it.
//
// Theorem. If (1) `check_flow` and `verify` accept each chain on its own slots; (2) each access of a chain's task is
// inside the contract of its queue, and what its queue depends on is a need of the contract; (3) head and tail of a
// queue are neighbours there; (4) slots of a chain are disjoint in their blocks, blocks of an instance are disjoint in
// the outer flow, heads have the accesses of the contract, and tails those of their heads; (5) each instance has events
// of its own; (6) a tail waits for the heads of all queues that its own needs; (7) `check_flow` and `verify` accept the
// outer flow, where `verify` holds heads against what is before and what is behind against tails, then the unrolled
// flow is safe.
//
// Proof. Completion: take the outer order and put before each tail the tasks of the chain that its queue still lacks,
// with what they depend on: their heads have passed, since the tail waits for them. That is one complete run, and
// counters are monotone. Conflicts: both in one instance: (1), for (3) and (5) keep what the chain orders. One outside:
// (2), (4) and (7) order it before the head or behind the tail, and (3) puts the chain's task between. Two instances:
// the same twice.
//
// Durations are in no condition.

#include <hyperparallel/taskflow/macro_contract.hpp>
#include <hyperparallel/taskflow/macro_status.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

constexpr macro_status broken(macro_code code, int queue, int task, int other, int event, int slot) {
  return {code, -1, queue, task, other, event, slot};
}

/// Where the blocks of a chain hold its slots: inside them, on one rank and tier, no two on one unit.
template <class Flow, class Contract, class Scratch>
constexpr macro_status check_places(const Flow& f, const macro_place* place, const Contract& c, Scratch& x) {
  x.size.slots = f.size.slots;
  for (int i = 0; i < f.size.slots; ++i) {
    const macro_place at = place[i];
    if (at.block < 0 || at.block >= c.blocks || at.begin < 0 || at.begin >= at.end || at.end > whole_slot)
      return broken(macro_code::place_outside_its_block, -1, -1, -1, -1, i);
    const slot b = c.block[at.block];
    if (b.offset > at.begin || b.offset + b.bytes < at.end || b.rank != f.slot[i].rank || b.tier != f.slot[i].tier)
      return broken(macro_code::place_outside_its_block, -1, -1, -1, -1, i);
    x.slot[i] = {at.block, 0, at.begin, std::int64_t{at.end} - at.begin};
  }
  constexpr std::int64_t units = whole_slot;
  const flow_status found = check_slots(x, c.blocks, &units, 1, x);
  if (found.code == flow_code::ok) return {};
  return broken(macro_code::places_overlap, -1, -1, found.other, -1, found.slot);
}

/// Conditions (2) and (4) of a chain: its tasks keep the contract.
template <class Flow, class Schedule, class Contract, class Scratch>
constexpr macro_status check_contract(const macro_chain<Flow, Schedule, Contract>& chain, Scratch& x) {
  const Flow& f = chain.flow;
  const Schedule& s = chain.schedule;
  const Contract& c = chain.contract;
  const macro_status places = check_places(f, chain.place, c, x);
  if (places.code != macro_code::ok) return places;
  if (c.machine != s.machine || c.tasks != f.size.tasks || c.events != f.size.events)
    return broken(macro_code::contract_is_of_another_chain, -1, -1, -1, -1, -1);
  int used = 0;
  for (int q = 0, queues = queue_count(s.machine); q < queues; ++q) {
    x.number[q] = -1;
    if (s.queue_begin[q] == s.queue_begin[q + 1]) continue;
    const task k = f.task[s.queue_task[s.queue_begin[q]]];
    if (used >= c.queues || c.queue[used] != q || c.kind[used] != k.kind || c.rank[used] != k.rank)
      return broken(macro_code::contract_is_of_another_chain, q, -1, -1, -1, -1);
    x.number[q] = used++;
  }
  if (used != c.queues) return broken(macro_code::contract_is_of_another_chain, -1, -1, -1, -1, -1);
  for (int t = 0; t < f.size.tasks; ++t) {
    const task k = f.task[t];
    const int row = x.number[s.queue[t]] * c.blocks;
    for (int a = k.access_begin; a < k.access_end; ++a) {
      const access used_here = f.access[a];
      const int slot = used_here.slot + k.first_slot;
      const macro_place at = chain.place[slot];
      const slot_interval u = placed_interval(at, interval_of(k, used_here));
      if (u.end > at.end) return broken(macro_code::access_outside_its_place, s.queue[t], t, -1, -1, slot);
      if (!inside(u, c.write[row + at.block]) &&
          (used_here.mode == access_mode::write || !inside(u, c.read[row + at.block])))
        return broken(macro_code::access_outside_the_contract, s.queue[t], t, -1, -1, slot);
    }
  }
  find_needs(f, s, c.queues, 0, x);
  for (int i = 0; i < c.queues; ++i)
    for (int j = 0; j < c.queues; ++j)
      if (x.needs[i * c.queues + j] && !c.needs[i * c.queues + j])
        return broken(macro_code::need_outside_the_contract, c.queue[i], -1, c.queue[j], -1, -1);
  return {};
}

template <class Flow>
constexpr bool signals(const Flow& f, const task& k, int event) {
  for (int g = k.signal_begin; g < k.signal_end; ++g)
    if (f.signal[g] + k.first_event == event) return true;
  return false;
}

/// Whether `k` waits for all signals of `event`.
template <class Flow>
constexpr bool waits_for(const Flow& f, const task& k, int event) {
  for (int w = k.wait_begin; w < k.wait_end; ++w)
    if (f.wait[w].event + k.first_event == event && f.wait[w].threshold == f.event[event].signals) return true;
  return false;
}

/// Whether `tail` waits for all signals of an event to which `head` adds.
template <class Flow>
constexpr bool waits_for(const Flow& f, const task& tail, const task& head) {
  for (int g = head.signal_begin; g < head.signal_end; ++g)
    if (waits_for(f, tail, f.signal[g] + head.first_event)) return true;
  return false;
}

/// Whether the units `u` of `slot` are inside one access of `k`, of mode `mode` or stronger.
template <class Flow>
constexpr bool has_access(const Flow& f, const task& k, int slot, const slot_interval& u, access_mode mode) {
  for (int a = k.access_begin; a < k.access_end; ++a)
    if (f.access[a].slot + k.first_slot == slot && (mode == access_mode::read || f.access[a].mode == mode) &&
        inside(u, interval_of(k, f.access[a])))
      return true;
  return false;
}

/// Where an instance has its blocks: on slots of their rank and tier, no two on one unit.
template <class Flow, class Contract, class Scratch>
constexpr macro_status check_blocks(const Flow& f, const macro_instance& one, const macro_block* block,
                                    const Contract& c, Scratch& x) {
  x.size.slots = c.blocks;
  for (int b = 0; b < c.blocks; ++b) {
    const macro_block at = block[b];
    const slot own = c.block[b];
    x.slot[b] = {0, 0, 0, 0};
    if (own.bytes == 0) continue;
    if (at.slot < 0 || at.slot >= f.size.slots || at.begin < 0)
      return broken(macro_code::block_is_elsewhere, -1, -1, b, -1, at.slot);
    const std::int64_t begin = at.begin + own.offset;
    const std::int64_t end = own.offset + own.bytes == whole_slot ? whole_slot : begin + own.bytes;
    if (f.slot[at.slot].rank != own.rank + one.first_rank || f.slot[at.slot].tier != own.tier || begin >= end ||
        end > whole_slot)
      return broken(macro_code::block_is_elsewhere, -1, -1, b, -1, at.slot);
    x.slot[b] = {at.slot, 0, begin, end - begin};
  }
  constexpr std::int64_t units = whole_slot;
  const flow_status found = check_slots(x, f.size.slots, &units, 1, x);
  if (found.code == flow_code::ok) return {};
  return broken(macro_code::blocks_overlap, -1, -1, found.other, -1, block[found.slot].slot);
}

/// Head `t` and its tail: in the queue that is number `i` of the contract, the head with the contract's accesses, the
/// tail with those of the head.
template <class Flow, class Schedule, class Contract>
constexpr macro_status check_members(const Flow& f, const Schedule& s, const macro_instance& one, int number,
                                     const macro_block* block, const Contract& c, int i) {
  const int t = one.first_task + i, u = t + c.queues, queue = queue_of(c, i, one.first_rank);
  const task head = f.task[t], tail = f.task[u];
  if (head.instance != -number) return broken(macro_code::instance_is_not_whole, queue, t, -1, -1, -1);
  if (tail.instance != number) return broken(macro_code::instance_is_not_whole, queue, u, -1, -1, -1);
  if (s.queue[t] != queue) return broken(macro_code::member_on_another_queue, s.queue[t], t, queue, -1, -1);
  if (s.queue[u] != queue) return broken(macro_code::member_on_another_queue, s.queue[u], u, queue, -1, -1);
  if (tail.access_begin != head.access_begin || tail.access_end != head.access_end ||
      tail.first_slot != head.first_slot || tail.part != head.part)
    return broken(macro_code::member_lacks_an_access, queue, u, t, -1, -1);
  int lacking = -1;
  for_each_use(c, i, [&](int b, const slot_interval& units, access_mode mode) {
    if (!has_access(f, head, block[b].slot, mapped_interval(units, block[b].begin), mode)) lacking = b;
  });
  if (lacking >= 0) return broken(macro_code::member_lacks_an_access, queue, t, -1, -1, block[lacking].slot);
  return {};
}

/// Conditions (4) to (6) of one instance. `first` and `first_event`: what the instances before leave free.
template <class Flow, class Schedule, class Contract, class Scratch>
constexpr macro_status check_instance(const Flow& f, const Schedule& s, const macro_instance& one, int number,
                                      const macro_block* block, const Contract& c, int first, int first_event,
                                      Scratch& x) {
  if (!c.proved) return broken(macro_code::chain_is_not_proved, -1, -1, -1, -1, -1);
  if (one.first_rank < 0 || one.first_rank > s.machine.ranks - c.machine.ranks)
    return broken(macro_code::machine_differs, -1, -1, -1, -1, -1);
  for (int kind = 0; kind < resource_count; ++kind)
    if (c.machine.queues[kind] != s.machine.queues[kind])
      return broken(macro_code::machine_differs, -1, -1, -1, -1, -1);
  if (one.first_task < first || one.first_task > f.size.tasks - 2 * c.queues)
    return broken(macro_code::instance_is_not_whole, -1, one.first_task, -1, -1, -1);
  if (one.first_event < first_event) return broken(macro_code::events_are_shared, -1, -1, -1, one.first_event, -1);
  const macro_status blocks = check_blocks(f, one, block, c, x);
  if (blocks.code != macro_code::ok) return blocks;
  for (int i = 0; i < c.queues; ++i) {
    const macro_status members = check_members(f, s, one, number, block, c, i);
    if (members.code != macro_code::ok) return members;
  }
  const task opening = f.task[one.first_task];
  int common = opening.signal_begin < opening.signal_end ? f.signal[opening.signal_begin] + opening.first_event : -1;
  for (int j = 1; j < c.queues && common >= 0; ++j)
    if (!signals(f, f.task[one.first_task + j], common)) common = -1;
  for (int i = 0; i < c.queues; ++i) {
    const int tail = one.first_task + c.queues + i;
    const task k = f.task[tail];
    if (common >= 0 && waits_for(f, k, common)) continue;
    for (int j = 0; j < c.queues; ++j)
      if (i != j && c.needs[i * c.queues + j] && !waits_for(f, k, f.task[one.first_task + j]))
        return broken(macro_code::tail_passes_a_head, queue_of(c, i, one.first_rank), tail, one.first_task + j, -1, -1);
  }
  return {};
}

/// Calls `visit` with the contract of number `chain`; false if there is none.
template <class Visit, class... Contract>
constexpr bool visit_contract(int chain, const Visit& visit, const Contract&... contract) {
  int number = 0;
  bool found = false;
  ((number++ == chain ? (visit(contract), found = true) : false), ...);
  return found;
}

/// Conditions (3) to (6) of all instances, for an outer flow that `check_flow` and `verify` accept.
template <class Flow, class Schedule, class Scratch, class... Contract>
constexpr macro_status check_instances(const Flow& f, const Schedule& s, const macro_table& table, Scratch& x,
                                       const Contract&... contract) {
  int first = 0, first_event = f.size.events, members = 0;
  for (int k = 0; k < table.instances; ++k) {
    const macro_instance one = table.instance[k];
    macro_status found;
    const bool known = visit_contract(
        one.chain,
        [&](const auto& c) {
          found = check_instance(f, s, one, k + 1, table.block + one.first_block, c, first, first_event, x);
          first = one.first_task + 2 * c.queues;
          first_event = one.first_event + c.events;
          members += 2 * c.queues;
        },
        contract...);
    if (!known) found = broken(macro_code::instance_is_not_whole, -1, -1, -1, -1, -1);
    found.instance = k + 1;
    if (found.code != macro_code::ok) return found;
  }
  const int queues[] = {contract.queues..., 0};
  for (int p = 0; p < f.size.tasks; ++p) {
    const int t = s.queue_task[p], number = f.task[t].instance;
    if (number == 0) continue;
    --members;
    if (number > 0) continue;
    if (-number > table.instances) return {macro_code::instance_is_not_whole, -number, s.queue[t], t};
    if (p + 1 >= f.size.tasks || s.queue_task[p + 1] != t + queues[table.instance[-number - 1].chain])
      return {macro_code::task_between_head_and_tail, -number, s.queue[t], s.queue_task[p + 1], t};
  }
  if (members != 0) return {macro_code::instance_is_not_whole, -1, -1, -1};
  return {};
}

}}}  // namespace hyperparallel::v0_2::detail
