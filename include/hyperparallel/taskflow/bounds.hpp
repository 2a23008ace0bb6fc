// SPDX-License-Identifier: Apache-2.0
#pragma once
// What no schedule of a flow on a machine can beat, and the certificate that holds a plan against it.
//
//   critical path           longest chain of durations and synchronisation hops, on unlimited queues
//   work of a pool          sum of its durations / its queues
//   head + work + tail      a pool idles until its earliest possible start and is done before its latest possible end:
//                           the bound that sees a pipeline's fill and drain
//
// Law: bound <= makespan of every schedule under the same synchronisation. For a link pool the durations are bytes /
// bandwidth.

#include <cstdint>

#include <hyperparallel/taskflow/upward_rank.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Picoseconds. `rank` and `kind` name the pool of the head + work + tail bound.
struct makespan_bound {
  std::int64_t value = 0;
  std::int64_t critical_path = 0;
  std::int64_t work = 0;
  std::int64_t head_work_tail = 0;
  int rank = -1;
  resource kind = resource::aic;
  friend constexpr bool operator==(const makespan_bound&, const makespan_bound&) = default;
};

struct makespan_certificate {
  std::int64_t makespan = 0, bound = 0;
  /// makespan / bound in 1/10 000, rounded up; 10 000 is optimal.
  constexpr std::int64_t ratio() const {
    return bound == 0 ? 10000 : makespan / bound * 10000 + (makespan % bound * 10000 + bound - 1) / bound;
  }
  friend constexpr bool operator==(const makespan_certificate&, const makespan_certificate&) = default;
};

namespace detail {

/// Raises `b` by the work of each pool, and by its head + work + tail.
template <class Scratch>
constexpr void bound_pools(const machine_shape& machine, const Scratch& x, makespan_bound& b) {
  const int per_rank = queues_per_rank(machine);
  for (int rank = 0; rank < machine.ranks; ++rank)
    for (int r = 0, pool = rank * per_rank; r < resource_count; pool += machine.queues[r], ++r) {
      const int units = machine.queues[r];
      if (units <= 0 || x.queue_free[pool] == 0) continue;
      const std::int64_t work = (x.queue_free[pool] + units - 1) / units;
      const std::int64_t all = x.pool_head[pool] + work + x.pool_tail[pool];
      if (b.work < work) b.work = work;
      if (b.head_work_tail >= all) continue;
      b.head_work_tail = all;
      b.rank = rank;
      b.kind = static_cast<resource>(r);
      if (b.value < all) b.value = all;
    }
}

}  // namespace detail

/// Domain: a flow that `check_flow` accepts, on a machine that has a queue for each of its tasks. Tiles of a run have
/// one head and one tail. Complexity: O(tasks + waits + signals + queues). Source: critical path and work bounds of list
/// scheduling (Graham 1969), per pool with release and delivery times.
template <class Flow, class Scratch>
constexpr makespan_bound bound_makespan(const Flow& f, const machine_shape& machine, std::int64_t synchronisation,
                                        Scratch& x) {
  makespan_bound b;
  const bool partial = detail::waits_in_part(f);
  detail::clear_events(f, partial, x.event_time, x);
  b.critical_path = detail::sweep_ranks(f, synchronisation, partial, x.event_time, x.run_rank, x);
  detail::clear_events(f, partial, x.event_time, x);
  const int per_rank = detail::queues_per_rank(machine), queues = queue_count(machine);
  int class_begin[resource_count] = {};
  for (int r = 0; r < resource_count; ++r) class_begin[r] = detail::first_queue(machine, 0, static_cast<resource>(r));
  for (int q = 0; q < queues; ++q) {
    x.queue_free[q] = 0;
    x.pool_head[q] = x.pool_tail[q] = b.critical_path;
  }
  const int runs = partial ? f.size.tasks : f.size.runs;
  for (int r = 0, first = 0, past = 0; r < runs; ++r, first = past) {
    past = partial ? r + 1 : f.run[r + 1];
    const task k = f.task[first];
    std::int64_t head = 0;
    for (int w = k.wait_begin; w < k.wait_end; ++w) {
      const int e = f.wait[w].event + k.first_event;
      const std::int64_t ready = synchronisation + (!partial || x.prefix_begin[e] < 0
                                                        ? x.event_time[e]
                                                        : x.history[x.prefix_begin[e] + f.wait[w].threshold - 1]);
      if (head < ready) head = ready;
    }
    const std::int64_t end = head + k.duration;
    for (int g = k.signal_begin; g < k.signal_end; ++g) {
      const int e = f.signal[g] + k.first_event;
      if (x.event_time[e] < end) x.event_time[e] = end;
      if (partial && x.prefix_begin[e] >= 0) x.history[x.prefix_begin[e] + x.prefix_count[e]++] = x.event_time[e];
    }
    if (k.duration == 0) continue;
    const int pool = k.rank * per_rank + class_begin[static_cast<int>(k.kind)];
    const std::int64_t tail = x.run_rank[runs - 1 - r] - k.duration;
    x.queue_free[pool] += (past - first) * k.duration;
    if (x.pool_head[pool] > head) x.pool_head[pool] = head;
    if (x.pool_tail[pool] > tail) x.pool_tail[pool] = tail;
  }
  b.value = b.critical_path;
  detail::bound_pools(machine, x, b);
  return b;
}

}}  // namespace hyperparallel::v0_2
