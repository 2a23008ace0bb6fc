// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step time of a decoder's plan, simulated: by the clock of the program that would run, layers unrolled; of a pipeline by its
// schedule, replayed with times of stages that are simulated, one by one (simulated_pipeline.hpp).
//
//   const hp::simulated_plan s = hp::simulate_plan(llama3, plan, prices, reserve.most_peak(device_bytes));
//   s.ok(), s.is_replayed(), s.times.makespan, s.bytes
//
// Laws: those of simulated_plan.hpp; `lower_plan` is the program that is played. Not simulated are more than
// `most_simulated_devices` devices of a stage. Units: picoseconds, bytes. O(partition + lower_fastest), of each stage that is unlike
// the others.

#include <hyperparallel/planner/simulated_pipeline.hpp>
#include <hyperparallel/price/simulated_plan.hpp>

namespace hyperparallel { inline namespace v0_2 {

namespace detail {

constexpr sharded_program unrolled_program(const decoder& d, const decoder_plan& plan) {
  return partition(training_graph_of(d, plan, true), strategy_of(plan));
}

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
  s.skew = p.replay.skew;
  for (const simulated_stage& one : p.stage) s.lookahead = one.lookahead > s.lookahead ? one.lookahead : s.lookahead;
  return s;
}

}  // namespace detail

/// The program that `simulate_plan` plays, lowered within `memory` bytes of a device, and of its states what lies on the host. Precondition: `check_plan` says ok, and the
/// plan is countable and no pipeline.
constexpr clocked_plan lower_plan(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                  extent_t memory) {
  sharded_program p = detail::unrolled_program(d, plan);
  const extent_t on_host = detail::host_states_of(p, plan.host_states)[0];
  return lower_fastest(static_cast<sharded_program&&>(p), {.topology = prices.links()}, prices.device(),
                       memory + on_host);
}

/// A device's memory where a stack says what a plan takes, so that its simulation is for time alone.
inline constexpr extent_t largest_simulated_memory = extent_t{1} << 50;

/// Within `memory` bytes of a device. Precondition: `check_plan` says ok, and the plan is countable.
constexpr simulated_plan simulate_plan(const decoder& d, const decoder_plan& plan, const plan_prices& prices,
                                       extent_t memory) {
  if (device_count_of(plan) / plan.pp > detail::most_simulated_devices)
    return {.code = simulated_plan_code::has_too_many_devices};
  if (plan.pp > 1) return detail::simulate_stages(d, plan, prices, memory);
  sharded_program p = detail::unrolled_program(d, plan);
  const extent_t on_host = detail::host_states_of(p, plan.host_states)[0];
  simulated_plan s =
      simulate_unrolled(static_cast<sharded_program&&>(p), prices.links(), prices.device(), memory + on_host);
  if (!s.ok() && s.code != simulated_plan_code::exceeds_memory) return s;
  s.bytes -= on_host;
  s.least_bytes -= on_host;
  return s;
}

}}  // namespace hyperparallel::v0_2
