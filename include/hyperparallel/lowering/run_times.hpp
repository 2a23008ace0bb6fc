// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a plan takes on a device, and what no order of its tasks can be faster than: the answer of its clock
// (price/clock.hpp). Units: picoseconds.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/taskflow/task.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// What no order of these tasks can be faster than.
struct step_bound {
  extent_t work = 0;   ///< of the busiest compute queue
  extent_t links = 0;  ///< of the busiest queue of moves, or of copies to or from slower tiers
  extent_t path = 0;   ///< of the values that are made one from the other
  constexpr extent_t most() const { return larger(work, larger(links, path)); }
  friend constexpr bool operator==(const step_bound&, const step_bound&) = default;
};

struct run_times {
  cost_code code = cost_code::ok;  ///< where it is not ok, all else is 0
  extent_t makespan = 0;
  extent_t busy[resource_count] = {};  ///< of one rank
  extent_t exposed = 0;                ///< in which nothing is computed
  step_bound bound{};
  constexpr bool ok() const { return code == cost_code::ok; }
  /// One run after the other, `times` of them.
  constexpr void add(const run_times& one, extent_t times) {
    makespan += one.makespan * times;
    for (int k = 0; k < resource_count; ++k) busy[k] += one.busy[k] * times;
    exposed += one.exposed * times;
    bound.work += one.bound.work * times;
    bound.links += one.bound.links * times;
    bound.path += one.bound.path * times;
  }
  friend constexpr bool operator==(const run_times&, const run_times&) = default;
};

}}  // namespace hyperparallel::v0_2
