// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step time of a decoder's plan by the clock of the program that would run: layers unrolled, moves and addresses chosen,
// one rank played for all.
//
//   const hp::simulated_plan s = hp::simulate_plan(llama3, plan, prices, reserve.most_peak(device_bytes));
//   s.ok(), s.times.makespan, s.times.bound.most(), s.lookahead, s.bytes
//
// The estimate of a plan (plan_estimate.hpp) folds layers, knows no addresses and lets micro-batches overlap; it prices every plan
// of a search, this one its best. The lookahead is that of `lower_fastest` within the memory. A pipeline does not run as one plan
// yet: its schedule is *replayed* with times of stages that are simulated, one by one (simulated_pipeline.hpp), and the code says
// so. Not simulated are more than `most_simulated_devices` devices of a stage: listing pulls takes time by their square.
// Laws: where it is ok or replayed, plans, of all stages, are proved, addresses stay within the memory, and the makespan is at
// least each of its bounds. Units: picoseconds, bytes. O(partition + lower_fastest), of each stage that is unlike the others.

#include <hyperparallel/program/simulated_pipeline.hpp>

namespace hyperparallel { inline namespace v0_2 {

inline constexpr extent_t most_simulated_devices = 1024;

enum class simulated_plan_code : unsigned char {
  ok,        ///< by the clock of the plan
  replayed,  ///< a pipeline: by its schedule with stages by the clocks of theirs
  not_asked,
  schedule_is_too_large,  ///< of a pipeline
  has_too_many_devices,
  is_not_lowered,
  exceeds_memory  ///< by address, even without lookahead
};

constexpr const char* to_text(simulated_plan_code c) {
  switch (c) {
    case simulated_plan_code::ok:
      return "ok";
    case simulated_plan_code::replayed:
      return "schedule replayed with simulated stages";
    case simulated_plan_code::not_asked:
      return "not asked";
    case simulated_plan_code::schedule_is_too_large:
      return "the schedule is too large to be replayed";
    case simulated_plan_code::has_too_many_devices:
      return "more than 1024 devices of a stage are not simulated";
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
  extent_t unhindered = 0;                                 ///< makespan without waits for addresses; not of a pipeline
  int lookahead = 0;                                       ///< of stages the largest
  extent_t bytes = 0, least_bytes = 0;  ///< by address, of a stage the most: of this plan, and without lookahead
  extent_t bubble = 0, handed = 0;      ///< of a pipeline (stage_replay.hpp)
  constexpr bool is_replayed() const { return code == simulated_plan_code::replayed; }
  /// Whether there are times.
  constexpr bool ok() const { return code == simulated_plan_code::ok || is_replayed(); }
};

namespace detail {

constexpr simulated_plan simulate_stages(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                         extent_t memory) {
  const simulated_pipeline p = simulate_pipeline(d, plan, prices, memory);
  simulated_plan s;
  s.code = simulated_plan_code::is_not_lowered;
  if (p.code == simulated_pipeline_code::schedule_is_too_large) s.code = simulated_plan_code::schedule_is_too_large;
  if (!p.ok()) return s;
  s.bytes = p.bytes();
  s.least_bytes = p.least_bytes();
  s.code = s.bytes <= memory ? simulated_plan_code::replayed : simulated_plan_code::exceeds_memory;
  s.times = p.replay.times;
  s.bubble = p.replay.bubble;
  s.handed = p.replay.handed;
  for (const simulated_stage& one : p.stage) s.lookahead = one.lookahead > s.lookahead ? one.lookahead : s.lookahead;
  return s;
}

}  // namespace detail

/// Within `memory` bytes of a device. Precondition: `check_plan` says ok, and the plan is countable.
constexpr simulated_plan simulate_plan(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                       extent_t memory) {
  simulated_plan s;
  s.code = simulated_plan_code::has_too_many_devices;
  if (device_count_of(plan) / plan.pp > most_simulated_devices) return s;
  if (plan.pp > 1) return detail::simulate_stages(d, plan, prices, memory);
  s.code = simulated_plan_code::is_not_lowered;
  const clocked_plan c = lower_fastest(partition(training_graph_of(d, plan, true), strategy_of(plan)),
                                       {.topology = prices.links()}, prices.device(), memory);
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
