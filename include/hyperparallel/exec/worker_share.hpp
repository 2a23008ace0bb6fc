// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many workers a plan gets, on which cores, and where each queue is at home: contiguous runs, so that a rank's
// queues stay together, with the least possible largest load. Copy engines may have workers of their own behind them,
// which share the cores that are left: they are no computing power, and wait for their links most of the time. Then the
// host queues beside them, which only keep the books, go with the queue before them.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <hyperparallel/exec/bound_plan.hpp>
#include <hyperparallel/exec/cores.hpp>
#include <hyperparallel/exec/execution.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

inline constexpr int max_workers = 64;

/// Cuts `load` into at most `parts` contiguous runs with the least possible largest sum; every part gets an item while
/// there are any. Returns the part of each item. O(n log sum).
std::vector<int> balanced_runs(const std::vector<std::int64_t>& load, int parts);

}  // namespace detail

struct worker_share {
  int workers = 1;
  int spin = 0;                ///< pauses before sleeping: none where workers share cores
  std::vector<int> cores;      ///< worker -> core, -1: any; empty: none is pinned
  std::vector<int> worker_of;  ///< queue -> worker at whose it is at home
  int sharing = 1;             ///< the first of the workers, who run each other's queues; others only their own
};

namespace detail {

/// At most as many workers as `options` and the cores allow, each with a queue. O(queues log load).
worker_share share_queues(const plan_view& p, const executor_options& options);

}  // namespace detail

}}  // namespace hyperparallel::v0_2

#ifndef HYPERPARALLEL_COMPILED
#include <hyperparallel/exec/worker_share.ipp>
#endif
