// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations of memory-bound tasks from the order in which a schedule runs them: a task that finds in L2 what an
// earlier one left there moves fewer bytes.
//
// Laws: the reuse distances are those of the schedule's own order, so two orders of the same tasks differ in time by
// nothing but the bytes that miss; with an L2 of no bytes and no streaming hits every duration is what `vector_time`
// gives. Slots are tiles here: an access touches its slot whole.

#include <hyperparallel/hardware/l2_reuse.hpp>
#include <hyperparallel/taskflow/storage.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

/// What the tasks of class `kind` are priced with; its queues on a rank share the bandwidth of the device's tier 0.
struct memory_bound_price {
  device_value device{};
  l2_cache cache{};
  resource kind = resource::aiv;
  std::int64_t overhead = 0;  ///< picoseconds of each task, beside its traffic
};

/// `code` is that of the first price that failed; the traffic is that of the priced tasks.
struct cache_traffic {
  cost_code code = cost_code::ok;
  l2_traffic traffic{};
  friend constexpr bool operator==(const cache_traffic&, const cache_traffic&) = default;
};

/// Sets the duration of each task of the class on `rank`; the others touch L2 and keep theirs. The queues stay as they
/// are frozen: simulate again. Domain: a schedule of `f`; a fresh tracker with room for the rank's accesses and the
/// flow's slots; slots of other ranks lie in other caches and cost nothing here. O(accesses · log accesses).
template <class Flow, class Schedule, class Tracker>
constexpr cache_traffic price_by_reuse(Flow& f, const Schedule& s, int rank, const memory_bound_price& price,
                                       Tracker& tracker) {
  cache_traffic result;
  const int queues = s.machine.queues[static_cast<int>(price.kind)];
  for (int p = 0; p < s.task_count; ++p) {
    const int t = s.order[p];
    const task k = f.task[t];
    if (k.rank != rank) continue;
    l2_traffic own;
    for (int a = k.access_begin; a < k.access_end; ++a) {
      const int index = f.access[a].slot + k.first_slot;
      const slot& touched = f.slot[index];
      if (touched.rank != rank) continue;
      own.touched += touched.bytes;
      own.missed += missed_bytes(price.cache, touched.bytes, touch(tracker, index, touched.bytes));
    }
    if (k.kind != price.kind) continue;
    const time_cost time = then({cost_code::ok, price.overhead}, vector_time(price.device, own.missed, queues));
    if (!time.ok() && result.code == cost_code::ok) result.code = time.code;
    f.task[t].duration = time.picoseconds;
    result.traffic.touched += own.touched;
    result.traffic.missed += own.missed;
  }
  return result;
}

}}  // namespace hyperparallel::v0_2
