// SPDX-License-Identifier: Apache-2.0
#pragma once
// Macro tasks: a chain of tasks, proved once, that stands in an outer flow as often as it occurs, each time as few
// tasks.
//
// A *chain* is a flow with frozen queues and slots of its own, the formal ones. Its slots lie in *blocks*, which an
// instance puts on intervals of the outer flow's slots. Its *contract* says for each queue that it uses which units of
// which blocks tasks there read and write, and on which other queues they depend. An *instance* is two tasks for each
// of these queues: a head, which has the instance's waits, and behind it a tail, which has its signals. Both have the
// accesses of the contract. A tail waits for the heads of the queues on which its own depends (gang condition: no chain
// ever waits for a peer that is behind another's outer wait). Between head and tail the queue runs the chain's tasks in
// the chain's order.
//
// Law: if `prove_chain` and `prove_macro_tasks` (macro_check.hpp) accept, the flow with the chains' tasks in their
// places (unroll_macro_tasks.hpp) is safe. A tail takes as long as its queue needs for the chain once all heads have
// begun, so the makespan of the outer flow is at least that of the unrolled one. Complexity: O(chain) once; an instance
// costs two tasks a queue, with at most two accesses a block each.

#include <cstdint>

#include <hyperparallel/taskflow/builder.hpp>
#include <hyperparallel/taskflow/scratch.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Where a slot of the chain lies: [begin, end) of a block, in the slot's own units. What instances put elsewhere
/// together is one block.
struct macro_place {
  int block = 0, begin = 0, end = whole_slot;
};

/// Where an instance puts a block: its unit 0 is unit `begin` of the outer flow's `slot`.
struct macro_block {
  int slot = 0, begin = 0;
};

/// `queue`, `rank`, `kind`: of a queue that the chain uses, by its index among them. Filled by `describe_chain`;
/// `proved` by `prove_chain`.
template <int Queues, int Blocks, int Uses, int Pairs>
struct macro_contract {
  machine_shape machine{};
  int queues = 0, blocks = 0, tasks = 0, events = 0;
  bool proved = false;
  bool gathers = false;                   ///< some queue depends on all others
  int announced = 0;                      ///< heads that have an event of their own
  int waits = 0;                          ///< of all tails for heads
  int uses = 0;                           ///< accesses of all heads
  scratch_array<int, Queues> queue = {};  ///< its number on the chain's machine, rising
  scratch_array<int, Queues> rank = {};   ///< of the chain's
  scratch_array<resource, Queues> kind = {};
  scratch_array<int, Queues> head_event = {};         ///< which of the heads' own events; -1: none
  scratch_array<int, Queues> needed = {};             ///< how many queues it needs, itself included
  scratch_array<std::int64_t, Queues> duration = {};  ///< when its last task ends, if all queues begin at 0
  scratch_array<slot, Blocks> block = {};             ///< rank and tier; `offset` and `bytes`: first unit, and how many
  scratch_array<slot_interval, Uses> read = {};       ///< [queue][block]: the hull of what its tasks read
  scratch_array<slot_interval, Uses> write = {};      ///< and write
  scratch_array<bool, Pairs> needs = {};              ///< [queue][queue]: its tasks depend on tasks of the other
};

template <int Queues, int Blocks>
using fixed_macro_contract = macro_contract<Queues, Blocks, Queues * Blocks, Queues * Queues>;
using dynamic_macro_contract = macro_contract<run_time_count, run_time_count, run_time_count, run_time_count>;

/// On a machine of `queues` queues.
struct owned_macro_contract : dynamic_macro_contract {
  owned_macro_contract(int on_queues, int in_blocks) {
    memory.take_each(on_queues, queue, rank, kind, head_event, needed, duration);
    memory.take_each(in_blocks, block);
    memory.take_each(on_queues * in_blocks, read, write);
    memory.take_each(on_queues * on_queues, needs);
  }
  scratch_memory memory;
};

/// A chain with all that is known of it; what it refers to has to outlive it. `place`: one for each slot of the flow.
template <class Flow, class Schedule, class Contract>
struct macro_chain {
  const Flow& flow;
  const Schedule& schedule;
  const macro_place* place;
  Contract& contract;
};
template <class Flow, class Schedule, class Contract>
macro_chain(const Flow&, const Schedule&, const macro_place*, Contract&) -> macro_chain<Flow, Schedule, Contract>;

/// One instance. In the outer flow heads of entry k - 1 of a table have `task::instance` -k, tails k.
struct macro_instance {
  int chain = 0;        ///< which of the chains that the table is used with
  int first_task = 0;   ///< its first head; heads of all queues come first, then the tails
  int first_rank = 0;   ///< the chain's rank 0
  int first_event = 0;  ///< the chain's event 0 in the unrolled flow, whose first events are those of the outer flow
  int first_block = 0;  ///< its first entry in the table's list of blocks
};

/// Instances in the order of their tasks and of their events.
struct macro_table {
  const macro_instance* instance = nullptr;
  int instances = 0;
  const macro_block* block = nullptr;
};

namespace detail {

/// The queue that is `contract`'s number `i`, for an instance whose rank 0 is `first_rank`.
template <class Contract>
constexpr int queue_of(const Contract& c, int i, int first_rank) {
  return c.queue[i] + first_rank * queues_per_rank(c.machine);
}

/// Units of a block that a use of a slot at `at` is.
constexpr slot_interval placed_interval(const macro_place& at, const slot_interval& u) {
  return {at.begin + u.begin, u.end == whole_slot ? at.end : at.begin + u.end};
}

/// Units of the outer slot that units of a block are, which begins there at `by`.
constexpr slot_interval mapped_interval(const slot_interval& u, int by) {
  return {u.begin + by, u.end == whole_slot ? whole_slot : u.end + by};
}

constexpr void widen(slot_interval& hull, const slot_interval& u) {
  if (hull.begin >= hull.end) {
    hull = u;
    return;
  }
  if (u.begin < hull.begin) hull.begin = u.begin;
  if (u.end > hull.end) hull.end = u.end;
}

constexpr bool inside(const slot_interval& u, const slot_interval& hull) {
  return hull.begin <= u.begin && u.end <= hull.end;
}

/// Calls `use(block, units, mode)` for each access of the contract's queue `i`; reads inside writes need none.
template <class Contract, class Use>
constexpr void for_each_use(const Contract& c, int i, const Use& use) {
  for (int b = 0; b < c.blocks; ++b) {
    const slot_interval reads = c.read[i * c.blocks + b], writes = c.write[i * c.blocks + b];
    if (reads.begin < reads.end && !inside(reads, writes)) use(b, reads, access_mode::read);
    if (writes.begin < writes.end) use(b, writes, access_mode::write);
  }
}

/// Adds `k`, with no waits and signals yet.
template <class Flow>
constexpr void begin_member(Flow& f, task& k) {
  const int t = f.size.tasks++, r = f.size.runs++;
  k.wait_begin = k.wait_end = f.size.waits;
  k.signal_begin = k.signal_end = f.size.signals;
  f.task[t] = k;
  f.run[r] = t;
  f.run[r + 1] = t + 1;
}

/// What the sizing pass counts of an instance beside waits and signals of the outer flow.
template <class Contract>
constexpr void count_instance(taskflow_size& n, const Contract& c) {
  n.tasks += 2 * c.queues;
  n.runs += 2 * c.queues;
  n.accesses += c.uses;
  n.access_uses += 2 * c.uses;
  const int signals = (c.gathers ? c.queues : 0) + c.announced;
  n.signals += signals;
  n.signal_uses += signals;
  n.waits += c.waits;
}

}  // namespace detail

/// Adds instance `number` (from one) of a chain: heads, then tails. `enter(f, i)` adds the waits of the head on the
/// contract's queue `i`, `leave(f, i)` the signals of its tail. Returns the first head. Complexity: O(queues · (queues
/// + blocks)).
template <class Flow, class Contract, class Enter, class Leave>
constexpr int add_instance(Flow& f, const Contract& c, int number, int first_rank, const macro_block* block,
                           const Enter& enter, const Leave& leave, int operation = 0) {
  const int first = f.size.tasks, queues = c.queues, gathered = f.size.events;
  if (c.gathers) add_event(f, first_rank + c.rank[0]);
  const int own = f.size.events;
  for (int i = 0; i < queues; ++i)
    if (c.head_event[i] >= 0) add_event(f, first_rank + c.rank[i]);
  if constexpr (!Flow::stores) {
    detail::count_instance(f.size, c);
    for (int i = 0; i < queues; ++i) {
      enter(f, i);
      leave(f, i);
    }
    return first;
  } else {
    task k{};
    k.operation = operation;
    k.item = number;
    for (int i = 0; i < queues; ++i) {
      k.kind = c.kind[i];
      k.rank = first_rank + c.rank[i];
      k.access_begin = k.access_end = f.size.accesses;
      k.instance = -number;
      detail::begin_member(f, k);
      enter(f, i);
      if (c.gathers) add_signal(f, gathered);
      if (c.head_event[i] >= 0) add_signal(f, own + c.head_event[i]);
      int a = f.size.accesses;
      detail::for_each_use(c, i, [&](int b, const slot_interval& units, access_mode mode) {
        const slot_interval u = detail::mapped_interval(units, block[b].begin);
        f.access[a++] = {block[b].slot, u.begin, u.end, mode, 0};
      });
      f.size.access_uses += 2 * (a - f.size.accesses);
      f.size.accesses = f.task[first + i].access_end = a;
    }
    for (int i = 0; i < queues; ++i) {
      k = f.task[first + i];
      k.duration = c.duration[i];
      k.instance = number;
      detail::begin_member(f, k);
      if (c.needed[i] == queues && c.gathers) {
        add_wait(f, gathered);
      } else if (c.needed[i] > 1) {
        for (int j = 0; j < queues; ++j)
          if (j != i && c.needs[i * queues + j]) add_wait(f, own + c.head_event[j]);
      }
      leave(f, i);
    }
    return first;
  }
}

}}  // namespace hyperparallel::v0_2
