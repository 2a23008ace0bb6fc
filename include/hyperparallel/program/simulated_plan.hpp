// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step time of a decoder's plan by the clock of the program that would run: layers unrolled, moves and addresses chosen,
// one rank played for all.
//
//   const hp::simulated_plan s = hp::simulate_plan(llama3, plan, prices, reserve.most_peak(device_bytes));
//   s.ok(), s.times.makespan, s.times.bound.most(), s.lookahead, s.bytes
//
// The estimate of a plan (plan_estimate.hpp) folds layers, knows no addresses and lets micro-batches overlap; it prices every plan
// of a search, this one its best. The lookahead is that of `lower_fastest` within the memory. Not simulated are pipelines,
// which do not run yet, and more than `most_simulated_devices` devices: listing pulls takes time by their square.
// Laws: where it is ok, the plan is proved, its addresses stay within the memory, and the makespan is at least each of its
// bounds. Units: picoseconds, bytes. O(partition + lower_fastest).

#include <hyperparallel/program/decoder_plan.hpp>
#include <hyperparallel/program/plan_lookahead.hpp>
#include <hyperparallel/program/plan_prices.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr extent_t most_simulated_devices = 1024;

enum class simulated_plan_code : unsigned char {
  ok,
  not_asked,
  is_a_pipeline,
  has_too_many_devices,
  is_not_lowered,
  exceeds_memory  ///< by address, even without lookahead
};

constexpr const char* to_text(simulated_plan_code c) {
  switch (c) {
    case simulated_plan_code::ok:
      return "ok";
    case simulated_plan_code::not_asked:
      return "not asked";
    case simulated_plan_code::is_a_pipeline:
      return "pipelines are not simulated";
    case simulated_plan_code::has_too_many_devices:
      return "more than 1024 devices are not simulated";
    case simulated_plan_code::is_not_lowered:
      return "the program is not lowered";
    case simulated_plan_code::exceeds_memory:
      return "its addresses exceed the memory";
  }
  return "unknown";
}

struct simulated_plan {
  simulated_plan_code code = simulated_plan_code::not_asked;
  run_times times{.code = cost_code::program_is_refused};  ///< also where addresses exceed the memory
  extent_t unhindered = 0;                                 ///< makespan without waits for addresses
  int lookahead = 0;
  extent_t bytes = 0, least_bytes = 0;  ///< by address: of this plan, and without lookahead
  constexpr bool ok() const { return code == simulated_plan_code::ok; }
};

/// The program that `simulate_plan` plays, lowered within `memory` bytes of a device. Precondition: `check_plan` says ok, the
/// plan is countable and no pipeline. O(partition + lower_fastest).
constexpr clocked_plan lower_plan(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                  extent_t memory) {
  return lower_fastest(partition(training_graph_of(d, plan, true), strategy_of(plan)), {.topology = prices.links()},
                       prices.device(), memory);
}

/// Within `memory` bytes of a device. Precondition: `check_plan` says ok, and the plan is countable.
constexpr simulated_plan simulate_plan(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                       extent_t memory) {
  simulated_plan s;
  s.code = plan.pp > 1                                      ? simulated_plan_code::is_a_pipeline
           : device_count_of(plan) > most_simulated_devices ? simulated_plan_code::has_too_many_devices
                                                            : simulated_plan_code::is_not_lowered;
  if (s.code != simulated_plan_code::is_not_lowered) return s;
  const clocked_plan c = lower_plan(d, plan, prices, memory);
  if (!c.ok()) return s;
  s.code = c.bytes() <= memory ? simulated_plan_code::ok : simulated_plan_code::exceeds_memory;
  s.times = c.lowered.times;
  s.unhindered = c.unhindered;
  s.lookahead = c.lookahead;
  s.bytes = c.bytes();
  s.least_bytes = c.least_bytes;
  return s;
}

}}  // namespace hyperparallel::v0_2
