// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contract of a chain, read off its tasks: queues, hulls of what they read and write of each block, which queues
// they depend on, and how long they need.
//
// Law: a queue needs each queue that has a task on which one of its own tasks depends, over any number of waits and
// queues; it needs itself. Domain: `check_flow` and `verify` accept the chain; each place names one of the blocks.
// Complexity: O(tasks + accesses + (waits + signals) · queues).

#include <hyperparallel/taskflow/macro_task.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

/// `Events` · `Queues` cells; `Slots`: the larger of the chain's slots and the blocks.
template <int Queues, int Events, int Cells, int Pairs, int Slots>
struct macro_scratch {
  scratch_array<int, Queues> number = {};           ///< queue -> its index in the contract, -1
  scratch_array<std::int64_t, Queues> free = {};    ///< when a queue has done its tasks so far
  scratch_array<std::int64_t, Events> raised = {};  ///< when an event has had its signals so far
  scratch_array<bool, Cells> signalled = {};        ///< [event][queue]: who waits for it depends on that queue
  scratch_array<bool, Pairs> needs = {};            ///< as in the contract
  taskflow_size size{};                             ///< of `slot`, which is judged as a flow's slots are
  scratch_array<hyperparallel::slot, Slots> slot = {};
  scratch_array<int, Slots> sorted = {}, merged = {};
};

/// What each queue needs, into `x.needs`, and when it ends, into `x.free`; `x.number` is filled. Signals that come
/// earlier in the order than a wait count for it, whatever its threshold: that may ask for more than is needed, never
/// for less.
template <class Flow, class Schedule, class Scratch>
constexpr void find_needs(const Flow& f, const Schedule& s, int queues, std::int64_t synchronisation, Scratch& x) {
  for (int e = 0, cells = f.size.events * queues; e < f.size.events; ++e) {
    x.raised[e] = 0;
    for (int i = e * queues, end = i + queues; i < end && i < cells; ++i) x.signalled[i] = false;
  }
  for (int i = 0; i < queues; ++i) {
    x.free[i] = 0;
    for (int j = 0; j < queues; ++j) x.needs[i * queues + j] = i == j;
  }
  for (int p = 0; p < f.size.tasks; ++p) {
    const task k = f.task[s.order[p]];
    const int i = x.number[s.queue[s.order[p]]], row = i * queues;
    std::int64_t start = x.free[i];
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event + k.first_event;
      if (x.raised[e] + synchronisation > start) start = x.raised[e] + synchronisation;
      for (int j = 0; j < queues; ++j)
        if (x.signalled[e * queues + j]) x.needs[row + j] = true;
    }
    x.free[i] = start + k.duration;
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = f.signal[g] + k.first_event;
      if (x.free[i] > x.raised[e]) x.raised[e] = x.free[i];
      for (int j = 0; j < queues; ++j)
        if (x.needs[row + j]) x.signalled[e * queues + j] = true;
    }
  }
}

/// What follows from uses and needs: which tails wait for all heads by one event, which heads need one of their own for
/// the others, and how much an instance adds to a flow.
template <class Contract>
constexpr void sum_up(Contract& c) {
  const int queues = c.queues;
  c.gathers = false;
  c.announced = c.waits = c.uses = 0;
  for (int i = 0; i < queues; ++i) {
    c.head_event[i] = -1;
    c.needed[i] = 0;
    for (int j = 0; j < queues; ++j) c.needed[i] += c.needs[i * queues + j];
    for_each_use(c, i, [&](int, const slot_interval&, access_mode) { ++c.uses; });
    if (c.needed[i] < queues) {
      c.waits += c.needed[i] - 1;
    } else if (queues > 1) {
      c.gathers = true;
      c.waits += 1;
    }
  }
  for (int i = 0; i < queues; ++i)
    for (int j = 0; j < queues && c.needed[i] < queues; ++j)
      if (j != i && c.needs[i * queues + j] && c.head_event[j] < 0) c.head_event[j] = c.announced++;
}

template <class Flow, class Contract>
constexpr void describe_blocks(const Flow& f, const macro_place* place, Contract& c) {
  for (int b = 0; b < c.blocks; ++b) c.block[b] = {0, 0, 0, 0};
  for (int i = 0; i < f.size.slots; ++i) {
    slot& b = c.block[place[i].block];
    const std::int64_t begin = place[i].begin, end = place[i].end;
    if (b.bytes == 0) {
      b = {f.slot[i].rank, f.slot[i].tier, begin, end - begin};
      continue;
    }
    const std::int64_t first = begin < b.offset ? begin : b.offset;
    const std::int64_t past = end > b.offset + b.bytes ? end : b.offset + b.bytes;
    b.offset = first;
    b.bytes = past - first;
  }
}

/// Fills the chain's contract, not yet proved.
template <class Flow, class Schedule, class Contract, class Scratch>
constexpr void fill_contract(const macro_chain<Flow, Schedule, Contract>& chain, int blocks,
                             std::int64_t synchronisation, Scratch& x) {
  const Flow& f = chain.flow;
  const Schedule& s = chain.schedule;
  Contract& c = chain.contract;
  const int per_rank = queues_per_rank(s.machine);
  c.machine = s.machine;
  c.queues = 0;
  c.blocks = blocks;
  c.tasks = f.size.tasks;
  c.events = f.size.events;
  c.proved = false;
  for (int q = 0, all = queue_count(s.machine); q < all; ++q) {
    x.number[q] = -1;
    if (s.queue_begin[q] == s.queue_begin[q + 1]) continue;
    c.queue[c.queues] = q;
    c.rank[c.queues] = q / per_rank;
    c.kind[c.queues] = f.task[s.queue_task[s.queue_begin[q]]].kind;
    x.number[q] = c.queues++;
  }
  for (int i = 0; i < c.queues * blocks; ++i) c.read[i] = c.write[i] = {0, 0};
  for (int t = 0; t < f.size.tasks; ++t) {
    const task k = f.task[t];
    const int row = x.number[s.queue[t]] * blocks;
    for (int a = k.access_begin; a < k.access_end; ++a) {
      const macro_place at = chain.place[f.access[a].slot + k.first_slot];
      const slot_interval u = placed_interval(at, interval_of(k, f.access[a]));
      widen(f.access[a].mode == access_mode::write ? c.write[row + at.block] : c.read[row + at.block], u);
    }
  }
  find_needs(f, s, c.queues, synchronisation, x);
  for (int i = 0; i < c.queues * c.queues; ++i) c.needs[i] = x.needs[i];
  for (int i = 0; i < c.queues; ++i) c.duration[i] = x.free[i];
  sum_up(c);
  describe_blocks(f, chain.place, c);
}

}}}  // namespace hyperparallel::v0_2::detail
