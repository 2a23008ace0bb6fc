// SPDX-License-Identifier: Apache-2.0
#pragma once
// The all-to-all of expert parallelism (dispatch or combine of a MoE layer), as fitted, not derived.
//
//   A(ep) = bytes · (1 - 1/ep) / bandwidth + ep · latency_per_rank
//
// The two constants are a least-maximum-error fit to the serialized rows of the module table of arXiv 2605.23764
// (EP 4, 8, 16; 469.8 MB per rank), good to 1.4 %. Outside 4 ≤ ep ≤ 16 the law extrapolates.

#include <hyperparallel/hardware/cost.hpp>
#include <hyperparallel/hardware/units.hpp>

#include <cstdint>

namespace hyperparallel { inline namespace v0_2 {

struct expert_all_to_all_fit {
  std::int64_t bandwidth = 192 * gigabyte;           ///< bytes per second and device; the link itself has 196 GB/s
  std::int64_t latency_per_rank = 60 * microsecond;  ///< picoseconds for each rank of the group
  friend constexpr bool operator==(const expert_all_to_all_fit&, const expert_all_to_all_fit&) = default;
};

/// Time of one dispatch or combine: `bytes` are what one rank holds before it, of which (ep-1)/ep are remote.
/// One rank alone sends nothing and takes 0. Domain: bytes ≥ 0, ep ≥ 1. O(1).
constexpr time_cost expert_all_to_all_time(std::int64_t bytes, int ep, expert_all_to_all_fit fit = {}) {
  if (ep < 1) return {cost_code::count_is_not_positive, 0};
  if (bytes < 0) return {cost_code::amount_is_negative, 0};
  if (ep == 1) return {};
  return then(latencies(ep, fit.latency_per_rank), work_time(bytes, ep - 1, ep, fit.bandwidth));
}

}}  // namespace hyperparallel::v0_2
