// SPDX-License-Identifier: Apache-2.0
#pragma once
// Of all degrees of a decoder that is served on so many devices, those that are the best answer.
//
//   const hp::serving_choice c = hp::choose_serving(llama3, from, 8, device, links, reserve);
//   c.best.plan, c.verdict, c.legal
//
// Plans are in the order `is_better` (fit.hpp), by the time of decode: tokens a second are the batch over that time.
// Law: no plan that `visit_serving_plans` visits and that has a price is better. O(plans · (layers + ep)).

#include <hyperparallel/planner/fit.hpp>
#include <hyperparallel/planner/serving_estimate.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// Of both memories, that kernels work in and the DRAM behind it: what lies there has no reserve.
constexpr fit_verdict verdict_of(const serving_estimate& e, const memory_reserve& reserve, const device_value& device) {
  if (e.offloaded > bytes_behind(device, memory_kind::dram)) return fit_verdict::does_not_fit;
  return verdict_of(e.memory.peak(), reserve, device.tier[0].bytes);
}

struct serving_choice {
  serving_estimate best{};
  fit_verdict verdict = fit_verdict::does_not_fit;  ///< of the best
  int legal = 0;                                    ///< plans that have a price; 0: `best` is of none
};

/// What `from` says beside its degrees holds for all plans. Precondition: parameters fit, hardware can be.
constexpr serving_choice choose_serving(const decoder& d, const serving_plan& from, int devices,
                                        const device_value& device, const interconnect& links,
                                        const memory_reserve& reserve) {
  serving_choice c;
  fit_rank first{};
  visit_serving_plans(d, from, devices, [&](const serving_plan& p) {
    const serving_estimate e = estimate_serving(d, p, device, links);
    if (!e.ok()) return;
    const fit_rank rank{verdict_of(e, reserve, device), e.decode.time, e.memory.peak()};
    if (c.legal++ > 0 && !is_better(rank, first)) return;
    first = rank;
    c.best = e;
    c.verdict = rank.verdict;
  });
  return c;
}

}}  // namespace hyperparallel::v0_2
