// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flow that macro tasks stand for, written out: the chains' tasks between their heads and tails.
//
// Heads and tails stay, as tasks without accesses and duration. A chain's task has its own waits behind those of its
// head, which hold when it begins: so the local rule finds a witness in it. It has its own signals, on the instance's
// events, and its accesses where the instance has put the blocks. The slots are those of the outer flow. Law: if
// `prove_chain` and `prove_macro_tasks` accept, `check_exactly` accepts flow and schedule; so does `verify` as far as
// witnesses are near: each tail should signal events that no other task signals.
// Domain: chains and flow as `prove_macro_tasks` accepts them. Complexity: O(unrolled flow · queues of a chain).

#include <hyperparallel/taskflow/exact_check.hpp>
#include <hyperparallel/taskflow/macro_check.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

/// Waits of `k`, whose events count from `first_event`, with their thresholds.
template <class Flow, class From>
constexpr void copy_waits(Flow& f, const From& from, const task& k, int first_event) {
  for (int w = k.wait_begin; w < k.wait_end; ++w) {
    const int e = from.wait[w].event + k.first_event;
    add_wait(f, e + first_event, from.wait[w].threshold);
    if constexpr (Flow::stores)
      if (from.wait[w].threshold == from.event[e].signals) --f.thresholds;
  }
}

template <class Flow, class From>
constexpr void copy_signals(Flow& f, const From& from, const task& k, int first_event) {
  for (int g = k.signal_begin; g < k.signal_end; ++g) add_signal(f, from.signal[g] + k.first_event + first_event);
}

/// A task of the outer flow; members of instances without accesses and duration.
template <class Flow, class Outer>
constexpr void copy_task(Flow& f, const Outer& o, const task& k) {
  add_task(f, k.kind, k.rank, k.instance == 0 ? k.duration : 0, k.operation, k.item);
  copy_waits(f, o, k, 0);
  copy_signals(f, o, k, 0);
  if (k.instance != 0) return;
  for (int a = k.access_begin; a < k.access_end; ++a) {
    const slot_interval u = interval_of(k, o.access[a]);
    add_access(f, o.access[a].slot + k.first_slot, u.begin, u.end, o.access[a].mode);
  }
}

/// The tasks of one instance's chain.
template <class Flow, class Outer, class Chain>
constexpr void copy_chain(Flow& f, const Outer& o, const macro_instance& one, const macro_block* block,
                          const Chain& chain) {
  const auto& c = chain.contract;
  for (int t = 0; t < chain.flow.size.tasks; ++t) {
    const task k = chain.flow.task[t];
    int i = 0;
    while (c.queue[i] != chain.schedule.queue[t]) ++i;
    add_task(f, k.kind, k.rank + one.first_rank, k.duration, k.operation, k.item);
    copy_waits(f, o, o.task[one.first_task + i], 0);
    copy_waits(f, chain.flow, k, one.first_event);
    copy_signals(f, chain.flow, k, one.first_event);
    for (int a = k.access_begin; a < k.access_end; ++a) {
      const access used = chain.flow.access[a];
      const macro_place at = chain.place[used.slot + k.first_slot];
      const slot_interval u = mapped_interval(placed_interval(at, interval_of(k, used)), block[at.block].begin);
      add_access(f, block[at.block].slot, u.begin, u.end, used.mode);
    }
  }
}

}  // namespace detail

/// A builder of the unrolled flow, of which all arguments have to outlive it: `measure(b)`, `b(flow)`, `seal(flow)`.
template <class Outer, class... Chain>
constexpr auto unroll_macro_tasks(const Outer& o, const macro_table& table, const Chain&... chain) {
  return [&o, table, &chain...](auto& f) {
    for (int e = 0; e < o.size.events; ++e) add_event(f, o.event[e].rank);
    for (int k = 0; k < table.instances; ++k) {
      const macro_instance one = table.instance[k];
      if (f.size.events < one.first_event) add_event(f, 0, one.first_event - f.size.events);
      (void)detail::visit_contract(
          one.chain,
          [&](const auto& of) {
            for (int e = 0; e < of.flow.size.events; ++e) add_event(f, of.flow.event[e].rank + one.first_rank);
          },
          chain...);
    }
    for (int i = 0; i < o.size.slots; ++i)
      add_slot(f, o.slot[i].rank, o.slot[i].tier, o.slot[i].offset, o.slot[i].bytes);
    for (int t = 0; t < o.size.tasks; ++t) {
      const task k = o.task[t];
      if (k.instance > 0) {
        const macro_instance one = table.instance[k.instance - 1];
        (void)detail::visit_contract(
            one.chain,
            [&](const auto& of) {
              if (t == one.first_task + of.contract.queues)
                detail::copy_chain(f, o, one, table.block + one.first_block, of);
            },
            chain...);
      }
      detail::copy_task(f, o, k);
    }
  };
}

/// The queues of the unrolled flow `f`: those of the outer flow's schedule, with the chains' between heads and tails.
/// False if they cannot all run, which is never for what is proved.
template <class Flow, class Outer, class Schedule, class Into, class Scratch, class... Chain>
constexpr bool unroll_schedule(const Flow& f, const Outer& o, const Schedule& s, const macro_table& table, Into& into,
                               Scratch& x, const Chain&... chain) {
  into.machine = s.machine;
  into.task_count = f.size.tasks;
  into.makespan = s.makespan;
  for (int t = 0, shift = 0; t < o.size.tasks; ++t) {  // task -> its number in `f`
    const int number = o.task[t].instance;
    if (number > 0) {
      const macro_instance one = table.instance[number - 1];
      (void)detail::visit_contract(
          one.chain,
          [&](const auto& of) {
            if (t == one.first_task + of.contract.queues) shift += of.contract.tasks;
          },
          chain...);
    }
    into.order[t] = t + shift;
  }
  int position = 0;
  for (int q = 0, queues = queue_count(s.machine); q < queues; ++q) {
    into.queue_begin[q] = position;
    for (int p = s.queue_begin[q]; p < s.queue_begin[q + 1]; ++p) {
      const int t = s.queue_task[p], number = o.task[t].instance;
      into.queue_task[position++] = into.order[t];
      if (number >= 0) continue;
      const macro_instance one = table.instance[-number - 1];
      (void)detail::visit_contract(
          one.chain,
          [&](const auto& of) {
            const auto& c = of.contract;
            const int own = c.queue[t - one.first_task];
            const int first = into.order[one.first_task + c.queues] - c.tasks;
            for (int i = of.schedule.queue_begin[own]; i < of.schedule.queue_begin[own + 1]; ++i)
              into.queue_task[position++] = first + of.schedule.queue_task[i];
          },
          chain...);
    }
  }
  into.queue_begin[queue_count(s.machine)] = position;
  for (int q = 0, queues = queue_count(s.machine); q < queues; ++q)
    for (int p = into.queue_begin[q]; p < into.queue_begin[q + 1]; ++p) into.queue[into.queue_task[p]] = q;
  return detail::derive_order(f, into, x);
}

}}  // namespace hyperparallel::v0_2
