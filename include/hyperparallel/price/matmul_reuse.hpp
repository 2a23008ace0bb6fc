// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations of matrix tasks from the order in which a schedule runs them: operands that an earlier operator left in L2
// cost no memory traffic. It is what makes a weight gradient behind the product that reads the same rows cheaper than
// one at the end, or not, and so lets the cost decide the order.
//
// The tiles of one run share their operands, so a run touches each slot once, whole; the reuse distance of a slot
// counts what matrix and vector tasks touched in between (a block that comes over the link is written to memory). A
// tile takes
//
//   overhead + max(compute, memory) + unhidden · min(compute, memory),   memory = its share of the run's missed bytes
//
// with all matrix queues sharing the bandwidth of tier 0. Law: with `unhidden` = 0 this is the roofline, and a tile
// that is bound by arithmetic takes the same time in every order; a cache that holds everything makes the orders equal.

#include <hyperparallel/hardware/l2_reuse.hpp>
#include <hyperparallel/taskflow/storage.hpp>

#include <vector>

namespace hyperparallel { inline namespace v0_2 {

struct matmul_reuse {
  device_value device{};
  l2_cache cache{};
  std::int64_t unhidden =
      0;  ///< parts per million of the shorter of compute and memory that is not hidden by the other
};

/// `code` is that of the first price that failed; the traffic is that of the matrix tasks of `rank`.
struct matmul_traffic {
  cost_code code = cost_code::ok;
  l2_traffic traffic{};
  friend constexpr bool operator==(const matmul_traffic&, const matmul_traffic&) = default;
};

namespace detail {

/// Run of each task.
template <class Flow>
std::vector<int> runs_of_tasks(const Flow& f) {
  std::vector<int> run(static_cast<std::size_t>(f.size.tasks));
  for (int r = 0; r < f.size.runs; ++r)
    for (int t = f.run[r]; t < f.run[r + 1]; ++t) run[static_cast<std::size_t>(t)] = r;
  return run;
}

}  // namespace detail

/// Sets the duration of each matrix task of `rank`, which held its compute time and the overhead before. The queues
/// stay as they are frozen: simulate again. Domain: a sealed flow and a schedule of it; unhidden in [0, 1 000 000].
/// O(accesses · log accesses).
template <class Flow, class Schedule>
matmul_traffic price_matmuls_by_reuse(Flow& f, const Schedule& s, int rank, const matmul_reuse& price) {
  matmul_traffic result;
  const std::vector<int> run = detail::runs_of_tasks(f);
  std::vector<char> seen(static_cast<std::size_t>(f.size.runs));
  std::vector<std::int64_t> sum(static_cast<std::size_t>(f.size.accesses) + 1);
  std::vector<int> last(static_cast<std::size_t>(f.size.slots));
  reuse_tracker<std::int64_t*, int*> tracker{f.size.accesses, sum.data(), last.data()};
  const int queues = s.machine.queues[static_cast<int>(resource::aic)];
  for (int p = 0; p < s.task_count; ++p) {
    const int first = s.order[p], r = run[static_cast<std::size_t>(first)];
    const task k = f.task[first];
    if (k.rank != rank || (k.kind != resource::aic && k.kind != resource::aiv)) continue;
    if (seen[static_cast<std::size_t>(r)]) continue;
    seen[static_cast<std::size_t>(r)] = 1;
    l2_traffic own;
    for (int a = k.access_begin; a < k.access_end; ++a) {
      const int index = f.access[a].slot + k.first_slot;
      if (f.slot[index].rank != rank) continue;
      own.touched += f.slot[index].bytes;
      own.missed += missed_bytes(price.cache, f.slot[index].bytes, touch(tracker, index, f.slot[index].bytes));
    }
    if (k.kind != resource::aic) continue;
    result.traffic.touched += own.touched;
    result.traffic.missed += own.missed;
    const int tiles = f.run[r + 1] - f.run[r];
    const time_cost memory = vector_time(price.device, ceil_divide(own.missed, tiles), queues);
    if (!memory.ok() && result.code == cost_code::ok) result.code = memory.code;
    for (int t = f.run[r]; t < f.run[r + 1]; ++t) {
      const std::int64_t compute = f.task[t].duration - price.device.task_overhead, m = memory.picoseconds;
      const std::int64_t longer = compute < m ? m : compute, shorter = compute < m ? compute : m;
      f.task[t].duration = price.device.task_overhead + longer + detail::millionths(shorter, price.unhidden);
    }
  }
  return result;
}

}}  // namespace hyperparallel::v0_2
